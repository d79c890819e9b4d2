#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In User-Mode Linux: a file system that has lived on a modelled disk, and how long programs
# take to read a tree of it, in virtual time and with nothing cached.
# usage: OUT=FOLDER trees-guest.sh FILE-SYSTEM DISK TREES
# FOLDER has `list` (tools/ageing) and `programs` (lines NAME <tab> COMMAND, where TREE stands
# for the tree), and gets `times` (KIND <tab> NAME <tab> milliseconds) and `traced.blktrace.0`
set -eu

fs=$1 disk=$2 trees=$3
uuid=6d5f1c1e-0d3a-4c0e-9a51-0a0b0c0d0e0f
device=/dev/rot0
mkdir /dev/tmp /dev/lived
mount -t tmpfs tmpfs /dev/tmp
export TMPDIR=/dev/tmp

tools/disk/disk create "$disk" --name rot0 --set memory_backed=1 > /dev/null
case $fs in
ext4) mkfs.ext4 -q -U "$uuid" -E "lazy_itable_init=0,lazy_journal_init=0,hash_seed=$uuid" "$device" ;;
xfs) mkfs.xfs -q -f -K -m "uuid=$uuid" "$device" ;;
*) echo "no file system '$fs' here; there are ext4 and xfs" >&2; exit 2 ;;
esac
echo cfq > /sys/block/rot0/queue/scheduler
mount -t "$fs" "$device" /dev/lived
tools/ageing/ageing apply "$OUT/list" /dev/lived --zeros --allocate --quiet --journal "$OUT/journal" \
	--trees "$trees" --early "$trees" --clean "$trees" --media 10

forget()
{
	umount /dev/lived
	mount -t "$fs" "$device" /dev/lived
	echo 3 > /proc/sys/vm/drop_caches
}

# milliseconds COMMAND: what it reads goes through a pipe, for some notice that nobody wants it
milliseconds()
{
	local begin

	begin=$(date +%s%N)
	bash -o pipefail -c "$1" | cat > /dev/null || return
	echo $((($(date +%s%N) - begin) / 1000000))
}

for kind in early aged clean; do
	tree=/dev/lived/$kind-00
	while IFS=$'\t' read -r name command <&3; do
		forget
		took=$(milliseconds "${command//TREE/$tree}") || { echo "$name of $tree fails" >&2; exit 1; }
		printf '%s\t%s\t%s\n' "$kind" "$name" "$took" >> "$OUT/times"
		rm -rf /dev/tmp/copy
	done 3< "$OUT/programs"
	if tracer=$(type -P blktrace); then
		mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
		forget
		"$tracer" -d "$device" -o - > "$OUT/$kind.blktrace.0" &
		sleep 1
		tar -cf - "$tree" 2> /dev/null | cat > /dev/null
		kill -INT %1
		wait %1
	fi
done
