#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The scheduler's messages in a block trace: slices, dispatched requests, idling and
# preemption. The block tracer of ftrace shows the trace, so no other program is needed.
#
# shellcheck disable=SC2329  # functions are called by traced and cfq_exit

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd ionice
cfq_device rotational=1 hw_queue_depth=1
tracing=/sys/kernel/tracing
enable=/sys/block/$CFQ_NAME/trace/enable
mountpoint -q "$tracing" || mount -t tracefs none "$tracing" 2> /dev/null
[ -w "$tracing/current_tracer" ] || cfq_skip "no tracefs"
[ -w "$enable" ] || cfq_skip "no BLK_DEV_IO_TRACE"
read -r tracer < "$tracing/current_tracer"
[ "$tracer" = nop ] || cfq_skip "the tracer $tracer is in use"

cleanup()
{
	echo 0 > "$enable"
	echo nop > "$tracing/current_tracer"
}

# traced COMMAND...: runs COMMAND, and writes the device's trace to $CFQ_TMP/trace
traced()
{
	echo blk > "$tracing/current_tracer" || cfq_fail "cannot choose the block tracer"
	echo 1 > "$enable" || cfq_fail "cannot start the trace"
	"$@"
	echo 0 > "$enable"
	cp "$tracing/trace" "$CFQ_TMP/trace" || cfq_fail "cannot copy the trace"
	echo nop > "$tracing/current_tracer"
}

# expect MESSAGE...: the trace contains each of these regular expressions
expect()
{
	local message

	for message in "$@"; do
		grep -qE " m +N cfq [0-9]+S $message" "$CFQ_TMP/trace" ||
			cfq_fail "the trace contains no message '$message'"
	done
}

traced dd if="$CFQ_DEV" of=/dev/null bs=64k count=50 iflag=direct status=none
expect 'BE4 slice start length_us [0-9]+' 'BE4 dispatch [0-9]+[+]128 queued [0-9]+'
count=$(grep -cE " m +N cfq [0-9]+S BE4 dispatch [0-9]+[+]128 " "$CFQ_TMP/trace")
[ "$count" -ge 50 ] || cfq_fail "$count messages for 50 requests"

# Real-time reads and reads with a reservation arrive while the disk serves, or idles
# for, a best-effort reader.
readers()
{
	local reader

	dd if="$CFQ_DEV" of=/dev/null bs=64k iflag=direct status=none &
	reader=$!
	for _ in 1 2 3; do
		ionice -c1 dd if="$CFQ_DEV" of=/dev/null bs=64k count=1 skip=2000 \
			iflag=direct status=none
		"$(dirname "$0")/cfq_ioprio" 8,3 dd if="$CFQ_DEV" of=/dev/null \
			bs=64k count=1 skip=3000 iflag=direct status=none
	done
	kill "$reader"
	wait "$reader"
}

# The idle window is long enough for a reader on a slow machine.
cfq_set slice_idle_us 200000
traced readers
expect 'BE4 idle window_us [0-9]+ think_us [0-9]+ seek [0-9]+' \
	'BE4 slice end (preempt|tokens) dispatched [0-9]+ residual_us [0-9]+' \
	'BW4 tokens -?[0-9]+ rate 1048576 deadline_us -?[0-9]+'
exit "$KSFT_PASS"
