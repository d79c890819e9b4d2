#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# On a disk that seeks: a reservation is kept beside greedy readers, however many,
# and keeps a greedy reader within it; what it leaves is for the others, all of it.
# Shares of one run, with wide margins; the laboratory has the figures.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd timeout
cfq_device rot_model=1 irqmode=0 hw_queue_depth=1 memory_backed=0 size=100000
cfq_need_debugfs
echo 256 > "$CFQ_QUEUE/nr_requests"
ioprio=$(dirname "$0")/cfq_ioprio
tmp=$(mktemp -d) || cfq_fail "no temporary directory"
trap 'cfq_cleanup; rm -rf "$tmp"' EXIT

SECONDS_EACH=4

# reader NAME [COMMAND...]: reads in a place of its own; how much, in reads
reader()
{
	local name=$1

	shift
	"$@" timeout --foreground -s INT "$SECONDS_EACH" dd if="$CFQ_DEV" \
		of=/dev/null bs=512k skip="$place" iflag=direct 2> "$tmp/$name.dd"
	sed -n 's/^\([0-9]*\)+.*records in$/\1/p' "$tmp/$name.dd" > "$tmp/$name.reads"
}

# together N [COMMAND...]: N greedy readers beside COMMAND's one, which is "reserved"
together()
{
	local n=$1 i

	shift
	rm -f "$tmp"/other.*
	for i in $(seq "$n"); do
		place=$((i * 15000))
		reader "other.$i" &
	done
	place=0
	[ $# = 0 ] || reader reserved "$@" &
	wait
	others=$(awk '{ sum += $1 } END { print sum }' "$tmp"/other.*.reads)
	reserved=$(cat "$tmp/reserved.reads" 2> /dev/null)
	echo "$n others: ${others:-none}${1:+, reserved: $reserved}"
	[ -n "$others" ] || cfq_fail "the others read nothing"
}

# judge TEXT: a failure, where the disk is what limits the readers
judge()
{
	[ -n "$slow" ] || cfq_fail "$*"
}

together 1
alone=$others
slow=
# The disk has four times as much for one reader.
[ "$alone" -ge $((SECONDS_EACH * 40)) ] || {
	echo "# a machine slower than the disk: shares are shown, not judged"
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
exit "$KSFT_PASS"
