# SPDX-License-Identifier: GPL-2.0
#
# The queue changes under load: scheduler, sizes, tunables, hardware contexts,
# CPUs, and the disk goes away.
#
# shellcheck shell=bash

scenario_switching_schedulers_under_load()
{
	local i n

	n=$(amount 500 40)
	disk disk rotational=1
	load disk
	for ((i = 1; i <= n; i++)); do
		choose disk "${SCHEDULERS[i % ${#SCHEDULERS[@]}]}"
		[ $((i % 50)) = 0 ] && echo "$i switches after $SECONDS s"
	done
	load_end
	choose disk cfq
	drained disk
}

scenario_nr_requests_under_load()
{
	local i n

	disk disk submit_queues=2
	load disk
	for ((i = 0; i < $(amount 20 2); i++)); do
		for n in 2048 4 256 8 64 16 1024 128; do
			queue disk nr_requests "$n"
		done
		for n in 1 64 128 7; do
			queue disk async_depth "$n"
		done
	done
	load_end
	drained disk
}

# set_tunable FILE VALUE: it takes the value, or refuses it and stays as it was
set_tunable()
{
	local before now

	read -r before < "$1"
	if echo "$2" > "$1"; then before=$2; fi 2> /dev/null
	read -r now < "$1"
	[ "$now" = "$before" ] || fail "${1##*/} is $now after $2, not $before"
}

scenario_tunables_under_load()
{
	local dir=/sys/block/disk/queue/iosched i file value
	local -A default

	disk disk rotational=1 hw_queue_depth=4
	queue disk nr_requests 256
	for file in "$dir"/*; do
		read -r "default[${file##*/}]" < "$file"
	done
	[ "${#default[@]}" -gt 5 ] || fail "there are ${#default[@]} tunables"
	load disk
	for ((i = 0; i < $(amount 10 1); i++)); do
		for value in 1 100 0 100000 7 10000; do
			for file in "$dir"/*; do
				set_tunable "$file" "$value"
			done
		done
		for file in "$dir"/*; do
			value=${default[${file##*/}]}
			# Of several words the one in brackets is chosen.
			[[ $value != *"["* ]] || {
				value=${value#*"["}
				value=${value%%"]"*}
			}
			set_tunable "$file" -1
			set_tunable "$file" "${value}x"
			echo "$value" > "$file" ||
				fail "${file##*/} does not take $value"
		done
	done
	load_end
	drained disk
}

# Each of these freezes the queue.
scenario_freezing_under_load()
{
	local i

	disk disk rotational=1
	load disk
	for ((i = 0; i < $(amount 30 4); i++)); do
		queue disk rotational 0
		queue disk nr_requests $((64 + i))
		queue disk max_sectors_kb $((4 + 4 * (i % 8)))
		queue disk rotational 1
		queue disk add_random $((i % 2))
		queue disk iostats $((i % 2))
		queue disk nomerges $((i % 3))
		queue disk rq_affinity $((i % 3))
	done
	queue disk iostats 1
	load_end
	drained disk
}

scenario_hardware_contexts_change_under_load()
{
	local i

	disk disk submit_queues=1
	load disk
	for ((i = 0; i < $(amount 20 3); i++)); do
		echo $((i % 2 + 1)) > "$NULLB/disk/submit_queues" ||
			fail "submit_queues does not change"
	done
	grep -qF '[cfq]' /sys/block/disk/queue/scheduler ||
		fail "cfq was lost: $(cat /sys/block/disk/queue/scheduler)"
	load_end
	drained disk
}

scenario_cpu_hotplug_under_load()
{
	kernels plain debug

	local i cpu=/sys/devices/system/cpu/cpu1/online

	[ -w "$cpu" ] || fail "CPU 1 cannot be taken offline"
	disk disk submit_queues=2 rotational=1
	load disk
	for ((i = 0; i < $(amount 8 2); i++)); do
		echo 0 > "$cpu" || fail "cannot take CPU 1 offline"
		load_runs disk
		echo 1 > "$cpu" || fail "cannot take CPU 1 online"
		load_runs disk
	done
	load_end
	drained disk
}

scenario_removal_under_load()
{
	local i

	for ((i = 0; i < $(amount 10 2); i++)); do
		disk disk rotational=$((i % 2)) submit_queues=$((i / 2 % 2 + 1)) \
			irqmode=$((i % 3))
		load disk
		if [ $((i % 2)) = 0 ]; then
			remove disk
		else
			remove disk "at once"
		fi
		load_end any
	done
}

scenario_switching_while_processes_end()
{
	local i n

	disk disk rotational=1
	n=$(amount 60 8)
	(
		while [ ! -e "$TMP/stop" ]; do
			dd if=/dev/disk of=/dev/null bs=4k count=4 iflag=direct \
				2> /dev/null || touch "$TMP/failed"
		done
	) &
	(
		while [ ! -e "$TMP/stop" ]; do
			ionice -c3 dd if=/dev/disk of=/dev/null bs=64k count=2 \
				iflag=direct 2> /dev/null || touch "$TMP/failed"
		done
	) &
	for ((i = 0; i < n; i++)); do
		choose disk "${SCHEDULERS[i % ${#SCHEDULERS[@]}]}"
		choose disk cfq
	done
	touch "$TMP/stop"
	wait
	[ -e "$TMP/failed" ] && fail "a read failed"
	drained disk
}

# Both sides of what a task has at a disk go at once, the task and the scheduler; the
# base looked at the scheduler of what was gone already.
scenario_switching_while_many_tasks_end()
{
	disk disk rotational=0
	"$PROGRAMS/ending_readers" /dev/disk /sys/block/disk/queue/scheduler \
		"$(amount 100 20)" || fail "ending_readers ended with $?"
	choose disk cfq
	drained disk
}
