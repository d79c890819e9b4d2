#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two processes that always have requests queued share the disk by slices, evenly,
# and each slice holds many requests.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd timeout
# So slow that no machine is the slower one, and each reader is waited for.
cfq_device completion_nsec=4000000 rotational=1 hw_queue_depth=1 memory_backed=0 size=100000
cfq_need_debugfs
echo 256 > "$CFQ_QUEUE/nr_requests"
cfq_set slice_idle_us 50000

slices=$(cfq_counter slices)
dispatched=$(cfq_counter dispatched_BE)
cfq_read 8 "$CFQ_TMP/first" &
cfq_read 8 "$CFQ_TMP/second" &
wait
slices=$(($(cfq_counter slices) - slices))
dispatched=$(($(cfq_counter dispatched_BE) - dispatched))
first=$(cat "$CFQ_TMP/first")
second=$(cat "$CFQ_TMP/second")
[ -n "$first" ] && [ -n "$second" ] || cfq_fail "a reader failed"
echo "$first and $second reads, $dispatched requests in $slices slices"

# A slice is 100 ms, of which 8 s have 80; somebody looks what the new disk holds.
[ "$slices" -ge 10 ] || cfq_fail "$slices slices for two readers in 8 s"
[ $((first * 2)) -ge "$second" ] && [ $((second * 2)) -ge "$first" ] ||
	cfq_fail "$first and $second reads of two alike"
# A request takes 4 ms.
[ "$dispatched" -gt $((slices * 3)) ] ||
	cfq_fail "$dispatched requests in $slices slices: no slices at all"
exit "$KSFT_PASS"
