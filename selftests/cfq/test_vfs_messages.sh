#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# VFS operations in a trace: each says that it begins and that it ends, with its
# inode and its result, in the trace of its device and in no other, when it is
# asked to and else not.
#
# shellcheck disable=SC2329  # cfq_trace calls them

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd taskset
cfq_need_ext4
cfq_device size=64
cfq_vfs_setup
other=$NULLB/${CFQ_NAME}b

cleanup()
{
	! mountpoint -q "$CFQ_TMP/mnt" || umount "$CFQ_TMP/mnt"
	[ ! -d "$other" ] || rmdir "$other"
}

traced()
{
	cfq_vfs_do t_read read "$CFQ_TMP/mnt/file" 4096 65536
	cfq_vfs_do t_end pread "$CFQ_TMP/mnt/file" 1044480 65536
	cfq_vfs_do t_preadv preadv "$CFQ_TMP/mnt/file" 8192 8192
	cfq_vfs_do t_sendfile sendfile "$CFQ_TMP/mnt/file" 0 16384
	cfq_vfs_do t_aio_read aio_read "$CFQ_TMP/mnt/file" 4096 4096
	cfq_vfs_do t_direct direct "$CFQ_TMP/mnt/file" 0 32768
	cfq_vfs_do t_dev pread "$CFQ_DEV" 512 1024
	cfq_vfs_do t_bad direct "$CFQ_TMP/mnt/file" 1 512
	cfq_vfs_do t_pwrite pwrite "$CFQ_TMP/mnt/file" 0 4096
	cfq_vfs_do t_pwritev pwritev "$CFQ_TMP/mnt/file" 4096 8192
	cfq_vfs_do t_splice splice "$CFQ_TMP/mnt/file" 8192 4096
	cfq_vfs_do t_aio_write aio_write "$CFQ_TMP/mnt/file" 12288 4096
	cfq_vfs_do t_uring uring_read "$CFQ_TMP/mnt/file" 524288 4096
	uring=$?
	cfq_vfs_do t_uring_write uring_write "$CFQ_TMP/mnt/file" 528384 4096
	cat < "$CFQ_TMP/mnt/pipe" > /dev/null &
	echo "$!" > "$CFQ_TMP/t_pipe"
	echo x > "$CFQ_TMP/mnt/pipe"
	wait $!
	cfq_vfs_do t_elsewhere pread "/dev/${other##*/}" 0 4096
	cfq_vfs_do t_tmpfs pread "$CFQ_TMP/plain" 0 4096
}

# of each kind one, and one elsewhere
few()
{
	cfq_vfs_do t_read read "$CFQ_TMP/mnt/file" 4096 65536
	cfq_vfs_do t_pwrite pwrite "$CFQ_TMP/mnt/file" 0 4096
	cfq_vfs_do t_elsewhere pread "/dev/${other##*/}" 0 4096
}

two()
{
	local tracer

	cfq_trace_begin "${other##*/}" "$CFQ_TMP/raw2"
	tracer=$CFQ_TRACER
	cfq_trace_once "$CFQ_TMP" few
	cfq_trace_end "${other##*/}" "$tracer" "$CFQ_TMP/raw2" "$CFQ_TMP/trace2"
}

mkfs.ext4 -q "$CFQ_DEV" || cfq_fail "mkfs.ext4"
mkdir "$CFQ_TMP/mnt" "$other" || cfq_fail "no second device"
for attr in size=64 memory_backed=1 power=1; do
	echo "${attr#*=}" > "$other/${attr%%=*}"
done
mount "$CFQ_DEV" "$CFQ_TMP/mnt" || cfq_fail "cannot mount it"
dd if=/dev/urandom of="$CFQ_TMP/mnt/file" bs=1M count=1 status=none
mkfifo "$CFQ_TMP/mnt/pipe"
pipe=$(stat -c %i "$CFQ_TMP/mnt/pipe")
dd if=/dev/urandom of="$CFQ_TMP/plain" bs=4k count=1 status=none
sync

