#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# VFS messages in a block trace: each operation has an enter and a leave message, with
# its inode and its result, in the trace of its device only, and only if enabled.
#
# shellcheck disable=SC2329  # called by blktrace_run

. "$(dirname "$0")/blktrace_common.sh"

blktrace_need dd taskset
blktrace_need_ext4
blktrace_device
blktrace_vfs_setup
other=$NULLB/${BT_NAME}b

cleanup()
{
	! mountpoint -q "$BT_TMP/mnt" || umount "$BT_TMP/mnt"
	[ ! -d "$other" ] || rmdir "$other"
}

traced()
{
	blktrace_vfs_do t_read read "$BT_TMP/mnt/file" 4096 65536
	blktrace_vfs_do t_end pread "$BT_TMP/mnt/file" 1044480 65536
	blktrace_vfs_do t_preadv preadv "$BT_TMP/mnt/file" 8192 8192
	blktrace_vfs_do t_sendfile sendfile "$BT_TMP/mnt/file" 0 16384
	blktrace_vfs_do t_aio_read aio_read "$BT_TMP/mnt/file" 4096 4096
	blktrace_vfs_do t_direct direct "$BT_TMP/mnt/file" 0 32768
	blktrace_vfs_do t_dev pread "$BT_DEV" 512 1024
	blktrace_vfs_do t_bad direct "$BT_TMP/mnt/file" 1 512
	blktrace_vfs_do t_pwrite pwrite "$BT_TMP/mnt/file" 0 4096
	blktrace_vfs_do t_pwritev pwritev "$BT_TMP/mnt/file" 4096 8192
	blktrace_vfs_do t_splice splice "$BT_TMP/mnt/file" 8192 4096
	blktrace_vfs_do t_aio_write aio_write "$BT_TMP/mnt/file" 12288 4096
	blktrace_vfs_do t_uring uring_read "$BT_TMP/mnt/file" 524288 4096
	uring=$?
	blktrace_vfs_do t_uring_write uring_write "$BT_TMP/mnt/file" 528384 4096
	cat < "$BT_TMP/mnt/pipe" > /dev/null &
	echo "$!" > "$BT_TMP/t_pipe"
	echo x > "$BT_TMP/mnt/pipe"
	wait $!
	blktrace_vfs_do t_elsewhere pread "/dev/${other##*/}" 0 4096
	blktrace_vfs_do t_tmpfs pread "$BT_TMP/plain" 0 4096
}

# One read, one write, and one read of another device
few()
{
	blktrace_vfs_do t_read read "$BT_TMP/mnt/file" 4096 65536
	blktrace_vfs_do t_pwrite pwrite "$BT_TMP/mnt/file" 0 4096
	blktrace_vfs_do t_elsewhere pread "/dev/${other##*/}" 0 4096
}

two()
{
	local tracer

	blktrace_begin "${other##*/}" "$BT_TMP/raw2"
	tracer=$BT_TRACER
	blktrace_once "$BT_TMP" few
	blktrace_end "${other##*/}" "$tracer" "$BT_TMP/raw2" "$BT_TMP/trace2"
}

mkfs.ext4 -q "$BT_DEV" || blktrace_fail "mkfs.ext4"
mkdir "$BT_TMP/mnt" "$other" || blktrace_fail "cannot make a second device"
for attr in size=64 memory_backed=1 power=1; do
	echo "${attr#*=}" > "$other/${attr%%=*}"
done
mount "$BT_DEV" "$BT_TMP/mnt" || blktrace_fail "cannot mount the device"
dd if=/dev/urandom of="$BT_TMP/mnt/file" bs=1M count=1 status=none
mkfifo "$BT_TMP/mnt/pipe"
pipe=$(stat -c %i "$BT_TMP/mnt/pipe")
dd if=/dev/urandom of="$BT_TMP/plain" bs=4k count=1 status=none
sync

# Six processes in parallel, on two CPUs if there are two
many()
{
	local n i cpus

	cpus=$(nproc)
	traced
	for n in 1 2 3 4 5 6; do
		for i in 1 2 3; do
			taskset -c $((n % (cpus > 1 ? 2 : 1))) "$BT_VFS" pread \
				"$BT_TMP/mnt/file" $((i * 4096)) 4096
		done > "$BT_TMP/many.$n" &
		pids[n]=$!
	done
	wait "${pids[@]}"
}

