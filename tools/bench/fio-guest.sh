#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In the guest: one null_blk disk, the jobs under each scheduler, and players
# beside greedy readers.
# usage: fio-guest.sh SECONDS PLAYER-SECONDS JOBFOLDER PRESET|- BWCTL|- SCHEDULER...|all
set -eu

seconds=$1 player_seconds=$2 jobs=$3 preset=$4 bwctl=$5
shift 5

# shellcheck source=tools/vm/guest/watch.sh
. "$jobs/../vm/guest/watch.sh"

disk=/sys/kernel/config/nullb/table # becomes /dev/table
if [ "$preset" != - ] && grep -q rot/model /sys/kernel/config/nullb/features; then
	"$jobs/../disk/disk" create "$preset" --name table > /dev/null
	echo "disk: the rotating disk $preset"
else
	null_disk table size=4096 irqmode=2 completion_nsec=1000000 hw_queue_depth=32 max_sectors=1024 \
		submit_queues=1 power=1
	echo "disk: null_blk, every request takes 1 ms"
fi
queue=/sys/block/table/queue

[ "$1" = all ] && read -r -a list < <(tr -d '[]' < "$queue/scheduler") || list=("$@")
for scheduler in "${list[@]}"; do
	echo "$scheduler" > "$queue/scheduler"
	[ "$scheduler" = none ] || echo 256 > "$queue/nr_requests"
	echo "run: $scheduler"
	FIO_DEVICE=/dev/table FIO_SECONDS=$seconds fio --output-format=json \
		--output="$VM_OUT/$scheduler.json" "$jobs/jobs.fio"
done

# The players have a reservation of just what they read, or else class RT, where the scheduler knows it.
export FIO_DEVICE=/dev/table FIO_SECONDS=$player_seconds
for scheduler in cfq mq-deadline bfq none; do
	[ "$bwctl" != - ] && [ "$(cat "$disk/rot/model" 2> /dev/null)" = 1 ] || break
	grep -qw "$scheduler" "$queue/scheduler" || continue
	case $scheduler in
	cfq) class=("$bwctl" run --quiet --rate 3M --delay 1000ms --) ;;
	none) class=() ;;
	*) class=(ionice -c realtime) ;;
	esac
	echo "$scheduler" > "$queue/scheduler"
	[ "$scheduler" = none ] || echo 256 > "$queue/nr_requests"
	echo 128 > "$queue/read_ahead_kb"
	echo 3 > /proc/sys/vm/drop_caches
	echo "players: $scheduler"
	fio --output-format=json --output="$VM_OUT/greedy-$scheduler.json" "$jobs/greedy.fio" &
	greedy=$!
	"${class[@]}" fio --output-format=json+ --output="$VM_OUT/players-$scheduler.json" "$jobs/players.fio"
	wait "$greedy"
done
echo 0 > "$disk/power"
rmdir "$disk"
