#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# VFS messages of operations other than read and write: names, attributes, fsync, page
# faults and readahead
#
# shellcheck disable=SC2329  # called by blktrace_retry

. "$(dirname "$0")/blktrace_common.sh"

blktrace_need dd
blktrace_need_ext4
blktrace_device
blktrace_vfs_setup
mnt=$BT_TMP/mnt

cleanup()
{
	! mountpoint -q "$mnt" || umount "$mnt"
}

traced()
{
	exec 3< "$mnt/sub/held"
	blktrace_vfs_do first open "$mnt/sub/file"
	blktrace_vfs_do again open "$mnt/sub/file"
	blktrace_vfs_do none open "$mnt/sub/none"
	blktrace_vfs_do attributes stat "$mnt/sub/file"
	blktrace_vfs_do made create "$mnt/sub/made"
	blktrace_vfs_do listed readdir "$mnt/sub"
	blktrace_vfs_do mapped fault "$mnt/sub/file" 65536 4096
	blktrace_vfs_do data read "$mnt/sub/file" 262144 4096
	blktrace_vfs_do synced fsync "$mnt/sub/file"
	blktrace_vfs_do cut truncate "$mnt/sub/file" 0 524288
	blktrace_vfs_do renamed rename "$mnt/sub/file"
	blktrace_vfs_do removed unlink "$mnt/sub/file.new"
	blktrace_vfs_do held unlink "$mnt/sub/held"
	exec 3<&-
}

# Makes a file system whose names and data are not cached.
fresh()
{
	cleanup
	mkfs.ext4 -q -F -b 4096 "$BT_DEV" || blktrace_fail "mkfs.ext4"
	mount "$BT_DEV" "$mnt" || blktrace_fail "cannot mount the device"
	mkdir "$mnt/sub"
	dd if=/dev/urandom of="$mnt/sub/file" bs=1M count=1 status=none
	cp "$mnt/sub/file" "$mnt/sub/held"
	file=$(stat -c %i "$mnt/sub/file")
	held=$(stat -c %i "$mnt/sub/held")
	sub=$(stat -c %i "$mnt/sub")
	umount "$mnt"
	mount "$BT_DEV" "$mnt" || blktrace_fail "cannot mount the device again"
}

names()
{
	fresh
	blktrace_once "$BT_TMP" traced
}

mkdir "$mnt"
echo 1 > "$BT_SWITCH" || blktrace_fail "the kernel refuses 1"
blktrace_retry names

# A name that is not cached has a lookup in its directory.
[ "$(blktrace_vfs_messages first | grep -A1 "enter vfs_lookup ino $sub" | tail -n 1)" = \
	"leave vfs_lookup ino $sub ret 0" ] || blktrace_fail "open: $(blktrace_vfs_messages first)"
blktrace_vfs_check first "vfs_open ino $file" 0
blktrace_vfs_messages again | grep -q vfs_lookup && blktrace_fail "a cached name has a lookup"
blktrace_vfs_check again "vfs_open ino $file" 0
blktrace_vfs_check none "vfs_lookup ino $sub" 0
blktrace_vfs_messages none | grep -q vfs_open && blktrace_fail "a missing file has an open"
blktrace_vfs_check attributes "vfs_stat ino $file" 0
blktrace_vfs_check made "vfs_create ino $sub" 0
blktrace_vfs_messages listed | grep -q "enter vfs_readdir ino $sub" ||
	blktrace_fail "readdir: $(blktrace_vfs_messages listed)"
[[ $(blktrace_vfs_messages listed | grep -A1 "enter vfs_readdir ino $sub" | tail -n 1) == \
	"leave vfs_readdir ino $sub ret 0" ]] ||
	blktrace_fail "readdir: $(blktrace_vfs_messages listed)"
blktrace_vfs_check synced "vfs_fsync ino $file" 0
blktrace_vfs_check cut "vfs_truncate ino $file off 0 len 524288" 0
blktrace_vfs_check renamed "vfs_rename ino $file" 0
blktrace_vfs_check removed "vfs_unlink ino $file" 0
blktrace_vfs_check removed "vfs_evict ino $file" 0

# An open file is evicted when it is closed, here by this shell.
blktrace_vfs_check held "vfs_unlink ino $held" 0
blktrace_vfs_messages held | grep -q vfs_evict && blktrace_fail "an open file is evicted"
echo $$ > "$BT_TMP/shell"
blktrace_vfs_check shell "vfs_evict ino $held" 0

# A fault that waits for the disk is repeated. It has no leave message.
blktrace_vfs_messages mapped | grep -q "^at vfs_fault ino $file off 65536 len 4096$" ||
	blktrace_fail "fault: $(blktrace_vfs_messages mapped)"
blktrace_vfs_messages again | grep -q "vfs_fault ino $file " &&
	blktrace_fail "a page fault without a mapping"

# A read of uncached data has a readahead message within it.
found=$(blktrace_vfs_messages data | grep -A9 "enter vfs_read ino $file" | head -n 3)
[ "$found" = "enter vfs_read ino $file off 262144 len 4096
at vfs_readahead ino $file off 262144 len 4096
leave vfs_read ino $file ret 4096" ] || blktrace_fail "read: $(blktrace_vfs_messages data)"
exit "$KSFT_PASS"
