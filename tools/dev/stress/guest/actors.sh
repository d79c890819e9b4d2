# SPDX-License-Identifier: GPL-2.0
#
# The actors of a stress run that are shell loops. Each is a process of its own,
# with chance of its own, until $STOP exists; then it prints what it has counted:
# "action<TAB>result<TAB>count". An error where none may be is a line that begins
# with ERROR, and exit code 1.
#
# shellcheck shell=bash

ACTORS=(readers streams priorities files fio discards flushes devices traces observer
	faults memory groups)

MiB=1048576

declare -A counted
bad=0

running()
{
	[ ! -e "$STOP" ]
}

# act NAME SEED: be this actor
act()
{
	local key

	trap - EXIT
	RANDOM=$(($2 % 32768))
	"actor_$1"
	wait
	for key in "${!counted[@]}"; do
		printf '%s\t%s\n' "$key" "${counted[$key]}"
	done
	[ "$bad" = 0 ] && [ ! -e "$TMP/bad.$1" ]
}

count()
{
	local key=$1$'\t'$2

	counted[$key]=$((${counted[$key]:-0} + ${3:-1}))
}

error()
{
	echo "ERROR: $*"
	bad=1
}

# rnd N: 0 to N - 1, in $rnd
rnd()
{
	rnd=$(((RANDOM * 32768 + RANDOM) % $1))
}

# pick WORD...: one of them, in $pick
pick()
{
	rnd $#
	shift "$rnd"
	pick=$1
}

# nap MS: a random time of up to twice that
nap()
{
	rnd $((2 * $1 + 1))
	sleep "$((rnd / 1000)).$(printf %03d $((rnd % 1000)))"
}

# tried ACTION COMMAND...: it must not fail
tried()
{
	local action=$1 said code

	shift
	said=$("$@" 2>&1)
	code=$?
	if [ "$code" = 0 ]; then
		count "$action" "done"
	else
		error "$* ended with $code: $said"
		count "$action" unexpected
	fi
}

# may_fail ACTION COMMAND...: it may
may_fail()
{
	local action=$1

	shift
	if "$@" > /dev/null 2>&1; then
		count "$action" "done"
	else
		count "$action" "expected exit code $?"
	fi
}

# Reads with dd, in all classes of ionice.
actor_readers()
{
	local disk how class kind

	while running; do
		pick clean turns files faulty
		disk=$pick
		pick 1 2 3
		class=$pick
		pick "" iflag=direct
		how=$pick
		rnd 160
		kind=tried
		[ "$disk" = faulty ] && kind=may_fail
		$kind "read $disk" ionice -c "$class" dd "if=/dev/$disk" of=/dev/null \
			bs=64k skip="$rnd" count=$((RANDOM % 24 + 1)) ${how:+"$how"}
		nap 20
	done
}

# Processes with a reservation, of which half are killed.
actor_streams()
{
	local disk delay rate pid pids=()

	while running; do
		pick clean turns files faulty
		disk=$pick
		pick 25 50 100 200 500 1000 2000
		delay=$pick
		rnd 2000
		rate=$((rnd + 1))
		"$PROGRAMS/bwctl" run --quiet --rate "${rate}00K" --delay "${delay}ms" -- \
			dd "if=/dev/$disk" of=/dev/null bs=64k \
			count=$((RANDOM % 100 + 1)) iflag=direct 2> /dev/null &
		pids+=($!)
		nap 100
		[ ${#pids[@]} -lt 5 ] && continue
		for pid in "${pids[@]}"; do
			if [ $((RANDOM % 2)) = 0 ] && kill -KILL "$pid" 2> /dev/null; then
				wait "$pid" 2> /dev/null
				count stream killed
			elif wait "$pid" 2> /dev/null; then
				count stream "done"
			else
				# it read the faulty disk, or found no cfq there
				count stream "expected exit code"
			fi
		done
		pids=()
	done
}

# Processes that run get other classes.
actor_priorities()
{
	local name pid

	while running; do
		for name in worker-direct worker-buffered worker-aio turns-direct \
			    turns-aio faulty-direct faulty-aio; do
			read -r pid < "$TMP/pids/$name" || continue
			case $((RANDOM % 5)) in
			0) may_fail "set class RT" ionice -c1 -n $((RANDOM % 8)) -p "$pid" ;;
			1) may_fail "set class BE" ionice -c2 -n $((RANDOM % 8)) -p "$pid" ;;
			2) may_fail "set class idle" ionice -c3 -p "$pid" ;;
			3) may_fail "set class BW" "$PROGRAMS/bwctl" set --quiet \
				--rate "$((RANDOM % 1000 + 1))00K" --delay 100ms "$pid" ;;
			4) may_fail "set class none" ionice -c0 -p "$pid" ;;
			esac
			nap 100
			running || return
		done
	done
	# In no class does anything starve for ever.
	true
}

