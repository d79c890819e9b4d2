#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Who has many requests waiting does not get far more of the disk than who reads one
# block after the other, whether there are tags for all of them or not. Alone, it gets
# the tags that it asks for, and is told at once if there is none.

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

# refused NUMBER TAGS: of so many reads, those that would have had to wait for a tag
refused()
{
	echo "$2" > "$CFQ_QUEUE/nr_requests" || cfq_fail "$2 tags are not taken"
	"$aio" "$CFQ_DEV" "$1" 2 nowait || cfq_fail "$1 at a time cannot be read at once"
}

beside 64 256
beside 128 64

# An eighth of the tags is for better classes. Not quite all others are asked for: that
# of a request is free a moment after its process has heard of its end.
[ "$(refused 52 64)" = 0 ] || cfq_fail "who reads alone is refused tags that nobody wants"
[ "$(refused 64 64)" -gt 0 ] || cfq_fail "no tag is left to better classes"
read -r before _ < "/sys/block/$CFQ_NAME/stat"
# shellcheck disable=SC2329  # by cfq_wait_for
other_reads()
{
	local reads

	read -r reads _ < "/sys/block/$CFQ_NAME/stat"
	[ "$reads" -gt "$before" ]
}
"$aio" "$CFQ_DEV" 1 8 > /dev/null &
other=$!
cfq_wait_for other_reads || cfq_fail "the other does not read"
[ "$(refused 52 64)" -gt 0 ] || cfq_fail "who has many reads leaves no tag to another"
wait "$other" || cfq_fail "the other cannot read"
exit "$KSFT_PASS"
