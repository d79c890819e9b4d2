# SPDX-License-Identifier: GPL-2.0
#
# What the scenarios share: null_blk disks with the scheduler on them, a load of
# several kinds of I/O, and words for what they check. Every scenario runs in a
# shell of its own, which "run" watches.
#
# shellcheck shell=bash

NULLB=/sys/kernel/config/nullb
DEBUG=/sys/kernel/debug
# shellcheck disable=SC2034 # the scenarios use it
SCHEDULERS=(none mq-deadline kyber bfq cfq)
PATIENCE_FILE=/dev/shm/vm-patience
# shellcheck disable=SC2034
PROGRAMS=$HERE/../../../build/vm

# Seconds after which a fio that sleeps is taken to sleep for good.
FIO_PATIENCE=${FIO_PATIENCE:-45}
# Seconds without news of it before its tasks are looked at, which takes a while.
FIO_SUSPECT=10

DISKS=()
LOADS=()
declare -gA LOAD_ARGS

fail()
{
	echo "FAIL: $*"
	exit 1
}

skip()
{
	echo "SKIP: $*"
	exit 4
}

# kernels FLAVOUR...: the first line of a scenario that is not for all kernels. plain and
# debug run in QEMU, smp is User-Mode Linux with two CPUs, without QEMU's drives. plain
# injects no faults; debug is slow, and not for what takes no lock that others do not take.
kernels()
{
	[[ " $* " = *" $FLAVOUR "* ]] || skip "for the kernels $*"
}

# amount PLAIN OTHER: how much of something this flavour does, unless it is to do all
amount()
{
	if [ "$FLAVOUR" != plain ] && [ -z "${FULL:-}" ]; then echo "$2"; else echo "$1"; fi
}

# patience SECONDS: I/O may stand still for so long in this scenario
patience()
{
	echo "$1" > "$PATIENCE_FILE"
}

clean_up()
{
	local pid disk

	# A child that gets a signal before it is another program comes here too.
	[ "$BASHPID" = "$SCENARIO" ] || return

	# As long as fio ends in order it leaves no shared memory behind.
	for pid in $(jobs -p); do
		kill -INT "$pid" 2> /dev/null
	done
	for pid in $(jobs -p); do
		load_wait "$pid"
	done
	# the next scenario has a disk of the same name
	awk -v dir="$TMP/" 'index($2, dir) == 1 { print $2 }' /proc/mounts | tac |
		xargs -r umount || echo "a file system stays mounted in $TMP"
	for disk in "${DISKS[@]}"; do
		[ -d "$NULLB/$disk" ] || continue
		echo 0 > "$NULLB/$disk/power"
		rmdir "$NULLB/$disk"
	done
	rm -rf "$TMP"
}

# scenario NAME: runs it in this shell, which ends with it
scenario()
{
	SCENARIO=$BASHPID
	trap clean_up EXIT
	TMP=$(mktemp -d /dev/shm/vm.XXXXXX)
	"scenario_$1"
	exit 0
}

#
# Disks
#

# disk NAME [ATTR=VALUE...]: makes /dev/NAME with these null_blk attributes and
# gives it cfq
disk()
{
	local name=$1

	shift
	DISKS+=("$name")
	null_disk "$name" size=64 memory_backed=1 irqmode=2 completion_nsec=50000 \
		hw_queue_depth=32 max_sectors=1024 "$@" power=1 ||
		fail "there is no disk $name"
	choose "$name" cfq
}

