#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In the guest: one null_blk disk and the mixed jobs under each scheduler, then players concurrent
# with sequential readers, then cameras on a file system concurrent with a copy and a backup.
# usage: guest.sh SECONDS PLAYER-SECONDS CAMERA-SECONDS JOBFOLDER PRESET|- BWCTL|- SETTINGS SCHEDULER...|all
# SETTINGS: of queue/, as "NAME=VALUE ...", which the udev rule sets
set -eu

seconds=$1 player_seconds=$2 camera_seconds=$3 jobs=$4 preset=$5 bwctl=$6 settings=$7
shift 7

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
rotates=0
[ "$(cat "$disk/irqmode")" != 3 ] || rotates=1

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

# The players reserve exactly their rate, or have class RT where the scheduler has classes.
export FIO_DEVICE=/dev/table FIO_SECONDS=$player_seconds
for scheduler in cfq mq-deadline bfq none; do
	[ "$player_seconds" != 0 ] && [ "$rotates" = 1 ] || break
	grep -qw "$scheduler" "$queue/scheduler" || continue
	case $scheduler in
	cfq) class=("$bwctl" run --quiet --rate 3M --delay 1000ms --) ;;
	none) class=() ;;
	*) class=(ionice -c realtime) ;;
	esac
	use "$scheduler"
	echo 3 > /proc/sys/vm/drop_caches
	echo "players: $scheduler"
	fio --output-format=json --output="$VM_OUT/readers-$scheduler.json" "$jobs/sequential.fio" &
	readers=$!
	"${class[@]}" fio --output-format=json+ --output="$VM_OUT/players-$scheduler.json" "$jobs/players.fio"
	wait "$readers"
	[ "$scheduler" != cfq ] || cat /sys/kernel/debug/block/table/sched/counters > "$VM_OUT/counters"
done
echo 0 > "$disk/power"
rmdir "$disk"

# Cameras in one control group, copy and backup in another. cfq has a reservation for the cameras,
# bfq has weights. Copy and backup read the part of the disk behind the file system.
[ "$camera_seconds" != 0 ] && [ "$rotates" = 1 ] || exit 0
"$jobs/../disk/disk" create "$preset" --name recorder --set memory_backed=1 > /dev/null
disk=/sys/kernel/config/nullb/recorder
queue=/sys/block/recorder/queue
groups=/sys/fs/cgroup
mountpoint -q "$groups" || mount -t cgroup2 cgroup2 "$groups"
echo "+io +memory" > "$groups/cgroup.subtree_control"
mkdir -p "$groups/cameras" "$groups/others" /dev/shm/recorder
echo $((128 << 20)) > /proc/sys/vm/dirty_bytes
echo $((64 << 20)) > /proc/sys/vm/dirty_background_bytes
export FIO_FOLDER=/dev/shm/recorder FIO_SECONDS=$camera_seconds

# background RESULT DD-OPERAND...: runs dd in the group of the others while the cameras record;
# its output goes to the file RESULT
background()
{
	local result=$1

	shift
	(
		echo 0 > "$groups/others/cgroup.procs"
		exec timeout --foreground -s INT "$camera_seconds" dd bs=1M "$@" 2> "$result"
	) || :
}

for scheduler in cfq mq-deadline bfq; do
	grep -qw "$scheduler" "$queue/scheduler" || continue
	mkfs.ext4 -q -F /dev/recorder $((40 << 20))
	mount /dev/recorder "$FIO_FOLDER"
	use "$scheduler"
	case $scheduler in
	cfq) "$bwctl" group --rate 16MB --delay 500ms --streams 16 cameras recorder ;;
	bfq)
		echo 1000 > "$groups/cameras/io.bfq.weight"
		echo 10 > "$groups/others/io.bfq.weight"
		;;
	esac
	echo 3 > /proc/sys/vm/drop_caches
	echo "cameras: $scheduler"
	background "$VM_OUT/backup-$scheduler" if=/dev/recorder of=/dev/null skip=102400 &
	background "$VM_OUT/copy-$scheduler" if=/dev/recorder of="$FIO_FOLDER/copy" skip=204800 &
	(
		echo 0 > "$groups/cameras/cgroup.procs"
		exec fio --output-format=json+ --output="$VM_OUT/cameras-$scheduler.json" "$jobs/recorder.fio"
	)
	wait
	umount "$FIO_FOLDER"
	[ "$scheduler" != cfq ] || "$bwctl" group --none cameras recorder
done
echo 0 > "$disk/power"
rmdir "$disk" "$groups/cameras" "$groups/others"
