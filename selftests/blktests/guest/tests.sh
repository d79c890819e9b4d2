#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# tests.sh TEST...: runs tests of blktests one by one in a booted kernel, with SCHEDULER
# on all disks. The environment has TREE, the folder of blktests; MODULES, a folder with
# lib/modules, or nothing; DEVICE, the disk for tests that want one, or nothing; SCRATCH,
# the disk for files; QUICK and LIMIT, the seconds that a test should and may take; TRIES, how
# often a test that fails is run.
#
# Leaves in $VM_OUT: "running", the test that is running; "done" (test, exit code, seconds;
# a line each); logs/GROUP-NUMBER; results, what blktests itself keeps, when a test failed.
# A test that takes too long ends the guest, since nobody knows what it has left.

set -u
HERE=$(cd "$(dirname "$0")" && pwd)
. "$HERE/../../../tools/testbed/vm/guest/watch.sh"

export SETTLED=/run/scheduler-settled LOGGER_PROG=true LC_ALL=C
export PATH=$HERE/programs:/usr/sbin:/usr/bin:/sbin:/bin
FILES=/run/blktests

give_up()
{
	echo "tests.sh: $*" >&2
	exit 3
}

use_modules()
{
	mkdir -p /lib/modules
	mount --bind "$MODULES/lib/modules" /lib/modules || give_up "no modules in $MODULES"
}

# Whether a disk that appears has the scheduler when who made it goes on.
scheduler_is_default()
{
	local have

	modprobe -q null_blk nr_devices=0
	null_disk probe size=8 power=1 || give_up "null_blk makes no disk"
	udevadm settle
	read -r have < /sys/block/probe/queue/scheduler
	rmdir /sys/kernel/config/nullb/probe
	# Built in it stays; as a module, tests want to load it themselves.
	modprobe -qr null_blk
	[[ $have == *"[$SCHEDULER]"* ]] ||
		give_up "a new disk has not $SCHEDULER: $have"
}

set_up()
{
	[ -z "$MODULES" ] || use_modules
	python3 "$HERE/scheduler.py" "$SCHEDULER" "$SETTLED" > "$VM_OUT/disks" &
	until [ -s "$SETTLED" ]; do
		kill -0 $! 2> /dev/null || give_up "nobody sets the scheduler"
		nap 0.2
	done
	scheduler_is_default
	mkdir -p "$FILES" "$VM_OUT/logs"
	mkfs.ext4 -q -F "$SCRATCH" || give_up "no file system on $SCRATCH"
	mount "$SCRATCH" "$FILES" || give_up "$SCRATCH cannot be mounted"
}

run_test()
{
	local test=$1 log=$VM_OUT/logs/${1/\//-} begin=$SECONDS code try

	echo "$test" > "$VM_OUT/running"
	: > "$log"
	for ((try = 0; try < TRIES; try++)); do
		timeout --kill-after=20 "$LIMIT" ./check --quick="$QUICK" \
			--output="$FILES/results" "$test" >> "$log" 2>&1 < /dev/null
		code=$?
		[ "$code" != 0 ] || break
		cp -r "$FILES/results" "$VM_OUT"
		[ "$code" = 1 ] || break
	done
	[ "$code" != 124 ] && [ "$code" != 137 ] || code="no end within $LIMIT s"
	printf '%s\t%s\t%s\n' "$test" "$code" "$((SECONDS - begin))" >> "$VM_OUT/done"
	rm "$VM_OUT/running"
	[ "${code%% *}" != no ]
}

set_up
cd "$TREE" || give_up "no $TREE"
export TEST_DEVS=$DEVICE
for test; do
	run_test "$test" || break
done
