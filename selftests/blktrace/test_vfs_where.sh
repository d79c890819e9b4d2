#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# VFS messages in other traces than that of a whole disk: with selected categories, of
# ftrace, set up with BLKTRACESETUP2, of a partition, and of a disk with partitions.
#
# shellcheck disable=SC2329  # called by blktrace_retry

. "$(dirname "$0")/blktrace_common.sh"

blktrace_need dd partx
blktrace_device
other=${BT_NAME}b

cleanup()
{
	[ ! -d "$NULLB/$other" ] || rmdir "$NULLB/$other"
}

blktrace_vfs_setup
echo 1 > "$BT_SWITCH" || blktrace_fail "the kernel refuses 1"

# in_device NAME DEVICE: replaces the inode of NAME by the device number, which is the
# inode of a block device file
in_device()
{
	local device

	device=$(stat -c '%Hr * 1048576 + %Lr' "$2")
	sed -i "s/ .*/ $((device))/" "$BT_TMP/$1"
}

# A trace of selected categories requires -a notify.
selecting()
{
	blktrace_begin "$BT_NAME" "$BT_TMP/raw" -a notify
	blktrace_vfs_do selected pread "$BT_DEV" 4096 4096
	blktrace_end "$BT_NAME" "$BT_TRACER" "$BT_TMP/raw" "$BT_TMP/trace"
}

blktrace_retry selecting
in_device selected "$BT_DEV"
blktrace_vfs_check selected "vfs_read ino %i off 4096 len 4096" 4096
grep -qa blktrace_vfs "$BT_TMP/raw" ||
	blktrace_fail "the name of a process without requests is not in the trace"

# The block tracer of ftrace shows them too.
ftrace=/sys/kernel/tracing
mountpoint -q "$ftrace" || mount -t tracefs none "$ftrace" 2> /dev/null
echo blk > "$ftrace/current_tracer" || blktrace_fail "cannot choose the block tracer"
echo 1 > "/sys/block/$BT_NAME/trace/enable"
blktrace_vfs_do traced pread "$BT_DEV" 8192 4096
cp "$ftrace/trace" "$BT_TMP/ftrace"
echo 0 > "/sys/block/$BT_NAME/trace/enable"
echo nop > "$ftrace/current_tracer"
in_device traced "$BT_DEV"
read -r _ ino < "$BT_TMP/traced"
grep -q "enter vfs_read ino $ino off 8192 len 4096" "$BT_TMP/ftrace" ||
	blktrace_fail "no VFS message in the trace of ftrace: $(tail -n 5 "$BT_TMP/ftrace")"

# A trace set up with BLKTRACESETUP2 enables them itself, and act_mask can change that
# while it runs.
echo 0 > "$BT_SWITCH"
notify=$((1 << 10))
vfs=$((1 << 23))
act_mask=/sys/block/$BT_NAME/trace/act_mask
# version2 CATEGORIES
version2()
{
	"$BT_VFS" trace2 "$BT_DEV" "$1" > /dev/null || blktrace_fail "BLKTRACESETUP2 fails"
	blktrace_vfs_do asked pread "$BT_DEV" 16384 4096
	echo notify > "$act_mask"
	blktrace_vfs_do dropped pread "$BT_DEV" 20480 4096
	echo notify,vfs > "$act_mask"
	cat /sys/kernel/debug/block/"$BT_NAME"/trace[0-9]* > "$BT_TMP/raw"
	"$BT_VFS" untrace "$BT_DEV" > /dev/null || blktrace_fail "cannot end the trace"
	"$(dirname "$0")/blktrace_messages" < "$BT_TMP/raw" | sort -n -s -k 1,1 \
		> "$BT_TMP/trace.messages"
	in_device asked "$BT_DEV"
}

version2 $((notify | vfs))
blktrace_vfs_check asked "vfs_read ino %i off 16384 len 4096" 4096
found=$(blktrace_vfs_messages dropped)
[ -z "$found" ] || blktrace_fail "messages that act_mask disabled: $found"
[[ $(blktrace_vfs_enabled) == read,write,*$'\n0\n'read,write,* ]] ||
	blktrace_fail "enabled and disabled by act_mask, the trace says: $(blktrace_vfs_enabled)"
version2 "$notify"
found=$(blktrace_vfs_messages asked)
[ -z "$found" ] || blktrace_fail "messages without BLK_TC_VFS: $found"
[[ $(blktrace_vfs_enabled) == read,write,* ]] ||
	blktrace_fail "without BLK_TC_VFS, the trace says: $(blktrace_vfs_enabled)"

# The trace of a disk includes its partitions. The name of this disk ends with a letter,
# so that a partition's name is the disk's and a digit.
mkdir "$NULLB/$other" || blktrace_fail "cannot make a second device"
for attr in size=64 memory_backed=1 power=1; do
	echo "${attr#*=}" > "$NULLB/$other/${attr%%=*}"
done
{
	printf '\0\0\0\0\x83\0\0\0\0\x08\0\0\0\x08\0\0'
	printf '\0\0\0\0\x83\0\0\0\0\x20\0\0\0\x08\0\0'
} | dd of="/dev/$other" bs=1 seek=446 status=none
printf '\x55\xaa' | dd of="/dev/$other" bs=1 seek=510 status=none
partx -a "/dev/$other" || blktrace_fail "cannot add partitions"
for n in 1 2; do
	blktrace_wait_for [ -b "/dev/$other$n" ] || blktrace_fail "no /dev/$other$n"
done
echo 1 > "/sys/block/$other/trace/vfs"
on_disk()
{
	blktrace_begin "$other" "$BT_TMP/raw"
	blktrace_vfs_do part pread "/dev/${other}1" 512 1024
	blktrace_end "$other" "$BT_TRACER" "$BT_TMP/raw" "$BT_TMP/trace"
}

blktrace_retry on_disk
in_device part "/dev/${other}1"
blktrace_vfs_check part "vfs_read ino %i off 512 len 1024" 1024

# The trace of a partition excludes the rest of the disk.
on_partition()
{
	blktrace_begin "${other}1" "$BT_TMP/raw"
	blktrace_vfs_do inside pread "/dev/${other}1" 1024 512
	blktrace_vfs_do outside pread "/dev/$other" 512 1024
	blktrace_vfs_do second pread "/dev/${other}2" 512 1024
	blktrace_end "${other}1" "$BT_TRACER" "$BT_TMP/raw" "$BT_TMP/trace"
}

blktrace_retry on_partition
in_device inside "/dev/${other}1"
blktrace_vfs_check inside "vfs_read ino %i off 1024 len 512" 512
for name in outside second; do
	[ -s "$BT_TMP/$name" ] || blktrace_fail "$name did not run"
	found=$(blktrace_vfs_messages "$name")
	[ -z "$found" ] || blktrace_fail "$name is in the trace of the partition: $found"
done
partx -d "/dev/$other"
exit "$KSFT_PASS"
