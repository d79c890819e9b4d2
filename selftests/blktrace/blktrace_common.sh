# SPDX-License-Identifier: GPL-2.0
#
# Functions for the tests of block traces and of the VFS tracepoints. Each test uses
# a null_blk device of its own, which is removed when the test ends.
#
# shellcheck shell=bash

# shellcheck disable=SC2034  # used by the tests
KSFT_PASS=0
KSFT_FAIL=1
KSFT_SKIP=4

NULLB=/sys/kernel/config/nullb

# The tests parse the output of programs and of the shell.
export LC_ALL=C

# The start of kernel messages about a bug, and the taint flags that a bug sets: a bad
# page, an oops, a warning, a lockup. RCU stalls are not included, because a virtual
# machine can have them when its host is busy.
BT_COMPLAINT='^(\[[^]]*\] *)*(WARNING: |BUG: |[a-z]+: BUG|kernel BUG |Oops|UBSAN: |'
BT_COMPLAINT+='INFO: (task|possible|suspicious|trying) |refcount_t: |'
BT_COMPLAINT+='list_(add|del) |general protection fault)'
BT_TAINTS=$((1 << 5 | 1 << 7 | 1 << 9 | 1 << 14))

BT_VFS=$(dirname "$0")/blktrace_vfs

blktrace_skip()
{
	echo "SKIP: $*"
	exit "$KSFT_SKIP"
}

# Prints to stderr, because the stdout of a $(...) is a value.
blktrace_fail()
{
	echo "FAIL: $*" >&2
	# The exit of a subshell does not end the test.
	[ "$BASHPID" = "$$" ] || kill -USR1 "$$"
	exit "$KSFT_FAIL"
}
trap 'exit "$KSFT_FAIL"' USR1

# Sets complaint, the last bug message of the kernel log, and taints.
blktrace_read_kernel_state()
{
	complaint=$(dmesg -k 2> /dev/null | grep -E "$BT_COMPLAINT" | tail -n 1)
	read -r taints < /proc/sys/kernel/tainted
	taints=$((taints & BT_TAINTS))
}

# Fails if the kernel reported a bug since the test began.
blktrace_check_kernel()
{
	local complaint taints

	blktrace_read_kernel_state
	[ "$taints" = "$BT_TAINTS_BEFORE" ] || {
		echo "FAIL: the taint flags are $taints, not $BT_TAINTS_BEFORE" \
			"${complaint:+($complaint)}"
		return 1
	}
	[ -z "$complaint" ] || [ "$complaint" = "$BT_COMPLAINT_BEFORE" ] || {
		echo "FAIL: the kernel reports: $complaint"
		return 1
	}
}

# Runs at the end of a test. Removes the device and the temporary directory, and
# checks the kernel log. A test removes what else it made in its function cleanup().
blktrace_exit()
{
	local code=$? pid

	trap '' USR1
	for pid in $(jobs -p); do
		kill "$pid" 2>/dev/null
	done
	wait
	! declare -F cleanup > /dev/null || cleanup
	if [ -d "$NULLB/$BT_NAME" ]; then
		echo 0 > "$NULLB/$BT_NAME/power"
		rmdir "$NULLB/$BT_NAME" || {
			echo "FAIL: cannot remove the device"
			code=$KSFT_FAIL
		}
	fi
	rm -rf "$BT_TMP"
	blktrace_check_kernel || code=$KSFT_FAIL
	exit "$code"
}

