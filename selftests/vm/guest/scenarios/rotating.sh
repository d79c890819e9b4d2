# SPDX-License-Identifier: GPL-2.0
#
# null_blk as a rotating disk: data, faults, several hardware queues, removal.
# What it computes is tested by KUnit and in virtual time; here it is that
# requests are neither lost nor ended twice, under lockdep and KASAN. The attributes, and
# removal while destaging, are the kselftests' part (tools/testing/selftests/null_blk).
#
# shellcheck shell=bash

# rotating NAME [ATTR=VALUE...]: makes a fast rotating disk
rotating()
{
	local name=$1

	rotating_off "$@"
	echo 1 > "$NULLB/$name/power" || fail "$name cannot be powered on"
}

# The same, and left switched off
rotating_off()
{
	local name=$1

	shift
	# shellcheck disable=SC2034 # lib.sh cleans up by it
	DISKS=("$name")
	null_disk "$name" size=256 memory_backed=1 hw_queue_depth=32 max_sectors=1024 \
		irqmode=3 rot/rpm=15000 rot/seek_track_us=100 rot/head_switch_us=100 \
		rot/seek_avg_us=1000 rot/cache_kb=4096 "$@" ||
		skip "null_blk makes no such disk"
}

# rot_stat DISK NAME
rot_stat()
{
	awk -v name="$2" '$1 == name { print $2 }' "$NULLB/$1/rot/stats"
}

# rot_counted DISK NAME...: fails unless all these counters are more than 0
rot_counted()
{
	local disk=$1 name

	shift
	for name; do
		echo "$disk: $name is $(rot_stat "$disk" "$name")"
		[ "$(rot_stat "$disk" "$name")" -gt 0 ] || fail "$disk: $name is 0"
	done
}

