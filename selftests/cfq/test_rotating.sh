#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The modelled disk takes the time that its figures say: what it counts is exact,
# and no read is faster.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd
cfq_device rot_model=1 irqmode=0 hw_queue_depth=1 memory_backed=0 \
	size=100000 rot_cache_kb=0
stats=$NULLB/$CFQ_NAME/rot_stats

# Sets what the disk has counted so far, and the time, both in ns.
counters()
{
	local name value

	while read -r name value; do
		case $name in
		reads) reads=$value ;;
		seek_ns) seek_ns=$value ;;
		rotate_ns) rotate_ns=$value ;;
		transfer_ns) transfer_ns=$value ;;
		esac
	done < "$stats"
	now=$(date +%s%N)
}

# took SKIP COUNT SIZE: reads, and sets what that took
took()
{
	local before

	counters
	before=("$reads" "$seek_ns" "$rotate_ns" "$transfer_ns" "$now")
	dd if="$CFQ_DEV" of=/dev/null bs="$3" count="$2" skip="$1" \
		iflag=direct status=none || cfq_fail "cannot read at $1"
	counters
	reads=$((reads - before[0]))
	seek_ns=$((seek_ns - before[1]))
	rotate_ns=$((rotate_ns - before[2]))
	transfer_ns=$((transfer_ns - before[3]))
	now=$((now - before[4]))
	[ "$reads" = "$2" ] || cfq_fail "$reads reads of $2"
	[ "$now" -ge $((seek_ns + rotate_ns + transfer_ns + $2 * 200000)) ] ||
		cfq_fail "$2 reads in $now ns: faster than the disk"
}

# between WHAT VALUE LEAST MOST: in ns, with ten for rounding
between()
{
	[ "$2" -ge $(($3 - 10)) ] && [ "$2" -le $(($4 + 10)) ] ||
		cfq_fail "$1: $2, not $3 to $4"
}

# 4 MiB: 8192 sectors, 1873 of which pass in a revolution of 8.333 ms at the outer
# edge, and half of them at the inner one; and 0.8 ms to the next head or cylinder
# wherever a track ends.
sectors=$(cat "/sys/block/$CFQ_NAME/size")
took 0 64 65536
track=$((8192 * 8333333 / 1873))
between "transfer, outer edge" "$transfer_ns" $((track + 4 * 800000)) \
	$((track + 4 * 800000))
took $((sectors / 128 - 64)) 64 65536
track=$((8192 * 8333333 / 937))
between "transfer, inner edge" "$transfer_ns" $((track + 8 * 800000)) \
	$((track + 9 * 800000))

# Over the whole disk and back: the longest seek, and a revolution at most. The
# mean over two random sectors is 8.5 ms, and this is more.
took 0 1 4096
full=$seek_ns
[ "$full" -gt 8500000 ] || cfq_fail "the longest seek takes $full ns"
for place in $((sectors / 8 - 1)) 0 $((sectors / 8 - 1)) 0; do
	took "$place" 1 4096
	between "seek over all" "$seek_ns" "$((full - 100000))" "$((full + 100000))"
	[ "$rotate_ns" -le 8333334 ] || cfq_fail "$rotate_ns ns for a revolution"
done
exit "$KSFT_PASS"
