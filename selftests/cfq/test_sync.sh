#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A synchronous write does not wait for a turn of all who read, nor for the end of the
# slice of who reads now: a journal's, or an fsync()'s, is what others wait for. A read
# does.

. "$(dirname "$0")/cfq_common.sh"

READERS=8
TRIES=5

cfq_need dd sort
# A disk that serves one command at a time, in 10 ms.
cfq_device completion_nsec=10000000 rotational=1 hw_queue_depth=1 memory_backed=0 size=1024
cfq_need_debugfs
# By default there are two, and who waits for a tag is not in the scheduler.
echo 64 > "$CFQ_QUEUE/nr_requests" || cfq_fail "64 tags are not taken"

WRITE=(dd if=/dev/zero of="$CFQ_DEV" bs=4k seek=262000 count=1 oflag=direct
       conv=notrunc)
READ=(dd if="$CFQ_DEV" of=/dev/null bs=4k skip=262000 count=1 iflag=direct)

# during COUNTER COMMAND...: by how much it grows while it runs, in the median
during()
{
	local i before counter=$1

	shift
	for ((i = 0; i < TRIES; i++)); do
		before=$(cfq_counter "$counter")
		"$@" 2> /dev/null || cfq_fail "$* fails"
		echo $(($(cfq_counter "$counter") - before))
	done | sort -n | sed -n "$((TRIES / 2 + 1))p"
}

for ((reader = 0; reader < READERS; reader++)); do
	dd if="$CFQ_DEV" of=/dev/null bs=4k skip=$((reader * 16384)) count=16384 \
		iflag=direct 2> /dev/null &
done
sleep 2
written=$(during slices "${WRITE[@]}") || exit "$KSFT_FAIL"
read=$(during slices "${READ[@]}") || exit "$KSFT_FAIL"
echo "a write waits for $written slices, a read for $read"
[ "$read" -ge $((READERS - 1)) ] || cfq_fail "the readers do not wait for each other"
# Four slices earlier, and one for who forks and looks besides.
[ "$written" -le $((read - 2)) ] || cfq_fail "a synchronous write waits like a read"

# In slices that are long hardly any of the writes waits while one is over anyway.
echo 1000 > "$CFQ_QUEUE/iosched/slice_sync_ms" || cfq_fail "slice_sync_ms is not taken"
sleep 2
written=$(during expired_preempt "${WRITE[@]}") || exit "$KSFT_FAIL"
read=$(TRIES=1 during expired_preempt "${READ[@]}") || exit "$KSFT_FAIL"
echo "a write ends $written slices, a read $read"
[ "$written" -ge 1 ] || cfq_fail "a synchronous write waits for the end of a slice"
[ "$read" -eq 0 ] || cfq_fail "a read ends a slice"
exit "$KSFT_PASS"
