# SPDX-License-Identifier: GPL-2.0
#
# Classes by way of control groups; by ionice they are the kselftests' part.
#
# shellcheck shell=bash

scenario_class_by_cgroup()
{
	disk disk rotational=1
	cgroup_begin
	echo idle > "$CGROUP/io.prio.class" || fail "no io.prio.class"
	never disk dispatched_idle
	"${IN_CGROUP[@]}" dd if=/dev/disk of=/dev/null bs=64k count=8 iflag=direct \
		2> /dev/null || fail "cannot read in the cgroup"
	counted disk dispatched_idle
	cgroup_end
	drained disk
}

# Best effort reads without a pause, so that class idle waits, until reader_ends.
reader_begins()
{
	setsid fio --output="$TMP/reader" --name=reader --filename=/dev/disk --rw=read \
		--bs=64k --direct=1 --ioengine=psync --time_based --runtime="$LIMIT" &
	READER=$!
}

reader_ends()
{
	kill -INT "$READER"
	load_wait "$READER"
}

# idle_tags_run_out PID: until the fio PID gets no more tags; sets QUEUED
idle_tags_run_out()
{
	local before=0

	until class_queued disk idle; [ "$QUEUED" -ge 12 ] && [ "$QUEUED" = "$before" ]; do
		before=$QUEUED
		kill -0 "$1" 2> /dev/null || fail "fio ended: $(cat "$TMP/fio")"
		nap 1
	done
}

# tags_are_left PID: for best effort and writeback, beside the requests of the fio PID,
# which ends
tags_are_left()
{
	timeout 60 dd if=/dev/disk of=/dev/null bs=4k count=50 iflag=direct \
		2> /dev/null || fail "no tags for best effort beside requests of class idle"
	timeout 60 dd if=/dev/zero of=/dev/disk bs=64k count=8 oflag=nocache \
		conv=notrunc 2> /dev/null ||
		fail "no tags for writeback beside requests of class idle"
	reader_ends
	kill -INT "$1"
	load_wait "$1"
}

# Requests of class idle, made so one by one by a process of best effort, are not
# served while others want the disk: they must leave tags to these.
scenario_idle_requests_leave_tags()
{
	local pid

	disk disk rotational=1 hw_queue_depth=1
	queue disk nr_requests 64
	queue disk iosched/prio_aging_ms 1000000
	reader_begins
	setsid fio --output="$TMP/fio" --name=idle --filename=/dev/disk --rw=randread \
		--bs=4k --direct=1 --ioengine=libaio --iodepth=128 \
		--cmdprio_percentage=100 --cmdprio_class=3 --time_based \
		--runtime="$LIMIT" &
	pid=$!
	idle_tags_run_out "$pid"
	echo "$QUEUED requests of class idle are queued"
	tags_are_left "$pid"
	drained disk
}

# The requests of many processes that a control group has put into class idle have
# the limit of that class, though their processes are best effort.
scenario_idle_cgroup_leaves_tags()
{
	kernels plain smp

	local pid depth

	disk disk rotational=1 hw_queue_depth=1
	queue disk nr_requests 64
	depth=$(cat /sys/block/disk/queue/async_depth)
	cgroup_begin
	echo idle > "$CGROUP/io.prio.class" || fail "no io.prio.class"
	setsid "${IN_CGROUP[@]}" fio --output="$TMP/fio" --name=idle \
		--filename=/dev/disk --rw=randread --bs=4k --direct=1 \
		--ioengine=psync --numjobs=70 --time_based --runtime="$LIMIT" &
	pid=$!
	# until each of them is known
	until [ "$(counter disk dispatched_idle)" -ge 1000 ]; do
		kill -0 "$pid" 2> /dev/null || fail "fio ended: $(cat "$TMP/fio")"
		nap 0.5
	done
	queue disk iosched/prio_aging_ms 1000000
	reader_begins
	idle_tags_run_out "$pid"
	echo "$QUEUED requests of class idle are queued, at most $depth of 64"
	[ "$QUEUED" -le "$depth" ] || fail "class idle has too many tags"
	tags_are_left "$pid"
	cgroup_end
	drained disk
}
