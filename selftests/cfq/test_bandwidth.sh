#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The bandwidth class: who may set it, and to what; that it is inherited; that
# its requests are served in a class of their own, that debt ends its slices when
# others wait and does not when nobody does.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd setpriv timeout
# Slow, so that the disk is what readers wait for, on a slow machine too; a read of
# 512 KiB is eight requests.
cfq_device rotational=1 hw_queue_depth=1 memory_backed=0 size=100000 \
	completion_nsec=50000000 max_sectors=128
cfq_need_debugfs
echo 256 > "$CFQ_QUEUE/nr_requests"
ioprio=$(dirname "$0")/cfq_ioprio

EPERM=1
EINVAL=22
BW=$((4 << 13))

"$ioprio" 8,3 true || cfq_fail "1 MiB/s cannot be reserved"
"$ioprio" 1023,7 true || cfq_fail "the largest reservation is refused"
"$ioprio" "$((BW | 3))" true
[ $? = "$EINVAL" ] || cfq_fail "a reservation of nothing is taken"
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all"
# shellcheck disable=SC2086
$nobody "$ioprio" $((2 << 13 | 4)) true || cfq_fail "no program runs as nobody"
# shellcheck disable=SC2086
$nobody "$ioprio" 8,3 true
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

# shellcheck disable=SC2329  # by cfq_wait_for
no_reservation_shown()
{
	local shown

	! reservation_shown
}

# Alone: all the disk gives, whatever the tokens.
cfq_read 4 "$CFQ_TMP/alone" "$ioprio" 1,3 || cfq_fail "nothing is read"
alone=$(cfq_counter dispatched_BW)
[ "$alone" -ge "$(cat "$CFQ_TMP/alone")" ] ||
	cfq_fail "$alone requests of class BW after $(cat "$CFQ_TMP/alone") reads"
[ "$alone" -gt 15 ] || cfq_fail "a reservation limits who is alone: $alone reads"
debts=$(cfq_counter expired_debt)
# Somebody may look what the new disk holds.
[ "$debts" -le 2 ] || cfq_fail "debt counts for who is alone: it ended $debts slices"

[ "$(cfq_counter bw_reservations)" = 1 ] || cfq_fail "there is not one reservation"
bytes=$(($(cfq_counter bw_bytes_in) + $(cfq_counter bw_bytes_over)))
[ "$bytes" = $((alone * 65536)) ] ||
	cfq_fail "$bytes bytes counted for $alone requests of 64 KiB"
[ "$(cfq_counter bw_bytes_over)" -gt 0 ] || cfq_fail "more than it reserved is not counted"
requests=$(($(cfq_counter bw_deadlines_met) + $(cfq_counter bw_deadlines_missed)))
if [ "$requests" -eq 0 ] || [ "$requests" -ge "$alone" ]; then
	cfq_fail "$requests deadlines for $alone requests, some within the reservation"
fi

# Shown as long as its process lives, which nobody reads from and which waits.
cfq_wait_for no_reservation_shown ||
	cfq_fail "a reservation is shown whose process ended"
mkfifo "$CFQ_TMP/full" || cfq_fail "no fifo"
exec 9<>"$CFQ_TMP/full"
"$ioprio" 1,3 dd if="$CFQ_DEV" of="$CFQ_TMP/full" bs=64k iflag=direct 2>/dev/null &
cfq_wait_for reservation_shown
kill $!
wait
echo "$shown"
[[ $shown == "pid "*" rate 131072 delay_ms 200 bucket 393216 tokens "* ]] ||
	cfq_fail "the reservation is shown as '$shown'"
cfq_wait_for no_reservation_shown || cfq_fail "it is shown without its process"

# greedy SIZE [COMMAND...]: reads so much at a time for a long time
greedy()
{
	local size=$1

	shift
	"$@" timeout 300 dd if="$CFQ_DEV" of=/dev/null bs="$size" iflag=direct \
		2> /dev/null &
}

# shellcheck disable=SC2329  # by cfq_wait_for
more()
{
	[ "$(cfq_counter "$1")" -ge "$2" ]
}

# until_more COUNTER N: until so many more are counted
until_more()
{
	local n

	n=$(($(cfq_counter "$1") + $2))
	cfq_wait_for more "$1" "$n" || cfq_fail "$1 does not become $n"
}

# Nobody waits for asynchronous writes: they are of best effort, at its first level.
"$ioprio" 8,3 dd if=/dev/zero of="$CFQ_DEV" bs=64k count=4 oflag=nocache \
	conv=notrunc 2> /dev/null
grep -q '^pid 0 async class BE level 0 ' "$CFQ_DEBUG/queues" ||
	cfq_fail "no asynchronous writes of class BW served as best effort"

# Beside others, of whom somebody always waits: no more than its tokens, though all
# eight requests of a read are there at once. That is 6 at first and 2 a second, and
# the others have what is left of 20 a second.
for i in 1 2 3 4; do
	greedy 64k
done
until_more dispatched_BE 12
greedy 512k "$ioprio" 1,3
until_more dispatched_BW 1
reserved=$(cfq_counter dispatched_BW)
others=$(cfq_counter dispatched_BE)
until_more expired_debt 1
sleep 5
reserved=$(($(cfq_counter dispatched_BW) - reserved))
others=$(($(cfq_counter dispatched_BE) - others))
echo "reserved: $reserved, best effort: $others"
[ "$others" -gt "$reserved" ] ||
	cfq_fail "best effort got $others requests beside $reserved of 128 KiB/s"
exit "$KSFT_PASS"