# Off, the default: no message.
[ "$(cat "$BT_SWITCH")" = 0 ] || blktrace_fail "the messages are on by default"
blktrace_run "$BT_TMP" traced
[ -s "$BT_TMP/t_read" ] || blktrace_fail "the reader did not run"
grep -qE "(enter|leave|at) vfs|vfs messages" "$BT_TMP/trace.messages" &&
	blktrace_fail "messages while they are off"

# On: every interface to read and write. The trace records the enabled operations.
echo 1 > "$BT_SWITCH" || blktrace_fail "the kernel refuses 1"
all=$(cat "$BT_SWITCH")
[[ $all == read,write,* ]] || blktrace_fail "after 1, the file contains $all"
blktrace_run "$BT_TMP" many
[ "$(blktrace_vfs_enabled)" = "$all" ] ||
	blktrace_fail "enabled before the trace, which says: $(blktrace_vfs_enabled)"
blktrace_vfs_check t_read "vfs_read ino %i off 4096 len 65536" 65536
blktrace_vfs_check t_end "vfs_read ino %i off 1044480 len 65536" 4096
blktrace_vfs_check t_preadv "vfs_read ino %i off 8192 len 8192" 8192
blktrace_vfs_check t_sendfile "vfs_read ino %i off 0 len 16384" 16384
blktrace_vfs_check t_aio_read "vfs_read ino %i off 4096 len 4096" 4096
blktrace_vfs_check t_direct "vfs_read ino %i off 0 len 32768" 32768
blktrace_vfs_check t_bad "vfs_read ino %i off 1 len 512" -22
blktrace_vfs_check t_pwrite "vfs_write ino %i off 0 len 4096" 4096
blktrace_vfs_check t_pwritev "vfs_write ino %i off 4096 len 8192" 8192
blktrace_vfs_check t_splice "vfs_write ino %i off 8192 len 4096" 4096
blktrace_vfs_check t_aio_write "vfs_write ino %i off 12288 len 4096" 4096

# blkparse shows them if it shows any message, and btt ignores them.
! blktrace_shown "$BT_TMP/trace" ||
	grep -qE " m +N enter vfs_read ino [0-9]+ off 4096 len 65536$" "$BT_TMP/trace" ||
	blktrace_fail "blkparse shows no VFS message"
if command -v btt > /dev/null; then
	blkparse -q -i - -d "$BT_TMP/binary" -O < "$BT_TMP/raw"
	# btt writes files to the current directory.
	(cd "$BT_TMP" && btt -i binary > btt.out 2>&1)
	grep -q "^Q2C" "$BT_TMP/btt.out" ||
		blktrace_fail "btt: $(cat "$BT_TMP/btt.out")"
fi

# The inode of a block device file is its device number.
device=$(stat -c '%Hr * 1048576 + %Lr' "$BT_DEV")
sed -i "s/ .*/ $((device))/" "$BT_TMP/t_dev"
blktrace_vfs_check t_dev "vfs_read ino %i off 512 len 1024" 1024

# io_uring can make several attempts, some of them in a worker.
if blktrace_no_uring "$uring"; then
	echo "ok 1 io_uring # SKIP no io_uring"
else
	[ "$uring" = 0 ] || blktrace_fail "a read by io_uring fails with errno $uring"
	found=$(blktrace_vfs_messages t_uring)
	[[ $found == *"enter vfs_read ino "*" off 524288 len 4096"*"leave"* ]] ||
		blktrace_fail "io_uring reads: $found"
	for io in "vfs_read 524288" "vfs_write 528384"; do
		awk -v operation="${io% *}" -v off="${io#* }" '
			$3 == "enter" && $4 == operation && $8 == off { its[$2] = $6 }
			$3 == "leave" && $4 == operation && $6 == its[$2] && $8 == 4096 {
				found = 1
			}
			END { exit !found }' "$BT_TMP/trace.messages" ||
			blktrace_fail "io_uring: no $io with a result of 4096 bytes"
	done
