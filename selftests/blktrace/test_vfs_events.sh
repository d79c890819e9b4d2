#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The events vfs_op_enter and vfs_op_exit: each operation emits one of each, with its
# device and inode, whatever system call it comes from.

. "$(dirname "$0")/blktrace_common.sh"

blktrace_need dd
blktrace_need_ext4
blktrace_device
[ -x "$BT_VFS" ] || blktrace_fail "blktrace_vfs is not built"
mnt=$BT_TMP/mnt
ram=$BT_TMP/ram
tracing=/sys/kernel/tracing
mountpoint -q "$tracing" || mount -t tracefs none "$tracing" 2> /dev/null
[ -d "$tracing/events/vfs" ] || blktrace_skip "no events of VFS operations"
instance=$tracing/instances/$BT_NAME

# shellcheck disable=SC2329  # called by blktrace_exit
cleanup()
{
	[ ! -d "$instance" ] || rmdir "$instance"
	! mountpoint -q "$mnt" || umount "$mnt"
	! mountpoint -q "$ram" || umount "$ram"
}

# events_of NAME: prints the events of its process, one a line
events_of()
{
	local process

	read -r process _ < "$BT_TMP/$1" || return
	sed -nE "s/^ *[^ ]+-$process .*: vfs_op_(enter|exit): /\\1 /p" "$BT_TMP/events"
}

# check NAME DEVICE INODE OPERATION POS LEN RESULT: the process emitted exactly these
# two events for the operation and the inode
check()
{
	local name=$1 where="dev=$2 ino=$3" operation=$4 found

	found=$(events_of "$name" | grep -E "^(enter|exit) $operation $where ")
	[ "$found" = "enter $operation $where pos=$5 len=$6
exit $operation $where ret=$7" ] || {
		cat "$BT_TMP/$name.err"
		blktrace_fail "expected: $*; found: $(events_of "$name")"
	}
}

# check_file NAME OPERATION POS LEN RESULT: the same for the test file
check_file()
{
	local name=$1

	shift
	check "$name" "$dev" "$file" "$@"
}

mkfs.ext4 -q "$BT_DEV" || blktrace_fail "mkfs.ext4"
mkdir "$mnt" "$instance" || blktrace_fail "cannot make a tracing instance"
mount "$BT_DEV" "$mnt" || blktrace_fail "cannot mount the device"
mkdir "$mnt/sub"
dd if=/dev/urandom of="$mnt/sub/file" bs=1M count=1 status=none
mkfifo "$mnt/pipe"
umount "$mnt"
mount "$BT_DEV" "$mnt" || blktrace_fail "cannot mount the device again"
# A separate mount: $BT_TMP can be on an overlay, whose inodes have other numbers.
mkdir "$ram"
mount -t tmpfs none "$ram" || blktrace_fail "no tmpfs"
dd if=/dev/urandom of="$ram/plain" bs=4k count=1 status=none

# The events are off.
blktrace_vfs_do off read "$mnt/sub/file" 0 4096
cp "$instance/trace" "$BT_TMP/events"
[ -z "$(events_of off)" ] || blktrace_fail "events while they are off: $(events_of off)"
umount "$mnt"
mount "$BT_DEV" "$mnt" || blktrace_fail "cannot mount the device a third time"

