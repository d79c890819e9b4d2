#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In the guest: one null_blk disk, the jobs under each scheduler, and two videos
# with a reservation beside greedy readers.
# usage: guest.sh SECONDS STREAM-SECONDS JOBFOLDER PRESET|- BWCTL|- SCHEDULER...|all
set -eu

seconds=$1 stream_seconds=$2 jobs=$3 preset=$4 bwctl=$5
shift 5

disk=/sys/kernel/config/nullb/table # becomes /dev/table
mkdir "$disk"
set_attribute() { echo "$2" > "$disk/$1" || { echo "null_blk refuses $1=$2" >&2; exit 1; }; }

if [ -e "$disk/rot_model" ] && [ "$preset" != - ]; then
	while IFS='= ' read -r name value _; do
		case $name in ''|'#'*) ;; *) set_attribute "$name" "$value" ;; esac
	done < "$preset"
	echo "disk: the rotating disk $(basename "$preset" .conf)"
else
	set_attribute size 4096
	set_attribute irqmode 2
	set_attribute completion_nsec 1000000
	set_attribute hw_queue_depth 32
	set_attribute max_sectors 1024
	set_attribute submit_queues 1
	echo "disk: null_blk, every request takes 1 ms"
fi
set_attribute power 1
queue=/sys/block/table/queue

[ "$1" = all ] && read -r -a list < <(tr -d '[]' < "$queue/scheduler") || list=("$@")
for scheduler in "${list[@]}"; do
	echo "$scheduler" > "$queue/scheduler"
	[ "$scheduler" = none ] || echo 256 > "$queue/nr_requests"
	echo "run: $scheduler"
	FIO_DEVICE=/dev/table FIO_SECONDS=$seconds fio --output-format=json \
		--output="$VM_OUT/$scheduler.json" "$jobs/jobs.fio"
done

# Under every scheduler the videos ask for the same reservation.
export FIO_DEVICE=/dev/table FIO_SECONDS=$stream_seconds
for scheduler in cfq mq-deadline bfq; do
	[ "$bwctl" != - ] && [ -e "$disk/rot_model" ] || break
	grep -qw "$scheduler" "$queue/scheduler" || continue
	echo "$scheduler" > "$queue/scheduler"
	echo 256 > "$queue/nr_requests"
	echo "streams: $scheduler"
	fio --output-format=json --output="$VM_OUT/greedy-$scheduler.json" \
		"$jobs/greedy.fio" &
	"$bwctl" run --quiet --rate 3M --delay 50ms -- \
		fio --output-format=json+ --output="$VM_OUT/video-$scheduler.json" \
		"$jobs/video.fio"
	wait
done
echo 0 > "$disk/power"
rmdir "$disk"
