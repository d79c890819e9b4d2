#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# On a disk that seeks: a reservation is kept beside greedy readers, however many,
# and keeps a greedy reader within it; what it leaves is for the others, all of it.
# And a reader who is alone gets what it gets without a scheduler. Shares of one run,
# with wide margins; the laboratory has the figures.

. "$(dirname "$0")/cfq_common.sh"

cfq_need awk dd env
cfq_device irqmode=3 hw_queue_depth=1 memory_backed=0 size=100000
cfq_need_debugfs
ioprio=$(dirname "$0")/cfq_ioprio

SECONDS_EACH=4

# reader NAME [COMMAND...]: reads in a place of its own until it is interrupted; on
# USR1 it tells how much
reader()
{
	local name=$1

	shift
	"$@" env --default-signal=INT dd if="$CFQ_DEV" of=/dev/null bs=512k \
		skip="$place" iflag=direct status=progress 2> "$CFQ_TMP/$name.dd" &
	pids="$pids $!"
}

# Whether every reader has told something: how far it is
# shellcheck disable=SC2329  # by cfq_wait_for
begun()
{
	local file

	for file in "$CFQ_TMP"/*.dd; do
		[ -s "$file" ] || return 1
	done
}

# reads NAME...: what these readers read between the first and the last time they told
reads()
{
	(cd "$CFQ_TMP" && awk '
		/records in/ && !(FILENAME in from)	{ from[FILENAME] = $1 }
		/records in/				{ to[FILENAME] = $1 }
		END { for (name in to) sum += to[name] - from[name]
		      print sum + 0 }' "$@")
}

# together N [COMMAND...]: N greedy readers beside COMMAND's one, which is "reserved";
# what they read from when all have begun, however long it takes to start them
together()
{
	local n=$1 i pids=

	shift
	rm -f "$CFQ_TMP"/*.dd
	for i in $(seq "$n"); do
		place=$((i * 15000))
		reader "other.$i"
	done
	place=0
	[ $# = 0 ] || reader reserved "$@"
	cfq_wait_for begun ||
		cfq_fail "not every reader of $((n + ($# > 0))) reads: $pids"
	# shellcheck disable=SC2086
	{
		kill -USR1 $pids
		sleep "$SECONDS_EACH"
		kill -INT $pids
		wait $pids
	}
	others=$(cd "$CFQ_TMP" && reads other.*.dd)
	[ $# = 0 ] || reserved=$(reads reserved.dd)
	echo "$n others: $others${1:+, reserved: $reserved}"
}

# scheduler NAME
scheduler()
{
	echo "$1" > "$CFQ_QUEUE/scheduler" || cfq_fail "cannot choose $1"
}

# alone_is_well: whether who is alone gets as much of cfq as without a scheduler, or
# nearly; sets alone and bare, which is what disk and machine have for a reader, and
# slow if it is not the disk that limits it.
alone_is_well()
{
	local percent=90

	scheduler none
	together 1
	bare=$others
	[ "$bare" -ge 8 ] ||
		cfq_skip "slower than the disk: shares are not judged"
	slow=
	# The disk has nearly twice as much for one reader. Where that comes from the
	# machine, it has the work of the scheduler besides.
	[ "$bare" -ge $((SECONDS_EACH * 100)) ] || slow=yes percent=66
	scheduler cfq
	echo 256 > "$CFQ_QUEUE/nr_requests"
	together 1
	alone=$others
	echo "one reader without a scheduler: $bare, with cfq: $alone"
	[ $((alone * 100)) -ge $((bare * percent)) ]
}

# Something else may have had the machine meanwhile.
alone_is_well || alone_is_well || alone_is_well ||
	cfq_fail "$alone reads alone, $bare without a scheduler"
[ -z "$slow" ] || echo "a machine slower than the disk: shares are shown, not judged"

# holds COMMAND: it measures and compares; returns 1, and sets why, where the shares
# are not what they should be. Another program or guest may have had the machine for a
# part of one measurement: what is wrong with the scheduler is so each time.
holds()
{
	local n

	for n in 1 2 3; do
		"$@" && return
		echo "$n: $why"
	done
	[ -n "$slow" ] || cfq_fail "$why"
}

# A quarter of what a reader gets alone, within 500 ms; 4 units of 128 KiB a read. With
# a bucket of a second, and a delay in advance, it is a little more than a third.
cfq_set bw_bucket_ms 1000
DUE=$((alone / 4))
RATE=$((DUE * 4 / SECONDS_EACH)),4

# Greedy, it gets what it reserved and little more: the other has the rest. (Where
# the other one is slow to ask again, the disk is free more often.)
# shellcheck disable=SC2329  # by holds
limits()
{
	together 1 "$ioprio" "$RATE"
	why="$reserved reads, and reserved are $DUE; the other got $others"
	[ "$reserved" -le $((DUE * 2)) ] || [ "$others" -gt "$reserved" ]
}
holds limits

# Beside so many that an equal share would be less than what it reserved, it gets
# that, and more than each of them.
# shellcheck disable=SC2329  # by holds
keeps()
{
	local met missed

	met=$(cfq_counter bw_deadlines_met)
	missed=$(cfq_counter bw_deadlines_missed)
	together 12 "$ioprio" "$RATE"
	met=$(($(cfq_counter bw_deadlines_met) - met))
	missed=$(($(cfq_counter bw_deadlines_missed) - missed))
	why="$reserved reads, reserved are $DUE; $others by 12 others"
	why+="; $met deadlines met, $missed missed"
	[ "$others" -gt 0 ] && [ $((reserved * 2)) -ge "$DUE" ] &&
		[ $((reserved * 12 * 10)) -ge $((others * 11)) ] &&
		[ "$met" -gt "$missed" ]
}
holds keeps

# A reservation that is not used takes the disk from nobody: its process has read once
# and waits for somebody who reads that.
# shellcheck disable=SC2329  # by cfq_wait_for
has_read()
{
	[ "$(cfq_counter dispatched_BW)" -gt "$dispatched" ]
}

# Compared with a reader who is alone at about the same time.
# shellcheck disable=SC2329  # by holds
unused_is_free()
{
	local dispatched idle preemptions

	together 1
	alone=$others
	dispatched=$(cfq_counter dispatched_BW)
	"$ioprio" 1000,0 dd if="$CFQ_DEV" of="$CFQ_TMP/full" bs=128k iflag=direct \
		2> /dev/null &
	idle=$!
	cfq_wait_for has_read || cfq_fail "who reserves cannot read"
	dispatched=$(cfq_counter dispatched_BW)
	preemptions=$(cfq_counter bw_preemptions)
	together 1
	[ "$(cfq_counter dispatched_BW) $(cfq_counter bw_preemptions)" = \
		"$dispatched $preemptions" ] ||
		cfq_fail "who reserves and does not read is served"
	grep -q "^pid $idle " "$CFQ_DEBUG/reservations" ||
		cfq_fail "its reservation is gone"
	kill "$idle"
	wait "$idle"
	why="$others reads beside who reserves and does not read, $alone alone"
	[ $((others * 4)) -ge $((alone * 3)) ]
}

# What the fifo has room for is less than a read, so nobody needs to empty it.
mkfifo "$CFQ_TMP/full" || cfq_fail "no fifo"
exec 9<> "$CFQ_TMP/full"
holds unused_is_free
[ -z "$slow" ] || cfq_skip "slower than the disk: shares are not judged"
exit "$KSFT_PASS"
