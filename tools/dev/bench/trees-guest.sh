#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In User-Mode Linux: a file system that lives on a modelled disk, and how long programs take
# to read a tree of it, in virtual time and with nothing cached.
# usage: OUT=FOLDER trees-guest.sh FILE-SYSTEM TREES LOADGEN DISK [OPTIONS of disk create]
# FOLDER has `list` (tools/testbed/ageing) and `plan`: lines NUMBER <tab> AFTER <tab> BESIDE <tab>
# COMMAND, to be run after that version, or at the `end`; beside `players`, whose job is in the
# folder players-NUMBER, with a `trace`, which is left in NUMBER.blktrace.0, or `-`.
# It gets `times`: NUMBER <tab> milliseconds
set -euo pipefail

fs=$1 trees=$2 loadgen=$3
shift 3
uuid=6d5f1c1e-0d3a-4c0e-9a51-0a0b0c0d0e0f
device=/dev/rot0
mkdir /dev/tmp /dev/lived
mount -t tmpfs tmpfs /dev/tmp
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
export TMPDIR=/dev/tmp

tools/testbed/disk/disk create "$@" --name rot0 --set memory_backed=1 > /dev/null
case $fs in
ext4) mkfs.ext4 -q -U "$uuid" -E "lazy_itable_init=0,lazy_journal_init=0,hash_seed=$uuid" "$device" ;;
xfs) mkfs.xfs -q -f -K -m "uuid=$uuid" "$device" ;;
*) echo "no file system '$fs' here; there are ext4 and xfs" >&2; exit 2 ;;
esac

# What is read is not written to: who is the first to read would pay for it.
# mount_it [OPTIONS]
mount_it()
{
	mount -t "$fs" -o "noatime${1:+,$1}" "$device" /dev/lived
}

# For some seconds after a mount ext4 reads the bitmaps of blocks ahead of who will write (ext4lazyinit), and delays who
# reads then, which is not what is measured here.
quiet=
[ "$fs" != ext4 ] || quiet=no_prefetch_block_bitmaps

forget()
{
	umount /dev/lived
	mount_it "$quiet"
	echo 3 > /proc/sys/vm/drop_caches
	# with the tunables that it begins with
	echo none > /sys/block/rot0/queue/scheduler
	echo cfq > /sys/block/rot0/queue/scheduler
}

# age [--until VERSION]: on a file system that is mounted as others are
age()
{
	umount /dev/lived
	mount_it
	tools/testbed/ageing/ageing apply "$OUT/list" /dev/lived --zeros --allocate --quiet --journal "$OUT/journal" \
		--trees "$trees" --early "$trees" --clean "$trees" --media 10 "$@"
}

# milliseconds COMMAND: what it reads goes through a pipe, for some notice that nobody wants it
milliseconds()
{
	local begin

	begin=$(date +%s%N)
	bash -o pipefail -c "$1" | cat > /dev/null || return
	echo $((($(date +%s%N) - begin) / 1000000))
}

# measure NUMBER BESIDE COMMAND
measure()
{
	local took beside=

	forget
	case $2 in
	trace)
		blktrace -d "$device" -o - > "$OUT/$1.blktrace.0" &
		beside=$!
		sleep 1
		;;
	players)
		"$loadgen" "$OUT/players-$1" &
		beside=$!
		sleep 3
		;;
	esac
	took=$(milliseconds "$3") || { echo "'$3' fails" >&2; exit 1; }
	[ "$2" != trace ] || kill -INT "$beside"
	[ -z "$beside" ] || wait "$beside"
	printf '%s\t%s\n' "$1" "$took" >> "$OUT/times"
	rm -rf /dev/tmp/copy
}

# measure_after VERSION|end
measure_after()
{
	local number after beside command

	while IFS=$'\t' read -r number after beside command <&3; do
		[ "$after" != "$1" ] || measure "$number" "$beside" "$command"
	done 3< "$OUT/plan"
}

mount_it
cut -f 2 "$OUT/plan" | sed '/^end$/d' | sort -nu > "$OUT/versions"
while read -r version <&4; do
	age --until "$version"
	measure_after "$version"
done 4< "$OUT/versions"
age
measure_after end