# Files of ext4, whose sums are kept.
actor_files()
{
	local dir=$TMP/mnt file n=0

	mkdir -p "$dir"
	mkfs.ext4 -q /dev/files > /dev/null 2>&1 || {
		error "mkfs.ext4 failed"
		return
	}
	tried mount mount -o discard /dev/files "$dir"
	mkdir -p "$TMP/sums" "$dir/d"
	while running; do
		rnd 60
		file=$rnd
		case $((RANDOM % 8)) in
		0|1|2)
			rnd 200
			tried "write and fsync" dd if=/dev/urandom "of=$dir/d/$file" \
				bs=4k count=$((rnd + 1)) conv=fsync
			sum_of "$file"
			;;
		3|4)
			rnd 300000
			head -c "$rnd" /dev/urandom > "$dir/d/$file" || error "cannot write"
			sum_of "$file"
			count write "done"
			;;
		5)
			rm -f "$dir/d/$file" "$TMP/sums/$file"
			count remove "done"
			;;
		6)
			[ -e "$dir/d/$file" ] || continue
			rnd 60
			[ "$rnd" = "$file" ] && continue
			mv "$dir/d/$file" "$dir/d/$rnd" || error "cannot rename"
			mv "$TMP/sums/$file" "$TMP/sums/$rnd"
			count rename "done"
			;;
		7)
			[ -e "$dir/d/$file" ] || continue
			[ "$(sha256sum < "$dir/d/$file")" = "$(cat "$TMP/sums/$file")" ] ||
				error "file $file is not what was written"
			count "read and compare" "done"
			;;
		esac
		[ $((++n % 40)) = 0 ] && tried fstrim fstrim "$dir"
		nap 30
	done
	tried sync sync -f "$dir"
}

sum_of()
{
	sha256sum < "$TMP/mnt/d/$1" > "$TMP/sums/$1"
}

# After all has ended: the same files, and a file system without faults
check_files()
{
	local dir=$TMP/mnt file n=0 wrong=0

	umount "$dir" || { echo "cannot unmount"; return 1; }
	e2fsck -fn /dev/files > "$TMP/e2fsck" 2>&1 || {
		cat "$TMP/e2fsck"
		echo "e2fsck found faults"
		return 1
	}
	mount /dev/files "$dir" || { echo "cannot mount"; return 1; }
	for file in "$TMP"/sums/*; do
		[ -e "$file" ] || continue
		n=$((n + 1))
		[ "$(sha256sum < "$dir/d/${file##*/}")" = "$(cat "$file")" ] || {
			echo "file ${file##*/} is not what was written"
			wrong=1
		}
	done
	[ "$(find "$dir/d" -type f | wc -l)" = "$n" ] || {
		echo "there are other files than were written"
		wrong=1
	}
	umount "$dir"
	printf 'verify\tfiles\t%s\n' "$n"
	return $wrong
}

# fio, with its own check of what it wrote. Version 3.33 now and then waits for
# itself for ever (see asleep() of the scenarios): then it is killed.
actor_fio()
{
	local engine code

	while running; do
		pick psync libaio io_uring
		engine=$pick
		rnd 100000
		# shellcheck disable=SC2154 # of run
		timeout -k 5 $((90 * slow)) fio --output="$TMP/fio" --name=f \
			--filename=/dev/clean --offset=24M --size=8M --io_size=1M \
			"--ioengine=$engine" --iodepth=8 --direct=1 --rw=randwrite \
			--bsrange=4k-64k --verify=crc32c --verify_fatal=1 \
			--verify_state_save=0 "--randseed=$rnd" > "$TMP/fio.said" 2>&1
		code=$?
		case $code in
		0) count "$engine" "done" ;;
		124|137) count "$engine" "expected sleep" ;;
		*)
			error "fio $engine ended with $code: $(tail -n 3 "$TMP/fio.said" "$TMP/fio")"
			count "$engine" unexpected
			;;
		esac
		nap 500
	done
}

