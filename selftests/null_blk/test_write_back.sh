#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Write-back cache of null_blk's rotating disk: data is read back before and after the
# destage, and when the disk is removed while dirty data is being destaged.

. "$(dirname "$0")/null_blk_common.sh"

# Blocks of 4 KiB that are not adjacent, so that each is an extent; with FAR_APART, they
# are spread over the disk and each destage needs a seek
BLOCKS=16
APART=64
FAR_APART=4000

# stat NAME: sets stat to a counter of the disk.
stat()
{
	local name

	stat=
	while read -r name stat; do
		[ "$name" != "$1" ] || return 0
	done < "$NULL_BLK_DIR/rot/stats"
	null_blk_fail "no counter $1"
}

# disk [ATTR=VALUE...]: creates a disk with a write-back cache
disk()
{
	null_blk_device memory_backed=1 irqmode=3 rot/write_back=1 "$@"
}

# data: creates a sparse file with the data
data()
{
	local i

	rm -f "$TMP/data"
	truncate -s $((BLOCKS * APART * 4096)) "$TMP/data"
	for ((i = 0; i < BLOCKS; i++)); do
		dd if=/dev/urandom of="$TMP/data" bs=4k seek=$((i * APART)) count=1 \
			conv=notrunc status=none || null_blk_fail "cannot make data"
	done
}

# write_blocks [FLAGS]: writes the blocks, not in order
write_blocks()
{
	local i

	for ((i = 0; i < BLOCKS; i++)); do
		null_blk_write "$TMP/data" 4096 $((i * 7 % BLOCKS * APART)) 1 "$@"
	done
}

same()
{
	null_blk_same "$TMP/data" 0 $((BLOCKS * APART / 16))
}

# same for blocks that are far apart
same_blocks()
{
	local i

	for ((i = 0; i < BLOCKS; i++)); do
		null_blk_same "$TMP/data" $((i * APART / 16)) 1
	done
}

# The device reports its cache.
cache_is_reported()
{
	local attr shown back

	for back in 0 1; do
		null_blk_device irqmode=3 rot/write_back="$back"
		read -r shown < "$NULL_BLK_SYS/queue/fua"
		[ "$shown" = "$back" ] || null_blk_fail "write_back=$back: fua is $shown"
		read -r shown < "$NULL_BLK_SYS/queue/write_cache"
		[ "$shown" = "$( ((back)) && echo "write back" || echo "write through")" ] ||
			null_blk_fail "write_back=$back: the cache is $shown"
	done
	null_blk_device irqmode=3 rot/write_back=1 fua=0
	read -r shown < "$NULL_BLK_SYS/queue/fua"
	[ "$shown" = 0 ] || null_blk_fail "fua=0: fua is $shown"
}

inconsistent_values_are_refused()
{
	local attr

	for attr in rot/write_back=2 rot/write_kb=1 rot/write_extents=0; do
		null_blk_off irqmode=3 rot/write_back=1 "$attr"
		null_blk_refused power=1 "Invalid argument"
	done
}

data_is_kept()
{
	disk
	data
	write_blocks
	same
	null_blk_flush
	same

	# Overwrite
	data
	write_blocks
	same
	null_blk_set power=0
	null_blk_on
	same
}

# Only the flush starts the destages, which take one or two seconds.
flush_waits_for_dirty_data()
{
	local APART=$FAR_APART

	disk rot/destage_idle_us=10000000 rot/reorder_ms=20000 rot/seek_avg_us=200000
	data
	write_blocks
	null_blk_flush
	stat destages
	[ "$stat" = "$BLOCKS" ] || null_blk_fail "a flush waited for $stat of $BLOCKS extents"
	stat flushes
	[ "$stat" -ge 1 ] || null_blk_fail "no flush was counted"
	same_blocks
}

# A cache that is much too small
data_is_kept_without_room()
{
	disk rot/write_kb=8 rot/write_extents=2
	data
	write_blocks
	null_blk_flush
	stat destages
	[ "$stat" = "$BLOCKS" ] || null_blk_fail "$stat extents of $BLOCKS"
	same
}

# FUA writes go to the media; without FUA, the block layer sends a flush.
fua_is_no_dirty_data()
{
	local fua

	for fua in 1 0; do
		disk fua="$fua"
		data
		write_blocks dsync
		stat destages
		[ "$stat" = $((fua ? 0 : BLOCKS)) ] ||
			null_blk_fail "fua=$fua: $stat extents were dirty"
		stat transfer_ns
		((!fua || stat > 0)) || null_blk_fail "no data was written to the media"
		same
	done
}

# A FUA write over dirty data: the last data is read.
fua_over_dirty_data()
{
	disk
	data
	write_blocks
	data
	write_blocks dsync
	same
	null_blk_flush
	same
}

discards_are_kept()
{
	command -v blkdiscard > /dev/null || null_blk_skip "no blkdiscard"
	disk discard=1
	data
	write_blocks
	blkdiscard -o 0 -l $((BLOCKS * APART * 4096 / 2)) "$NULL_BLK_DEV" ||
		null_blk_fail "cannot discard"
	dd if=/dev/zero of="$TMP/data" bs=$((APART * 4096)) count=$((BLOCKS / 2)) \
		conv=notrunc status=none
	same
	null_blk_flush
	same
}

# slow_disk: a destage takes half a second, and destages start at once
slow_disk()
{
	local end=$((SECONDS + 100))

	disk rot/destage_idle_us=0 rot/seek_avg_us=1000000 rot/seek_track_us=100000 \
		rot/head_switch_us=0
	data
	write_blocks
	# Wait for the first destage.
	stat destages
	while [ "$stat" = 0 ]; do
		[ "$SECONDS" -lt "$end" ] || null_blk_fail "dirty data is not destaged"
		stat destages
	done
	[ "$stat" -lt "$BLOCKS" ] || null_blk_skip "this machine is slower than the disk"
}

powered_off_while_destaging()
{
	local APART=$FAR_APART

	slow_disk
	null_blk_set power=0
	null_blk_on
	stat destages
	[ "$stat" = 0 ] || null_blk_fail "the new disk has destaged $stat extents"
	same_blocks
}

removed_while_destaging()
{
	local APART=$FAR_APART

	slow_disk
	null_blk_remove || null_blk_fail "cannot remove the disk"
	disk
	truncate -s 65536 "$TMP/nothing"
	null_blk_same "$TMP/nothing" 0 1
}

null_blk_begin rot/rpm
null_blk_run cache_is_reported inconsistent_values_are_refused data_is_kept \
	flush_waits_for_dirty_data data_is_kept_without_room fua_is_no_dirty_data \
	fua_over_dirty_data discards_are_kept powered_off_while_destaging \
	removed_while_destaging
