#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# On a disk that seeks: a reservation is kept beside greedy readers, however many,
# and keeps a greedy reader within it; what it leaves is for the others, all of it.
# Shares of one run, with wide margins; the laboratory has the figures.

. "$(dirname "$0")/cfq_common.sh"

cfq_need awk dd env
cfq_device rot_model=1 irqmode=0 hw_queue_depth=1 memory_backed=0 size=100000
cfq_need_debugfs
echo 256 > "$CFQ_QUEUE/nr_requests"
ioprio=$(dirname "$0")/cfq_ioprio
tmp=$(mktemp -d) || cfq_fail "no temporary directory"
trap 'cfq_cleanup; rm -rf "$tmp"' EXIT

SECONDS_EACH=4

# reader NAME [COMMAND...]: reads in a place of its own until it is interrupted; on
# USR1 it tells how much
reader()
{
	local name=$1

	shift
	"$@" env --default-signal=INT dd if="$CFQ_DEV" of=/dev/null bs=512k \
		skip="$place" iflag=direct status=progress 2> "$tmp/$name.dd" &
	pids="$pids $!"
}

# Whether every reader has told something: how far it is
# shellcheck disable=SC2329  # by cfq_wait_for
begun()
{
	local file

	for file in "$tmp"/*.dd; do
		[ -s "$file" ] || return 1
	done
}

# reads NAME...: what these readers read between the first and the last time they told
reads()
{
	(cd "$tmp" && awk '
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
	rm -f "$tmp"/*.dd
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
	others=$(cd "$tmp" && reads other.*.dd)
	[ $# = 0 ] || reserved=$(reads reserved.dd)
	echo "$n others: $others${1:+, reserved: $reserved}"
}

# judge TEXT: a failure, where the disk is what limits the readers
judge()
{
	[ -n "$slow" ] || cfq_fail "$*"
}

together 1
alone=$others
slow=
# The disk has nearly twice as much for one reader.
[ "$alone" -ge $((SECONDS_EACH * 100)) ] || {
	echo "a machine slower than the disk: shares are shown, not judged"
	slow=yes
}
[ "$alone" -ge 8 ] || cfq_skip "this machine reads too little: $alone times 512 KiB"
# A quarter of what a reader gets alone, within 2 s; 4 units of 128 KiB a read.
DUE=$((alone / 4))
RATE=$((DUE * 4 / SECONDS_EACH)),7

# Greedy, it gets what it reserved and little more: the other has the rest. (Where
# the other one is slow to ask again, the disk is free more often.)
together 1 "$ioprio" "$RATE"
[ "$reserved" -le $((DUE * 2)) ] || [ "$others" -gt "$reserved" ] ||
	judge "$reserved reads, and reserved are $DUE; the other got $others"

# Beside so many that an equal share would be less than what it reserved, it gets
# more than each of them.
together 12 "$ioprio" "$RATE"
[ "$others" -gt 0 ] || judge "12 others read nothing"
[ $((reserved * 12 * 10)) -ge $((others * 11)) ] ||
	judge "$reserved reads reserved, $others by 12 others"
[ "$(cfq_counter bw_deadlines_met)" -gt "$(cfq_counter bw_deadlines_missed)" ] ||
	judge "most deadlines were missed"

# A reservation that is not used takes the disk from nobody.
dispatched=$(cfq_counter dispatched_BW)
preemptions=$(cfq_counter bw_preemptions)
"$ioprio" 1000,0 sleep "$SECONDS_EACH" &
together 1
[ "$(cfq_counter dispatched_BW) $(cfq_counter bw_preemptions)" = \
	"$dispatched $preemptions" ] ||
	cfq_fail "who reserves and does not read is served"
[ "$others" -ge $((alone / 4)) ] ||
	judge "$others reads beside who reserves and does not read, $alone alone"
[ -z "$slow" ] || cfq_skip "slower than the disk: shares are not judged"
exit "$KSFT_PASS"
