# SPDX-License-Identifier: GPL-2.0
#
# What the runs in a guest share: what a watchdog says on the console before it stops
# the kernel, and a reader of debugfs.
#
# shellcheck shell=bash

# nap SECONDS: sleeps without a program, which takes long to start where a
# debugging kernel runs on an emulated CPU
NAP=/dev/shm/vm-nap
nap()
{
	[ -p "$NAP" ] || mkfifo "$NAP"
	read -r -t "$1" <> "$NAP" || :
}

# read_debugfs FOLDER: all files below a disk's folder. Of schedulers only those that cfq
# has: a file of kyber or mq-deadline that is read while the scheduler is switched reads
# in the base what is freed already.
read_debugfs()
{
	local name of_others=(-path '*/sched/*')

	for name in counters queues reservations service_tree sort_tree state; do
		of_others+=(! -name "$name")
	done
	find "$1" -type f -perm /400 ! -name write_hints ! -name 'trace*' \
		! \( "${of_others[@]}" \) -exec cat {} + 2> /dev/null
}

# null_disk NAME [ATTR=VALUE...]: makes a null_blk device with these attributes, in this
# order; power=1 switches it on
null_disk()
{
	local dir=/sys/kernel/config/nullb/$1 attr

	shift
	mkdir "$dir" || return
	for attr; do
		echo "${attr#*=}" > "$dir/${attr%%=*}" || {
			echo "null_blk does not take $attr" >&2
			return 1
		}
	done
}

say()
{
	echo "<4>vm-scenario: $*" > /dev/kmsg
}

# In a kernel that counts what it runs (tools/dev/coverage), leaves the counts in $VM_OUT.
save_coverage()
{
	local counts

	while read -r counts; do
		cat "$counts" > "$VM_OUT/${counts##*/}"
	done < <(find /sys/kernel/debug/gcov -name '*.gcda' 2> /dev/null)
}

dump_file()
{
	local line

	while IFS= read -r line; do
		echo "<4>vm-state: ${1#/sys/kernel/debug/block/}: $line"
	done < "$1" > /dev/kmsg
}

# A file that takes a lock which is never released must not stop the rest.
dump()
{
	local disk file pid

	say "$1; stacks of blocked tasks, then of all, then the disks"
	echo w > /proc/sysrq-trigger
	echo t > /proc/sysrq-trigger
	for disk in /sys/kernel/config/nullb/*/; do
		disk=$(basename "$disk")
		file=/sys/block/$disk/stat
		[ -r "$file" ] && say "$disk: $(cat "$file")"
		while read -r file; do
			dump_file "$file" &
			pid=$!
			for _ in 1 2 3 4 5 6 7 8 9 10; do
				kill -0 "$pid" 2> /dev/null || break
				nap 0.3
			done
		done < <(find "/sys/kernel/debug/block/$disk" -type f \
			 \( -path '*/sched/*' -o -name state -o \
			    -name requeue_list -o -name busy -o \
			    -name dispatch -o -name active \))
	done
	say "end of the state"
}
