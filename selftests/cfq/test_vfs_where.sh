#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Where messages of VFS operations are besides a trace of the whole disk: in one
# that selects, in one of a partition, in one of its disk, in the tracer of ftrace.
#
# shellcheck disable=SC2329  # cfq_trace_whole calls them

. "$(dirname "$0")/cfq_common.sh"

cfq_need addpart delpart
cfq_device size=64
other=${CFQ_NAME}b

cleanup()
{
	[ ! -d "$NULLB/$other" ] || rmdir "$NULLB/$other"
}

cfq_vfs_setup
echo 1 > "$CFQ_SWITCH" || cfq_fail "the switch does not take 1"

# in_device NAME DEVICE: a block device file has the number of the device for its
# inode
in_device()
{
	local device

	device=$(stat -c '%Hr * 1048576 + %Lr' "$2")
	sed -i "s/ .*/ $((device))/" "$CFQ_TMP/$1"
}

# A trace that selects has them with -a notify. A process that has told its name
# tells another one that it gets.
ln -s "$(realpath "$CFQ_VFS")" "$CFQ_TMP/cfqvfs-renamed"
selecting()
{
	cfq_trace_begin "$CFQ_NAME" "$CFQ_TMP/raw" -a notify
	cfq_vfs_do selected pread "$CFQ_DEV" 4096 4096
	echo "a line" > "$CFQ_DEV"
	(
		read -r _ < "$CFQ_DEV"
		exec "$CFQ_TMP/cfqvfs-renamed" pread "$CFQ_DEV" 12288 4096
	) > /dev/null
	cfq_trace_end "$CFQ_NAME" "$CFQ_TRACER" "$CFQ_TMP/raw" "$CFQ_TMP/trace"
}

cfq_trace_whole selecting
in_device selected "$CFQ_DEV"
cfq_vfs_check selected "vfs_read ino %i off 4096 len 4096" 4096
grep -qa cfqvfs-renamed "$CFQ_TMP/raw" ||
	cfq_fail "the name after exec() is not in the trace"

# The tracer of ftrace shows them too.
ftrace=/sys/kernel/tracing
mountpoint -q "$ftrace" || mount -t tracefs none "$ftrace" 2> /dev/null
echo blk > "$ftrace/current_tracer" || cfq_fail "no tracer blk"
echo 1 > "/sys/block/$CFQ_NAME/trace/enable"
cfq_vfs_do traced pread "$CFQ_DEV" 8192 4096
cp "$ftrace/trace" "$CFQ_TMP/ftrace"
echo 0 > "/sys/block/$CFQ_NAME/trace/enable"
echo nop > "$ftrace/current_tracer"
in_device traced "$CFQ_DEV"
read -r _ ino < "$CFQ_TMP/traced"
grep -q "enter vfs_read ino $ino off 8192 len 4096" "$CFQ_TMP/ftrace" ||
	cfq_fail "not in the trace of ftrace: $(tail -n 5 "$CFQ_TMP/ftrace")"

# What is on a partition is in the trace of the disk. A partition's name needs a
# digit of its own.
mkdir "$NULLB/$other" || cfq_fail "no second device"
for attr in size=64 memory_backed=1 power=1; do
	echo "${attr#*=}" > "$NULLB/$other/${attr%%=*}"
done
addpart "/dev/$other" 1 2048 2048 || cfq_fail "no partition"
cfq_wait_for [ -b "/dev/${other}1" ] || cfq_fail "no /dev/${other}1"
echo 1 > "/sys/block/$other/trace/vfs"
on_disk()
{
	cfq_trace_begin "$other" "$CFQ_TMP/raw"
	cfq_vfs_do part pread "/dev/${other}1" 512 1024
	cfq_trace_end "$other" "$CFQ_TRACER" "$CFQ_TMP/raw" "$CFQ_TMP/trace"
}

cfq_trace_whole on_disk
in_device part "/dev/${other}1"
cfq_vfs_check part "vfs_read ino %i off 512 len 1024" 1024

# What is beside a partition is not in the trace of the partition.
on_partition()
{
	cfq_trace_begin "${other}1" "$CFQ_TMP/raw"
	cfq_vfs_do inside pread "/dev/${other}1" 1024 512
	cfq_vfs_do beside pread "/dev/$other" 512 1024
	cfq_trace_end "${other}1" "$CFQ_TRACER" "$CFQ_TMP/raw" "$CFQ_TMP/trace"
}

cfq_trace_whole on_partition
in_device inside "/dev/${other}1"
cfq_vfs_check inside "vfs_read ino %i off 1024 len 512" 512
[ -s "$CFQ_TMP/beside" ] || cfq_fail "nobody read beside the partition"
said=$(cfq_vfs_said beside)
[ -z "$said" ] || cfq_fail "beside the partition: $said"
delpart "/dev/$other" 1
exit "$KSFT_PASS"
