#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Zeros written to a memory-backed device do not allocate memory, and are read back
# correctly: next to data, over data, through the cache, and after a discard.

. "$(dirname "$0")/null_blk_common.sh"

# Sets available, in MiB.
available()
{
	local name

	while read -r name available _; do
		[ "$name" != MemAvailable: ] || break
	done < /proc/meminfo
	available=$((available / 1024))
}

# takes FILE COUNT: sets mib to the memory that COUNT MiB of FILE use on a device
takes()
{
	local available before

	null_blk_device memory_backed=1 blocksize=4096
	available
	before=$available
	dd if="$1" of="$NULL_BLK_DEV" bs=1M count="$2" iflag=fullblock \
		oflag=direct status=none || null_blk_fail "cannot write"
	available
	mib=$((before - available))
	echo "# $2 MiB of ${1##*/} use $mib MiB"
}

# Other processes change the available memory too: repeat up to three times.
zeros_take_no_memory()
{
	local mib available i

	available
	[ "$available" -ge $((256 + 128)) ] ||
		null_blk_skip "too little memory"
	for i in 1 2 3; do
		takes /dev/zero 256
		[ "$mib" -ge 64 ] || break
	done
	[ "$mib" -lt 64 ] || null_blk_fail "zeros use memory"
	null_blk_same /dev/zero 0 128

	# Check that the measurement detects allocated memory.
	mkfifo "$TMP/ones" || null_blk_fail "cannot make a pipe"
	for i in 1 2 3; do
		tr '\0' '\377' < /dev/zero > "$TMP/ones" 2> /dev/null &
		takes "$TMP/ones" 64
		[ "$mib" -lt 32 ] || return 0
	done
	null_blk_skip "memory use cannot be measured"
}

same()
{
	null_blk_same "$TMP/copy" 0 1
}

# both FILE FIRST COUNT [FLAGS]: writes blocks to the device and to the expected data
both()
{
	dd if="$1" of="$TMP/copy" bs="$block" seek="$2" count="$3" iflag=fullblock \
		conv=notrunc status=none || null_blk_fail "cannot write to the copy"
	null_blk_write "$TMP/copy" "$block" "$2" "$3" "${@:4}"
	same
}

# discard FIRST COUNT
discard()
{
	command -v blkdiscard > /dev/null || null_blk_skip "no blkdiscard"
	blkdiscard -o $(($1 * block)) -l $(($2 * block)) "$NULL_BLK_DEV" ||
		null_blk_fail "cannot discard"
	dd if=/dev/zero of="$TMP/copy" bs="$block" seek="$1" count="$2" conv=notrunc \
		status=none || null_blk_fail "cannot write to the copy"
	same
}

# Sixteen blocks are two pages, or sixteen pages.
written()
{
	local block=$1 flags

	null_blk_device memory_backed=1 discard=1 blocksize="$block" "${@:2}"
	rm -f "$TMP/copy"
	truncate -s 65536 "$TMP/copy"
	# In unwritten blocks, and between blocks of data
	both /dev/zero 0 16
	both /dev/urandom 3 2
	both /dev/zero 5 1
	both /dev/zero 2 1
	both /dev/urandom 9 1
	both /dev/zero 8 1
	both /dev/urandom 8 1
	for flags in "" dsync; do
		# Over data, and data over zeros
		both /dev/urandom 0 16 "$flags"
		both /dev/zero 4 8 "$flags"
		both /dev/urandom 6 1 "$flags"
		both /dev/zero 0 16 "$flags"
		both /dev/urandom 15 1 "$flags"
		null_blk_flush
		same
		both /dev/zero 15 1 "$flags"
	done
	# After a discard of a page, or of a part of it
	both /dev/urandom 0 16
	discard 1 1
	both /dev/zero 0 3
	discard 0 16
	both /dev/zero 0 16
	both /dev/urandom 2 1
	both /dev/zero 2 1

	# Over data that a flush has written back; power-off drops the cache
	both /dev/urandom 0 16
	null_blk_flush
	both /dev/zero 0 8
	both /dev/zero 12 4 dsync
	null_blk_flush
	null_blk_set power=0
	null_blk_on
	same
}

blocks_of_512_bytes()
{
	written 512
}

blocks_of_4096_bytes()
{
	written 4096
}

blocks_of_512_bytes_in_a_cache()
{
	written 512 cache_size=1
}

blocks_of_4096_bytes_in_a_cache()
{
	written 4096 cache_size=1
}

# Data with runs of zeros, in large writes
zeros_in_large_writes()
{
	local block=65536 i

	null_blk_device memory_backed=1 blocksize=512
	for ((i = 0; i < 64; i++)); do
		dd if=/dev/urandom of="$TMP/copy" bs=512 count=$((i % 9)) \
			seek=$((i * 24 + i % 5)) conv=notrunc status=none
	done
	truncate -s $((16 * block)) "$TMP/copy"
	null_blk_write "$TMP/copy" "$block" 0 16
	null_blk_same "$TMP/copy" 0 16
}

null_blk_begin
null_blk_run zeros_take_no_memory blocks_of_512_bytes blocks_of_4096_bytes \
	blocks_of_512_bytes_in_a_cache blocks_of_4096_bytes_in_a_cache zeros_in_large_writes
