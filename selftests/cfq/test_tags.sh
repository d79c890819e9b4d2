#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The idle class leaves tags to others. Who leaves that class for a better one has as
# many as that has from its next request on.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd ionice mkfifo
cfq_device completion_nsec=4000000 rotational=1 hw_queue_depth=1 memory_backed=0 size=1000
cfq_need_debugfs
echo 16 > "$CFQ_QUEUE/nr_requests" || cfq_fail "16 tags are not taken"

# It has read as idle class, reads again as RT, and is one process: dd is in its place.
mkfifo "$CFQ_TMP/go" || cfq_fail "no fifo"
(
	ionice -c3 -p "$BASHPID"
	read -r -N 1 < "$CFQ_DEV"
	echo > "$CFQ_TMP/has_read"
	read -r < "$CFQ_TMP/go"
	ionice -c1 -p "$BASHPID"
	exec dd if="$CFQ_DEV" of=/dev/null bs=4k count=1 skip=99 iflag=direct status=none
) &
changed=$!
cfq_wait_for test -e "$CFQ_TMP/has_read" || cfq_fail "nothing is read in the idle class"

# Idle readers wait for as long as others read: for a minute.
cfq_set prio_aging_ms 1000000
cfq_set slice_sync_ms 10000
cfq_set slice_idle_us 1000000
dd if="$CFQ_DEV" of=/dev/null bs=64k iflag=direct status=none &
served=$(cfq_counter dispatched_idle)
for n in $(seq 12); do
	ionice -c3 dd if="$CFQ_DEV" of=/dev/null bs=4k count=1 skip=$((n * 1000)) \
		iflag=direct status=none &
done

# Three eighths of the tags: one of them may be the other reader's, and who comes when
# nothing waits may have any.
# shellcheck disable=SC2329  # by cfq_wait_for
idle_has_its_tags()
{
	local line n=0

	while read -r line; do
		[[ $line != *"class idle"*"queued 1"* ]] || ((++n))
	done < "$CFQ_DEBUG/queues"
	[ "$n" -le 8 ] || cfq_fail "idle has $n of 16 tags"
	[ "$n" -ge 5 ]
}
cfq_wait_for idle_has_its_tags || cfq_fail "the idle class does not get its tags"

# shellcheck disable=SC2329  # as above
is_gone()
{
	! kill -0 "$changed" 2> /dev/null
}
echo > "$CFQ_TMP/go"
cfq_wait_for is_gone || cfq_fail "who has left the idle class waits for its tags"
[ "$(cfq_counter dispatched_idle)" = "$served" ] || cfq_fail "an idle reader is served"
exit "$KSFT_PASS"
