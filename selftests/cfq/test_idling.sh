#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# On a rotating disk the scheduler waits for the next request of a reader, and
# the request comes; on another device, or with slice_idle_us 0, it never waits.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd

check()
{
	dd if="$CFQ_DEV" of=/dev/null bs=64k count=400 iflag=direct 2>/dev/null ||
		cfq_fail "cannot read"
}

cfq_device rotational=1
cfq_need_debugfs
check
[ "$(cfq_counter idle_waits)" -gt 100 ] || cfq_fail "did not wait"
[ "$(cfq_counter idle_hits)" -gt 50 ] || cfq_fail "waited in vain"

cfq_set slice_idle_us 0
before=$(cfq_counter idle_waits)
check
[ "$(cfq_counter idle_waits)" -eq "$before" ] ||
	cfq_fail "waited with slice_idle_us 0"

cfq_set slice_idle_us 8000
echo 0 > "$CFQ_QUEUE/rotational"
check
[ "$(cfq_counter idle_waits)" -eq "$before" ] ||
	cfq_fail "waited on a device that does not rotate"
exit "$KSFT_PASS"
