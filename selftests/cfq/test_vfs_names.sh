#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# VFS operations other than read and write in a trace: names, attributes, sync,
# page faults.
#
# shellcheck disable=SC2329  # cfq_trace_whole calls them

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd
cfq_need_ext4
cfq_device size=64
cfq_vfs_setup
mnt=$CFQ_TMP/mnt

cleanup()
{
	! mountpoint -q "$mnt" || umount "$mnt"
}

traced()
{
	exec 3< "$mnt/sub/held"
	cfq_vfs_do first open "$mnt/sub/file"
	cfq_vfs_do again open "$mnt/sub/file"
	cfq_vfs_do none open "$mnt/sub/none"
	cfq_vfs_do attributes stat "$mnt/sub/file"
	cfq_vfs_do made create "$mnt/sub/made"
	cfq_vfs_do listed readdir "$mnt/sub"
	cfq_vfs_do mapped fault "$mnt/sub/file" 65536 4096
	cfq_vfs_do data read "$mnt/sub/file" 262144 4096
	cfq_vfs_do synced fsync "$mnt/sub/file"
	cfq_vfs_do cut truncate "$mnt/sub/file" 0 524288
	cfq_vfs_do renamed rename "$mnt/sub/file"
	cfq_vfs_do removed unlink "$mnt/sub/file.new"
	cfq_vfs_do held unlink "$mnt/sub/held"
	exec 3<&-
}

# A file system of which neither names nor data are cached
fresh()
{
	cleanup
	mkfs.ext4 -q -F -b 4096 "$CFQ_DEV" || cfq_fail "mkfs.ext4"
	mount "$CFQ_DEV" "$mnt" || cfq_fail "cannot mount it"
	mkdir "$mnt/sub"
	dd if=/dev/urandom of="$mnt/sub/file" bs=1M count=1 status=none
	cp "$mnt/sub/file" "$mnt/sub/held"
	file=$(stat -c %i "$mnt/sub/file")
	held=$(stat -c %i "$mnt/sub/held")
	sub=$(stat -c %i "$mnt/sub")
	umount "$mnt"
	mount "$CFQ_DEV" "$mnt" || cfq_fail "cannot mount it again"
}

names()
{
	fresh
	cfq_trace_once "$CFQ_TMP" traced
}

mkdir "$mnt"
echo 1 > "$CFQ_SWITCH" || cfq_fail "the switch does not take 1"
cfq_trace_whole names

# The names on the way that are not cached are looked for, each in its directory.
[ "$(cfq_vfs_said first | grep -A1 "enter vfs_lookup ino $sub" | tail -n 1)" = \
	"leave vfs_lookup ino $sub ret 0" ] || cfq_fail "open: $(cfq_vfs_said first)"
cfq_vfs_check first "vfs_open ino $file" 0
cfq_vfs_said again | grep -q vfs_lookup && cfq_fail "a cached name is looked for"
cfq_vfs_check again "vfs_open ino $file" 0
cfq_vfs_check none "vfs_lookup ino $sub" 0
cfq_vfs_said none | grep -q vfs_open && cfq_fail "a file that is not there opens"
cfq_vfs_check attributes "vfs_stat ino $file" 0
cfq_vfs_check made "vfs_create ino $sub" 0
cfq_vfs_said listed | grep -q "enter vfs_readdir ino $sub" ||
	cfq_fail "readdir: $(cfq_vfs_said listed)"
[[ $(cfq_vfs_said listed | grep -A1 "enter vfs_readdir ino $sub" | tail -n 1) == \
	"leave vfs_readdir ino $sub ret 0" ]] || cfq_fail "readdir: $(cfq_vfs_said listed)"
cfq_vfs_check synced "vfs_fsync ino $file" 0
cfq_vfs_check cut "vfs_truncate ino $file off 0 len 524288" 0
cfq_vfs_check renamed "vfs_rename ino $file" 0
cfq_vfs_check removed "vfs_unlink ino $file" 0
cfq_vfs_check removed "vfs_evict ino $file" 0

# A file that is still open is evicted when it is closed: here, by this shell.
cfq_vfs_check held "vfs_unlink ino $held" 0
cfq_vfs_said held | grep -q vfs_evict && cfq_fail "an open file is evicted"
echo $$ > "$CFQ_TMP/shell"
cfq_vfs_check shell "vfs_evict ino $held" 0

# A fault that has to wait is made again. Its end is not told.
cfq_vfs_said mapped | grep -q "^at vfs_fault ino $file off 65536 len 4096$" ||
	cfq_fail "fault: $(cfq_vfs_said mapped)"
cfq_vfs_said again | grep -q "vfs_fault ino $file " && cfq_fail "a fault without a mapping"

# A read that finds nothing has a readahead within it, of what it needs at least.
said=$(cfq_vfs_said data | grep -A9 "enter vfs_read ino $file" | head -n 3)
[ "$said" = "enter vfs_read ino $file off 262144 len 4096
at vfs_readahead ino $file off 262144 len 4096
leave vfs_read ino $file ret 4096" ] || cfq_fail "read: $(cfq_vfs_said data)"
exit "$KSFT_PASS"
