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

ext4()
{
	local dir=$TMP/mnt round

	disk disk size=192 discard=1 cache_size=16 "rotational=$1"
	mkfs.ext4 -q /dev/disk || fail "mkfs.ext4"
	mkdir "$dir"
	for ((round = 0; round < $(amount 2 1); round++)); do
		mount -o discard /dev/disk "$dir" || fail "mount"
		mkdir "$dir/$round"
		fill "$dir/$round"
		(cd "$dir" && find . -type f -exec sha256sum {} +) > "$TMP/sums"
		umount "$dir" || fail "umount"
		e2fsck -fn /dev/disk || fail "e2fsck found errors"
		echo 3 > /proc/sys/vm/drop_caches
		mount -o discard /dev/disk "$dir" || fail "mount again"
		(cd "$dir" && sha256sum --quiet -c "$TMP/sums") ||
			fail "files have changed"
		umount "$dir" || fail "umount again"
	done
	drained disk
}

scenario_ext4_rotational() { ext4 1; }
scenario_ext4_flash() { ext4 0; }
