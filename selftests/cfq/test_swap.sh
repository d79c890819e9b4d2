#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# io.bw: what a control group has swapped out and reads again is what it was, and is
# served within the group's reservation; so is what somebody else swaps out of it.

. "$(dirname "$0")/cfq_common.sh"

cfq_need find head mkswap sha256sum swapoff swapon
cfq_device rotational=1
[ -e /proc/swaps ] || cfq_skip "no SWAP"

# shellcheck disable=SC2329  # by cfq_exit
cleanup()
{
	! mountpoint -q "$CFQ_TMP/mnt" || umount "$CFQ_TMP/mnt"
	! grep -q "^$CFQ_DEV " /proc/swaps || swapoff "$CFQ_DEV"
	cfq_groups_end
}

cfq_groups a
[ -e "$CFQ_GROUPS/a/memory.swap.max" ] || cfq_skip "memory of groups is not swapped"
mkdir "$CFQ_TMP/mnt"
mount -t tmpfs -o size=64M tmpfs "$CFQ_TMP/mnt" || cfq_skip "no TMPFS"
mkswap "$CFQ_DEV" > /dev/null || cfq_fail "no swap space"
# before other swap space that the machine may have
swapon -p 32767 "$CFQ_DEV" || cfq_fail "it is not used for swap"
read -r dev < "/sys/block/$CFQ_NAME/dev"
echo "$dev bps=8388608 delay=200000" > "$CFQ_GROUPS/a/io.bw" || cfq_fail "no reservation"

# spent WHAT: of what the disk has done for the group all is in its reservation
spent()
{
	local read written bytes

	# what has been sent to the disk may not have come back
	for _ in $(seq 50); do
		read=$(cfq_iostat a rbytes)
		written=$(cfq_iostat a wbytes)
		bytes=$(cfq_spent a)
		[ "$bytes" != $((read + written)) ] || return 0
		sleep 0.1
	done
	cfq_fail "$1: $read bytes read and $written written, of which the group paid $bytes"
}

# Random: pages of zeros are not written.
echo 16M > "$CFQ_GROUPS/a/memory.max" || cfq_fail "no limit"
cfq_in_group a head -c 40M /dev/urandom > "$CFQ_TMP/mnt/data" || cfq_fail "no data"
spent "swapped out"
[ "$(cfq_iostat a wbytes)" -ge $((20 << 20)) ] ||
	cfq_fail "of 40 MiB $(cfq_iostat a wbytes) bytes were swapped out"
sum=$(cfq_in_group a sha256sum "$CFQ_TMP/mnt/data")
[ "$(cfq_iostat a rbytes)" -ge $((20 << 20)) ] ||
	cfq_fail "$(cfq_iostat a rbytes) bytes of it were read again"
spent "swapped in"

# The root has no reservation: it reads on its own account, and what it swaps out for the
# new limit is the group's.
written=$(cfq_iostat a wbytes)
echo max > "$CFQ_GROUPS/a/memory.max"
[ "$(cfq_in_group a sha256sum "$CFQ_TMP/mnt/data")" = "$sum" ] ||
	cfq_fail "it is not what it was"
echo 12M > "$CFQ_GROUPS/a/memory.max" || cfq_fail "no smaller limit"
[ "$(cfq_iostat a wbytes)" -gt "$written" ] || cfq_fail "nothing more was swapped out"
spent "swapped out by somebody else"
[ "$(sha256sum "$CFQ_TMP/mnt/data")" = "$sum" ] || cfq_fail "it has changed in the end"
exit "$KSFT_PASS"
