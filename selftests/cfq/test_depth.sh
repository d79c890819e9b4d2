#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Who has many requests waiting does not get far more of the disk than who reads one
# block after the other, whether there are tags for all of them or not.

. "$(dirname "$0")/cfq_common.sh"

cfq_need mktemp
# So slow that what the machine takes for a read does not count.
cfq_device completion_nsec=20000000 rotational=1 hw_queue_depth=1 memory_backed=0 size=100000
aio=$(dirname "$0")/cfq_aio
[ -x "$aio" ] || cfq_fail "cfq_aio is not built"
"$aio" "$CFQ_DEV" 128 0 > /dev/null
[ $? -ne "$KSFT_SKIP" ] || cfq_skip "no asynchronous I/O, or not so much"
cfq_set slice_sync_ms 400
cfq_set slice_idle_us 200000

# beside NUMBER TAGS: one read at a time beside so many
beside()
{
	local many one

	echo "$2" > "$CFQ_QUEUE/nr_requests" || cfq_fail "$2 tags are not taken"
	"$aio" "$CFQ_DEV" "$1" 8 > "$CFQ_TMP/many" &
	"$aio" "$CFQ_DEV" 1 8 > "$CFQ_TMP/one" || cfq_fail "one cannot read"
	wait $! || cfq_fail "$1 at a time cannot be read"
	read -r many < "$CFQ_TMP/many"
	read -r one < "$CFQ_TMP/one"
	echo "$1 at a time: $many, one at a time: $one"
	[ "$many" -gt 0 ] && [ $((one * 4)) -ge "$many" ] ||
		cfq_fail "$one reads one at a time, beside $many"
}

beside 64 256
beside 128 64
exit "$KSFT_PASS"
