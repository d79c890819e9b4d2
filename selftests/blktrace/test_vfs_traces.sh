#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# VFS messages when a process or a trace ends within an operation, or when messages are
# enabled or disabled within one. The trace contains what happened while they were
# enabled, and records the changes. The device is slow, to leave time for them.
#
# shellcheck disable=SC2329  # called by blktrace_run

. "$(dirname "$0")/blktrace_common.sh"

blktrace_device
blktrace_vfs_setup
slowness=0

# slow_disk SECONDS: powers the disk on again, with reads that take this long
slow_disk()
{
	slowness=$1
	echo 0 > "$NULLB/$BT_NAME/power"
	echo "${slowness}000000000" > "$NULLB/$BT_NAME/completion_nsec" ||
		blktrace_fail "null_blk refuses the completion time"
	echo 1 > "$NULLB/$BT_NAME/power" || blktrace_fail "cannot power the device on again"
	echo 1 > "$BT_SWITCH" || blktrace_fail "the kernel refuses 1"
	# The default of null_blk is 5 s.
	echo 60000 > "$BT_QUEUE/io_timeout" || blktrace_fail "the kernel refuses io_timeout"
}

busy()
{
	read -r reads _ < "/sys/block/$BT_NAME/inflight" && [ "$reads" != 0 ]
}

idle()
{
	! busy
}

# still: sets over if the read has ended, and the changes came too late
still()
{
	busy || over=yes
}

# in_time CASE...: runs CASE, again on a slower disk if the read ended too early
in_time()
{
	local seconds

	for seconds in 4 8 16; do
		[ "$seconds" -ge "$slowness" ] || continue
		[ "$seconds" = "$slowness" ] || slow_disk "$seconds"
		over=
		"$@"
		[ -n "$over" ] || return
		echo "# $*: a read of $seconds s ended too early"
	done
	blktrace_fail "$*: a read of $seconds s always ends too early"
}

# read_begin NAME OFFSET: starts a read, and returns while it runs. Sets PID.
read_begin()
{
	blktrace_wait_for idle || blktrace_fail "$1: the disk is still busy"
	"$BT_VFS" read "$BT_DEV" "$2" 4096 > "$BT_TMP/$1" &
	PID=$!
	blktrace_wait_for busy || blktrace_fail "$1: no request"
}

read_end()
{
	wait "$PID" || blktrace_fail "a read failed with errno $?"
}

# count NAME WORD [TRACE]: counts the messages of its read that begin with WORD
count()
{
	blktrace_vfs_messages "$1" "${3:-trace}" | grep -c "^$2 vfs_read "
}

# A process that is killed within a read still has a leave message.
killed()
{
	read_begin killed 33554432
	kill -KILL "$PID"
	still
	wait "$PID" 2> /dev/null
}

in_time blktrace_run "$BT_TMP" killed
[ "$(count killed enter) $(count killed leave)" = "1 1" ] ||
	blktrace_fail "killed within a read: $(blktrace_vfs_messages killed)"

# A trace that ends within a read has the enter message only. The next trace begins
# within the read, and has the leave message only.
ended()
{
	blktrace_begin "$BT_NAME" "$BT_TMP/raw"
	read_begin begun 8388608
	blktrace_end "$BT_NAME" "$BT_TRACER" "$BT_TMP/raw" "$BT_TMP/first"
	blktrace_begin "$BT_NAME" "$BT_TMP/raw"
	still
	read_end
	blktrace_end "$BT_NAME" "$BT_TRACER" "$BT_TMP/raw" "$BT_TMP/trace"
}

in_time blktrace_retry ended
[ "$(count begun enter first) $(count begun leave first)" = "1 0" ] ||
	blktrace_fail "the trace ended within a read: $(blktrace_vfs_messages begun first)"
# The inode of a block device file is its device number.
ino=$(($(stat -c '%Hr * 1048576 + %Lr' "$BT_DEV")))
[ "$(blktrace_vfs_messages begun)" = "leave vfs_read ino $ino ret 4096" ] ||
	blktrace_fail "the read began before the trace: $(blktrace_vfs_messages begun)"

# Messages are disabled and enabled within a read.
switched()
{
	read_begin on 16777216
	echo 0 > "$BT_SWITCH"
	still
	read_end
	read_begin off 25165824
	echo 1 > "$BT_SWITCH"
	still
	read_end
}

in_time blktrace_run "$BT_TMP" switched
[ "$(count on enter) $(count on leave)" = "1 0" ] ||
	blktrace_fail "disabled within a read: $(blktrace_vfs_messages on)"
[ "$(count off enter) $(count off leave)" = "0 1" ] ||
	blktrace_fail "enabled within a read: $(blktrace_vfs_messages off)"
all=$(cat "$BT_SWITCH")
[ "$(blktrace_vfs_enabled)" = "$all
0
$all" ] || blktrace_fail "after two changes, the trace says: $(blktrace_vfs_enabled)"

exit "$KSFT_PASS"
