#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Rotating disks of null_blk: attributes, counters and service times. The counters are
# exact, also on a slow machine. For elapsed times, only a lower bound is checked.

. "$(dirname "$0")/null_blk_common.sh"

declare -A STAT

# Sets STAT to the counters of the disk.
stats()
{
	local name value

	STAT=()
	while read -r name value; do
		STAT[$name]=$value
	done < "$NULL_BLK_DIR/rot/stats"
	[ "${#STAT[@]}" -gt 0 ] || null_blk_fail "no stats"
}

# counted COMMAND [ARGUMENT...]: runs a command; sets STAT to the increments of the
# counters, and passed_ns to the elapsed time.
counted()
{
	local -A before=()
	local name

	stats
	for name in "${!STAT[@]}"; do
		before[$name]=${STAT[$name]}
	done
	passed_ns=${EPOCHREALTIME//[!0-9]/}000
	"$@"
	passed_ns=$((${EPOCHREALTIME//[!0-9]/}000 - passed_ns))
	stats
	for name in "${!STAT[@]}"; do
		STAT[$name]=$((STAT[$name] - before[$name]))
	done
}

attributes_are_kept()
{
	local attr shown

	null_blk_off irqmode=3
	for attr in irqmode=3 rot/rpm=5400 rot/heads=2 rot/sched=fcfs rot/sched=rpo \
		    rot/reorder_ms=20 "rot/duration_limits_ms=10 0 30 0 0 0 0"; do
		null_blk_set "$attr"
		read -r shown < "$NULL_BLK_DIR/${attr%%=*}"
		[ "$shown" = "${attr#*=}" ] || null_blk_fail "$attr reads as $shown"
	done
	null_blk_on
	read -r shown < "$NULL_BLK_SYS/queue/rotational"
	[ "$shown" = 1 ] || null_blk_fail "the disk is not rotational"
}

invalid_values_are_refused()
{
	local attr

	null_blk_off irqmode=3
	for attr in rot/rpm=fast rot/rpm=-1 rot/rpm= rot/sched=elevator \
		    rot/sched= "rot/duration_limits_ms=1 2 3 4 5 6 7 8" \
		    rot/duration_limits_ms=soon; do
		null_blk_refused "$attr" "Invalid argument"
	done
	null_blk_refused rot/rpm=4294967296 "Numerical result out of range"
	null_blk_on
}

# Attributes accept any number. Power-on refuses values that are invalid or inconsistent.
inconsistent_values_are_refused()
{
	local attr said

	for attr in rot/rpm=0 rot/track_inner_sectors=9999 rot/seek_full_us=5000 \
		    rot/seek_track_us=20000 rot/head_skew_us=99 rot/track_skew_us=99 \
		    rot/cache_segments=0 rot/reorder_ms=0 rot/physical_blocksize=1000 \
		    size=8 mbps=10 cache_size=4 shared_tags=1 \
		    hw_queue_depth=257 rot/actuators=3; do
		null_blk_off memory_backed=1 irqmode=3 "$attr"
		null_blk_refused power=1 "Invalid argument"
		said=$(dmesg 2> /dev/null | grep "null_blk: rot: " | tail -n 1)
		attr=${attr#rot/}
		[[ -z $said || $said == *"${attr%=*}"* ]] ||
			null_blk_fail "unexpected message for $attr: $said"
	done
}

nothing_changes_while_powered()
{
	local attr

	null_blk_off irqmode=3
	cat "$NULL_BLK_DIR/rot/stats" > "$TMP/stats" 2> "$TMP/said" &&
		null_blk_fail "stats can be read while powered off"
	grep -q "No such device" "$TMP/said" || null_blk_fail "$(cat "$TMP/said")"

	null_blk_on
	for attr in rot/rpm=7200 rot/sched=fcfs irqmode=1 \
		    "rot/duration_limits_ms=1 2 3 4 5 6 7"; do
		null_blk_refused "$attr" "Device or resource busy"
	done
	null_blk_set power=0
	null_blk_set rot/sched=fcfs
	null_blk_set rot/rpm=5400
	null_blk_on
	null_blk_read 4096 0 1
}

# The device can return to another completion mode.
mode_can_be_changed()
{
	null_blk_device irqmode=3
	null_blk_set power=0
	null_blk_set irqmode=1
	null_blk_on
	null_blk_read 4096 0 16
	cat "$NULL_BLK_DIR/rot/stats" > /dev/null 2>&1 && null_blk_fail "stats in irqmode=1"
	return 0
}

commands_are_counted()
{
	null_blk_device irqmode=3 memory_backed=1
	counted null_blk_read 4096 100 16
	[ "${STAT[reads]} ${STAT[writes]}" = "16 0" ] ||
		null_blk_fail "${STAT[reads]} reads of 16, ${STAT[writes]} writes of 0"
	counted null_blk_write /dev/zero 4096 100 16
	[ "${STAT[writes]}" = 16 ] || null_blk_fail "${STAT[writes]} writes of 16"
	[ "${STAT[bus_ns]}" -gt 0 ] || null_blk_fail "the bus was not used"

	null_blk_set rot/stats=0
	null_blk_read 4096 0 2
	stats
	[ "${STAT[reads]} ${STAT[read_sectors]} ${STAT[writes]}" = "2 16 0" ] ||
		null_blk_fail "after a reset: ${STAT[reads]} reads, ${STAT[read_sectors]} sectors"
	[ "${STAT[largest_read]}" = 8 ] || null_blk_fail "largest read: ${STAT[largest_read]}"
	null_blk_refused rot/stats=1 "Invalid argument"
}

# random COUNT: reads blocks all over the disk, each far from the previous one
random()
{
	local sectors i

	read -r sectors < "$NULL_BLK_SYS/size"
	for ((i = 0; i < $1; i++)); do
		null_blk_read 4096 $((i * 7 % $1 * (sectors / 8 / $1))) 1
	done
}

sequential_is_faster_than_random()
{
	local found positioned

	null_blk_device irqmode=3 size=100000
	counted null_blk_read 4096 0 320
	found=$((STAT[cache_hits] + STAT[readahead_hits]))
	[ "$found" -ge 310 ] || null_blk_fail "$found of 320 sequential reads were cache hits"
	[ "${STAT[seeks]}" -le 32 ] ||
		null_blk_fail "${STAT[seeks]} seeks for 320 sequential reads"

	# Reset the position of the head and the cache.
	null_blk_set power=0
	null_blk_on
	counted random 32
	[ "${STAT[seeks]}" -ge 31 ] || null_blk_fail "${STAT[seeks]} seeks for 32 reads"
	[ "$((STAT[cache_hits] + STAT[readahead_hits]))" -le 1 ] ||
		null_blk_fail "random reads were cache hits"
	positioned=$((STAT[seek_ns] + STAT[rotate_ns]))
	[ "$positioned" -gt $((20 * STAT[transfer_ns])) ] ||
		null_blk_fail "positioning: $positioned ns, transfer: ${STAT[transfer_ns]} ns"
}

# took SKIP COUNT SIZE: reads; checks that the reads are not faster than the disk
took()
{
	local least

	counted null_blk_read "$3" "$1" "$2"
	[ "${STAT[reads]}" = "$2" ] || null_blk_fail "${STAT[reads]} reads of $2"
	least=$((STAT[seek_ns] + STAT[rotate_ns] + STAT[transfer_ns] + $2 * 200000))
	[ "$passed_ns" -ge "$least" ] ||
		null_blk_fail "$2 reads took $passed_ns ns, expected at least $least"
}

# between NAME VALUE MIN MAX: in ns, with a rounding error of 10
between()
{
	[ "$2" -ge $(($3 - 10)) ] && [ "$2" -le $(($4 + 10)) ] ||
		null_blk_fail "$1: $2, expected $3 to $4"
}

data_takes_the_time_of_its_zone()
{
	local sectors track

	null_blk_device irqmode=3 size=100000 rot/cache_kb=0
	read -r sectors < "$NULL_BLK_SYS/size"
	# 4 MiB are 8192 sectors. A revolution of 8.333 ms transfers 1873 sectors at the
	# outer edge, half as many at the inner edge. At the end of each track, 0.8 ms
	# are needed to reach the next head or cylinder.
	took 0 64 65536
	track=$((8192 * 8333333 / 1873))
	between "transfer, outer edge" "${STAT[transfer_ns]}" \
		$((track + 4 * 800000)) $((track + 4 * 800000))
	took $((sectors / 128 - 64)) 64 65536
	track=$((8192 * 8333333 / 937))
	between "transfer, inner edge" "${STAT[transfer_ns]}" \
		$((track + 8 * 800000)) $((track + 9 * 800000))
}

seeks_take_the_time_of_their_distance()
{
	local sectors full place

	null_blk_device irqmode=3 size=100000 rot/cache_kb=0
	read -r sectors < "$NULL_BLK_SYS/size"
	# A seek over the whole disk takes longer than the mean of 8.5 ms; the rotational
	# latency is at most one revolution.
	took $((sectors / 8 - 1)) 1 4096
	took 0 1 4096
	full=${STAT[seek_ns]}
	[ "$full" -gt 8500000 ] || null_blk_fail "the full-stroke seek takes $full ns"
	for place in $((sectors / 8 - 1)) 0 $((sectors / 8 - 1)) 0; do
		took "$place" 1 4096
		between "seek over all" "${STAT[seek_ns]}" \
			$((full - 100000)) $((full + 100000))
		[ "${STAT[rotate_ns]}" -le 8333334 ] ||
			null_blk_fail "${STAT[rotate_ns]} ns for a revolution"
	done
}

two_actuators_have_ranges()
{
	local dir=$NULL_BLK_SYS/queue/independent_access_ranges half shown

	null_blk_device size=1024 memory_backed=1 irqmode=3 rot/actuators=2 \
		rot/write_back=1
	half=$((1024 * 2048 / 2))
	shown=$(cat "$dir"/[01]/sector "$dir"/[01]/nr_sectors)
	[ "$shown" = "0
$half
$half
$half" ] || null_blk_fail "the ranges are: $shown"

	# Across the boundary, in 4 MiB on both sides of it
	dd if=/dev/urandom of="$TMP/data" bs=64k seek=$((half / 128 - 64)) count=128 \
		iflag=fullblock status=none || null_blk_fail "cannot make data"
	null_blk_write "$TMP/data" 65536 $((half / 128 - 64)) 128
	null_blk_flush
	null_blk_same "$TMP/data" $((half / 128 - 64)) 128

	# The heads of one actuator do not move while the other one reads.
	null_blk_set power=0
	null_blk_set rot/cache_kb=0
	null_blk_on
	null_blk_read 4096 0 1
	null_blk_read 4096 $((half / 8)) 1
	counted null_blk_read 4096 1 1
	between "seek of the first actuator" "${STAT[seek_ns]}" 0 0
	counted null_blk_read 4096 $((half / 8 + 1)) 1
	between "seek of the second actuator" "${STAT[seek_ns]}" 0 0
}

# refused_write FILE FIRST: fails unless the write of this block fails
refused_write()
{
	( null_blk_write "$1" 65536 "$2" 1 ) > /dev/null 2>&1 &&
		null_blk_fail "a write at block $2, off the write pointer, is accepted"
	return 0
}

zones_are_written_in_order()
{
	local zoned

	null_blk_off memory_backed=1 zoned=1 zone_size=4 zone_nr_conv=2
	{ echo 1 > "$NULL_BLK_DIR/power"; } 2> /dev/null ||
		null_blk_skip "no BLK_DEV_ZONED"
	null_blk_device memory_backed=1 zoned=1 zone_size=4 zone_nr_conv=2 \
		irqmode=3 rot/write_back=1
	read -r zoned < "$NULL_BLK_SYS/queue/zoned"
	[ "$zoned" = host-managed ] || null_blk_fail "the disk is not zoned"

	# Two conventional zones and one and a half sequential zones
	dd if=/dev/urandom of="$TMP/data" bs=64k count=226 iflag=fullblock \
		status=none || null_blk_fail "cannot make data"
	counted null_blk_write "$TMP/data" 65536 0 224
	[ "${STAT[writes]}" -ge 224 ] || null_blk_fail "${STAT[writes]} writes of 224"
	refused_write "$TMP/data" 223
	refused_write "$TMP/data" 225
	truncate -s $((224 * 65536)) "$TMP/data"
	null_blk_flush
	null_blk_same "$TMP/data" 0 224

	command -v blkzone > /dev/null || null_blk_skip "no blkzone"
	counted blkzone reset -o $((8 * 2048)) -c 1 "$NULL_BLK_DEV"
	[ "${STAT[others]}" = 1 ] || null_blk_fail "${STAT[others]} resets of 1"
	refused_write "$TMP/data" 129
	blkzone reset -o $((8 * 2048)) -c 1 "$NULL_BLK_DEV" ||
		null_blk_fail "cannot reset a zone"
	null_blk_write "$TMP/data" 65536 128 64
	null_blk_flush
	null_blk_same "$TMP/data" 0 224
}

null_blk_begin rot/rpm
null_blk_run attributes_are_kept invalid_values_are_refused inconsistent_values_are_refused \
	nothing_changes_while_powered mode_can_be_changed commands_are_counted \
	sequential_is_faster_than_random data_takes_the_time_of_its_zone \
	seeks_take_the_time_of_their_distance two_actuators_have_ranges \
	zones_are_written_in_order
