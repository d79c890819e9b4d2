#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In the guest: for each scheduler, /proc/lock_stat and the number of requests while processes on
# all CPUs read and write.
# usage: lock-guest.sh SECONDS SCHEDULER...
set -eu

seconds=$1
shift

[ -e /proc/lock_stat ] || { echo "the kernel has no lock statistics; build it with CONFIG_LOCK_STAT" >&2; exit 1; }
nullb=/sys/kernel/config/nullb/locks
mkdir "$nullb"
# completions in a timer, as from a drive: they take the lock concurrently with submitters
echo 2 > "$nullb/irqmode"
echo 100000 > "$nullb/completion_nsec"
echo 32 > "$nullb/hw_queue_depth"
echo 1024 > "$nullb/size"
echo 1 > "$nullb/power"
for scheduler; do
	echo "$scheduler" > /sys/block/locks/queue/scheduler
	echo 1 > /proc/sys/kernel/lock_stat
	echo 0 > /proc/lock_stat
	read -r reads _ _ _ writes _ < /sys/block/locks/stat
	fio --name=locks --filename=/dev/locks --direct=1 --rw=randrw --rwmixread=70 --bs=4k \
		--ioengine=libaio --iodepth=8 --numjobs=4 --time_based --runtime="$seconds" > /dev/null
	cat /proc/lock_stat > "$VM_OUT/$scheduler.lock_stat"
	read -r reads_now _ _ _ writes_now _ < /sys/block/locks/stat
	echo $((reads_now - reads + writes_now - writes)) > "$VM_OUT/$scheduler.requests"
done
echo 0 > "$nullb/power"
rmdir "$nullb"
