#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Rotating disks of null_blk: I/O priorities and duration limits of processes. Two
# processes read concurrently until one has completed READS reads. The test compares
# numbers of reads, not times.

. "$(dirname "$0")/null_blk_common.sh"

READS=300

# disk [ATTR=VALUE...]: creates a disk without aging and without an I/O scheduler
disk()
{
	null_blk_device size=100000 hw_queue_depth=64 irqmode=3 rot/reorder_ms=20000 "$@"
	echo none > "$NULL_BLK_SYS/queue/scheduler" || null_blk_fail "no scheduler none"
}

# compete PRIORITY PRIORITY: sets first and second to the reads of two processes
compete()
{
	local code

	"$(dirname "$0")/null_blk_reads" "$NULL_BLK_DEV" 16 "$READS" "$@" > "$TMP/had"
	code=$?
	[ "$code" != "$KSFT_SKIP" ] || null_blk_skip "no asynchronous reads"
	[ "$code" = 0 ] || null_blk_fail "cannot read: $code"
	read -r first second < "$TMP/had"
	echo "# $*: $first and $second reads"
}

# Reads in flight at the end are not counted.
preferred()
{
	compete "$@"
	[ "$((first >= READS && second * 4 <= first))" = 1 ] ||
		null_blk_fail "$1: $first reads, $2: $second reads"
}

alike()
{
	compete "$@"
	[ "$((first * 2 >= second && second * 2 >= first))" = 1 ] ||
		null_blk_fail "$1: $first reads, $2: $second reads"
}

priority_is_obeyed()
{
	local queue

	for queue in fcfs rpo; do
		disk rot/ncq_prio=1 rot/sched="$queue"
		preferred rt be
	done
}

disk_without_priorities_serves_all_alike()
{
	disk
	alike rt be
}

# The limit is shorter than the queue, so a command with a limit is always due.
duration_limit_is_obeyed()
{
	local queue

	for queue in fcfs rpo; do
		disk "rot/duration_limits_ms=0 0 50 0 0 0 0" rot/sched="$queue"
		preferred be,3 be
	done
}

limit_that_is_not_set_has_no_effect()
{
	disk "rot/duration_limits_ms=0 0 50 0 0 0 0"
	alike be,2 be
}

null_blk_begin rot/rpm
null_blk_run priority_is_obeyed disk_without_priorities_serves_all_alike \
	duration_limit_is_obeyed limit_that_is_not_set_has_no_effect
