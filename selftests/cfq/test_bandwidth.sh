#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The bandwidth class: who may set it, and to what; that it is inherited; that
# its requests are served in a class of their own, that debt ends its slices when
# others wait and does not when nobody does.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd setpriv timeout
cfq_device rotational=1 hw_queue_depth=1 memory_backed=0 size=100000
cfq_need_debugfs
echo 256 > "$CFQ_QUEUE/nr_requests"
ioprio=$(dirname "$0")/cfq_ioprio
tmp=$(mktemp -d) || cfq_fail "no temporary directory"
trap 'cfq_cleanup; rm -rf "$tmp"' EXIT

EPERM=1
EINVAL=22
BW=$((4 << 13))

"$ioprio" 8,3 true || cfq_fail "1 MiB/s cannot be reserved"
"$ioprio" 1023,7 true || cfq_fail "the largest reservation is refused"
"$ioprio" "$((BW | 3))" true
[ $? = "$EINVAL" ] || cfq_fail "a reservation of nothing is taken"
setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all \
	"$ioprio" 8,3 true
[ $? = "$EPERM" ] || cfq_fail "anybody can reserve"
setpriv --bounding-set -all,+sys_nice --inh-caps -all "$ioprio" 8,3 true ||
	cfq_fail "CAP_SYS_NICE is not enough"
got=$("$ioprio" 8,3 sh -c "\"$ioprio\" get") || cfq_fail "no priority"
[ "$got" = $((BW | 8 << 3 | 3)) ] || cfq_fail "a child has priority $got"

# shellcheck disable=SC2329  # by cfq_wait_for
reservation_shown()
{
	read -r shown < "$CFQ_DEBUG/reservations"
}

# Alone: all the disk gives, whatever the tokens.
cfq_read 3 "$tmp/alone" "$ioprio" 1,3 || cfq_fail "nothing is read"
alone=$(cfq_counter dispatched_BW)
[ "$alone" -ge "$(cat "$tmp/alone")" ] ||
	cfq_fail "$alone requests of class BW after $(cat "$tmp/alone") reads"
[ "$alone" -gt 20 ] || cfq_fail "a reservation limits who is alone: $alone reads"
[ "$(cfq_counter expired_debt)" = 0 ] || cfq_fail "debt counts for who is alone"

[ "$(cfq_counter bw_reservations)" = 1 ] || cfq_fail "there is not one reservation"
bytes=$(($(cfq_counter bw_bytes_in) + $(cfq_counter bw_bytes_over)))
[ "$bytes" = $((alone * 65536)) ] ||
	cfq_fail "$bytes bytes counted for $alone requests of 64 KiB"
[ "$(cfq_counter bw_bytes_over)" -gt 0 ] || cfq_fail "more than it reserved is not counted"
requests=$(($(cfq_counter bw_deadlines_met) + $(cfq_counter bw_deadlines_missed)))
[ "$requests" = "$alone" ] || cfq_fail "$requests deadlines for $alone requests"

# Shown as long as its process lives, which nobody reads from and which waits.
mkfifo "$tmp/full" || cfq_fail "no fifo"
exec 9<>"$tmp/full"
"$ioprio" 1,3 dd if="$CFQ_DEV" of="$tmp/full" bs=64k iflag=direct 2>/dev/null &
cfq_wait_for reservation_shown
kill $!
wait
echo "$shown"
[[ $shown == "pid "*" rate 131072 delay_ms 200 bucket 131072 tokens "* ]] ||
	cfq_fail "the reservation is shown as '$shown'"

# Beside others: no more than its tokens.
cfq_read 4 "$tmp/reserved" "$ioprio" 1,3 &
cfq_read 4 "$tmp/other" &
wait
echo "reserved: $(cat "$tmp/reserved"), best effort: $(cat "$tmp/other")"
[ "$(cfq_counter expired_debt)" -gt 0 ] || cfq_fail "debt ends no slice"
[ "$(cat "$tmp/other")" -gt "$(cat "$tmp/reserved")" ] ||
	cfq_fail "best effort got $(cat "$tmp/other") reads beside 128 KiB/s"
exit "$KSFT_PASS"
