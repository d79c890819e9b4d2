#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# RT goes before BE, BE before idle, a better level gets more than a worse one,
# and neither a worse level nor the idle class behind BE starves.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd ionice timeout
# So slow that no machine is the slower one, which would leave no choice.
cfq_device completion_nsec=4000000 rotational=1 hw_queue_depth=1 memory_backed=0 size=100000
cfq_need_debugfs
echo 256 > "$CFQ_QUEUE/nr_requests"

# compare BETTER WORSE PERCENT: ionice arguments; BETTER must get PERCENT of
# what WORSE gets, at least
compare()
{
	local better worse

	# shellcheck disable=SC2086
	cfq_read 8 "$CFQ_TMP/better" ionice $1 &
	# shellcheck disable=SC2086
	cfq_read 8 "$CFQ_TMP/worse" ionice $2 &
	wait
	better=$(cat "$CFQ_TMP/better")
	worse=$(cat "$CFQ_TMP/worse")
	[ -n "$better" ] || cfq_fail "no result of $1"
	[ -n "$worse" ] || cfq_fail "no result of $2"
	echo "$1: $better, $2: $worse"
	[ $((better * 100)) -ge $((worse * $3)) ] ||
		cfq_fail "$1 got $better reads beside $worse of $2"
}

compare "-c1 -n4" "-c2 -n4" 150
compare "-c2 -n0" "-c2 -n7" 150
[ "$(cat "$CFQ_TMP/worse")" -gt 0 ] || cfq_fail "level 7 starved"

# The idle class has what a process leaves that reads now and then.
cfq_read 4 "$CFQ_TMP/alone" ionice -c3
cfq_read 4 "$CFQ_TMP/beside" ionice -c3 &
for _ in $(seq 20); do
	sleep 0.1
	dd if="$CFQ_DEV" of=/dev/null bs=4k count=1 iflag=direct 2> /dev/null ||
		cfq_fail "best effort cannot read"
done
wait
[ $(($(cat "$CFQ_TMP/beside") * 2)) -ge "$(cat "$CFQ_TMP/alone")" ] ||
	cfq_fail "the idle class has $(cat "$CFQ_TMP/beside") of $(cat "$CFQ_TMP/alone") reads"

# Who comes after a pause takes the disk from a worse class.
before=$(cfq_counter expired_preempt)
cfq_read 4 "$CFQ_TMP/worse" ionice -c2 -n4 &
for _ in $(seq 10); do
	sleep 0.2
	ionice -c1 -n4 dd if="$CFQ_DEV" of=/dev/null bs=4k count=1 \
		iflag=direct 2> /dev/null || cfq_fail "class RT cannot read"
done
wait
[ "$(cfq_counter expired_preempt)" -gt "$before" ] || cfq_fail "nobody was preempted"

cfq_set prio_aging_ms 500
before=$(cfq_counter dispatched_idle)
compare "-c2 -n4" "-c3" 200
[ "$(cfq_counter dispatched_idle)" -gt "$before" ] ||
	cfq_fail "the idle class starved"

# Without statistics nobody says how old a request is but the scheduler. Its tag was
# another one's, longer ago.
cfq_set prio_aging_ms 12000
sleep 13
echo 0 > "$CFQ_QUEUE/iostats"
before=$(cfq_counter aged)
compare "-c2 -n4" "-c3" 200
[ "$(cfq_counter aged)" = "$before" ] ||
	cfq_fail "requests that have just come are held to be old"
exit "$KSFT_PASS"
