#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Where messages of VFS operations are besides a trace of the whole disk: in one
# that selects, in one of version 2, in one of a partition, in one of its disk, in
# the tracer of ftrace.
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

# A trace that selects has them with -a notify.
selecting()
{
	cfq_trace_begin "$CFQ_NAME" "$CFQ_TMP/raw" -a notify
	cfq_vfs_do selected pread "$CFQ_DEV" 4096 4096
	cfq_trace_end "$CFQ_NAME" "$CFQ_TRACER" "$CFQ_TMP/raw" "$CFQ_TMP/trace"
}

cfq_trace_whole selecting
in_device selected "$CFQ_DEV"
cfq_vfs_check selected "vfs_read ino %i off 4096 len 4096" 4096
grep -qa cfq_vfs "$CFQ_TMP/raw" ||
	cfq_fail "the name of a process without requests is not in the trace"

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

# A trace of the second version asks for them by itself, and may be told otherwise
# while it runs.
echo 0 > "$CFQ_SWITCH"
notify=$((1 << 10))
vfs=$((1 << 23))
act_mask=/sys/block/$CFQ_NAME/trace/act_mask
# version2 CATEGORIES
version2()
{
	"$CFQ_VFS" trace2 "$CFQ_DEV" "$1" > /dev/null || cfq_fail "no trace of version 2"
	cfq_vfs_do asked pread "$CFQ_DEV" 16384 4096
	echo notify > "$act_mask"
	cfq_vfs_do dropped pread "$CFQ_DEV" 20480 4096
	echo notify,vfs > "$act_mask"
	cat /sys/kernel/debug/block/"$CFQ_NAME"/trace[0-9]* > "$CFQ_TMP/raw"
	"$CFQ_VFS" untrace "$CFQ_DEV" > /dev/null || cfq_fail "the trace does not end"
	"$(dirname "$0")/cfq_messages" < "$CFQ_TMP/raw" | sort -n -s -k 1,1 \
		> "$CFQ_TMP/trace.messages"
	in_device asked "$CFQ_DEV"
}

version2 $((notify | vfs))
cfq_vfs_check asked "vfs_read ino %i off 16384 len 4096" 4096
said=$(cfq_vfs_said dropped)
[ -z "$said" ] || cfq_fail "messages that the trace dropped: $said"
[[ $(cfq_vfs_switched) == read,write,*$'\n0\n'read,write,* ]] ||
	cfq_fail "version 2, asked and dropped: $(cfq_vfs_switched)"
version2 "$notify"
said=$(cfq_vfs_said asked)
[ -z "$said" ] || cfq_fail "messages that version 2 did not ask for: $said"
[[ $(cfq_vfs_switched) == read,write,* ]] ||
	cfq_fail "version 2, not asked: $(cfq_vfs_switched)"

# What is on a partition is in the trace of the disk. A partition's name needs a
# digit of its own.
mkdir "$NULLB/$other" || cfq_fail "no second device"
for attr in size=64 memory_backed=1 power=1; do
	echo "${attr#*=}" > "$NULLB/$other/${attr%%=*}"
done
addpart "/dev/$other" 1 2048 2048 || cfq_fail "no partition"
addpart "/dev/$other" 2 8192 2048 || cfq_fail "no second partition"
for n in 1 2; do
	cfq_wait_for [ -b "/dev/$other$n" ] || cfq_fail "no /dev/$other$n"
done
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
	cfq_vfs_do second pread "/dev/${other}2" 512 1024
	cfq_trace_end "${other}1" "$CFQ_TRACER" "$CFQ_TMP/raw" "$CFQ_TMP/trace"
}

cfq_trace_whole on_partition
in_device inside "/dev/${other}1"
cfq_vfs_check inside "vfs_read ino %i off 1024 len 512" 512
for name in beside second; do
	[ -s "$CFQ_TMP/$name" ] || cfq_fail "nobody read beside the partition"
	said=$(cfq_vfs_said "$name")
	[ -z "$said" ] || cfq_fail "beside the partition, $name: $said"
done
delpart "/dev/$other" 2
delpart "/dev/$other" 1
exit "$KSFT_PASS"
