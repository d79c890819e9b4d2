#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two processes that always have requests queued share the disk by slices, and
# each slice holds many requests.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd
cfq_device rotational=1 hw_queue_depth=1 memory_backed=0 size=100000
cfq_need_debugfs
echo 256 > "$CFQ_QUEUE/nr_requests"
# How long that takes depends on the machine, what is counted does not.
reader()
{
	dd if="$CFQ_DEV" of=/dev/null bs=64k count=2000 iflag=direct \
		skip="$1" 2>/dev/null
}

reader 0 &
first=$!
reader 100000 &
second=$!
wait "$first" || cfq_fail "the first reader failed"
wait "$second" || cfq_fail "the second reader failed"

slices=$(cfq_counter slices)
dispatched=$(cfq_counter dispatched_BE)
[ "$slices" -gt 1 ] || cfq_fail "$slices slices for two readers"
# A request takes 0.5 ms, a slice 100 ms.
[ "$dispatched" -gt $((slices * 3)) ] ||
	cfq_fail "$dispatched requests in $slices slices: no slices at all"
exit "$KSFT_PASS"