# What was discarded is zeros, what is beside it is not. Without -f blkdiscard holds the
# disk (O_EXCL), and the kernel refuses others to discard pages that are in use.
actor_discards()
{
	local at

	while running; do
		rnd 32
		at=$((40 * MiB + rnd * 131072))
		tried write dd if=/dev/urandom of=/dev/clean bs=64k seek=$((at / 65536)) \
			count=2 oflag=direct,sync conv=notrunc
		if [ $((RANDOM % 4)) = 0 ]; then
			tried "write zeros" blkdiscard -f -z -o "$at" -l 65536 /dev/clean
		else
			tried discard blkdiscard -f -o "$at" -l 65536 /dev/clean
		fi
		dd if=/dev/clean bs=64k skip=$((at / 65536)) count=1 iflag=direct 2> /dev/null |
			cmp -s -n 65536 - /dev/zero || error "byte $at is not zero after a discard"
		count compare "done"
		may_fail "discard faulty" blkdiscard -f -o 8M -l 1M /dev/faulty
		nap 100
	done
}

actor_flushes()
{
	local disk

	while running; do
		pick clean turns files
		disk=$pick
		case $((RANDOM % 4)) in
		0) tried flushbufs blockdev --flushbufs "/dev/$disk" ;;
		1) tried sync sync ;;
		2) tried "sync device" sync "/dev/$disk" ;;
		3) may_fail "sync faulty" sync /dev/faulty ;;
		esac
		nap 300
	done
}

# Disks come, get I/O, and go at once.
actor_devices()
{
	local disk pid attrs

	while running; do
		pick comes0 comes1
		disk=$pick
		attrs=(size=8 "submit_queues=$((RANDOM % 2 + 1))")
		case $((RANDOM % 4)) in
		0) attrs+=("${TURNS[@]}") ;;
		1) attrs+=("irqmode=$((RANDOM % 3))" rotational=1) ;;
		2) attrs+=(discard=1 cache_size=1) ;;
		3) attrs+=("hw_queue_depth=$((RANDOM % 8 + 1))" blocking=1) ;;
		esac
		if ! make_disk "$disk" "${attrs[@]}" 2> "$TMP/made"; then
			error "$disk cannot be made with ${attrs[*]}: $(cat "$TMP/made")"
			rmdir "$NULLB/$disk"
			continue
		fi
		count make "done"
		pick cfq cfq none bfq mq-deadline kyber
		echo "$pick" 2> /dev/null > "/sys/block/$disk/queue/scheduler"
		pick direct aio buffered
		"$PROGRAMS/worker" "$pick" "/dev/$disk" 0 $((4 * MiB)) "$RANDOM" \
			"$TMP/$disk.state" errors > "$TMP/$disk.said" 2>&1 &
		pid=$!
		nap 1000
		case $((RANDOM % 4)) in
		0) kill -KILL "$pid" ;;
		1) kill -TERM "$pid"; wait "$pid" ;;
		esac 2> /dev/null
		[ $((RANDOM % 2)) = 0 ] && echo 0 > "$NULLB/$disk/power"
		tried remove rmdir "$NULLB/$disk"
		kill -TERM "$pid" 2> /dev/null
		wait "$pid" 2> /dev/null
		if grep -E '^(WRONG|ERROR)' "$TMP/$disk.said"; then
			error "the worker of $disk failed"
		fi
		rm -f "$TMP/$disk.state"
	done
}

# blktrace comes and goes; that a CPU is gone when it starts is no fault of it.
actor_traces()
{
	local disk

	mkdir -p "$TMP/trace"
	while running; do
		pick clean files turns faulty
		disk=$pick
		may_fail "trace" timeout -s INT -k $((30 * slow)) $((20 * slow)) \
			blktrace -d "/dev/$disk" -D "$TMP/trace" -o t -w 2 -b 64 -n 4
		rm -f "$TMP"/trace/*
		nap 500
	done
}

# All of debugfs and sysfs that the queue's kernel prints
actor_observer()
{
	local disk

	while running; do
		for disk in "$DEBUG"/block/{clean,files,turns,faulty,comes0,comes1}; do
			[ -d "$disk" ] || continue
			read_debugfs "$disk" > /dev/null
			count "read debugfs" "done"
			cat "/sys/block/${disk##*/}"/queue/iosched/* \
				"$NULLB/${disk##*/}"/rot_* > /dev/null 2>&1
			nap 100
		done
		may_fail "bwctl show" "$PROGRAMS/bwctl" show
	done
}

# set_up DIR ATTR=VALUE...: the attributes of an injection
set_up()
{
	local dir=$1 attr

	shift
	for attr; do
		echo "${attr#*=}" > "$dir/${attr%%=*}" || error "$dir does not take $attr"
	done
}

