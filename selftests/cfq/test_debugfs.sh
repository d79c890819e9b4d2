#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The files in debugfs can be read under load and show the queues of the
# processes; when all is over nothing is left in them.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd ionice
cfq_device rotational=1 hw_queue_depth=1
cfq_need_debugfs
echo 256 > "$CFQ_QUEUE/nr_requests"

ionice -c2 -n3 dd if="$CFQ_DEV" of=/dev/null bs=64k count=4000 iflag=direct \
	2>/dev/null &
reader=$!
seen=0
while kill -0 "$reader" 2>/dev/null; do
	for file in queues service_tree sort_tree reservations state counters; do
		cat "$CFQ_DEBUG/$file" > "$CFQ_TMP/$file" || cfq_fail "cannot read $file"
	done
	grep -q "class BE level 3" "$CFQ_TMP/queues" && seen=1
done
wait "$reader" || cfq_fail "the reader failed"
[ "$seen" = 1 ] || cfq_fail "the queue of the reader was never shown"

sync
grep -q "^queued 0 in_drive 0 " "$CFQ_DEBUG/state" ||
	cfq_fail "requests are left: $(cat "$CFQ_DEBUG/state")"
tree=$(cat "$CFQ_DEBUG/service_tree")
[ -z "$tree" ] || cfq_fail "queues are left in the tree: $tree"
[ "$(cfq_counter dispatched_BE)" -ge 4000 ] || cfq_fail "requests are missing"
exit "$KSFT_PASS"