echo 8192 > "$instance/buffer_size_kb"
echo 1 > "$instance/events/vfs/enable"
blktrace_vfs_do first open "$mnt/sub/file"
blktrace_vfs_do t_read read "$mnt/sub/file" 4096 65536
blktrace_vfs_do t_end pread "$mnt/sub/file" 1044480 65536
blktrace_vfs_do t_preadv preadv "$mnt/sub/file" 8192 8192
blktrace_vfs_do t_sendfile sendfile "$mnt/sub/file" 0 16384
blktrace_vfs_do t_aio_read aio_read "$mnt/sub/file" 4096 4096
blktrace_vfs_do t_bad direct "$mnt/sub/file" 1 512
blktrace_vfs_do t_pwrite pwrite "$mnt/sub/file" 0 4096
blktrace_vfs_do t_pwritev pwritev "$mnt/sub/file" 4096 8192
blktrace_vfs_do t_splice splice "$mnt/sub/file" 8192 4096
blktrace_vfs_do t_aio_write aio_write "$mnt/sub/file" 12288 4096
blktrace_vfs_do t_uring uring_read "$mnt/sub/file" 524288 4096
uring=$?
blktrace_vfs_do t_uring_write uring_write "$mnt/sub/file" 528384 4096
blktrace_vfs_do t_dev pread "$BT_DEV" 512 1024
blktrace_vfs_do t_tmpfs pread "$ram/plain" 0 4096
blktrace_vfs_do t_stat stat "$mnt/sub/file"
blktrace_vfs_do none open "$mnt/sub/none"
blktrace_vfs_do made create "$mnt/sub/made"
blktrace_vfs_do listed readdir "$mnt/sub"
blktrace_vfs_do synced fsync "$mnt/sub/file"
blktrace_vfs_do cut truncate "$mnt/sub/file" 0 524288
blktrace_vfs_do renamed rename "$mnt/sub/file"
blktrace_vfs_do removed unlink "$mnt/sub/file.new"
cat < "$mnt/pipe" > /dev/null &
echo "$!" > "$BT_TMP/t_pipe"
echo x > "$mnt/pipe"
wait "$!"
echo 0 > "$instance/events/vfs/enable"
cp "$instance/trace" "$BT_TMP/events"
grep -hE "^(overrun|dropped events): [1-9]" "$instance"/per_cpu/cpu*/stats &&
	blktrace_fail "the trace lost events"

dev=$(stat -c %Hd:%Ld "$mnt/sub")
read -r _ file < "$BT_TMP/t_read"
sub=$(stat -c %i "$mnt/sub")
check_file t_read read 4096 65536 65536
check_file t_end read 1044480 65536 4096
check_file t_preadv read 8192 8192 8192
check_file t_sendfile read 0 16384 16384
check_file t_aio_read read 4096 4096 4096
check_file t_bad read 1 512 -22
check_file t_pwrite write 0 4096 4096
check_file t_pwritev write 4096 8192 8192
check_file t_splice write 8192 4096 4096
check_file t_aio_write write 12288 4096 4096
check_file first open 0 0 0
check_file t_stat stat 0 0 0
check_file synced fsync 0 0 0
check_file cut truncate 0 524288 0
check_file renamed rename 0 0 0
check_file removed unlink 0 0 0
check_file removed evict 0 0 0
check made "$dev" "$sub" create 0 0 0
check none "$dev" "$sub" lookup 0 0 0
events_of first | grep -q "^enter lookup dev=$dev ino=$sub " ||
	blktrace_fail "open() emits no lookup: $(events_of first)"
events_of listed | grep -q "^enter readdir dev=$dev ino=$sub " ||
	blktrace_fail "no readdir: $(events_of listed)"

# io_uring can make several attempts, some of them in a worker.
if blktrace_no_uring "$uring"; then
	echo "ok 1 io_uring # SKIP no io_uring"
else
	for io in "read 524288" "write 528384"; do
		grep -q "vfs_op_enter: ${io% *} dev=$dev ino=$file pos=${io#* } len=4096" \
			"$BT_TMP/events" || blktrace_fail "no ${io% *} by io_uring"
	done
fi

# A block device file has the device number of the block device. A pipe has 0:0.
check t_dev "$(stat -c %Hr:%Lr "$BT_DEV")" \
	"$(($(stat -c '%Hr * 1048576 + %Lr' "$BT_DEV")))" read 512 1024 1024
check t_tmpfs "$(stat -c %Hd:%Ld "$ram/plain")" "$(stat -c %i "$ram/plain")" \
	read 0 4096 4096
events_of t_pipe | grep -q "^enter read dev=0:0 ino=$(stat -c %i "$mnt/pipe") " ||
	blktrace_fail "a pipe: $(events_of t_pipe)"
exit "$KSFT_PASS"
