#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In the guest: a rotating disk with a full queue, and a trace of its timer.
# usage: timer-guest.sh PRESET DEPTH SECONDS
set -eu

preset=$1 depth=$2 seconds=$3
tracing=/sys/kernel/tracing

"$(dirname "$0")/../../testbed/disk/disk" create "$preset" --name deep --set "hw_queue_depth=$depth" > /dev/null
echo none > /sys/block/deep/queue/scheduler
mountpoint -q "$tracing" || mount -t tracefs tracefs "$tracing"
echo 20000 > "$tracing/buffer_size_kb"
for event in entry exit; do
	echo 1 > "$tracing/events/timer/hrtimer_expire_$event/enable"
done
# one process for reads and writes is enough to keep the queue full
fio --name=deep --filename=/dev/deep --direct=1 --rw=randrw --rwmixread=70 --bs=4k --ioengine=libaio \
	--iodepth="$((2 * depth))" --iodepth_batch=16 --time_based --runtime="$seconds" > /dev/null
echo 0 > "$tracing/tracing_on"
cat "$tracing/trace" > "$VM_OUT/trace"
echo 0 > /sys/kernel/config/nullb/deep/power
