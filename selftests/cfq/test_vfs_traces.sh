#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Messages of VFS operations when a process, the trace, or what it has of them ends
# within one: a trace has what happened while it wanted it, and says when that was.
# The device is slow, so that all of it can be done.
#
# shellcheck disable=SC2329  # cfq_trace calls them

. "$(dirname "$0")/cfq_common.sh"

cfq_device size=64
cfq_vfs_setup
slowness=0

# slow_disk SECONDS: the disk anew, whose reads take so long
slow_disk()
{
	slowness=$1
	echo 0 > "$NULLB/$CFQ_NAME/power"
	echo "${slowness}000000000" > "$NULLB/$CFQ_NAME/completion_nsec" ||
		cfq_fail "the disk does not become slower"
	echo 1 > "$NULLB/$CFQ_NAME/power" || cfq_fail "cannot power it on again"
	echo cfq > "$CFQ_QUEUE/scheduler" || cfq_fail "cannot choose cfq again"
	echo 1 > "$CFQ_SWITCH" || cfq_fail "the switch does not take 1"
	# Of null_blk it is 5 s.
	echo 60000 > "$CFQ_QUEUE/io_timeout" || cfq_fail "io_timeout is not taken"
}

busy()
{
	read -r reads _ < "/sys/block/$CFQ_NAME/inflight" && [ "$reads" != 0 ]
}

idle()
{
	! busy
}

# still: what has been done since the read began was done within it
still()
{
	busy || over=yes
}

# in_time CASE: makes it, again on a slower disk where the read was over too soon
in_time()
{
	local seconds

	for seconds in 4 8 16; do
		[ "$seconds" -ge "$slowness" ] || continue
		[ "$seconds" = "$slowness" ] || slow_disk "$seconds"
		over=
		"$@"
		[ -n "$over" ] || return
		echo "# $*: a read of $seconds s was over too soon"
	done
	cfq_fail "$*: a read of $seconds s is always over too soon"
}

# read_begin NAME OFFSET: a read that is under way when this returns. Sets PID.
read_begin()
{
	cfq_wait_for idle || cfq_fail "$1: the disk is still busy"
	"$CFQ_VFS" read "$CFQ_DEV" "$2" 4096 > "$CFQ_TMP/$1" &
	PID=$!
	cfq_wait_for busy || cfq_fail "$1: no request"
}

read_end()
{
	wait "$PID" || cfq_fail "a read ended with errno $?"
}

# said NAME WORD [TRACE]: how many messages of its read begin with WORD
said()
{
	cfq_vfs_said "$1" "${3:-trace}" | grep -c "^$2 vfs_read "
}

# Killed within a read, a process still leaves it.
killed()
{
	read_begin killed 33554432
	kill -KILL "$PID"
	still
	wait "$PID" 2> /dev/null
}

in_time cfq_trace "$CFQ_TMP" killed
[ "$(said killed enter) $(said killed leave)" = "1 1" ] ||
	cfq_fail "killed in a read: $(cfq_vfs_said killed)"

# When the trace ends within a read, it has entered and does not leave; in the next
# one, which begins within it, it leaves without having entered.
ended()
{
	cfq_trace_begin "$CFQ_NAME" "$CFQ_TMP/raw"
	read_begin begun 8388608
	cfq_trace_end "$CFQ_NAME" "$CFQ_TRACER" "$CFQ_TMP/raw" "$CFQ_TMP/first"
	cfq_trace_begin "$CFQ_NAME" "$CFQ_TMP/raw"
	still
	read_end
	cfq_trace_end "$CFQ_NAME" "$CFQ_TRACER" "$CFQ_TMP/raw" "$CFQ_TMP/trace"
}

in_time cfq_trace_whole ended
[ "$(said begun enter first) $(said begun leave first)" = "1 0" ] ||
	cfq_fail "the trace ended in a read: $(cfq_vfs_said begun first)"
# a block device file has the number of the device for its inode
ino=$(($(stat -c '%Hr * 1048576 + %Lr' "$CFQ_DEV")))
[ "$(cfq_vfs_said begun)" = "leave vfs_read ino $ino ret 4096" ] ||
	cfq_fail "a read of before the trace: $(cfq_vfs_said begun)"

# The switch thrown within an operation.
switched()
{
	read_begin on 16777216
	echo 0 > "$CFQ_SWITCH"
	still
	read_end
	read_begin off 25165824
	echo 1 > "$CFQ_SWITCH"
	still
	read_end
}

in_time cfq_trace "$CFQ_TMP" switched
[ "$(said on enter) $(said on leave)" = "1 0" ] ||
	cfq_fail "off within a read: $(cfq_vfs_said on)"
[ "$(said off enter) $(said off leave)" = "0 1" ] ||
	cfq_fail "on within a read: $(cfq_vfs_said off)"
all=$(cat "$CFQ_SWITCH")
[ "$(cfq_vfs_switched)" = "$all
0
$all" ] || cfq_fail "switched twice, the trace says: $(cfq_vfs_switched)"

exit "$KSFT_PASS"