# blktrace_device [ATTR=VALUE...]: makes a device with these null_blk attributes. Sets
# BT_NAME, BT_DEV, BT_QUEUE, and BT_TMP, a temporary directory.
blktrace_device()
{
	local attr file complaint taints

	[ "$(id -u)" = 0 ] || blktrace_skip "must be run as root"
	blktrace_read_kernel_state
	BT_COMPLAINT_BEFORE=$complaint
	BT_TAINTS_BEFORE=$taints
	modprobe -q null_blk nr_devices=0 2>/dev/null
	mountpoint -q /sys/kernel/config ||
		mount -t configfs none /sys/kernel/config 2>/dev/null
	mountpoint -q /sys/kernel/debug ||
		mount -t debugfs none /sys/kernel/debug 2>/dev/null
	[ -d "$NULLB" ] || blktrace_skip "no null_blk with configfs"
	# A warning that is printed once per boot may be printed again.
	{ echo 1 > /sys/kernel/debug/clear_warn_once; } 2> /dev/null

	BT_TMP=$(mktemp -d) || blktrace_fail "no temporary directory"
	BT_NAME=bttest$$
	trap blktrace_exit EXIT
	mkdir "$NULLB/$BT_NAME" || blktrace_fail "cannot make a null_blk device"
	for attr in size=64 irqmode=2 completion_nsec=500000 \
		    hw_queue_depth=32 memory_backed=1 "$@"; do
		file=$NULLB/$BT_NAME/${attr%%=*}
		[ -e "$file" ] || blktrace_skip "null_blk has no ${attr%%=*}"
		echo "${attr#*=}" > "$file" || blktrace_fail "null_blk refuses $attr"
	done
	echo 1 > "$NULLB/$BT_NAME/power" || blktrace_fail "cannot power the device on"
	BT_DEV=/dev/$BT_NAME
	BT_QUEUE=/sys/block/$BT_NAME/queue
}

# blktrace_need COMMAND...
blktrace_need()
{
	local cmd

	for cmd in "$@"; do
		command -v "$cmd" >/dev/null || blktrace_skip "no $cmd"
	done
}

blktrace_need_ext4()
{
	blktrace_need mkfs.ext4
	modprobe -q ext4 2> /dev/null
	grep -qw ext4 /proc/filesystems || blktrace_skip "no ext4"
}

# blktrace_vfs_do NAME OPERATION FILE [OFFSET LENGTH]: runs blktrace_vfs with these
# arguments, and writes its process and inode to the file NAME
blktrace_vfs_do()
{
	local name=$1

	shift
	"$BT_VFS" "$@" > "$BT_TMP/$name" 2> "$BT_TMP/$name.err"
}

# blktrace_no_uring CODE: succeeds if an exit code of blktrace_vfs means that there is no
# io_uring: ENOSYS, or EPERM if an administrator disabled it
blktrace_no_uring()
{
	[ "$1" = 38 ] || [ "$1" = 1 ]
}

# blktrace_shows FILE VALUE: succeeds if VALUE is the first line. It starts no program,
# because that is slow on some machines.
blktrace_shows()
{
	local shown

	read -r shown < "$1"
	[ "$shown" = "$2" ]
}

# blktrace_wait_for COMMAND...: repeats COMMAND until it succeeds, for a minute at most
blktrace_wait_for()
{
	local n

	for n in $(seq 600); do
		"$@" && return 0
		sleep 0.1
	done
	return 1
}

# blktrace_trace_runs NAME FILE: writes a message into the trace of the disk NAME, and
# succeeds if FILE contains it
blktrace_trace_runs()
{
	kill -0 "$BT_TRACER" 2> /dev/null || blktrace_fail "blktrace ended: $(cat "$2.log")"
	echo bt-trace-runs 2> /dev/null > "/sys/kernel/debug/block/$1/msg"
	grep -qa bt-trace-runs "$2"
}

# blktrace_begin NAME FILE [ARGUMENT...]: runs blktrace with these arguments on the disk
# NAME, and returns when it writes to FILE. Sets BT_TRACER, its process.
blktrace_begin()
{
	local name=$1 file=$2

	shift 2
	[ -d "/sys/class/block/$name/trace" ] || blktrace_skip "no BLK_DEV_IO_TRACE"
	[ -d /sys/kernel/debug/block ] || blktrace_skip "no debugfs"
	blktrace -d "/dev/$name" -o - "$@" > "$file" 2> "$file.log" &
	BT_TRACER=$!
	blktrace_wait_for blktrace_trace_runs "$name" "$file" ||
		blktrace_fail "blktrace writes nothing: $(cat "$file.log")"
}

# blktrace_dropped NAME: succeeds if the trace of the disk NAME dropped events
blktrace_dropped()
{
	! blktrace_shows "/sys/kernel/debug/block/$1/dropped" 0
}

