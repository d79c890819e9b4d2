#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Under load the scheduler is changed, the number of requests is changed, and the
# disk is taken away: no request is lost, and no data.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd cmp timeout
cfq_device size=64
gone=$NULLB/${CFQ_NAME}g

# shellcheck disable=SC2329  # by cfq_exit
cleanup()
{
	[ ! -d "$gone" ] || rmdir "$gone"
}

# writer NUMBER: writes and reads back a region of its own, until told to stop
writer()
{
	while [ ! -e "$CFQ_TMP/stop" ]; do
		dd if="$CFQ_TMP/pattern" of="$CFQ_DEV" bs=64k seek=$((100 * $1)) \
			oflag=direct status=none || return
		dd if="$CFQ_DEV" bs=64k skip=$((100 * $1)) count=32 iflag=direct \
			status=none | cmp -s - "$CFQ_TMP/pattern" || return
		echo .
	done > "$CFQ_TMP/writer.$1"
	touch "$CFQ_TMP/good.$1"
}

# Whether something was written since it was so before
# shellcheck disable=SC2329  # by cfq_wait_for
written()
{
	local stat

	read -r -a stat < "/sys/block/$CFQ_NAME/stat"
	[ "${stat[4]}" != "$writes" ] && writes=${stat[4]}
}

# Whether each of the three readers has a request in the disk that goes away
# shellcheck disable=SC2329  # by cfq_wait_for
all_read()
{
	local reads

	read -r reads _ < "/sys/block/${gone##*/}/inflight"
	[ "$reads" = 3 ]
}

head -c 2097152 /dev/urandom > "$CFQ_TMP/pattern"
for n in 1 2 3; do
	writer "$n" &
done
writes=0
schedulers=$(tr -d '[]' < "$CFQ_QUEUE/scheduler")
for round in 1 2 3 4 5; do
	for scheduler in $schedulers cfq; do
		cfq_wait_for written || cfq_fail "nobody writes any more"
		echo "$scheduler" > "$CFQ_QUEUE/scheduler" ||
			cfq_fail "cannot choose $scheduler"
		# without a scheduler it is the drive that limits them
		[ "$scheduler" = none ] ||
			echo $((32 * round)) > "$CFQ_QUEUE/nr_requests" ||
			cfq_fail "$scheduler refuses $((32 * round)) requests"
	done
done
touch "$CFQ_TMP/stop"
wait
for n in 1 2 3; do
	[ -e "$CFQ_TMP/good.$n" ] || cfq_fail "writer $n found other data, or an error"
	[ -s "$CFQ_TMP/writer.$n" ] || cfq_fail "writer $n wrote nothing"
done
grep -qF '[cfq]' "$CFQ_QUEUE/scheduler" || cfq_fail "cfq is not chosen at the end"

# The disk goes away while it is read: the readers end, and so does the disk.
for round in 1 2 3; do
	mkdir "$gone" || cfq_fail "no second disk"
	for attr in size=64 irqmode=2 completion_nsec=20000000 power=1; do
		echo "${attr#*=}" > "$gone/${attr%%=*}"
	done
	echo cfq > "/sys/block/${gone##*/}/queue/scheduler" ||
		cfq_fail "the second disk does not take cfq"
	for n in 1 2 3; do
		timeout 60 dd if="/dev/${gone##*/}" of=/dev/null bs=4k iflag=direct \
			status=none 2> /dev/null &
		pids[n]=$!
	done
	cfq_wait_for all_read || cfq_fail "not every reader has a request in the disk"
	echo 0 > "$gone/power"
	for n in 1 2 3; do
		wait "${pids[n]}"
		[ $? != 124 ] || cfq_fail "a reader does not end with its disk"
	done
	rmdir "$gone" || cfq_fail "the second disk does not go"
	[ ! -e "/sys/block/${gone##*/}" ] || cfq_fail "the second disk is still there"
done
exit "$KSFT_PASS"
