#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# blkparse shows a message that somebody wrote into the trace of a disk.

. "${0%/*}/lib.sh"

null_disk disk
tmp=$(mktemp -d)
blktrace -d /dev/disk -o - > "$tmp/raw" 2> "$tmp/log" &
tracer=$!
for _ in {1..100}; do
	echo words-of-a-user > "$DEBUG/disk/msg" && grep -qa words-of-a-user "$tmp/raw" && break
	sleep 0.2
done 2> /dev/null
dd if=/dev/disk of=/dev/null bs=4k count=1 iflag=direct status=none
kill -INT "$tracer"
wait "$tracer"
grep -qa words-of-a-user "$tmp/raw" || broken "blktrace has no message: $(cat "$tmp/log")"
blkparse -q -i - < "$tmp/raw" > "$tmp/shown" 2> "$tmp/log" || broken "blkparse: $(cat "$tmp/log")"
grep -q '  Q  *R' "$tmp/shown" || broken "blkparse does not show the read"
grep 'words-of-a-user' "$tmp/shown" | head -n 1
grep -q ' m  *N words-of-a-user' "$tmp/shown" || bug "the message is in the trace, blkparse drops it"
