#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A control group writes to a disk that root's has written to before, until the disk's
# inode belongs to it, and is removed when all is written. Nothing may hold it then.

. "${0%/*}/lib.sh"

CGROUP=$(mktemp -d)
SWITCH=/sys/kernel/tracing/events/writeback/inode_switch_wbs
CLEAN='Dirty: +0 kB.Writeback: +0 kB'
PERIOD=/proc/sys/vm/dirty_writeback_centisecs
ROUNDS=40	# about ten are enough for the kernel to see whose inode it is

# flush: a new period has all written at once, by writeback's workers alone. Who syncs
# writes pages too, and leaves an inode behind that counts as dirty until they come.
flush()
{
	echo $((10001 - $(< "$PERIOD"))) > "$PERIOD" || broken "writeback has no period"
	for _ in {1..50}; do
		[[ $(< /proc/meminfo) =~ $CLEAN ]] && return
		sleep 0.1
	done
	broken "what is written stays dirty"
}

# none_dying: waits until no group is removed and still there
none_dying()
{
	for _ in {1..50}; do
		[[ $(< "$CGROUP/cgroup.stat") == *"nr_dying_descendants 0"* ]] && return
		sleep 0.2
	done
	return 1
}

null_disk disk memory_backed=0
mount -t cgroup2 cgroup "$CGROUP" || broken "no control groups"
echo "+io +memory" > "$CGROUP/cgroup.subtree_control" || broken "no controllers"
mkdir "$CGROUP/writer"
none_dying || broken "another group is dying"
echo "new_cgroup_ino == $(stat -c %i "$CGROUP/writer")" > "$SWITCH/filter" || broken "no trace"
echo 1 > "$SWITCH/enable"
echo 5000 > "$PERIOD"
exec 3<> /dev/disk	# whoever closes it last writes and drops its pages
dd if=/dev/zero of=/dev/disk bs=4k count=1 conv=notrunc status=none
flush
for ((round = 1; round <= ROUNDS; round++)); do
	(echo "$BASHPID" > "$CGROUP/writer/cgroup.procs" &&
		exec dd if=/dev/zero of=/dev/disk bs=1M count=8 conv=notrunc status=none) || broken "nothing is written"
	flush
	sleep 0.5
	[[ $(< /sys/kernel/tracing/trace) == *inode_switch_wbs:* ]] && break
done
((round <= ROUNDS)) || broken "the inode stays with root's group"
echo "the inode is the group's after $round rounds"
exec 3>&-
rmdir "$CGROUP/writer" || broken "the group cannot be removed"
if none_dying; then
	echo "the group is gone"
	exit 0
fi
# That it is the inode that holds the group is seen when that goes, with its disk.
echo 0 > /sys/kernel/config/nullb/disk/power
rmdir /sys/kernel/config/nullb/disk
none_dying || broken "the group stays without the disk"
bug "a removed group stays as long as the disk is there"
