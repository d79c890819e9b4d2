#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every tunable shows its default, takes what it should, and refuses the rest
# without changing.

. "$(dirname "$0")/cfq_common.sh"

cfq_device

# name, default, least, most
table="
slice_sync_ms		100	1	10000
slice_async_rq		2	1	1000
slice_idle_us		8000	0	1000000
fifo_expire_sync_ms	125	1	100000
fifo_expire_async_ms	250	1	100000
prio_aging_ms		1000	100	1000000
bw_bucket_ms		3000	10	10000
bw_seek_kb		64	0	1024
bw_share_percent	95	10	100
bw_depth		1	0	1
"

seen=0
while read -r name default min max; do
	[ -n "$name" ] || continue
	file=$CFQ_QUEUE/iosched/$name
	[ -f "$file" ] || cfq_fail "no tunable $name"
	cfq_shows "$file" "$default" ||
		cfq_fail "$name is $(cat "$file"), not $default"
	for good in "$min" "$max" "$default"; do
		cfq_set "$name" "$good"
		cfq_shows "$file" "$good" ||
			cfq_fail "$name reads $(cat "$file") after $good"
	done
	for bad in "" x -1 "$((max + 1))" "${default}x" "$default $default" \
		   0x10 1.5 99999999999999999999; do
		echo "$bad" > "$file" 2>/dev/null &&
			cfq_fail "$name takes '$bad'"
		cfq_shows "$file" "$default" ||
			cfq_fail "$name is $(cat "$file") after '$bad'"
	done
	if [ "$min" -gt 0 ]; then
		echo $((min - 1)) > "$file" 2>/dev/null &&
			cfq_fail "$name takes $((min - 1))"
	fi
	seen=$((seen + 1))
done <<< "$table"

# The table of delays: eight numbers from 1 to 100000.
file=$CFQ_QUEUE/iosched/bw_delays_ms
default="25 50 100 200 500 800 1000 2000"
cfq_shows "$file" "$default" || cfq_fail "bw_delays_ms is $(cat "$file")"
for good in "1 2 3 4 5 6 7 100000" "8 7 6 5 4 3 2 1" "$default"; do
	cfq_set bw_delays_ms "  ${good// /  }"
	cfq_shows "$file" "$good" ||
		cfq_fail "bw_delays_ms reads $(cat "$file") after $good"
done
for bad in "" x "1 2 3 4 5 6 7" "1 2 3 4 5 6 7 8 9" "0 2 3 4 5 6 7 8" \
	   "1 2 3 4 5 6 7 100001" "1 2 3 4 5 6 7 8x" "1,2,3,4,5,6,7,8" \
	   "1 2 3 4 5 6 7 4294967297"; do
	echo "$bad" > "$file" 2>/dev/null && cfq_fail "bw_delays_ms takes '$bad'"
	cfq_shows "$file" "$default" ||
		cfq_fail "bw_delays_ms is $(cat "$file") after '$bad'"
done
seen=$((seen + 1))

all=$(find "$CFQ_QUEUE/iosched" -type f | wc -l)
[ "$seen" -eq "$all" ] || cfq_fail "$all tunables, $seen known to this test"
exit "$KSFT_PASS"
