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
ioprio=$(dirname "$0")/cfq_ioprio
tmp=$(mktemp -d) || cfq_fail "no temporary directory"
trap 'cfq_cleanup; rm -rf "$tmp"' EXIT

SECONDS_EACH=4
# 2 MiB/s within 2 s: reads of 64 KiB
RATE=16,7
DUE=$((SECONDS_EACH * 32))

# reader NAME [COMMAND...]: reads in a place of its own; how much, in reads
reader()
{
	local name=$1

	shift
	place=$((place + 2000))
	"$@" timeout --foreground -s INT "$SECONDS_EACH" dd if="$CFQ_DEV" \
		of=/dev/null bs=64k skip="$place" iflag=direct 2> "$tmp/$name.dd"
	sed -n 's/^\([0-9]*\)+.*records in$/\1/p' "$tmp/$name.dd" > "$tmp/$name.reads"
}

# together N [COMMAND...]: N greedy readers beside COMMAND's one, which is "reserved"
together()
{
	local n=$1 i

	shift
	rm -f "$tmp"/other.*
	for i in $(seq "$n"); do
		place=$((i * 200000))
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

together 1
alone=$others

# However many others there are, it gets what it reserved, and little more.
for n in 1 4; do
	together "$n" "$ioprio" "$RATE"
	[ "$reserved" -ge $((DUE * 8 / 10)) ] ||
		cfq_fail "$reserved reads of $DUE beside $n others"
	[ "$reserved" -le $((DUE * 2)) ] ||
		cfq_fail "$reserved reads, and reserved are $DUE"
	[ "$others" -gt "$reserved" ] ||
		cfq_fail "$n others got $others reads beside $reserved"
done
[ "$(cfq_counter bw_deadlines_met)" -gt "$(cfq_counter bw_deadlines_missed)" ] ||
	cfq_fail "most deadlines were missed"

# A reservation that is not used costs nobody anything.
"$ioprio" 1000,0 sleep "$SECONDS_EACH" &
together 1
[ "$others" -ge $((alone * 6 / 10)) ] ||
	cfq_fail "$others reads beside who reserves and does not read, $alone alone"
exit "$KSFT_PASS"
