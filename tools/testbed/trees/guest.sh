#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In User-Mode Linux: ages a file system on a modelled disk, and measures how long programs take to
# read a tree of it, in virtual time and with nothing cached.
# usage: OUT=FOLDER guest.sh FILE-SYSTEM TREES LOADGEN DISK [OPTIONS of disk create]
# input: FOLDER/list (tools/testbed/ageing) and FOLDER/plan, lines of
#   NUMBER <tab> AFTER <tab> BESIDE <tab> COMMAND
# AFTER: the version after which to run COMMAND, or `end`. BESIDE: `players`, whose job is in
# FOLDER/players-NUMBER; `trace`, which is written to FOLDER/NUMBER.blktrace.0; or `-`.
# output: FOLDER/times, lines of NUMBER <tab> milliseconds
set -euo pipefail

fs=$1 trees=$2 loadgen=$3
shift 3
uuid=6d5f1c1e-0d3a-4c0e-9a51-0a0b0c0d0e0f
device=/dev/rot0
mkdir /dev/tmp /dev/lived
mount -t tmpfs tmpfs /dev/tmp
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
export TMPDIR=/dev/tmp

tools/testbed/disk/disk create "$@" --name rot0 --set memory_backed=1 --set max_sectors=1024 > /dev/null
case $fs in
ext4) mkfs.ext4 -q -U "$uuid" -E "lazy_itable_init=0,lazy_journal_init=0,hash_seed=$uuid" "$device" ;;
xfs) mkfs.xfs -q -f -K -m "uuid=$uuid" "$device" ;;
*) echo "unknown file system '$fs': ext4 or xfs" >&2; exit 2 ;;
esac

# noatime: otherwise the first program that reads would also write access times.
# mount_it [OPTIONS]
mount_it()
{
	mount -t "$fs" -o "noatime${1:+,$1}" "$device" /dev/lived
}

# For some seconds after a mount ext4 reads block bitmaps (ext4lazyinit), which would delay the program.
quiet=
[ "$fs" != ext4 ] || quiet=no_prefetch_block_bitmaps

forget()
{
	umount /dev/lived
	mount_it "$quiet"
	echo 3 > /proc/sys/vm/drop_caches
	# a new instance has the default tunables
	echo none > /sys/block/rot0/queue/scheduler
	echo cfq > /sys/block/rot0/queue/scheduler
}

# age [--until VERSION]: with the usual mount options
age()
{
	umount /dev/lived
	mount_it
	tools/testbed/ageing/ageing apply "$OUT/list" /dev/lived --zeros --allocate --quiet --journal "$OUT/journal" \
		--trees "$trees" --early "$trees" --clean "$trees" --media 10 "$@"
}

# milliseconds COMMAND: the output goes through a pipe, as tar skips the data if it is /dev/null
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
