#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Of writeback there are as many requests as an eighth of the tags at a time, however
# much there is to be written.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd sleep
# So slow that a slow machine, too, sends the next request before one is served.
cfq_device completion_nsec=50000000 rotational=1 hw_queue_depth=1 memory_backed=0 size=100
cfq_need_debugfs
echo 4 > "$CFQ_QUEUE/max_sectors_kb" || cfq_fail "cannot make requests of 4 KiB"

# most_queued TAGS: how many asynchronous requests are seen to wait at once
most_queued()
{
	local most=0 kind rest writer

	echo "$1" > "$CFQ_QUEUE/nr_requests" || cfq_fail "$1 tags are not taken"
	# What has been written is not kept: its pages are written back at once.
	dd if=/dev/zero of="$CFQ_DEV" bs=1M count=1 oflag=nocache 2> /dev/null &
	writer=$!
	while kill -0 "$writer" 2> /dev/null; do
		sleep 0.05
		while read -r _ _ kind rest; do
			[ "$kind" = async ] || continue
			rest=${rest#*queued }
			[ "${rest%% *}" -le "$most" ] || most=${rest%% *}
		done < "$CFQ_DEBUG/queues"
	done
	wait "$writer" || cfq_fail "nothing can be written"
	echo "$most"
}

for tags in 64 256; do
	most=$(most_queued "$tags") || exit "$KSFT_FAIL"
	echo "of $tags tags, $most wait with writes"
	[ "$most" -gt $((tags / 16)) ] || cfq_fail "hardly any writes wait"
	[ "$most" -le $((tags / 8)) ] || cfq_fail "$most writes wait"
done
exit "$KSFT_PASS"
