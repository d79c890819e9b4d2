# SPDX-License-Identifier: GPL-2.0
# bash completion for bwctl(8); works without the bash-completion package.
# shellcheck shell=bash

_bwctl_options() {
	case $1 in
	run) echo --rate --delay --device --group --quiet --help ;;
	set) echo --rate --delay --device --none --thread --quiet --help ;;
	group) echo --rate --delay --streams --none --quiet --json --help ;;
	model) echo --rate --seek --share --measure --none --json --help ;;
	show|check|decode) echo --json --help ;;
	encode) echo --rate --delay --device --quiet --json --help ;;
	esac
}

# Disks and partitions.
_bwctl_devices() {
	local path
	for path in "${BWCTL_SYSFS:-/sys}"/class/block/*; do
		[ -e "$path" ] && echo "${path##*/}"
	done
}

_bwctl_pids() {
	local path
	for path in "${BWCTL_PROC:-/proc}"/[1-9]*; do
		[ -d "$path/task" ] && echo "${path##*/}"
	done
}

# Control groups, by their paths.
_bwctl_groups() {
	local root=${BWCTL_CGROUP:-/sys/fs/cgroup}
	find "$root" -mindepth 1 -type d -printf '%P\n' 2> /dev/null
}

# Offer those of the arguments, split at blanks, that begin with the typed text.
_bwctl_words() {
	mapfile -t COMPREPLY < <(compgen -W "$*" -- "$cur")
}

# Offer device names, or paths if the typed word looks like a path.
_bwctl_device_or_path() {
	case $cur in
	*/*|.*) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); compopt -o filenames 2> /dev/null ;;
	*) _bwctl_words "$(_bwctl_devices) $1" ;;
	esac
}

# Print the index of the command after `bwctl run`; fail if there is none yet.
_bwctl_run_command() {
	local i
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) echo $((i + 1)); return ;;
		--rate|--delay|--device|--group) ((i++)) || true; [ "${COMP_WORDS[i]}" != = ] || ((i++)) ;;
		-*) ;;
		*) echo "$i"; return ;;
		esac
	done
	return 1
}

# Complete the arguments of that command, by its own completion if there is one.
_bwctl_foreign() {
	local start=$1
	if declare -F _command_offset > /dev/null; then
		_command_offset "$start"
	elif [ "$COMP_CWORD" = "$start" ]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		compopt -o filenames 2> /dev/null
	fi
}

_bwctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} start
	local command=${COMP_WORDS[1]-}
	COMPREPLY=()

	if [ "$COMP_CWORD" = 1 ]; then
		_bwctl_words run set group model show check encode decode --help --version
		return
	fi
	if [ "$command" = run ] && start=$(_bwctl_run_command); then
		_bwctl_foreign "$start"
		return
	fi
	# bash splits --rate=3M into three words
	if [ "$cur" = = ]; then
		cur=
	elif [ "$prev" = = ]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	case $prev in
	--streams|--seek|--share) return ;;
	--rate) _bwctl_words 1M 2M 3M 5M 10M 24Mbit; return ;;
	--delay) _bwctl_words 25ms 50ms 100ms 200ms 500ms 800ms 1s 2s; return ;;
	--device) _bwctl_device_or_path; return ;;
	--group) _bwctl_words "$(_bwctl_groups)"; return ;;
	esac
	case $cur in
	-*) _bwctl_words "$(_bwctl_options "$command")"; return ;;
	esac
	case $command in
	run) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
	set) _bwctl_words "$(_bwctl_pids)" ;;
	show) _bwctl_device_or_path "$(_bwctl_pids)" ;;
	group) _bwctl_device_or_path "$(_bwctl_groups)" ;;
	check|model) _bwctl_device_or_path ;;
	esac
}

complete -F _bwctl bwctl
