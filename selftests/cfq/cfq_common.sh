# SPDX-License-Identifier: GPL-2.0
#
# What the tests of the CFQ I/O scheduler share: a null_blk device of their own
# that is gone when the test ends, and words for what they check.
#
# shellcheck shell=bash

# shellcheck disable=SC2034  # used by the tests
KSFT_PASS=0
KSFT_FAIL=1
KSFT_SKIP=4

NULLB=/sys/kernel/config/nullb

cfq_skip()
{
	echo "SKIP: $*"
	exit "$KSFT_SKIP"
}

cfq_fail()
{
	echo "FAIL: $*"
	exit "$KSFT_FAIL"
}

cfq_cleanup()
{
	local pid

	for pid in $(jobs -p); do
		kill "$pid" 2>/dev/null
	done
	wait
	if [ -n "${CFQ_NAME:-}" ] && [ -d "$NULLB/$CFQ_NAME" ]; then
		echo 0 > "$NULLB/$CFQ_NAME/power"
		rmdir "$NULLB/$CFQ_NAME"
	fi
}

# cfq_device [ATTR=VALUE...]: makes a device with these null_blk attributes and
# gives it the scheduler. Sets CFQ_DEV, CFQ_QUEUE, CFQ_DEBUG.
cfq_device()
{
	local attr

	[ "$(id -u)" = 0 ] || cfq_skip "must be run as root"
	modprobe -q null_blk nr_devices=0 2>/dev/null
	mountpoint -q /sys/kernel/config ||
		mount -t configfs none /sys/kernel/config 2>/dev/null
	mountpoint -q /sys/kernel/debug ||
		mount -t debugfs none /sys/kernel/debug 2>/dev/null
	[ -d "$NULLB" ] || cfq_skip "no null_blk with configfs"

	CFQ_NAME=cfqtest$$
	trap cfq_cleanup EXIT
	mkdir "$NULLB/$CFQ_NAME" || cfq_skip "null_blk makes no device"
	for attr in size=256 irqmode=2 completion_nsec=500000 \
		    hw_queue_depth=32 memory_backed=1 "$@"; do
		echo "${attr#*=}" > "$NULLB/$CFQ_NAME/${attr%%=*}" ||
			cfq_skip "null_blk does not take $attr"
	done
	echo 1 > "$NULLB/$CFQ_NAME/power" || cfq_fail "cannot power the device on"

	CFQ_DEV=/dev/$CFQ_NAME
	CFQ_QUEUE=/sys/block/$CFQ_NAME/queue
	CFQ_DEBUG=/sys/kernel/debug/block/$CFQ_NAME/sched
	modprobe -q cfq-iosched 2>/dev/null
	grep -qw cfq "$CFQ_QUEUE/scheduler" || cfq_skip "no cfq in this kernel"
	echo cfq > "$CFQ_QUEUE/scheduler" || cfq_fail "cannot choose cfq"
	grep -qF '[cfq]' "$CFQ_QUEUE/scheduler" || cfq_fail "cfq is not chosen"
}

# cfq_need COMMAND...
cfq_need()
{
	local cmd

	for cmd in "$@"; do
		command -v "$cmd" >/dev/null || cfq_skip "no $cmd"
	done
}

cfq_need_debugfs()
{
	[ -r "$CFQ_DEBUG/counters" ] || cfq_skip "no BLK_DEBUG_FS"
}

# cfq_shows FILE VALUE: whether this is its first line; without a program, which
# takes long to start on some machines
cfq_shows()
{
	local shown

	read -r shown < "$1"
	[ "$shown" = "$2" ]
}

# cfq_set TUNABLE VALUE
cfq_set()
{
	echo "$2" > "$CFQ_QUEUE/iosched/$1" || cfq_fail "$1 does not take $2"
}

# cfq_counter NAME: a counter of the scheduler
cfq_counter()
{
	local name value

	while read -r name value; do
		[ "$name" != "$1" ] || { echo "$value"; return; }
	done < "$CFQ_DEBUG/counters"
	cfq_fail "no counter $1"
}

# cfq_read SECONDS RESULT [COMMAND...]: reads 64 KiB blocks one after the other
# for so long, run by COMMAND (ionice); their number goes to the file RESULT.
cfq_read()
{
	local seconds=$1 result=$2

	shift 2
	# In the foreground dd gets one signal; a second one would end it mute.
	"$@" timeout --foreground -s INT "$seconds" dd if="$CFQ_DEV" \
		of=/dev/null bs=64k iflag=direct 2> "$result.dd"
	sed -n 's/^\([0-9]*\)+.*records in$/\1/p' "$result.dd" > "$result"
	[ -s "$result" ]
}

