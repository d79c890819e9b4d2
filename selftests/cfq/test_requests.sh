#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The priority that a request carries itself, through aio and io_uring, decides
# its class, whatever its process has; and what the flushes of others wait for is
# of best effort, whatever was asked for.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd ionice
cfq_device rotational=1 cache_size=8 fua=0
cfq_need_debugfs
ioprio=$(dirname "$0")/cfq_ioprio
request=$(dirname "$0")/cfq_request
count=20
EINVAL=22

# counted WAY CLASS PRIORITY [COMMAND...]
counted()
{
	local way=$1 class=$2 priority=$3 before after

	shift 3
	before=$(cfq_counter "dispatched_$class")
	"$@" "$request" "$way" "$CFQ_DEV" "$priority" "$count"
	code=$?
	[ "$code" = 0 ] || cfq_fail "$way, $class: errno $code"
	after=$(cfq_counter "dispatched_$class")
	[ "$after" = $((before + count)) ] ||
		cfq_fail "$way: $((after - before)) of $count requests in class $class"
}

ways="aio uring"
! cfq_no_uring || {
	ways=aio
	echo "ok 1 io_uring # SKIP no io_uring"
}
for way in $ways; do
	counted "$way" BW 16,2
	counted "$way" BW 16,2 ionice -c 3
	counted "$way" RT $((1 << 13 | 4))
	counted "$way" BE $((2 << 13 | 7)) ionice -c 1
	counted "$way" idle $((3 << 13))
	"$request" "$way" "$CFQ_DEV" 0,2 1
	code=$?
	[ "$code" = "$EINVAL" ] ||
		cfq_fail "$way: a reservation of nothing: errno $code"
done

# flushed CLASS PRIORITY: writes to the medium, through a cache without FUA
flushed()
{
	local class=$1 before best

	before=$(cfq_counter "dispatched_$class")
	best=$(cfq_counter dispatched_BE)
	"$ioprio" "$2" dd if=/dev/zero of="$CFQ_DEV" bs=4k count=5 \
		oflag=direct,dsync 2> /dev/null || cfq_fail "cannot write"
	[ "$(cfq_counter "dispatched_$class")" = "$before" ] ||
		cfq_fail "what flushes wait for was served in class $class"
	[ "$(cfq_counter dispatched_BE)" -ge $((best + 5)) ] ||
		cfq_fail "what flushes wait for was not served as best effort"
}

flushed idle $((3 << 13))
flushed BW 16,2

# All writeback shares tags: it waits for no idle disk either.
"$ioprio" $((3 << 13)) dd if=/dev/zero of="$CFQ_DEV" bs=64k count=4 oflag=nocache \
	conv=notrunc 2> /dev/null
grep -q '^pid 0 async class BE level 7 ' "$CFQ_DEBUG/queues" ||
	cfq_fail "no asynchronous writes of class idle served as best effort"
exit "$KSFT_PASS"
