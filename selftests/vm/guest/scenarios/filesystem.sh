# SPDX-License-Identifier: GPL-2.0
#
# A file system made, filled and checked.
#
# shellcheck shell=bash

# fill FOLDER: four processes write files of different sizes
fill()
{
	local writer i

	for writer in 1 2 3 4; do
		mkdir "$1/$writer"
		(
			for i in 1 2 3 4 5 6 7 8; do
				head -c $((i * i * 4100 * writer)) /dev/urandom \
					> "$1/$writer/$i" || exit 1
			done
			rm "$1/$writer/3"
			[ "$writer" = 2 ] && sync
			exit 0
		) &
	done
	wait
	[ "$(find "$1" -type f -size +0 | grep -c '/[1-4]/')" -eq 28 ] ||
		fail "files are missing"
}

# mounted [OPTION]: mounts /dev/disk on $TMP/mnt
mounted()
{
	mount -o "${1:-defaults}" /dev/disk "$TMP/mnt" || fail "mount"
}

# sums FILTER...: prints the checksums of the files that find's FILTER chooses
sums()
{
	(cd "$TMP/mnt" && find . -type f "$@" -exec sha256sum {} +)
}

# as_written FSCK [OPTION]: /dev/disk is unmounted, checked by the command, mounted again,
# and its files are those of $TMP/sums
as_written()
{
	umount "$TMP/mnt" || fail "umount"
	$1 /dev/disk || fail "$1 found errors"
	echo 3 > /proc/sys/vm/drop_caches
	mounted "${2:-}"
	(cd "$TMP/mnt" && sha256sum --quiet -c "$TMP/sums") ||
		fail "files have changed"
}

# filled_and_verified MKFS FSCK [OPTION]: /dev/disk is given a file system by the one command,
# mounted with the option, filled, checked by the other, and read back
filled_and_verified()
{
	local mkfs=$1 fsck=$2 option=${3:-} round

	$mkfs /dev/disk || fail "$mkfs"
	mkdir "$TMP/mnt"
	for ((round = 0; round < $(amount 2 1); round++)); do
		mounted "$option"
		mkdir "$TMP/mnt/$round"
		fill "$TMP/mnt/$round"
		sums > "$TMP/sums"
		as_written "$fsck" "$option"
		umount "$TMP/mnt" || fail "umount again"
	done
	drained disk
}

ext4()
{
	disk disk size=192 discard=1 cache_size=16 "rotational=$1"
	filled_and_verified "mkfs.ext4 -q" "e2fsck -fn" discard
}

scenario_ext4_rotational() { ext4 1; }
scenario_ext4_flash() { kernels plain smp; ext4 0; }

# free_kib: sets FREE_KIB to what files on $TMP/mnt may still have
free_kib()
{
	local blocks size

	read -r blocks size < <(stat -f -c "%a %S" "$TMP/mnt")
	FREE_KIB=$((blocks * size / 1024))
}

# fill_up NAME KIB: four processes write files, NAME-..., of four sizes, until there is no
# more than this free. Their checksums are added to $TMP/sums.
fill_up()
{
	local FREE_KIB size

	free_kib
	for size in 36 132 516 1028; do
		mkdir -p "$TMP/mnt/$size"
		head -c $(((FREE_KIB - $2) / 4))K /dev/urandom |
			split -a 3 -b "${size}K" - "$TMP/mnt/$size/$1-" &
	done
	wait
	sync -f "$TMP/mnt"
	free_kib
	echo "$1: $FREE_KIB KiB are free"
	[ "$FREE_KIB" -le "$2" ] || fail "the files are not there"
	sums -name "$1-*" >> "$TMP/sums"
}

# A host-managed drive of 256 MiB, in the guest's memory: f2fs writes in the order of its 128
# zones. 139 MiB of it are for files, 80 % of which they take. Half of the files are deleted
# and others written, twice: where zones hold files of both kinds there is room only after
# f2fs has moved what is left of them.
scenario_f2fs_on_zones()
{
	# Only this kernel has CONFIG_BLK_DEV_ZONED.
	kernels smp

	local name fsck="fsck.f2fs --dry-run" room moved FREE_KIB

	rotating disk submit_queues=2 size=256 zoned=1 zone_size=2 zone_nr_conv=16 \
		rot/write_back=1
	choose disk cfq
	mkfs.f2fs -q -m /dev/disk || fail "mkfs.f2fs"
	mkdir "$TMP/mnt"
	mounted
	free_kib
	room=$FREE_KIB
	echo "room for $room KiB"
	fill_up first $((room / 5))
	as_written "$fsck"
	for name in second third; do
		awk 'NR % 2 { print $2 }' "$TMP/sums" |
			(cd "$TMP/mnt" && xargs rm) || fail "cannot delete"
		sed -i 1~2d "$TMP/sums"
		fill_up "$name" $((room / 5))
	done
	moved=$(cat /sys/fs/f2fs/disk/moved_blocks_foreground)
	echo "blocks moved while writers waited: $moved"
	[ "$moved" -gt 0 ] || fail "nothing was moved"
	as_written "$fsck"
	umount "$TMP/mnt" || fail "umount again"
	drained disk
	rot_counted disk reads writes flushes destages
}
