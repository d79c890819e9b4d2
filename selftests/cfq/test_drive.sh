#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# While somebody writes synchronously the drive has no more commands than it can soon
# serve; else as many as it takes.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd sleep sort
# A command takes more than the drive may have to do.
cfq_device completion_nsec=200000000 rotational=1 memory_backed=0 size=1024
cfq_need_debugfs
aio=$(dirname "$0")/cfq_aio
[ -x "$aio" ] || cfq_fail "cfq_aio is not built"
"$aio" "$CFQ_DEV" 24 0 > /dev/null
[ $? -ne "$KSFT_SKIP" ] || cfq_skip "no asynchronous I/O, or not so much"
echo 64 > "$CFQ_QUEUE/nr_requests" || cfq_fail "64 tags are not taken"

# How many commands the drive has beside a reader of 24 at a time, in the median.
in_drive()
{
	local i line

	for ((i = 0; i < 20; i++)); do
		sleep 0.1
		while read -r line; do
			[[ $line != *" in_drive "*" drive_depth "* ]] || {
				line=${line#* in_drive }
				echo "${line%% *}"
			}
		done < "$CFQ_DEBUG/state"
	done | sort -n | sed -n 10p
}

"$aio" "$CFQ_DEV" 24 12 > /dev/null &
sleep 1
many=$(in_drive)
while dd if=/dev/zero of="$CFQ_DEV" bs=4k count=1 oflag=direct conv=notrunc; do
	:
done 2> /dev/null &
sleep 2
few=$(in_drive)
kill $!
echo "in the drive: $many, and $few while somebody writes"
[ "$many" -ge 12 ] || cfq_fail "the drive does not get what it takes"
[ $((few * 3)) -le "$many" ] || cfq_fail "the drive has $few commands before a write"
exit "$KSFT_PASS"
