#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# icq.sh ROUNDS: tasks that have used a disk under bfq end while bfq is left. More CPUs
# than the host has let the one that waits for queue_lock come too late.

. "${0%/*}/lib.sh"

null_disk disk
"$PROGRAMS/ending_readers" /dev/disk /sys/block/disk/queue/scheduler "$1" bfq 256 ||
	broken "ending_readers ended with $?"
echo "$1 rounds"
