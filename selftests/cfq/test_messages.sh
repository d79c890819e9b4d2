#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# blkparse shows what the scheduler says in a trace: slices, dispatches, ends, waits,
# preemptions, reservations.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd ionice blktrace blkparse
cfq_device rotational=1 hw_queue_depth=1

cfq_trace "$CFQ_TMP" dd if="$CFQ_DEV" of=/dev/null bs=64k count=50 iflag=direct \
	status=none
cfq_trace_shown "$CFQ_TMP/trace" || cfq_skip "blkparse drops this kernel's messages"

for message in 'slice start length_us [0-9]+' \
	       'dispatch [0-9]+[+]128 queued [0-9]+'; do
	grep -qE " m +N cfq [0-9]+S BE4 $message" "$CFQ_TMP/trace" ||
		cfq_fail "blkparse shows no message '$message'"
done
said=$(grep -cE " m +N cfq [0-9]+S BE4 dispatch [0-9]+[+]128 " "$CFQ_TMP/trace")
[ "$said" -ge 50 ] || cfq_fail "$said messages for 50 requests"

# shellcheck disable=SC2329  # by cfq_trace
readers()
{
	local reader

	dd if="$CFQ_DEV" of=/dev/null bs=64k iflag=direct status=none &
	reader=$!
	for _ in 1 2 3; do
		ionice -c1 dd if="$CFQ_DEV" of=/dev/null bs=64k count=1 skip=2000 \
			iflag=direct status=none
		"$(dirname "$0")/cfq_ioprio" 8,3 dd if="$CFQ_DEV" of=/dev/null \
			bs=64k count=1 skip=3000 iflag=direct status=none
	done
	kill "$reader"
	wait "$reader"
}

# So long that a slow machine's reader is waited for, and has the disk when others
# come.
cfq_set slice_idle_us 200000
cfq_trace "$CFQ_TMP" readers
for message in 'BE4 idle window_us [0-9]+ think_us [0-9]+ seek [0-9]+' \
	       'BE4 slice end (preempt|tokens) dispatched [0-9]+ residual_us [0-9]+' \
	       'BW4 tokens -?[0-9]+ rate 1048576 deadline_us -?[0-9]+'; do
	grep -qE " m +N cfq [0-9]+S $message" "$CFQ_TMP/trace" ||
		cfq_fail "no message '$message' of the readers"
done
exit "$KSFT_PASS"