# cfq_trace_begin NAME FILE [ARGUMENT...]: a trace of the disk NAME by blktrace
# with these arguments, which runs when this returns, goes to FILE. Sets CFQ_TRACER.
cfq_trace_begin()
{
	local name=$1 file=$2 n

	shift 2
	blktrace -d "/dev/$name" -o - "$@" > "$file" 2> "$file.log" &
	CFQ_TRACER=$!
	for n in $(seq 200); do
		echo cfq-trace-runs 2> /dev/null \
			> "/sys/kernel/debug/block/$name/msg"
		sleep 0.1
		grep -qa cfq-trace-runs "$file" && return
	done
	cfq_skip "no trace (BLK_DEV_IO_TRACE?): $(cat "$file.log")"
}

# cfq_trace_end PID FILE RESULT: ends it; what blkparse makes of FILE goes to
# RESULT, the messages with their processes to RESULT.messages.
cfq_trace_end()
{
	kill -INT "$1"
	wait "$1"
	blkparse -q -i - < "$2" > "$3" 2> "$2.log" ||
		cfq_fail "blkparse: $(cat "$2.log")"
	"$(dirname "$0")/cfq_messages" < "$2" | sort -n -s -k 1,1 > "$3.messages"
	# What is not in an empty list says nothing.
	grep -q cfq-trace-runs "$3.messages" ||
		cfq_fail "cfq_messages does not find the first message"
}

# cfq_trace DIRECTORY COMMAND...: a trace of the device while COMMAND runs goes to
# the files DIRECTORY/trace and DIRECTORY/trace.messages.
cfq_trace()
{
	local dir=$1 tracer

	shift
	cfq_trace_begin "$CFQ_NAME" "$dir/raw"
	tracer=$CFQ_TRACER
	"$@"
	cfq_trace_end "$tracer" "$dir/raw" "$dir/trace"
}

# cfq_wait_for COMMAND...: until it is true, a minute at most
cfq_wait_for()
{
	local n

	for n in $(seq 600); do
		"$@" && return 0
		sleep 0.1
	done
	return 1
}

# cfq_vfs_setup: what the tests of VFS messages need. Sets CFQ_TMP, CFQ_VFS,
# CFQ_SWITCH.
cfq_vfs_setup()
{
	cfq_need blktrace blkparse
	CFQ_VFS=$(dirname "$0")/cfq_vfs
	[ -x "$CFQ_VFS" ] || cfq_skip "cfq_vfs is not built"
	CFQ_SWITCH=/sys/block/$CFQ_NAME/trace/vfs
	[ -w "$CFQ_SWITCH" ] || cfq_skip "no VFS messages in this kernel"
	CFQ_TMP=$(mktemp -d) || cfq_fail "no temporary directory"
	trap cfq_vfs_cleanup EXIT
}

cfq_vfs_cleanup()
{
	cfq_cleanup
	rm -rf "$CFQ_TMP"
}

# cfq_vfs_do NAME WAY FILE [OFFSET LENGTH]: its process and inode go to NAME
cfq_vfs_do()
{
	local name=$1

	shift
	"$CFQ_VFS" "$@" > "$CFQ_TMP/$name" 2> "$CFQ_TMP/$name.err"
}

# cfq_vfs_said NAME [TRACE]: what it said, one message a line
cfq_vfs_said()
{
	local process pid said

	# without a program: it is called often, and programs start slowly
	read -r process _ < "$CFQ_TMP/$1" || return
	while read -r _ pid said; do
		[ "$pid" = "$process" ] && [[ $said == @(enter|leave)" vfs_"* ]] &&
			echo "$said"
	done < "$CFQ_TMP/${2:-trace}.messages"
	return 0
}

# cfq_vfs_check NAME ENTER LEAVE: these two messages in this order and no other of
# their operation; %i is the inode
cfq_vfs_check()
{
	local name=$1 operation=${2%% *} ino line said=

	read -r _ ino < "$CFQ_TMP/$name"
	while read -r line; do
		[[ $line == *" $operation "* ]] && said+=${said:+$'\n'}$line
	done <<< "$(cfq_vfs_said "$name")"
	[ "$said" = "enter ${2/\%i/$ino}
leave $operation ret $3" ] || {
		cat "$CFQ_TMP/$name.err"
		cfq_fail "$name: wanted enter ${2/\%i/$ino}, ret $3; got: $said"
	}
}