# compete DISK DEPTH: looks at a disk until both of its hardware queues have had commands
# for 3 seconds and it has been full. Sets MOST to the most commands in flight that were
# seen, TOOK to the microseconds between the first and the last time that both had some,
# and BUSY to those of it with a command in service.
compete()
{
	local disk=$1 depth=$2 in_flight line name value before first=""
	local end=$((SECONDS + 100))

	MOST=0 TOOK=0 BUSY=0
	while [ "$TOOK" -lt 3000000 ] || [ "$MOST" -lt "$depth" ]; do
		[ "$SECONDS" -lt "$end" ] || fail "the queues do not compete"
		nap 0.01
		read -r -a in_flight < "/sys/block/$disk/inflight"
		[ "${in_flight[0]}" -le "$MOST" ] || MOST=${in_flight[0]}
		read -r line < "$DEBUG/block/$disk/hctx0/busy" || continue
		read -r line < "$DEBUG/block/$disk/hctx1/busy" || continue
		before=${EPOCHREALTIME//[!0-9]/}
		while read -r name value; do
			[ "$name" = busy_ns ] && break
		done < "$NULLB/$disk/rot/stats"
		: "${first:=$before $value}"
		BUSY=$(((value - ${first#* }) / 1000))
		TOOK=$((${EPOCHREALTIME//[!0-9]/} - ${first% *}))
	done
}

scenario_rotating_queues_share_one_mechanism()
{
	local scheduler i pids served made MOST TOOK BUSY depth=2

	[ "$(nproc)" -ge 2 ] || skip "there is one CPU only"
	for scheduler in none mq-deadline; do
		# Slow: what counts is the disk, not the machine.
		rotating disk submit_queues=2 hw_queue_depth="$depth" rot/cache_kb=0 \
			rot/seek_avg_us=50000
		choose disk "$scheduler"
		served=$(rot_stat disk reads)
		pids=()
		# Four on each CPU: those of one queue alone fill the drive.
		for i in {0..7}; do
			taskset -c $((i % 2)) env --default-signal=INT \
				dd if=/dev/disk of=/dev/null iflag=direct bs=4k \
				skip=$((i * 8000)) 2> "$TMP/reader-$i" &
			pids+=("$!")
		done
		compete disk "$depth"
		kill -INT "${pids[@]}"
		wait "${pids[@]}"
		served=$(($(rot_stat disk reads) - served))
		made=$(awk '/ records in$/ { n += $1 } END { print n + 0 }' "$TMP"/reader-*)
		echo "$scheduler: $made reads, $MOST in flight, busy for $BUSY us of $TOOK"

		[ "$served" = "$made" ] || fail "$made reads were made, $served served"
		[ "$MOST" = "$depth" ] || fail "up to $MOST commands in flight, not $depth"
		# One command may have been in service before: a seek over the whole disk.
		[ "$BUSY" -le $((TOOK + 150000)) ] || fail "busy for $BUSY us in $TOOK"
		remove disk
	done
}

scenario_rotating_data_is_kept_by_two_queues()
{
	local back scheduler

	for back in 0 1; do
		rotating disk submit_queues=2 rot/write_back="$back" rot/cache_kb=512
		[ "$(cat /sys/block/disk/queue/rotational)" = 1 ] ||
			fail "the disk is not rotational"
		[ "$(cat /sys/block/disk/queue/fua)" = "$back" ] ||
			fail "fua is not $back"
		for scheduler in none mq-deadline; do
			choose disk "$scheduler"
			verified --filename=/dev/disk --direct=1 --size="$(amount 4 1)M" \
				--ioengine=libaio --iodepth=16 --fsync=16 \
				--name=random --rw=randwrite --bsrange=4k-64k \
				--name=order --rw=write --bs=32k --offset=8M
		done
		rot_counted disk reads writes seeks busy_ns
		[ "$back" = 0 ] || rot_counted disk flushes destages
		remove disk
	done
}

scenario_rotating_removed_under_load()
{
	local i

	for ((i = 0; i < $(amount 8 2); i++)); do
		rotating disk submit_queues=2 rot/write_back=$((i & 1)) \
			rot/seek_avg_us=10000 rot/sched="$( ((i & 2)) && echo fcfs || echo rpo)"
		load disk
		if ((i & 1)); then
			remove disk
		else
			remove disk at once
		fi
		load_end any
	done
}

scenario_rotating_commands_time_out()
{
	rotating disk hw_queue_depth=64 rot/seek_avg_us=1000000 \
		rot/seek_track_us=100000 rot/sched=fcfs rot/head_switch_us=0
	queue disk io_timeout 1000
	# 32 reads of about a second each: most of them wait for too long.
	fio --output="$TMP/fio" --name=r --filename=/dev/disk --direct=1 \
		--rw=randread --bs=4k --number_ios=32 --iodepth=32 \
		--ioengine=libaio && fail "no read timed out"
	rot_counted disk aborted
	queue disk io_timeout 30000
	# What is left of the last command is served, and all goes on.
	dd if=/dev/disk of=/dev/null iflag=direct bs=4k count=4 ||
		fail "the disk does not read after timeouts"
	remove disk
}

scenario_rotating_injected_timeouts_and_requeues()
{
	kernels debug smp

	local dir=$NULLB/disk/requeue_inject

	rotating disk submit_queues=2
	[ -d "$dir" ] || skip "null_blk has no fault injection"
	echo 20 > "$dir/probability"
	echo -1 > "$dir/times"
	verified --filename=/dev/disk --direct=1 --size=2M --ioengine=libaio \
		--iodepth=16 --name=random --rw=randwrite --bsrange=4k-64k
	echo 0 > "$dir/probability"

	dir=$NULLB/disk/timeout_inject
	queue disk io_timeout 1000
	echo 20 > "$dir/probability"
	echo 10 > "$dir/times"
	fio --output="$TMP/fio" --name=r --filename=/dev/disk --direct=1 \
		--rw=randread --bs=4k --number_ios=200 --iodepth=16 \
		--ioengine=libaio && fail "no timeout was injected"
	echo 0 > "$dir/probability"
	verified --filename=/dev/disk --direct=1 --size=1M --ioengine=libaio \
		--iodepth=16 --name=random --rw=randwrite --bs=4k
	remove disk
}

scenario_rotating_bad_blocks_fail()
{
	rotating disk
	echo +64-71 > "$NULLB/disk/badblocks"
	dd if=/dev/disk of=/dev/null iflag=direct bs=4k count=8 ||
		fail "good blocks cannot be read"
	dd if=/dev/disk of=/dev/null iflag=direct bs=4k skip=8 count=1 &&
		fail "a bad block can be read"
	echo -64-71 > "$NULLB/disk/badblocks"
	dd if=/dev/disk of=/dev/null iflag=direct bs=4k skip=8 count=1 ||
		fail "a block that was repaired cannot be read"
	remove disk
}

scenario_rotating_discard_zeroes()
{
	rotating disk discard=1 rot/write_back=1
	yes 7 | dd of=/dev/disk oflag=direct bs=64k count=4 iflag=fullblock ||
		fail "cannot write"
	blkdiscard -o 65536 -l 65536 /dev/disk || fail "cannot discard"
	cmp -n 65536 -i 65536:0 /dev/disk /dev/zero ||
		fail "discarded blocks are not zero"
	cmp -n 65536 -i 0:0 /dev/disk <(yes 7) || fail "other blocks have changed"
	rot_counted disk others
	remove disk
}

scenario_rotating_hardware_queues_change_under_load()
{
	local i

	rotating disk submit_queues=2
	load disk
	for ((i = 0; i < $(amount 8 2); i++)); do
		echo $((1 + i % 2)) > "$NULLB/disk/submit_queues" ||
			fail "submit_queues cannot be changed"
		load_runs disk
	done
	echo 1 > "$NULLB/disk/poll_queues" && fail "the disk takes poll_queues"
	load_end
	remove disk
}

scenario_rotating_switching_schedulers_under_load()
{
	local i schedulers

	rotating disk rot/write_back=1
	read -r -a schedulers <<< "$(tr -d '[]' < /sys/block/disk/queue/scheduler)"
	load disk
	for ((i = 0; i < $(amount 20 5); i++)); do
		choose disk "${schedulers[i % ${#schedulers[@]}]}"
	done
	load_end
	remove disk
}

# zones_full DISK COUNT: fails unless the write pointers of so many zones are at their ends
zones_full()
{
	local full

	full=$(blkzone report "/dev/$1" | grep -c '(fu)')
	echo "$1: $full zones are full"
	[ "$full" = "$2" ] || fail "$1: $full zones are full, not $2"
}

# read_mib DISK: sets READ_MIB, what was read since the disk was made
read_mib()
{
	local stat

	read -r -a stat < "/sys/block/$1/stat" || fail "$1 is gone"
	READ_MIB=$((stat[2] / 2048))
}

# A disk of 256 MiB, all of it in the guest's memory: 2 conventional zones and 62 that two
# processes write in order to their ends, 4 MiB each, and read back; under each scheduler.
scenario_rotating_zones_are_filled_and_verified()
{
	# Only this kernel has CONFIG_BLK_DEV_ZONED.
	kernels smp

	local scheduler before READ_MIB

	for scheduler in none mq-deadline cfq; do
		rotating disk submit_queues=2 size=256 zoned=1 zone_size=4 \
			zone_nr_conv=2 rot/write_back=1
		[ "$(cat /sys/block/disk/queue/zoned)" = host-managed ] ||
			fail "the disk is not zoned"
		choose disk "$scheduler"
		verified --filename=/dev/disk --direct=1 --ioengine=libaio \
			--iodepth=16 --rw=randwrite --bsrange=4k-64k --size=4M \
			--name=conventional
		read_mib disk
		before=$READ_MIB
		verified --filename=/dev/disk --direct=1 --zonemode=zbd \
			--ioengine=libaio --iodepth=4 --rw=write --bs=128k \
			--size=124M --max_open_zones=4 \
			--name=one --offset=8M --name=two --offset=132M
		zones_full disk 62
		read_mib disk
		[ $((READ_MIB - before)) -ge 248 ] ||
			fail "$((READ_MIB - before)) MiB were verified, not 248"
		rot_counted disk reads writes destages
		remove disk
	done
}

# reads_and_writes DISK: sets READS and WRITES, those since the disk was made
reads_and_writes()
{
	local stat

	read -r -a stat < "/sys/block/$1/stat" || fail "$1 is gone"
	READS=${stat[0]} WRITES=${stat[4]}
}

# On a rotating disk one thread of the block layer writes to all zones, a request at a
# time: while that waits for an idle disk, or for a reservation in debt, everybody's
# writes do. The readers never leave the disk idle.
scenario_rotating_zone_writes_of_idle_or_indebted_writers_stop_nobody()
{
	kernels smp

	local class slow

	for class in idle reserved; do
		rotating disk submit_queues=2 zoned=1 zone_size=4 zone_nr_conv=2
		choose disk cfq
		slow=(ionice -c 3)
		[ "$class" = idle ] || slow=(reserved 128K 25ms)
		"${slow[@]}" fio --output="$TMP/slow" --name=slow --filename=/dev/disk \
			--direct=1 --zonemode=zbd --rw=write --bs=128k --offset=8M \
			--size=120M --time_based --runtime=6 &
		fio --output="$TMP/others" --filename=/dev/disk --direct=1 \
			--time_based --runtime=6 \
			--name=readers --numjobs=2 --rw=randread --bs=4k --size=8M \
			--name=writer --zonemode=zbd --rw=write --bs=4k --offset=136M \
			--size=120M || fail "fio: $(tail -n 3 "$TMP/others")"
		wait
		reads_and_writes disk
		echo "beside a writer who is $class: $READS reads, $WRITES writes"
		[ "$READS" -gt 100 ] || fail "the readers did not read"
		[ "$((WRITES * 20))" -gt "$READS" ] || fail "all wait for a writer who is $class"
		drained disk
		remove disk
	done
}

scenario_rotating_two_actuators()
{
	local dir=/sys/block/disk/queue/independent_access_ranges

	rotating disk submit_queues=2 size=1024 rot/actuators=2 rot/write_back=1
	[ "$(cat "$dir"/[01]/sector)" = $'0\n1048576' ] ||
		fail "ranges begin at $(cat "$dir"/*/sector)"
	[ "$(cat "$dir"/[01]/nr_sectors)" = $'1048576\n1048576' ] ||
		fail "ranges are of $(cat "$dir"/*/nr_sectors)"
	choose disk cfq
	verified --filename=/dev/disk --direct=1 --size="$(amount 16 4)M" \
		--ioengine=libaio --iodepth=16 --fsync=16 --rw=randwrite --bs=4k-64k \
		--name=outer --name=middle --offset=510M --name=inner --offset=900M
	rot_counted disk reads writes destages
	remove disk
}
