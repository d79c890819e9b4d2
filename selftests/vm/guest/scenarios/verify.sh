# SPDX-License-Identifier: GPL-2.0
#
# What is written comes back, by every way into the kernel; flush, FUA, discard
# and write zeroes do what they should.
#
# shellcheck shell=bash

# verify ENGINE ROTATIONAL
verify()
{
	disk disk "rotational=$2"
	verified --name=direct --filename=/dev/disk --ioengine="$1" --direct=1 \
		--rw=randrw --bsrange=4k-64k --numjobs=4 --iodepth=16 \
		--size="$(amount 6 2)M" --offset_increment=8M \
		--name=buffered --filename=/dev/disk --ioengine="$1" \
		--direct=0 --rw=randwrite --bs=4k --numjobs=1 --iodepth=1 \
		--size=2M --offset=48M --end_fsync=1
	drained disk
	counted disk dispatched_BE
	never disk fallback
	if [ "$2" = 0 ]; then never disk idle_waits; fi
}

scenario_verify_sync_rotational() { kernels plain smp; verify sync 1; counted disk idle_waits; }
scenario_verify_sync_flash() { kernels plain smp; verify sync 0; }
scenario_verify_psync_rotational() { kernels plain smp; verify psync 1; counted disk idle_waits; }
scenario_verify_psync_flash() { kernels plain smp; verify psync 0; }
scenario_verify_libaio_rotational() { verify libaio 1; }
scenario_verify_libaio_flash() { kernels plain smp; verify libaio 0; }
scenario_verify_io_uring_rotational() { verify io_uring 1; }
scenario_verify_io_uring_flash() { kernels plain smp; verify io_uring 0; }

scenario_flush_and_fua()
{
	local flushes

	disk disk cache_size=8 fua=1 rotational=1
	grep -q 'write back' /sys/block/disk/queue/write_cache ||
		fail "no write-back cache"
	verified --filename=/dev/disk --bs=4k --size=1M --rw=randwrite \
		--ioengine=psync \
		--name=fsync --direct=1 --fsync=4 --offset=0 \
		--name=buffered --direct=0 --fdatasync=8 --offset=8M \
		--name=dsync --direct=1 --sync=dsync --offset=16M \
		--name=osync --direct=0 --sync=sync --offset=24M
	flushes=$(awk '{ print $16 }' /sys/block/disk/stat)
	echo "flushes: $flushes"
	[ "$flushes" -gt 0 ] || fail "nothing was flushed"
	drained disk
}

# same FILE OFFSET WHAT: a MiB of the disk, at this MiB, is as in FILE
same()
{
	dd if="/dev/$DISK" bs=1M skip="$2" count=1 iflag=direct 2> "$TMP/dd" |
		cmp -s - "$1" || fail "$3"
}

# clear_regions DISK: discard and zeroing change what they should, no more
clear_regions()
{
	local DISK=$1

	head -c 1M /dev/urandom > "$TMP/random"
	head -c 1M /dev/zero > "$TMP/zero"
	for at in 40 41 42 43; do
		dd if="$TMP/random" of="/dev/$DISK" bs=1M seek=$at oflag=direct \
			2> /dev/null || fail "cannot write at $at MiB"
	done
	blkdiscard -o 41M -l 1M "/dev/$DISK" || fail "cannot discard"
	blkdiscard -z -o 43M -l 1M "/dev/$DISK" || fail "cannot write zeroes"
	same "$TMP/random" 40 "discarding changed what lies before"
	same "$TMP/zero" 41 "not zero after discarding"
	same "$TMP/random" 42 "discarding changed what lies behind"
	same "$TMP/zero" 43 "not zero after writing zeroes"
}

scenario_discard_under_load()
{
	local i

	disk disk discard=1
	# Half of each buffer is zeros.
	load disk --buffer_compress_percentage=50
	for ((i = 0; i < $(amount 3 1); i++)); do
		clear_regions disk
	done
	load_end
	[ "$(awk '{ print $12 }' /sys/block/disk/stat)" -gt 0 ] ||
		fail "nothing was discarded"
	drained disk
}

