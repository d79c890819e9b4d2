#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A device has the number of memory segments of a command that max_segments sets, and
# larger commands are split.

. "$(dirname "$0")/null_blk_common.sh"

# limit VALUE: sets segments to what a device with max_segments=VALUE reports
limit()
{
	null_blk_device max_segments="$1"
	read -r segments < "$NULL_BLK_SYS/queue/max_segments"
}

default_is_that_of_the_block_layer()
{
	local segments

	limit 0
	[ "$segments" = 128 ] || null_blk_fail "$segments segments"
}

reported_limit_is_the_one_that_was_set()
{
	local segments

	limit 168
	[ "$segments" = 168 ] || null_blk_fail "$segments segments"
}

# Sets reads to the completed reads of the device.
completed()
{
	read -r reads _ < "$NULL_BLK_SYS/stat"
}

# The buffer of dd is anonymous memory, which is in many pieces.
larger_commands_are_split()
{
	local reads before

	null_blk_device max_segments=1 max_sectors=8192
	completed
	before=$reads
	dd if="$NULL_BLK_DEV" of=/dev/null bs=4M count=1 iflag=direct status=none ||
		null_blk_fail "cannot read"
	completed
	[ $((reads - before)) -gt 1 ] || null_blk_fail "a command has several segments"
}

null_blk_begin max_segments
null_blk_run default_is_that_of_the_block_layer reported_limit_is_the_one_that_was_set \
	larger_commands_are_split
