#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# debugfs.sh SCHEDULER ROUNDS: the scheduler's files in debugfs are read while it is
# chosen and left.

. "${0%/*}/lib.sh"

null_disk disk
choose disk "$1"
folders=("$DEBUG/disk/sched")
[ -d "${folders[0]}" ] || broken "$1 has no files in debugfs"
[ ! -d "$DEBUG/disk/hctx0/sched" ] || folders+=("$DEBUG/disk/hctx0/sched")
"$PROGRAMS/sched_files" /sys/block/disk/queue/scheduler "$1" "$2" "${folders[@]}" ||
	broken "sched_files ended with $?"
# A scheduler that does not exist takes nothing away, and one that stays keeps its files.
choose disk "$1"
! echo such-as-nobody-has 2> /dev/null > /sys/block/disk/queue/scheduler || broken "any name is taken"
choose disk "$1"
[ -n "$(ls "$DEBUG/disk/sched")" ] || bug "the files are gone with $1 still there"
choose disk none
[ ! -e "$DEBUG/disk/sched" ] || bug "the files of $1 are there without it"