# clear_gaps DISK COUNT SECONDS: again and again the last 2 KiB of one of the first COUNT
# stretches of 32 KiB are written, and then discarded or zeroed: half of a page that others
# write to meanwhile
clear_gaps()
{
	local i at zero end=$((SECONDS + $3))

	for ((i = 0; SECONDS < end; i++)); do
		at=$((i * 5 % $2 * 32 + 30))
		if ((i & 1)); then zero=(-z); else zero=(); fi
		dd if="$TMP/random" of="/dev/$1" bs=1K count=2 seek="$at" \
			oflag=direct status=none || fail "cannot write"
		blkdiscard "${zero[@]}" -o "${at}K" -l 2K "/dev/$1" ||
			fail "cannot discard or write zeroes"
		dd if="/dev/$1" bs=1K count=2 skip="$at" iflag=direct status=none |
			cmp -s -n 2048 - /dev/zero || fail "no zeros at $at KiB"
	done
	echo "$1: $i gaps were cleared"
	[ "$i" -gt 1 ] || fail "too few gaps"
}

# Zeros have no memory in null_blk. Half of each buffer is zeros, beside pieces of the same
# pages that are discarded and zeroed meanwhile, 12 stretches of 32 KiB. Then zeros go over
# data, what is beside them is discarded, and data goes over both, 2 MiB.
scenario_zeros_among_data_are_verified()
{
	local cache pid seconds

	seconds=$(amount 10 4)
	head -c 2K /dev/urandom > "$TMP/random"
	for cache in 0 2; do
		disk disk discard=1 cache_size="$cache"
		clear_gaps disk 12 "$seconds" &
		pid=$!
		verified --filename=/dev/disk --direct=1 --ioengine=libaio --iodepth=8 \
			--rw=randwrite --buffer_compress_percentage=50 --thinktime=500 \
			--time_based --runtime="$seconds" --thread --numjobs=4 \
			--size=30K --offset_increment=32K --name=small --bs=2k \
			--name=odd --bs=6k --offset=128K --name=whole --bs=30k --offset=256K \
			--name=gaps --rw=trim --bs=2k --verify=0 --thinktime=20000 \
			--numjobs=12 --offset=30K --size=2K
		wait "$pid" || fail "a gap has not the zeros that it was given"
		cmp -n 15360 -i $(((256 + 15) * 1024)):0 /dev/disk /dev/zero ||
			fail "fio has written no zeros"
		verified --filename=/dev/disk --direct=1 --ioengine=psync --rw=randwrite \
			--verify=pattern --bsrange=512-32k --size=1M --offset=4M --stonewall \
			--name=data --size=2M --verify_pattern=0x5a \
			--name=zeros --verify_pattern=0x00 \
			--name=discard --offset=5M --rw=randtrim --bs=2k --verify=0 \
			--name=both --size=2M --rw=read --verify_pattern=0x00 \
			--name=again --size=2M --verify_pattern=0xa5
		drained disk
		remove disk
	done
}

# null_blk has no write zeroes of its own, a loop device on ext4 has.
scenario_write_zeroes_on_loop()
{
	local loop

	disk disk size=192 rotational=1
	mkfs.ext4 -q /dev/disk || fail "mkfs.ext4"
	mkdir "$TMP/mnt"
	mount /dev/disk "$TMP/mnt" || fail "mount"
	truncate -s 64M "$TMP/mnt/file"
	loop=$(losetup --find --show --direct-io=on "$TMP/mnt/file") ||
		fail "losetup"
	choose "${loop#/dev/}" cfq
	[ "$(cat "/sys/block/${loop#/dev/}/queue/write_zeroes_max_bytes")" -gt 0 ] ||
		fail "$loop has no write zeroes"
	clear_regions "${loop#/dev/}"
	clear_regions "${loop#/dev/}"
	drained "${loop#/dev/}"
	losetup -d "$loop" || fail "losetup -d"
	umount "$TMP/mnt" || fail "umount"
	e2fsck -fn /dev/disk || fail "e2fsck found errors"
	drained disk
}
