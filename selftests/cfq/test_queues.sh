#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is written comes back, from several processes, direct and through the
# page cache, and neighbouring requests merge.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd cmp
cfq_device

for i in 0 1 2 3; do
	dd if=/dev/urandom of="$CFQ_TMP/$i" bs=1M count=2 2>/dev/null
done
dd if="$CFQ_TMP/0" of="$CFQ_DEV" bs=64k oflag=direct seek=0 2>/dev/null &
dd if="$CFQ_TMP/1" of="$CFQ_DEV" bs=64k oflag=direct seek=128 2>/dev/null &
dd if="$CFQ_TMP/2" of="$CFQ_DEV" bs=64k conv=fsync seek=256 2>/dev/null &
dd if="$CFQ_TMP/3" of="$CFQ_DEV" bs=64k oflag=dsync seek=384 2>/dev/null &
wait
for i in 0 1 2 3; do
	dd if="$CFQ_DEV" bs=64k count=32 skip=$((i * 128)) iflag=direct \
		2>/dev/null | cmp -s - "$CFQ_TMP/$i" || cfq_fail "file $i differs"
done

# 2 MiB in blocks of 4 KiB are not 512 requests.
before=$(awk '{ print $5 }' "/sys/block/$CFQ_NAME/stat")
dd if="$CFQ_TMP/0" of="$CFQ_DEV" bs=4k conv=fsync 2>/dev/null ||
	cfq_fail "cannot write"
after=$(awk '{ print $5 }' "/sys/block/$CFQ_NAME/stat")
[ "$after" -gt "$before" ] && [ $((after - before)) -lt 256 ] ||
	cfq_fail "512 writes merged to $((after - before))"
exit "$KSFT_PASS"
