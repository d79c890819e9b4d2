#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In the guest: one null_blk disk, the mixed jobs under each scheduler, and reads with a reservation.
# usage: guest.sh SECONDS JOBFOLDER PRESET|- BWCTL SETTINGS SCHEDULER...|all
# SETTINGS: of queue/, as "NAME=VALUE ...", which the udev rule sets
set -eu

seconds=$1 jobs=$2 preset=$3 bwctl=$4 settings=$5
shift 5

# shellcheck source=tools/testbed/vm/guest/watch.sh
. "$jobs/../vm/guest/watch.sh"

disk=/sys/kernel/config/nullb/table # becomes /dev/table
if [ "$preset" != - ] && grep -q rot/rpm /sys/kernel/config/nullb/features; then
	"$jobs/../disk/disk" create "$preset" --name table > /dev/null
	echo "disk: the rotating disk $preset"
else
	null_disk table size=4096 irqmode=2 completion_nsec=1000000 hw_queue_depth=32 max_sectors=1024 \
		submit_queues=1 power=1
	echo "disk: null_blk, every request takes 1 ms"
fi
queue=/sys/block/table/queue

# use SCHEDULER: sets it, and the settings, of which nr_requests becomes the default with each scheduler
use()
{
	local setting

	echo "$1" > "$queue/scheduler"
	for setting in $settings; do
		[ "$1" = none ] && [ "${setting%%=*}" = nr_requests ] || echo "${setting#*=}" > "$queue/${setting%%=*}"
	done
}

[ "$1" = all ] && read -r -a list < <(tr -d '[]' < "$queue/scheduler") || list=("$@")
for scheduler in "${list[@]}"; do
	use "$scheduler"
	echo "run: $scheduler"
	FIO_DEVICE=/dev/table FIO_SECONDS=$seconds fio --output-format=json \
		--output="$VM_OUT/$scheduler.json" "$jobs/mixed.fio"
done

# The class works: reads with a reservation are counted as such.
if grep -qw cfq "$queue/scheduler"; then
	use cfq
	"$bwctl" run --quiet --rate 3M --delay 1000ms -- dd if=/dev/table of=/dev/null bs=3M count=4 iflag=direct 2> /dev/null
	cat /sys/kernel/debug/block/table/sched/counters > "$VM_OUT/counters"
fi
echo 0 > "$disk/power"
rmdir "$disk"
