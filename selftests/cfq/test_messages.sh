#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# blkparse shows what the scheduler says in a trace: slices, dispatches, ends.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd blktrace blkparse
cfq_device rotational=1 hw_queue_depth=1
tmp=$(mktemp -d) || cfq_fail "no temporary directory"
trap 'cfq_cleanup; rm -rf "$tmp"' EXIT

cfq_trace "$tmp" dd if="$CFQ_DEV" of=/dev/null bs=64k count=50 iflag=direct \
	status=none

for message in 'slice start length_us [0-9]+' \
	       'dispatch [0-9]+[+]128 queued [0-9]+'; do
	grep -qE " m +N cfq [0-9]+S BE4 $message" "$tmp/trace" ||
		cfq_fail "blkparse shows no message '$message'"
done
said=$(grep -cE " m +N cfq [0-9]+S BE4 dispatch [0-9]+[+]128 " "$tmp/trace")
[ "$said" -ge 50 ] || cfq_fail "$said messages for 50 requests"
exit "$KSFT_PASS"
