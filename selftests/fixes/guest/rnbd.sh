#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# rnbd.sh SCHEDULER: a client of rnbd asks for pages with classes of I/O priority that do
# not exist. Client and server are this machine; the disk of the server has the scheduler.

. "${0%/*}/lib.sh"

ADDRESS=192.0.2.1
CTL=/sys/devices/virtual/rnbd-client/ctl/map_device

network()
{
	ip link set lo up && ip link add rdma0 type dummy && ip address add "$ADDRESS/24" dev rdma0 &&
		ip link set rdma0 up
}

null_disk disk
choose disk "$1"
network || broken "no network"
# RDMA in software by rxe: rtrs has one port for all its connections, which TCP, and so siw,
# does not take.
rdma link add rxe0 type rxe netdev rdma0 || broken "no RDMA in software"
echo "sessname=reproducer path=ip:$ADDRESS device_path=/dev/disk" > "$CTL" ||
	broken "rnbd maps no disk"
for _ in {1..50}; do
	[ -b /dev/rnbd0 ] && break
	sleep 0.2
done
[ -b /dev/rnbd0 ] || broken "there is no /dev/rnbd0"
# The client has no scheduler that could stumble itself.
choose rnbd0 none
grep -qF "[$1]" /sys/block/disk/queue/scheduler || broken "the disk does not have $1"
"$PROGRAMS/load_module" "$MODULE" "disk=/dev/rnbd0 ioprio=$((2 << 13))" ||
	broken "best effort cannot be read"
for class in 4 5 6 7; do
	echo "class $class, $1"
	"$PROGRAMS/load_module" "$MODULE" "disk=/dev/rnbd0 ioprio=$((class << 13))" ||
		bug "class $class cannot be read"
done
echo "each class was read"