# Allocations fail: all those of the faulty disk's workers, or those of cfq's
# caches for everybody. Never all of everybody.
actor_faults()
{
	local slab=$DEBUG/failslab pages=$DEBUG/fail_page_alloc dir cache

	for dir in "$NULLB"/faulty/{timeout,requeue}_inject "$slab" "$pages" \
		   "$DEBUG"/fail_io_timeout "$DEBUG"/fail_make_request; do
		[ -d "$dir" ] && set_up "$dir" probability=0 verbose=0 interval=1 "times=$FAULTS"
	done
	set_up "$slab" ignore-gfp-wait=N
	set_up "$pages" task-filter=Y ignore-gfp-wait=N min-order=0 probability=2
	for cache in cfq_queue cfq_io_cq; do
		[ -L "/sys/kernel/slab/$cache" ] || echo 1 > "/sys/kernel/slab/$cache/failslab"
	done
	while running; do
		set_up "$slab" probability=0
		case $((RANDOM % 3)) in
		0)
			set_up "$slab" cache-filter=N task-filter=Y probability=3
			count "workers' allocations fail" "done"
			;;
		1)
			set_up "$slab" task-filter=N cache-filter=Y probability=50
			count "cfq's allocations fail" "done"
			;;
		2)
			count "none fail" "done"
			;;
		esac
		nap 2000
	done
	set_up "$slab" probability=0 cache-filter=Y
	set_up "$pages" probability=0
	for cache in cfq_queue cfq_io_cq; do
		[ -L "/sys/kernel/slab/$cache" ] || echo 0 > "/sys/kernel/slab/$cache/failslab"
	done
}

# number_of DISK: its device number, in $number; fails if it is gone
number_of()
{
	read -r number 2> /dev/null < "/sys/block/$1/dev"
}

write_to()
{
	echo "$2" > "$1"
}

# leave_group GROUP: all that is in it goes to the root
leave_group()
{
	local pid

	while read -r pid; do
		write_to "$CGROUPS/cgroup.procs" "$pid"
	done < "$1/cgroup.procs"
} 2> /dev/null

# Control groups, one below another too, come and go and reserve on all disks; the
# workers and their writeback move from one to another.
actor_groups()
{
	local group name pid try

	mountpoint -q "$CGROUPS" || mount -t cgroup2 cgroup2 "$CGROUPS" || {
		count "no control groups" "expected"
		return
	}
	write_to "$CGROUPS/cgroup.subtree_control" "+io +memory" || error "no controllers"
	while running; do
		pick stress0 stress1 stress2 stress0/below
		group=$CGROUPS/$pick
		pick clean files turns faulty comes0 comes1
		number_of "$pick" || continue
		case $((RANDOM % 8)) in
		0|1) may_fail "make group" mkdir "$group" ;;
		2|3)
			rnd 4000000
			may_fail "reserve" write_to "$group/io.bw" \
				"$number bps=$((rnd + 4096)) delay=$((1000 + rnd / 4)) streams=$((rnd % 9 + 1))"
			;;
		4) may_fail "reserve nothing" write_to "$group/io.bw" "$number none" ;;
		5)
			pick worker-direct worker-buffered worker-aio turns-direct turns-aio \
				faulty-direct faulty-aio files fio
			read -r pid 2> /dev/null < "$TMP/pids/$pick" || continue
			may_fail "move a process" write_to "$group/cgroup.procs" "$pid"
			;;
		6)
			pick "none" "bps=50000000 seek=1000" "bps=4096 seek=1000000 share=1"
			may_fail "model" write_to "$CGROUPS/io.bw.model" "$number $pick"
			cat "$CGROUPS"/io.bw.model "$CGROUPS"/stress*/io.{bw,stat} > /dev/null 2>&1
			;;
		7)
			[ ! -d "$group" ] || leave_group "$group"
			may_fail "remove group" rmdir "$group"
			;;
		esac
		nap 50
	done
	for name in stress0/below stress0 stress1 stress2; do
		group=$CGROUPS/$name
		[ -d "$group" ] || continue
		leave_group "$group"
		# A process that was being made when it was moved is in it still.
		for ((try = 0; try < 100; try++)); do
			rmdir "$group" 2> /dev/null && continue 2
			leave_group "$group"
			sleep 0.1
		done
		error "$group does not go"
	done
}

# The page cache is given up, while others fill it. Seldom: programs are in it too,
# and the shells would do nothing but wait for them.
actor_memory()
{
	while running; do
		echo $((RANDOM % 3 + 1)) > /proc/sys/vm/drop_caches
		count "drop caches" "done"
		nap 12000
	done
}