fi

# A pipe has only its name on the disk.
found=$(blktrace_vfs_messages t_pipe | grep -E "vfs_(read|open) ino $pipe")
[ -z "$found" ] || blktrace_fail "a pipe is in the trace: $found"

# Other devices, and file systems without a device, are not in the trace.
for name in t_elsewhere t_tmpfs; do
	[ -s "$BT_TMP/$name" ] || blktrace_fail "$name did not run"
	found=$(blktrace_vfs_messages "$name")
	[ -z "$found" ] || blktrace_fail "$name is in the trace: $found"
done

# 18 reads of six processes: 18 pairs of messages.
cat "$BT_TMP"/many.* > "$BT_TMP/many"
[ "$(wc -l < "$BT_TMP/many")" = 18 ] || blktrace_fail "not all readers ran"
bad=$(awk 'NR == FNR { process[$1]; next }
	   !($2 in process) { next }
	   / enter vfs_read / { enter[$2]++ }
	   / (enter|leave) vfs_/ { last[$2] = $3 " " $4 " " $7 " " $8 }
	   END {
		for (pid in process)
			if (enter[pid] != 1 || last[pid] != "leave vfs_read ret 4096")
				print "process " pid ": " enter[pid] " enter, " last[pid]
	   }' "$BT_TMP/many" "$BT_TMP/trace.messages")
[ -z "$bad" ] || blktrace_fail "parallel readers: $bad"
cpus=$(awk '/ m +N enter vfs_read / { seen[$2] } END { print length(seen) }' "$BT_TMP/trace")
! blktrace_shown "$BT_TMP/trace" || [ "$(nproc)" = 1 ] || [ "$cpus" -ge 2 ] ||
	blktrace_fail "messages from $cpus CPU"

# Only the named operations are enabled. Invalid names are refused.
echo write > "$BT_SWITCH" || blktrace_fail "the kernel refuses a name"
[ "$(cat "$BT_SWITCH")" = write ] ||
	blktrace_fail "after write, the file contains $(cat "$BT_SWITCH")"
blktrace_run "$BT_TMP" few
[ "$(blktrace_vfs_enabled)" = write ] ||
	blktrace_fail "writes are enabled, but the trace says: $(blktrace_vfs_enabled)"
grep -q "enter vfs_write" "$BT_TMP/trace.messages" || blktrace_fail "no writes in the trace"
grep -q "enter vfs_read " "$BT_TMP/trace.messages" &&
	blktrace_fail "reads are in the trace, but not enabled"
for bad in 2 -1 yes 256 0x80000000 walk read,walk "1,walk" 0,read ""; do
	echo "$bad" 2> /dev/null > "$BT_SWITCH" && blktrace_fail "the kernel accepts '$bad'"
done
[ "$(cat "$BT_SWITCH")" = write ] || blktrace_fail "a refused value changed the file"
echo "$all" > "$BT_SWITCH" || blktrace_fail "the kernel refuses the names that it shows"
[ "$(cat "$BT_SWITCH")" = "$all" ] ||
	blktrace_fail "after $all, the file contains $(cat "$BT_SWITCH")"

# Two devices traced in parallel: each trace has its own messages.
echo 1 > "/sys/block/${other##*/}/trace/vfs"
blktrace_retry two
blktrace_vfs_check t_read "vfs_read ino %i off 4096 len 65536" 65536
[ -z "$(blktrace_vfs_messages t_elsewhere)" ] ||
	blktrace_fail "the other device's reader is in this trace"
blktrace_vfs_messages t_elsewhere trace2 | grep -q "enter vfs_read ino [0-9]* off 0 len 4096" ||
	blktrace_fail "the other device's reader is not in its trace"
blktrace_vfs_messages t_elsewhere trace2 | grep -q "leave vfs_read ino [0-9]* ret 4096" ||
	blktrace_fail "the other device's reader has no leave message in its trace"
[ -z "$(blktrace_vfs_messages t_read trace2)" ] ||
	blktrace_fail "a reader of this device is in the other trace"

exit "$KSFT_PASS"
