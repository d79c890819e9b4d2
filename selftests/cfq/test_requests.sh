#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The priority that a request carries itself, through aio and io_uring, decides
# its class, whatever its process has.

. "$(dirname "$0")/cfq_common.sh"

cfq_need ionice
cfq_device rotational=1
cfq_need_debugfs
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
	[ "$code" = 38 ] && [ "$way" = uring ] && return
	[ "$code" = 0 ] || cfq_fail "$way, $class: errno $code"
	after=$(cfq_counter "dispatched_$class")
	[ "$after" = $((before + count)) ] ||
		cfq_fail "$way: $((after - before)) of $count requests in class $class"
}

for way in aio uring; do
	counted "$way" BW 16,2
	counted "$way" BW 16,2 ionice -c 3
	counted "$way" RT $((1 << 13 | 4))
	counted "$way" BE $((2 << 13 | 7)) ionice -c 1
	counted "$way" idle $((3 << 13))
	"$request" "$way" "$CFQ_DEV" 0,2 1
	code=$?
	[ "$code" = 38 ] || [ "$code" = "$EINVAL" ] ||
		cfq_fail "$way: a reservation of nothing: errno $code"
done
exit "$KSFT_PASS"
