#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# null_blk as a rotating disk that obeys I/O priorities and duration limits, which come
# from the processes. Two of them read beside each other until one has had its number;
# what is compared is how many reads each has had, not how long they took.

. "$(dirname "$0")/null_blk_common.sh"

READS=300

# disk [ATTR=VALUE...]: makes a disk that prefers nobody for the age of a command, and
# has no other queue before its own
disk()
{
	null_blk_device size=100000 hw_queue_depth=64 rot/model=1 rot/reorder_ms=20000 "$@"
	echo none > "$NULL_BLK_SYS/queue/scheduler" || null_blk_fail "no scheduler none"
}

# beside PRIORITY PRIORITY: sets first and second to what two processes have had
beside()
{
	local code

	"$(dirname "$0")/null_blk_reads" "$NULL_BLK_DEV" 16 "$READS" "$@" > "$TMP/had"
	code=$?
	[ "$code" != "$KSFT_SKIP" ] || null_blk_skip "no asynchronous reads"
	[ "$code" = 0 ] || null_blk_fail "cannot read: $code"
	read -r first second < "$TMP/had"
	echo "# $*: $first and $second reads"
}

# The reads that were under way when the first was done are not counted.
preferred()
{
	beside "$@"
	[ "$((first >= READS && second * 4 <= first))" = 1 ] ||
		null_blk_fail "$1 has had $first reads beside $second of $2"
}

alike()
{
	beside "$@"
	[ "$((first * 2 >= second && second * 2 >= first))" = 1 ] ||
		null_blk_fail "$1 has had $first reads beside $second of $2"
}

priority_is_obeyed()
{
	local queue

	for queue in fcfs rpo; do
		disk rot/ncq_prio=1 rot/queue="$queue"
		preferred rt be
	done
}

disk_without_priorities_serves_all_alike()
{
	disk
	alike rt be
}

# The limit is shorter than what is under way takes, so that it is always due.
duration_limit_is_obeyed()
{
	local queue

	for queue in fcfs rpo; do
		disk "rot/duration_limits_ms=0 0 50 0 0 0 0" rot/queue="$queue"
		preferred be,3 be
	done
}

number_without_limit_is_none()
{
	disk "rot/duration_limits_ms=0 0 50 0 0 0 0"
	alike be,2 be
}

null_blk_begin rot/model
null_blk_run priority_is_obeyed disk_without_priorities_serves_all_alike \
	duration_limit_is_obeyed number_without_limit_is_none