# remove DISK [at once]: "at once" without powering it off before
remove()
{
	if [ $# = 1 ]; then
		echo 0 > "$NULLB/$1/power" || fail "$1 cannot be powered off"
	fi
	rmdir "$NULLB/$1" || fail "$1 cannot be removed"
	DISKS=()
}

# choose DISK SCHEDULER
choose()
{
	local file=/sys/block/$1/queue/scheduler have

	echo "$2" > "$file" || fail "$1 does not take $2"
	read -r have < "$file" || fail "cannot read $file"
	[[ $have == *"[$2]"* ]] || fail "$1 has $have after choosing $2"
}

# queue DISK ATTR VALUE: sets a file of the request queue
queue()
{
	echo "$3" > "/sys/block/$1/queue/$2" || fail "$1: $2 does not take $3"
}

# cgroup_begin: a control group for I/O. Sets CGROUP, its folder, and IN_CGROUP, the
# words before a command that is to run in it. A name of its own: the one of a scenario
# that failed may still be there.
cgroup_begin()
{
	CGROUP=$TMP/cgroup/vm$BASHPID
	# shellcheck disable=SC2034 # the scenarios use it
	IN_CGROUP=(bash -c 'echo $$ > "$0"; exec "$@"' "$CGROUP/cgroup.procs")
	mkdir "$TMP/cgroup"
	mount -t cgroup2 cgroup "$TMP/cgroup" || fail "no cgroup2"
	echo +io > "$TMP/cgroup/cgroup.subtree_control" || fail "no io controller"
	mkdir "$CGROUP" || fail "cannot make a cgroup"
}

cgroup_end()
{
	rmdir "$CGROUP" || fail "cannot remove the cgroup"
	umount "$TMP/cgroup"
}

# class_queued DISK CLASS: sets QUEUED to the requests of all queues of a class
class_queued()
{
	local line queued="class $2 .* queued ([0-9]+)"

	QUEUED=0
	while read -r line; do
		if [[ $line =~ $queued ]]; then
			QUEUED=$((QUEUED + BASH_REMATCH[1]))
		fi
	done < "$DEBUG/block/$1/sched/queues"
}

# counter DISK NAME: a counter of the scheduler
counter()
{
	awk -v name="$2" '$1 == name { print $2; found = 1 }
			  END { exit !found }' "$DEBUG/block/$1/sched/counters" ||
		fail "$1: no counter $2"
}

# counted DISK NAME: fails unless the counter is more than 0
counted()
{
	local value

	value=$(counter "$1" "$2") || fail "$value"
	echo "$1: $2 is $value"
	[ "$value" -gt 0 ] || fail "$1: $2 is 0"
}

# never DISK NAME: fails unless the counter is 0
never()
{
	local value

	value=$(counter "$1" "$2") || fail "$value"
	[ "$value" -eq 0 ] || fail "$1: $2 is $value"
}

# drained DISK: fails if the scheduler still has anything
drained()
{
	local dir=$DEBUG/block/$1/sched

	sync
	grep -q '^queued 0 in_drive 0 ' "$dir/state" ||
		fail "$1: requests are left: $(cat "$dir/state")"
	[ -z "$(cat "$dir/service_tree")" ] ||
		fail "$1: queues are left in the service tree"
}

#
# I/O
#

# verified FIO-ARGUMENT...: fio writes, reads back and compares
verified()
{
	fio --output="$TMP/fio" --group_reporting --verify=crc32c \
		--verify_state_save=0 \
		--verify_fatal=1 --randrepeat=1 "$@"
	local code=$?

	grep -E '^ *(read|write):|^  WRITE|^   READ|err=|verify' "$TMP/fio"
	[ "$code" -eq 0 ] || {
		tail -n 40 "$TMP/fio"
		fail "fio $* ended with $code"
	}
	grep -qE 'err= *[1-9]' "$TMP/fio" && fail "fio $* had errors"
	return 0
}

# load DISK [FIO-ARGUMENT...]: all kinds of I/O in the background, which compare
# what they have written, until load_stop
load()
{
	load_start "$@"
	load_runs "$1"
}

# load_start DISK [FIO-ARGUMENT...]: fio leads a process group of its own
load_start()
{
	local disk=$1

	shift
	setsid fio --output="$TMP/load-$disk" --output-format=json \
		--filename="/dev/$disk" --time_based --runtime="$LIMIT" --size=8M \
		--verify_fatal=1 --verify_state_save=0 --randrepeat=1 \
		--thinktime=500 \
		"$@" \
		--name=sync --ioengine=psync --direct=1 --rw=randwrite \
		--bsrange=4k-32k --verify=crc32c --verify_backlog=32 --offset=0 \
		--name=libaio --ioengine=libaio --direct=1 --rw=randwrite \
		--bsrange=4k-64k --iodepth=16 --verify=crc32c \
		--verify_backlog=64 --offset=8M \
		--name=io_uring --ioengine=io_uring --direct=1 --rw=write \
		--bs=8k --iodepth=8 --verify=crc32c --verify_backlog=64 \
		--offset=16M \
		--name=buffered --ioengine=psync --direct=0 --rw=randwrite \
		--bs=4k --sync_file_range=wait_before,write:16 --fsync=256 \
		--offset=24M \
		--name=readers --ioengine=psync --direct=1 --rw=randread \
		--bs=4k --numjobs=2 --offset=32M --prioclass=2 --prio=7 \
		> "$TMP/load-$disk.out" 2>&1 &
	LOADS+=("$disk:$!")
	LOAD_ARGS[$disk]=${*@Q}
}

# load_pid DISK: sets LOAD_PID to the process group of its load
load_pid()
{
	local one

	LOAD_PID=
	for one in "${LOADS[@]}"; do
		[ "${one%:*}" = "$1" ] && LOAD_PID=${one#*:}
	done
}

# done_requests DISK: sets DONE
done_requests()
{
	local stat

	read -r -a stat < "/sys/block/$1/stat" || fail "$1 is gone"
	DONE=$((stat[0] + stat[4] + stat[11] + stat[15]))
}

# asleep GROUP: whether fio waits for nothing but itself. fio 3.33 does that now
# and then while its processes start or end: a futex that nobody wakes, no task
# in the kernel, no request in flight. A task in D or R is the kernel's affair.
asleep()
{
	local task stat rest disk

	for disk in "${DISKS[@]}"; do
		read -r -a stat 2> /dev/null < "/sys/block/$disk/stat" || continue
		[ "${stat[8]}" = 0 ] || return 1
	done
	for task in /proc/[0-9]*/task/[0-9]*; do
		read -r stat 2> /dev/null < "$task/stat" || continue
		rest=${stat##*) }
		read -r -a rest <<< "$rest"
		[ "${rest[2]}" = "$1" ] || continue
		[[ ${rest[0]} = [SZX] ]] || return 1
	done
}

# load_again DISK: fio sleeps for good, so another takes its place
load_again()
{
	local pid one kept=()

	load_pid "$1"
	pid=$LOAD_PID
	echo "$1: fio sleeps, and nothing is in flight; it is started again"
	head -n 1 /proc/"$pid"/task/*/{wchan,syscall} 2> /dev/null
	kill -KILL -- "-$pid"
	wait "$pid"
	for one in "${LOADS[@]}"; do
		[ "${one%:*}" = "$1" ] || kept+=("$one")
	done
	LOADS=("${kept[@]}")
	eval "load_start $1 ${LOAD_ARGS[$1]}"
}

# slept_too_long GROUP: one look at a fio that is waited for, and whether it sleeps for
# good. STILL, of the caller, is when it was last seen awake.
slept_too_long()
{
	nap 0.2
	[ $((SECONDS - STILL)) -ge "$FIO_SUSPECT" ] || return 1
	asleep "$1" || {
		STILL=$SECONDS
		return 1
	}
	[ $((SECONDS - STILL)) -ge "$FIO_PATIENCE" ]
}

# load_runs DISK: waits until requests of its load complete
load_runs()
{
	local before STILL=$SECONDS again=0

	done_requests "$1"
	before=$DONE
	until done_requests "$1"; [ "$DONE" -gt $((before + 20)) ]; do
		load_pid "$1"
		kill -0 "$LOAD_PID" 2> /dev/null || {
			cat "$TMP/load-$1.out"
			fail "$1: the load ended"
		}
		if slept_too_long "$LOAD_PID"; then
			[ $((++again)) -le 3 ] || fail "$1: fio does not run"
			load_again "$1"
			STILL=$SECONDS
		fi
	done
}

# load_wait PID: waits for a fio that has been told to end; kills one that sleeps
# for good, which is as good as one ended by the signal
load_wait()
{
	local STILL=$SECONDS

	while kill -0 "$1" 2> /dev/null; do
		if slept_too_long "$1"; then
			echo "fio sleeps instead of ending; it is killed"
			kill -KILL -- "-$1"
			wait "$1"
			return 137
		fi
	done
	wait "$1"
}

# load_end [any]: ends the load of all disks; without "any", whatever went wrong
# with it fails the scenario
load_end()
{
	local one disk pid code

	for one in "${LOADS[@]}"; do
		disk=${one%:*} pid=${one#*:}
		[ "${1:-}" = any ] || load_runs "$disk"
		kill -INT "$pid" 2> /dev/null
		load_wait "$pid"
		code=$?
		# 137: fio slept and left no report; it ran until just now.
		[ "${1:-}" = any ] || [ "$code" = 137 ] && continue
		# 128: ended by the signal.
		[ "$code" -eq 128 ] || [ "$code" -eq 0 ] || {
			cat "$TMP/load-$disk.out"
			fail "$disk: the load ended with $code"
		}
		grep -qE '"error" : [1-9]' "$TMP/load-$disk" && {
			cat "$TMP/load-$disk.out"
			fail "$disk: the load had errors"
		}
		awk -F: '/"total_ios"/ { n += $2 } END {
			print "load: " n " requests"; exit !n }' \
			"$TMP/load-$disk" || fail "$disk: the load did nothing"
	done
	LOADS=()
}
