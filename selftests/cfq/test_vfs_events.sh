#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The events vfs_op_enter and vfs_op_exit: one of each an operation, with the device
# and the inode that it is about, by whatever system call it is made.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd
cfq_need_ext4
cfq_device size=64
[ -x "$CFQ_VFS" ] || cfq_fail "cfq_vfs is not built"
mnt=$CFQ_TMP/mnt
ram=$CFQ_TMP/ram
tracing=/sys/kernel/tracing
mountpoint -q "$tracing" || mount -t tracefs none "$tracing" 2> /dev/null
[ -d "$tracing/events/vfs" ] || cfq_skip "no events of VFS operations"
instance=$tracing/instances/$CFQ_NAME

# shellcheck disable=SC2329  # by cfq_exit
cleanup()
{
	[ ! -d "$instance" ] || rmdir "$instance"
	! mountpoint -q "$mnt" || umount "$mnt"
	! mountpoint -q "$ram" || umount "$ram"
}

# said NAME: its events, one a line
said()
{
	local process

	read -r process _ < "$CFQ_TMP/$1" || return
	sed -nE "s/^ *[^ ]+-$process .*: vfs_op_(enter|exit): /\\1 /p" "$CFQ_TMP/events"
}

# check NAME DEVICE INODE OPERATION POS LEN RESULT: these two events of the operation
# of the inode and no others
check()
{
	local name=$1 where="dev=$2 ino=$3" operation=$4 found

	found=$(said "$name" | grep -E "^(enter|exit) $operation $where ")
	[ "$found" = "enter $operation $where pos=$5 len=$6
exit $operation $where ret=$7" ] || {
		cat "$CFQ_TMP/$name.err"
		cfq_fail "wanted: $*; got: $(said "$name")"
	}
}

# data NAME OPERATION POS LEN RESULT: of the file
data()
{
	local name=$1

	shift
	check "$name" "$dev" "$file" "$@"
}

mkfs.ext4 -q "$CFQ_DEV" || cfq_fail "mkfs.ext4"
mkdir "$mnt" "$instance" || cfq_fail "no instance of tracing"
mount "$CFQ_DEV" "$mnt" || cfq_fail "cannot mount it"
mkdir "$mnt/sub"
dd if=/dev/urandom of="$mnt/sub/file" bs=1M count=1 status=none
mkfifo "$mnt/pipe"
umount "$mnt"
mount "$CFQ_DEV" "$mnt" || cfq_fail "cannot mount it again"
# of its own: that of $CFQ_TMP may be below another, which has other numbers
mkdir "$ram"
mount -t tmpfs none "$ram" || cfq_fail "no tmpfs"
dd if=/dev/urandom of="$ram/plain" bs=4k count=1 status=none

# Nobody listens.
cfq_vfs_do off read "$mnt/sub/file" 0 4096
cp "$instance/trace" "$CFQ_TMP/events"
[ -z "$(said off)" ] || cfq_fail "events while off: $(said off)"
umount "$mnt"
mount "$CFQ_DEV" "$mnt" || cfq_fail "cannot mount it once more"

echo 8192 > "$instance/buffer_size_kb"
echo 1 > "$instance/events/vfs/enable"
cfq_vfs_do first open "$mnt/sub/file"
cfq_vfs_do t_read read "$mnt/sub/file" 4096 65536
cfq_vfs_do t_end pread "$mnt/sub/file" 1044480 65536
cfq_vfs_do t_preadv preadv "$mnt/sub/file" 8192 8192
cfq_vfs_do t_sendfile sendfile "$mnt/sub/file" 0 16384
cfq_vfs_do t_aio_read aio_read "$mnt/sub/file" 4096 4096
cfq_vfs_do t_bad direct "$mnt/sub/file" 1 512
cfq_vfs_do t_pwrite pwrite "$mnt/sub/file" 0 4096
cfq_vfs_do t_pwritev pwritev "$mnt/sub/file" 4096 8192
cfq_vfs_do t_splice splice "$mnt/sub/file" 8192 4096
cfq_vfs_do t_aio_write aio_write "$mnt/sub/file" 12288 4096
cfq_vfs_do t_uring uring_read "$mnt/sub/file" 524288 4096
cfq_vfs_do t_uring_write uring_write "$mnt/sub/file" 528384 4096
cfq_vfs_do t_dev pread "$CFQ_DEV" 512 1024
cfq_vfs_do t_tmpfs pread "$ram/plain" 0 4096
cfq_vfs_do t_stat stat "$mnt/sub/file"
cfq_vfs_do none open "$mnt/sub/none"
cfq_vfs_do made create "$mnt/sub/made"
cfq_vfs_do listed readdir "$mnt/sub"
cfq_vfs_do synced fsync "$mnt/sub/file"
cfq_vfs_do cut truncate "$mnt/sub/file" 0 524288
cfq_vfs_do renamed rename "$mnt/sub/file"
cfq_vfs_do removed unlink "$mnt/sub/file.new"
cat < "$mnt/pipe" > /dev/null &
echo "$!" > "$CFQ_TMP/t_pipe"
echo x > "$mnt/pipe"
wait "$!"
echo 0 > "$instance/events/vfs/enable"
cp "$instance/trace" "$CFQ_TMP/events"
grep -hE "^(overrun|dropped events): [1-9]" "$instance"/per_cpu/cpu*/stats &&
	cfq_fail "events are lost"

dev=$(stat -c %Hd:%Ld "$mnt/sub")
read -r _ file < "$CFQ_TMP/t_read"
sub=$(stat -c %i "$mnt/sub")
data t_read read 4096 65536 65536
data t_end read 1044480 65536 4096
data t_preadv read 8192 8192 8192
data t_sendfile read 0 16384 16384
data t_aio_read read 4096 4096 4096
data t_bad read 1 512 -22
data t_pwrite write 0 4096 4096
data t_pwritev write 4096 8192 8192
data t_splice write 8192 4096 4096
data t_aio_write write 12288 4096 4096
data first open 0 0 0
data t_stat stat 0 0 0
data synced fsync 0 0 0
data cut truncate 0 524288 0
data renamed rename 0 0 0
data removed unlink 0 0 0
data removed evict 0 0 0
check made "$dev" "$sub" create 0 0 0
check none "$dev" "$sub" lookup 0 0 0
said first | grep -q "^enter lookup dev=$dev ino=$sub " ||
	cfq_fail "open() looks for no name: $(said first)"
said listed | grep -q "^enter readdir dev=$dev ino=$sub " ||
	cfq_fail "nothing is listed: $(said listed)"

# io_uring may make several attempts, some of them by a worker.
if cfq_no_uring; then
	echo "ok 1 io_uring # SKIP no io_uring"
else
	for io in "read 524288" "write 528384"; do
		grep -q "vfs_op_enter: ${io% *} dev=$dev ino=$file pos=${io#* } len=4096" \
			"$CFQ_TMP/events" || cfq_fail "no ${io% *} by io_uring"
	done
fi

# A block device is its own device; a pipe has only its name on one.
check t_dev "$(stat -c %Hr:%Lr "$CFQ_DEV")" \
	"$(($(stat -c '%Hr * 1048576 + %Lr' "$CFQ_DEV")))" read 512 1024 1024
check t_tmpfs "$(stat -c %Hd:%Ld "$ram/plain")" "$(stat -c %i "$ram/plain")" \
	read 0 4096 4096
said t_pipe | grep -q "^enter read dev=0:0 ino=$(stat -c %i "$mnt/pipe") " ||
	cfq_fail "a pipe: $(said t_pipe)"
exit "$KSFT_PASS"