# six processes at once, on two CPUs where there are two
many()
{
	local n i cpus

	cpus=$(nproc)
	traced
	for n in 1 2 3 4 5 6; do
		for i in 1 2 3; do
			taskset -c $((n % (cpus > 1 ? 2 : 1))) "$CFQ_VFS" pread \
				"$CFQ_TMP/mnt/file" $((i * 4096)) 4096
		done > "$CFQ_TMP/many.$n" &
		pids[n]=$!
	done
	wait "${pids[@]}"
}

# Off, which is the default: not a word.
[ "$(cat "$CFQ_SWITCH")" = 0 ] || cfq_fail "the messages are on from the start"
cfq_trace "$CFQ_TMP" traced
[ -s "$CFQ_TMP/t_read" ] || cfq_fail "nobody read"
grep -qE "(enter|leave|at) vfs|vfs messages" "$CFQ_TMP/trace.messages" &&
	cfq_fail "messages while off"

# On: every way to read and to write. The trace says which operations speak.
echo 1 > "$CFQ_SWITCH" || cfq_fail "the switch does not take 1"
all=$(cat "$CFQ_SWITCH")
[[ $all == read,write,* ]] || cfq_fail "on, the switch is $all"
cfq_trace "$CFQ_TMP" many
[ "$(cfq_vfs_switched)" = "$all" ] ||
	cfq_fail "on from the start, the trace says: $(cfq_vfs_switched)"
cfq_vfs_check t_read "vfs_read ino %i off 4096 len 65536" 65536
cfq_vfs_check t_end "vfs_read ino %i off 1044480 len 65536" 4096
cfq_vfs_check t_preadv "vfs_read ino %i off 8192 len 8192" 8192
cfq_vfs_check t_sendfile "vfs_read ino %i off 0 len 16384" 16384
cfq_vfs_check t_aio_read "vfs_read ino %i off 4096 len 4096" 4096
cfq_vfs_check t_direct "vfs_read ino %i off 0 len 32768" 32768
cfq_vfs_check t_bad "vfs_read ino %i off 1 len 512" -22
cfq_vfs_check t_pwrite "vfs_write ino %i off 0 len 4096" 4096
cfq_vfs_check t_pwritev "vfs_write ino %i off 4096 len 8192" 8192
cfq_vfs_check t_splice "vfs_write ino %i off 8192 len 4096" 4096
cfq_vfs_check t_aio_write "vfs_write ino %i off 12288 len 4096" 4096

# blkparse shows them where it shows any, and btt passes over them.
! cfq_trace_shown "$CFQ_TMP/trace" ||
	grep -qE " m +N enter vfs_read ino [0-9]+ off 4096 len 65536$" "$CFQ_TMP/trace" ||
	cfq_fail "blkparse shows no message"
if command -v btt > /dev/null; then
	blkparse -q -i - -d "$CFQ_TMP/binary" -O < "$CFQ_TMP/raw"
	# It writes files where it is.
	(cd "$CFQ_TMP" && btt -i binary > btt.said 2>&1)
	grep -q "^Q2C" "$CFQ_TMP/btt.said" ||
		cfq_fail "btt: $(cat "$CFQ_TMP/btt.said")"
fi

# A block device file has the number of the device for its inode.
device=$(stat -c '%Hr * 1048576 + %Lr' "$CFQ_DEV")
sed -i "s/ .*/ $((device))/" "$CFQ_TMP/t_dev"
cfq_vfs_check t_dev "vfs_read ino %i off 512 len 1024" 1024

# io_uring may make several attempts, some of them by a worker.
if cfq_no_uring; then
	echo "ok 1 io_uring # SKIP no io_uring"
else
	[ "$uring" = 0 ] || cfq_fail "io_uring reads end with errno $uring"
	said=$(cfq_vfs_said t_uring)
	[[ $said == *"enter vfs_read ino "*" off 524288 len 4096"*"leave"* ]] ||
		cfq_fail "io_uring reads: $said"
	for said in "vfs_read 524288" "vfs_write 528384"; do
		awk -v operation="${said% *}" -v off="${said#* }" '
			$3 == "enter" && $4 == operation && $8 == off { its[$2] = $6 }
			$3 == "leave" && $4 == operation && $6 == its[$2] && $8 == 4096 {
				found = 1
			}
			END { exit !found }' "$CFQ_TMP/trace.messages" ||
			cfq_fail "io_uring: no $said that ends with 4096 bytes"
	done
