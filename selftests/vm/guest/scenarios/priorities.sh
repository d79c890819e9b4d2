# SPDX-License-Identifier: GPL-2.0
#
# Classes by way of control groups; by ionice they are the kselftests' part.
#
# shellcheck shell=bash

scenario_class_by_cgroup()
{
	local group=$TMP/cgroup/vm

	disk disk rotational=1
	mkdir "$TMP/cgroup"
	mount -t cgroup2 cgroup "$TMP/cgroup" || fail "no cgroup2"
	echo +io > "$TMP/cgroup/cgroup.subtree_control" || fail "no io controller"
	mkdir "$group" || fail "cannot make a cgroup"
	echo idle > "$group/io.prio.class" || fail "no io.prio.class"
	never disk dispatched_idle
	bash -c 'echo $$ > "$1"; exec dd if=/dev/disk of=/dev/null bs=64k \
		count=8 iflag=direct' _ "$group/cgroup.procs" 2> /dev/null ||
		fail "cannot read in the cgroup"
	counted disk dispatched_idle
	rmdir "$group" || fail "cannot remove the cgroup"
	umount "$TMP/cgroup"
	drained disk
}
