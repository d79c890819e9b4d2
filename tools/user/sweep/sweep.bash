# SPDX-License-Identifier: GPL-2.0
# bash completion for qdu(1), qfind(1), qtar(1) and qcp(1); works without the bash-completion package.
# shellcheck shell=bash

_sweep_options() {
	echo --one-file-system --order --memory --progress --verbose --help --version
	case $1 in
	qdu) echo --all --apparent-size --bytes --total --human-readable --dereference --summarize --null ;;
	qfind) echo --dereference -name -type -size -newer -print -print0 -exec ;;
	qtar) echo --create --file --directory --sort ;;
	qcp) echo --recursive ;;
	esac
}

_sweep() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	COMPREPLY=()

	# bash splits --order=none into three words
	if [ "$cur" = = ]; then
		cur=
	elif [ "$prev" = = ]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	case $prev in
	--order)
		mapfile -t COMPREPLY < <(compgen -W "auto none inode full-inode inode+block full-inode+block" -- "$cur")
		return ;;
	--memory) mapfile -t COMPREPLY < <(compgen -W "16M 64M 256M 1G" -- "$cur"); return ;;
	--sort) mapfile -t COMPREPLY < <(compgen -W "name none" -- "$cur"); return ;;
	--directory|-C) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); compopt -o filenames 2> /dev/null; return ;;
	-type) mapfile -t COMPREPLY < <(compgen -W "b c d f l p s" -- "$cur"); return ;;
	esac
	case $cur in
	-*) mapfile -t COMPREPLY < <(compgen -W "$(_sweep_options "${COMP_WORDS[0]##*/}")" -- "$cur") ;;
	*) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); compopt -o filenames 2> /dev/null ;;
	esac
}

complete -F _sweep qdu qfind qtar qcp
