# SPDX-License-Identifier: GPL-2.0
#
# Allocations fail, the driver gives requests back or loses them. Needs the debug
# flavour.
#
# shellcheck shell=bash

need_faults()
{
	[ -d "$DEBUG/$1" ] || skip "no $1 in this kernel"
}

# Every fault takes one of these.
FAULTS=1000000

# fault DIR ATTR=VALUE...: sets up an injection
fault()
{
	local dir=$1 attr

	shift
	for attr in verbose=0 interval=1 "times=$FAULTS" "$@"; do
		echo "${attr#*=}" > "$dir/${attr%%=*}" ||
			fail "$dir does not take $attr"
	done
}

# injected DIR: ends the injection; fails if there was none
injected()
{
	local left

	left=$(cat "$1/times") || fail "cannot read $1/times"
	echo 0 > "$1/probability" || fail "cannot end $1"
	echo "${1##*/}: $((FAULTS - left)) faults"
	[ "$left" -lt "$FAULTS" ] || fail "$1: nothing was injected"
}

# No queue and no io_cq can be allocated: everything goes by the fallback queue.
scenario_failing_queue_allocations()
{
	kernels debug smp

	local cache

	need_faults failslab
	for cache in cfq_queue cfq_io_cq; do
		[ -w "/sys/kernel/slab/$cache/failslab" ] ||
			fail "no cache $cache of its own; boot with slab_nomerge"
	done
	disk disk rotational=1
	fault "$DEBUG/failslab" cache-filter=Y probability=60
	for cache in cfq_queue cfq_io_cq cfq_queue; do
		echo 1 > "/sys/kernel/slab/$cache/failslab"
		verified --name=few --filename=/dev/disk --ioengine=psync \
			--direct=1 --rw=randrw --bs=4k --numjobs=8 --size=256k \
			--offset_increment=1M
		echo 0 > "/sys/kernel/slab/$cache/failslab"
		counted disk fallback
	done
	injected "$DEBUG/failslab"
	echo N > "$DEBUG/failslab/cache-filter"
	verified --name=all --filename=/dev/disk --ioengine=libaio --direct=1 \
		--rw=randrw --bs=4k --numjobs=2 --size=1M --offset_increment=8M
	drained disk
}

# failing_writer N [WORD...]: the Nth writer, behind these words
failing_writer()
{
	local writer=$1
	shift

	"$@" "$PROGRAMS/failing_writer" /dev/disk $((writer * 8388608)) > "$TMP/writer.$writer" 2>&1 &&
		touch "$TMP/done.$writer"
}

# failing WHICH: one after the other, the allocations of writes fail, of processes with and
# without a reservation, of their own and of their group; what the writes claim to have
# written is there
failing()
{
	local dir=$DEBUG/$1 writer

	need_faults "$1"
	disk disk rotational=1
	# The driver's own faults count like an allocation, and lose a request.
	fault "$NULLB/disk/timeout_inject" probability=0
	fault "$NULLB/disk/requeue_inject" probability=0
	queue disk io_timeout 1000
	fault "$dir" probability=0 ignore-gfp-wait=N
	if [ "$1" = fail_page_alloc ]; then
		fault "$dir" min-order=0 ignore-gfp-highmem=N
	fi
	cgroup_begin
	echo "$(< /sys/block/disk/dev) bps=16777216 delay=500000" > "$CGROUP/io.bw" || fail "no io.bw"
	failing_writer 0 &
	failing_writer 1 &
	failing_writer 2 reserved 16M 500ms &
	failing_writer 3 "${IN_CGROUP[@]}" &
	wait
	cat "$TMP"/writer.*
	injected "$dir"
	echo Y > "$dir/ignore-gfp-wait"
	for writer in 0 1 2 3; do
		[ -e "$TMP/done.$writer" ] || fail "writer $writer failed"
	done
	cgroup_end
	drained disk
}

scenario_failing_slab() { kernels debug smp; failing failslab; }
scenario_failing_pages() { kernels debug smp; failing fail_page_alloc; }

# The driver gives requests back: now as busy, now to be queued again.
scenario_requeues_under_load()
{
	kernels debug smp
	disk disk rotational=1 submit_queues=2
	[ -d "$NULLB/disk/requeue_inject" ] || skip "null_blk injects no faults"
	load disk
	fault "$NULLB/disk/requeue_inject" probability=20
	sleep "$(amount 5 4)"
	load_runs disk
	injected "$NULLB/disk/requeue_inject"
	load_end
	verified --name=after --filename=/dev/disk --ioengine=libaio --direct=1 \
		--rw=randrw --bs=4k --iodepth=8 --size=1M --offset=48M
	drained disk
}

# The driver loses requests; they time out, and what follows goes on.
scenario_timeouts_under_load()
{
	kernels debug smp
	disk disk rotational=1 hw_queue_depth=8
	[ -d "$NULLB/disk/timeout_inject" ] || skip "null_blk injects no faults"
	queue disk io_timeout 500
	patience 60
	fault "$NULLB/disk/timeout_inject" probability=1
	fio --output="$TMP/fio" --filename=/dev/disk --time_based --runtime=8 \
		--direct=1 --bs=4k --size=8M --rw=randrw --continue_on_error=all \
		--name=sync --ioengine=psync --numjobs=2 \
		--name=libaio --ioengine=libaio --iodepth=8 --offset=8M
	grep -E 'err=' "$TMP/fio"
	injected "$NULLB/disk/timeout_inject"
	verified --name=after --filename=/dev/disk --ioengine=libaio --direct=1 \
		--rw=randrw --bs=4k --iodepth=8 --size=1M --offset=48M
	drained disk
}
