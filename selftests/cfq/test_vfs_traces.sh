#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Messages of VFS operations when a process, or the trace, ends within one. The
# device is slow, so that both can be done.
#
# shellcheck disable=SC2329  # cfq_trace calls them

. "$(dirname "$0")/cfq_common.sh"

cfq_device size=64 completion_nsec=4000000000
cfq_vfs_setup
echo 1 > "$CFQ_SWITCH" || cfq_fail "the switch does not take 1"

busy()
{
	read -r reads _ < "/sys/block/$CFQ_NAME/inflight" && [ "$reads" != 0 ]
}

idle()
{
	! busy
}

# read_begin NAME OFFSET: a read that is under way when this returns. Sets PID.
read_begin()
{
	cfq_wait_for idle || cfq_fail "$1: the disk is still busy"
	"$CFQ_VFS" read "$CFQ_DEV" "$2" 4096 > "$CFQ_TMP/$1" &
	PID=$!
	cfq_wait_for busy || cfq_fail "$1: no request"
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
	wait "$PID"
}

cfq_trace "$CFQ_TMP" killed 2> /dev/null
[ "$(said killed enter) $(said killed leave)" = "1 1" ] ||
	cfq_fail "killed in a read: $(cfq_vfs_said killed)"

# When the trace ends within a read, it has entered and does not leave: not in
# this trace, and not in the next one, which begins within it.
cfq_trace "$CFQ_TMP" read_begin begun 8388608
mv "$CFQ_TMP/trace.messages" "$CFQ_TMP/first.messages"
still_reading()
{
	kill -0 "$PID" 2> /dev/null || slow=1
	wait "$PID"
}

cfq_trace "$CFQ_TMP" still_reading
[ "$(said begun enter first) $(said begun leave first)" = "1 0" ] ||
	cfq_fail "the trace ended in a read: $(cfq_vfs_said begun first)"
[ "$(said begun leave)" = 0 ] ||
	cfq_fail "a read of before the trace: $(cfq_vfs_said begun)"
[ -z "${slow:-}" ] || echo "# the read ended before the second trace began"

# The switch thrown within an operation.
switched()
{
	read_begin on 16777216
	echo 0 > "$CFQ_SWITCH"
	wait "$PID"
	read_begin off 25165824
	echo 1 > "$CFQ_SWITCH"
	wait "$PID"
}

cfq_trace "$CFQ_TMP" switched
[ "$(said on enter) $(said on leave)" = "1 1" ] ||
	cfq_fail "off within a read: $(cfq_vfs_said on)"
[ "$(said off enter) $(said off leave)" = "0 0" ] ||
	cfq_fail "on within a read: $(cfq_vfs_said off)"

exit "$KSFT_PASS"
