# SPDX-License-Identifier: GPL-2.0
#
# Classes by way of control groups; by ionice they are the kselftests' part.
#
# shellcheck shell=bash

scenario_class_by_cgroup()
{
	local group=$TMP/cgroup/vm

	disk disk rotational=1
	mkdir "$TMP/cgroup"
	mount -t cgroup2 cgroup "$TMP/cgroup" || fail "no cgroup2"
	echo +io > "$TMP/cgroup/cgroup.subtree_control" || fail "no io controller"
	mkdir "$group" || fail "cannot make a cgroup"
	echo idle > "$group/io.prio.class" || fail "no io.prio.class"
	never disk dispatched_idle
	bash -c 'echo $$ > "$1"; exec dd if=/dev/disk of=/dev/null bs=64k \
		count=8 iflag=direct' _ "$group/cgroup.procs" 2> /dev/null ||
		fail "cannot read in the cgroup"
	counted disk dispatched_idle
	rmdir "$group" || fail "cannot remove the cgroup"
	umount "$TMP/cgroup"
	drained disk
}

# idle_queued DISK: sets QUEUED to the requests of the last queue of class idle
idle_queued()
{
	local line queued='class idle .* queued ([0-9]+)'

	QUEUED=0
	while read -r line; do
		[[ $line =~ $queued ]] && QUEUED=${BASH_REMATCH[1]}
	done < "$DEBUG/block/$1/sched/queues"
}

# Requests of class idle, made so one by one by a process of best effort, are not
# served while others want the disk: they must leave tags to these.
scenario_idle_requests_leave_tags()
{
	local pid before=0

	disk disk rotational=1 hw_queue_depth=1
	queue disk nr_requests 64
	queue disk iosched/idle_grace_ms 100000
	queue disk iosched/prio_aging_ms 1000000
	setsid fio --output="$TMP/fio" --name=idle --filename=/dev/disk --rw=randread \
		--bs=4k --direct=1 --ioengine=libaio --iodepth=128 \
		--cmdprio_percentage=100 --cmdprio_class=3 --time_based \
		--runtime=600 &
	pid=$!
	# until it gets no more tags
	until idle_queued disk; [ "$QUEUED" -ge 16 ] && [ "$QUEUED" = "$before" ]; do
		before=$QUEUED
		kill -0 "$pid" 2> /dev/null || fail "fio ended: $(cat "$TMP/fio")"
		nap 1
	done
	echo "$QUEUED requests of class idle are queued"
	timeout 60 dd if=/dev/disk of=/dev/null bs=4k count=50 iflag=direct \
		2> /dev/null || fail "no tags for best effort beside requests of class idle"
	queue disk iosched/idle_grace_ms 0
	kill -INT "$pid"
	load_wait "$pid"
	drained disk
}

# The requests of many processes that a control group has put into class idle have
# the limit of that class, though their processes are best effort.
scenario_idle_cgroup_leaves_tags()
{
	local pid before=0 queued depth group=$TMP/cgroup/vm

	disk disk rotational=1 hw_queue_depth=1
	queue disk nr_requests 64
	queue disk iosched/idle_grace_ms 0
	depth=$(cat /sys/block/disk/queue/async_depth)
	mkdir "$TMP/cgroup"
	mount -t cgroup2 cgroup "$TMP/cgroup" || fail "no cgroup2"
	echo +io > "$TMP/cgroup/cgroup.subtree_control" || fail "no io controller"
	mkdir "$group" || fail "cannot make a cgroup"
	echo idle > "$group/io.prio.class" || fail "no io.prio.class"
	setsid bash -c 'echo $$ > "$1"; shift; exec "$@"' _ "$group/cgroup.procs" \
		fio --output="$TMP/fio" --name=idle --filename=/dev/disk --rw=randread \
		--bs=4k --direct=1 --ioengine=psync --numjobs=70 --time_based \
		--runtime=600 &
	pid=$!
	# until each of them is known, and then until they get no more tags
	until [ "$(counter disk dispatched_idle)" -ge 1000 ]; do
		kill -0 "$pid" 2> /dev/null || fail "fio ended: $(cat "$TMP/fio")"
		nap 0.5
	done
	queue disk iosched/prio_aging_ms 1000000
	queue disk iosched/idle_grace_ms 100000
	until queued=$(awk '/class idle/ && match($0, /queued [0-9]+/) {
				sum += substr($0, RSTART + 7, RLENGTH - 7)
			    } END { print sum + 0 }' \
			"$DEBUG/block/disk/sched/queues")
	      [ "$queued" -ge 16 ] && [ "$queued" = "$before" ]; do
		before=$queued
		nap 1
	done
	echo "$queued requests of class idle are queued, at most $depth of 64"
	[ "$queued" -le "$depth" ] || fail "class idle has too many tags"
	timeout 60 dd if=/dev/disk of=/dev/null bs=4k count=50 iflag=direct \
		2> /dev/null || fail "no tags for best effort beside requests of class idle"
	queue disk iosched/idle_grace_ms 0
	kill -INT "$pid"
	load_wait "$pid"
	rmdir "$group" || fail "cannot remove the cgroup"
	umount "$TMP/cgroup"
	drained disk
}