# blktrace_end NAME PID FILE RESULT: ends a trace that blktrace_begin started. Writes the
# output of blkparse to RESULT, and the messages with their processes to
# RESULT.messages. Sets BT_LOST if records are missing.
blktrace_end()
{
	local name=$1

	shift
	! blktrace_dropped "$name" || BT_LOST=yes
	kill -INT "$1" || blktrace_fail "blktrace ended too early: $(cat "$2.log")"
	wait "$1"
	blkparse -q -i - < "$2" > "$3" 2> "$2.log" ||
		blktrace_fail "blkparse: $(cat "$2.log")"
	"$(dirname "$0")/blktrace_messages" < "$2" > "$2.messages"
	case $? in
	0) ;;
	2) BT_LOST=yes ;;
	*) blktrace_fail "blktrace_messages cannot read the trace" ;;
	esac
	sort -n -s -k 1,1 "$2.messages" > "$3.messages"
	# The first message is missing only if records were lost.
	[ -n "$BT_LOST" ] || grep -q bt-trace-runs "$3.messages" ||
		blktrace_fail "blktrace_messages does not find the first message"
}

# blktrace_shown FILE: succeeds if FILE, the output of blkparse, contains messages. Some
# kernels add a cgroup ID to every message, and blkparse 1.2.0 drops these.
blktrace_shown()
{
	grep -q bt-trace-runs "$1"
}

# blktrace_retry COMMAND...: runs COMMAND, which traces, until no record is lost
blktrace_retry()
{
	for _ in 1 2 3 4 5; do
		BT_LOST=
		"$@"
		[ -n "$BT_LOST" ] || return 0
		echo "# $*: blktrace lost records"
	done
	blktrace_fail "$*: blktrace always loses records"
}

# blktrace_once DIRECTORY COMMAND...: traces the device while COMMAND runs, and writes
# the files DIRECTORY/raw, DIRECTORY/trace and DIRECTORY/trace.messages
blktrace_once()
{
	local dir=$1 tracer

	shift
	blktrace_begin "$BT_NAME" "$dir/raw"
	tracer=$BT_TRACER
	"$@"
	blktrace_end "$BT_NAME" "$tracer" "$dir/raw" "$dir/trace"
}

# blktrace_run DIRECTORY COMMAND...: the same, again if records are lost
blktrace_run()
{
	blktrace_retry blktrace_once "$@"
}

# blktrace_vfs_setup: checks what the tests of VFS messages require. Sets BT_SWITCH.
blktrace_vfs_setup()
{
	blktrace_need blktrace blkparse
	[ -x "$BT_VFS" ] || blktrace_fail "blktrace_vfs is not built"
	BT_SWITCH=/sys/block/$BT_NAME/trace/vfs
	[ -w "$BT_SWITCH" ] || blktrace_skip "no VFS messages in this kernel"
}

# blktrace_vfs_messages NAME [TRACE]: prints the VFS messages of its process, one a line
blktrace_vfs_messages()
{
	local process pid text

	# It starts no program, because it is called often and that is slow.
	read -r process _ < "$BT_TMP/$1" || return
	while read -r _ pid text; do
		[ "$pid" = "$process" ] && [[ $text == @(enter|leave|at)" vfs_"* ]] &&
			echo "$text"
	done < "$BT_TMP/${2:-trace}.messages"
	return 0
}

# blktrace_vfs_check NAME ENTER RESULT: the process wrote exactly these two messages for
# the operation, in this order. %i stands for its inode.
blktrace_vfs_check()
{
	local name=$1 operation=${2%% *} ino enter line found=

	read -r _ ino < "$BT_TMP/$name"
	enter=${2/\%i/$ino}
	read -r _ _ ino _ <<< "$enter"
	while read -r line; do
		[[ $line == *" $operation "* ]] && found+=${found:+$'\n'}$line
	done <<< "$(blktrace_vfs_messages "$name")"
	[ "$found" = "enter $enter
leave $operation ino $ino ret $3" ] || {
		cat "$BT_TMP/$name.err"
		blktrace_fail "$name: expected enter $enter, ret $3; found: $found"
	}
}

# blktrace_vfs_enabled [TRACE]: prints the operations that the trace says are enabled
blktrace_vfs_enabled()
{
	sed -n 's/^[0-9]* [0-9]* vfs messages //p' "$BT_TMP/${1:-trace}.messages"
}