fi

# A pipe has its name on the disk, and does not wait for it.
said=$(cfq_vfs_said t_pipe | grep -E "vfs_(read|open) ino $pipe")
[ -z "$said" ] || cfq_fail "a pipe is in the trace: $said"

# Nothing of other devices, and of file systems without one.
for name in t_elsewhere t_tmpfs; do
	[ -s "$CFQ_TMP/$name" ] || cfq_fail "$name did not run"
	said=$(cfq_vfs_said "$name")
	[ -z "$said" ] || cfq_fail "$name is in the trace: $said"
done

# 18 reads of six at once: 18 pairs.
cat "$CFQ_TMP"/many.* > "$CFQ_TMP/many"
[ "$(wc -l < "$CFQ_TMP/many")" = 18 ] || cfq_fail "not all of many ran"
bad=$(awk 'NR == FNR { process[$1]; next }
	   !($2 in process) { next }
	   / enter vfs_read / { enter[$2]++ }
	   / (enter|leave) vfs_/ { last[$2] = $3 " " $4 " " $7 " " $8 }
	   END {
		for (pid in process)
			if (enter[pid] != 1 || last[pid] != "leave vfs_read ret 4096")
				print "process " pid ": " enter[pid] " enter, " last[pid]
	   }' "$CFQ_TMP/many" "$CFQ_TMP/trace.messages")
[ -z "$bad" ] || cfq_fail "of many: $bad"
cpus=$(awk '/ m +N enter vfs_read / { seen[$2] } END { print length(seen) }' "$CFQ_TMP/trace")
! cfq_trace_shown "$CFQ_TMP/trace" || [ "$(nproc)" = 1 ] || [ "$cpus" -ge 2 ] ||
	cfq_fail "messages of $cpus CPU"

# Only the operations that are named; bad ones are refused.
echo write > "$CFQ_SWITCH" || cfq_fail "the switch does not take a name"
[ "$(cat "$CFQ_SWITCH")" = write ] || cfq_fail "the switch is $(cat "$CFQ_SWITCH"), not write"
cfq_trace "$CFQ_TMP" few
[ "$(cfq_vfs_switched)" = write ] || cfq_fail "of writes the trace says: $(cfq_vfs_switched)"
grep -q "enter vfs_write" "$CFQ_TMP/trace.messages" || cfq_fail "no writes in the trace"
grep -q "enter vfs_read " "$CFQ_TMP/trace.messages" && cfq_fail "reads outside of the mask"
for bad in 2 -1 yes 256 0x80000000 walk read,walk "1,walk" 0,read ""; do
	echo "$bad" 2> /dev/null > "$CFQ_SWITCH" && cfq_fail "the switch takes '$bad'"
done
[ "$(cat "$CFQ_SWITCH")" = write ] || cfq_fail "refused but taken"
echo "$all" > "$CFQ_SWITCH" || cfq_fail "the switch does not take what it shows"
[ "$(cat "$CFQ_SWITCH")" = "$all" ] || cfq_fail "all is $(cat "$CFQ_SWITCH"), not $all"

# Two devices traced at once: each has its own.
echo 1 > "/sys/block/${other##*/}/trace/vfs"
cfq_trace_whole two
cfq_vfs_check t_read "vfs_read ino %i off 4096 len 65536" 65536
[ -z "$(cfq_vfs_said t_elsewhere)" ] ||
	cfq_fail "the other device's reader is in this trace"
cfq_vfs_said t_elsewhere trace2 | grep -q "enter vfs_read ino [0-9]* off 0 len 4096" ||
	cfq_fail "the other device's reader is not in its trace"
cfq_vfs_said t_elsewhere trace2 | grep -q "leave vfs_read ino [0-9]* ret 4096" ||
	cfq_fail "the other device's reader does not leave in its trace"
[ -z "$(cfq_vfs_said t_read trace2)" ] || cfq_fail "a reader of this device is in the other trace"

exit "$KSFT_PASS"
