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

# filled_and_verified MKFS FSCK [OPTION]: /dev/disk is given a file system by the one command,
# mounted with the option, filled, checked by the other, and read back
filled_and_verified()
{
	local mkfs=$1 fsck=$2 mount=(mount -o "${3:-defaults}" /dev/disk "$TMP/mnt") round

	$mkfs /dev/disk || fail "$mkfs"
	mkdir "$TMP/mnt"
	for ((round = 0; round < $(amount 2 1); round++)); do
		"${mount[@]}" || fail "mount"
		mkdir "$TMP/mnt/$round"
		fill "$TMP/mnt/$round"
		(cd "$TMP/mnt" && find . -type f -exec sha256sum {} +) > "$TMP/sums"
		umount "$TMP/mnt" || fail "umount"
		$fsck /dev/disk || fail "$fsck found errors"
		echo 3 > /proc/sys/vm/drop_caches
		"${mount[@]}" || fail "mount again"
		(cd "$TMP/mnt" && sha256sum --quiet -c "$TMP/sums") ||
			fail "files have changed"
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

# A host-managed drive: f2fs writes in the order of the zones.
scenario_f2fs_on_zones()
{
	# Only this kernel has CONFIG_BLK_DEV_ZONED.
	kernels smp

	rotating disk submit_queues=2 size=512 zoned=1 zone_size=4 zone_nr_conv=16 \
		rot/write_back=1
	choose disk cfq
	filled_and_verified "mkfs.f2fs -q -m" "fsck.f2fs --dry-run"
	rot_counted disk reads writes flushes destages
}
