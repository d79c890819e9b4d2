#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Neighbouring requests of one process merge, also when only the scheduler sees
# that they are neighbours; those of two processes do not, nor what nomerges
# forbids.

. "$(dirname "$0")/cfq_common.sh"

# Slow, so that the neighbour still waits when the other one comes.
cfq_device hw_queue_depth=1 completion_nsec=200000000
echo 64 > "$CFQ_QUEUE/nr_requests"
# Nobody else looks what the new disk holds.
! command -v udevadm > /dev/null || udevadm settle
merge=$(dirname "$0")/cfq_merge
# What it ends with if the other process was so late that the neighbour was gone.
LATE=2

# merged HOW NUMBER: whether so many requests merge
merged()
{
	local reads merges before code

	for _ in 1 2 3 4 5; do
		read -r reads before merges < "/sys/block/$CFQ_NAME/stat"
		"$merge" "$1" "$CFQ_DEV"
		code=$?
		[ "$code" = "$LATE" ] || break
	done
	[ "$code" != "$LATE" ] || cfq_fail "$1: late five times"
	[ "$code" = 0 ] || cfq_fail "$1: reading failed"
	read -r reads merges _ < "/sys/block/$CFQ_NAME/stat"
	echo "$1: $((merges - before)) merged, $reads read so far"
	[ $((merges - before)) = "$2" ] ||
		cfq_fail "$1: $((merges - before)) requests merged instead of $2"
}

merged batch 1
merged later 1
# What closes the gap between two requests makes one of them, and frees the other.
merged between 2
merged other 0
echo 1 > "$CFQ_QUEUE/nomerges" || cfq_fail "nomerges is not taken"
merged batch 0
echo 2 > "$CFQ_QUEUE/nomerges" || cfq_fail "nomerges is not taken"
merged batch 0
merged later 0
merged between 0
exit "$KSFT_PASS"
