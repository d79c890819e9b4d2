#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# io.bw: what its file takes and shows; that what a control group reads and writes is
# served within the reservation, its writeback too, and nobody else's; that a line holds
# for the groups below and for who moves in, and again when the scheduler comes back.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd find head partx setpriv sync timeout
cfq_need_ext4
cfq_device rotational=1 completion_nsec=1000000
cfq_need_debugfs
ioprio=$(dirname "$0")/cfq_ioprio
dev=$(cat "/sys/block/$CFQ_NAME/dev")

# shellcheck disable=SC2329  # by cfq_exit
cleanup()
{
	! mountpoint -q "$CFQ_TMP/mnt" || umount "$CFQ_TMP/mnt"
	cfq_groups_end
	[ ! -d "$NULLB/${CFQ_NAME}g" ] || rmdir "$NULLB/${CFQ_NAME}g"
}

cfq_groups a b
cgroups=$CFQ_CGROUPS
root=$CFQ_GROUPS

# refused LINE WHY: it is, and nothing is changed by it
refused()
{
	local said

	said=$({ echo "$1" > "$root/a/io.bw"; } 2>&1) && cfq_fail "\"$1\" is taken"
	[[ $said == *"$2" ]] || cfq_fail "\"$1\": $said, not: $2"
	[ "$(cat "$root/a/io.bw")" = "$line" ] ||
		cfq_fail "after \"$1\" the line is $(cat "$root/a/io.bw")"
}

# taken LINE SHOWN
taken()
{
	echo "$dev $1" > "$root/a/io.bw" || cfq_fail "\"$1\" is refused"
	line=${2:+$dev $2}
	[[ $line = "" || $line == *streams=* ]] || line+=" streams=1"
	[ "$(cat "$root/a/io.bw")" = "$line" ] ||
		cfq_fail "\"$1\" is shown as \"$(cat "$root/a/io.bw")\""
}

# The file.
inval="Invalid argument"
line=
refused "$dev" "$inval"
refused "$dev " "$inval"
refused "$dev delay=1000" "$inval"
taken "bps=1000000" "bps=1000000 delay=500000 burst=3000000"
taken "delay=20000" "bps=1000000 delay=20000 burst=3000000"
taken "bps=2000000" "bps=2000000 delay=20000 burst=6000000"
taken " burst=65536  bps=4096 " "bps=4096 delay=20000 burst=65536"
for word in bps=0 bps=4095 bps=1099511627777 bps=18446744073709551617 bps=-1 bps= \
	    bps=1x bps=1000000=1 bps delay=0 delay=999 delay=100000001 burst=0 \
	    burst=409601 rate=1000000 max none=1 "none bps=5000" "bps=5000 none" \
	    "bps=5000 x" "bps=5000,delay=2000"; do
	refused "$dev $word" "$inval"
done
refused "bps=1000000" "$inval"
refused "0:0 bps=1000000" "No such device"
# a partition is no device that requests wait for
{
	head -c 446 /dev/zero
	printf '\0\0\0\0\x83\0\0\0\0\x08\0\0\0\x08\0\0'
	head -c 48 /dev/zero
	printf '\x55\xaa'
} > "$CFQ_TMP/table"
# direct: whose page of the device is dirty first has all that is written back
dd if="$CFQ_TMP/table" of="$CFQ_DEV" bs=512 oflag=direct status=none
partx -a "$CFQ_DEV" || cfq_fail "no partition"
part=("/sys/block/$CFQ_NAME/"*/partition)
refused "$(cat "${part[0]%/*}/dev") bps=1000000" "No such device"
partx -d "$CFQ_DEV" || cfq_fail "the partition stays"
taken "bps=1099511627776 delay=1000 burst=1" "bps=1099511627776 delay=1000 burst=1"
taken "none" ""
taken "none" ""
[ ! -e "$cgroups/io.bw" ] || cfq_fail "the root has the file"

# What the disk cannot keep. 40% for 20 MB/s, 30% for 15 streams, each of whom is read
# twice a second.
model=$cgroups/io.bw.model
! grep -q "^$dev " "$model" || cfq_fail "a new device has a model: $(cat "$model")"
taken "bps=1099511627776" "bps=1099511627776 delay=500000 burst=3298534883328"
for words in seek=10000 bps=0 "bps=50000000 share=101" "bps=50000000 x"; do
	{ echo "$dev $words" > "$model"; } 2> /dev/null && cfq_fail "a model of \"$words\""
done
echo "$dev bps=50000000 seek=10000" > "$model" || cfq_fail "the model is refused"
grep -qx "$dev bps=50000000 seek=10000 share=85" "$model" ||
	cfq_fail "the model is shown as $(cat "$model")"
taken "bps=20000000 delay=500000 streams=15" \
	"bps=20000000 delay=500000 burst=60000000 streams=15"
nospc="No space left on device"
refused "$dev bps=28000000" "$nospc"
refused "$dev streams=24" "$nospc"
refused "$dev delay=200000" "$nospc"
{ echo "$dev bps=7000000 delay=1000000 streams=2" > "$root/b/io.bw"; } 2> /dev/null &&
	cfq_fail "beside 70% another 16% are taken"
echo "$dev bps=6000000 delay=1000000 streams=2" > "$root/b/io.bw" ||
	cfq_fail "beside 70% another 14% are refused"
refused "$dev streams=16" "$nospc"
echo "$dev share=90" > "$model" || cfq_fail "the share cannot be changed"
taken "streams=16" "bps=20000000 delay=500000 burst=60000000 streams=16"
# What is there stays, and may become less, though it is still too much.
echo "$dev share=20" > "$model" || cfq_fail "the share cannot be changed again"
taken "bps=19000000 burst=1000" "bps=19000000 delay=500000 burst=1000 streams=16"
refused "$dev bps=19500000" "$nospc"
taken "bps=19000000 delay=600000" "bps=19000000 delay=600000 burst=1000 streams=16"
echo "$dev share=90" > "$model"
taken "none" ""
# Who asks for little does so seldom.
taken "bps=655360 streams=1000 delay=1000" \
	"bps=655360 delay=1000 burst=1966080 streams=1000"
{ echo "$dev bps=40000000" > "$root/b/io.bw"; } 2> /dev/null &&
	cfq_fail "beside 11% another 80% are taken"
taken "none" ""
echo "$dev bps=40000000 streams=1" > "$root/b/io.bw" || cfq_fail "a line that is gone counts"
echo "$dev none" > "$root/b/io.bw"
echo "$dev none" > "$model" || cfq_fail "the model does not go"
! grep -q "^$dev " "$model" || cfq_fail "a model is left: $(cat "$model")"
taken "none" ""

# shellcheck disable=SC2016
chown 65534 "$root/a" "$root/a/cgroup.procs"
setpriv --reuid 65534 --regid 65534 --clear-groups \
	sh -c 'echo "$1" > "$2"' - "$dev bps=1000000" "$root/a/io.bw" 2> /dev/null &&
	cfq_fail "to whom a group is delegated may reserve"
chown 65534 "$root/a/io.bw"
setpriv --reuid 65534 --regid 65534 --clear-groups \
	sh -c 'echo "$1" > "$2"' - "$dev bps=1000000" "$root/a/io.bw" 2> /dev/null &&
	cfq_fail "who has made a group may reserve"
[ -z "$(cat "$root/a/io.bw")" ] || cfq_fail "anybody may reserve: $(cat "$root/a/io.bw")"

# start_in_group GROUP COMMAND...: in the background; sets started, its process
start_in_group()
{
	(
		echo "$BASHPID" > "$root/$1/cgroup.procs" || exit
		shift
		exec timeout --foreground 60 "$@" 2> /dev/null
	) &
	started=$!
}

# reads GROUP COUNT [COMMAND]...: reads of 64 KiB
reads()
{
	local group=$1 count=$2

	shift 2
	cfq_in_group "$group" "$@" dd if="$CFQ_DEV" of=/dev/null bs=64k count="$count" \
		iflag=direct 2> "$CFQ_TMP/dd" || cfq_fail "$group: $(cat "$CFQ_TMP/dd")"
}

# Whatever a process of the group reads, and nobody else's.
taken "bps=4194304 burst=1048576" "bps=4194304 delay=500000 burst=1048576"
reads a 12
[ "$(cfq_iostat a bw.entitled)" = 786432 ] ||
	cfq_fail "of 768 KiB $(cfq_iostat a bw.entitled) were within the reservation"
[ "$(cfq_iostat a bw.surplus)" = 0 ] || cfq_fail "less than the burst is beyond it"
[ "$(($(cfq_iostat a bw.met) + $(cfq_iostat a bw.missed)))" = 12 ] ||
	cfq_fail "12 reads: $(cfq_iostat a bw.met) deadlines met, $(cfq_iostat a bw.missed) missed"
[ -n "$(cfq_iostat a bw.slack_us)" ] || cfq_fail "no slack is shown"
reads b 12
[ "$(cfq_spent a)" = $((12 * 65536)) ] || cfq_fail "another group spends it"
[ -z "$(cfq_iostat b bw.entitled)" ] || cfq_fail "figures of a reservation that is none"

# Alone it has more than that, which is counted as such.
reads a 400
[ "$(cfq_spent a)" = $((412 * 65536)) ] || cfq_fail "$(cfq_spent a) bytes after 412 reads"
[ "$(cfq_iostat a bw.surplus)" -gt 0 ] || cfq_fail "25 MiB at once were within 4 MiB/s"

# Groups below spend it; a class that a process has chosen is its own.
mkdir "$root/a/below" 2> /dev/null
reads a/below 4
[ "$(cfq_spent a)" = $((416 * 65536)) ] || cfq_fail "a group below does not spend its parent's"
reads a 4 "$ioprio" 8,3
reads a 4 "$ioprio" $((1 << 13 | 4))
[ "$(cfq_spent a)" = $((416 * 65536)) ] || cfq_fail "who has a class of its own spends the group's"

# Writes: direct, synchronous, and those that are written back.
cfq_in_group a dd if=/dev/zero of="$CFQ_DEV" bs=64k count=4 oflag=direct 2> /dev/null
[ "$(cfq_spent a)" = $((420 * 65536)) ] || cfq_fail "a direct write does not spend it"
cfq_in_group a dd if=/dev/zero of="$CFQ_DEV" bs=64k count=4 conv=fsync 2> /dev/null
[ "$(cfq_spent a)" = $((424 * 65536)) ] || cfq_fail "an fsync does not spend it: $(cfq_spent a)"
mkdir "$CFQ_TMP/mnt"
mkfs.ext4 -q "$CFQ_DEV" 2> /dev/null || cfq_fail "no file system"
mount -t ext4 "$CFQ_DEV" "$CFQ_TMP/mnt" || cfq_fail "the file system is not mounted"
for group in b a; do
	before=$(cfq_spent a)
	cfq_in_group "$group" dd if=/dev/zero of="$CFQ_TMP/mnt/$group" bs=1M count=8 2> /dev/null
	sync
	written=$(($(cfq_spent a) - before))
	case $group in
	a) [ "$written" -ge $((8 << 20)) ] ;;
	# The inode and the map of the file are written when they are.
	b) [ "$written" -le $((1 << 20)) ] ;;
	esac || cfq_fail "of 8 MiB that $group writes back the reservation pays $written bytes"
done

# commits COUNT: of so many, made in a group that has reserved nothing, so many come
# before best effort
commits()
{
	local before n

	before=$(cfq_counter commits)
	for n in $(seq "$1"); do
		cfq_in_group b dd if=/dev/zero of="$CFQ_TMP/mnt/b" bs=4k count=1 \
			conv=notrunc,fsync 2> /dev/null || cfq_fail "no fsync"
	done
	echo $(($(cfq_counter commits) - before))
}

# The group has asked for nothing lately.
sleep 4
[ "$(commits 4)" = 0 ] || cfq_fail "a commit hurries for nobody"
start_in_group a dd if="$CFQ_DEV" of=/dev/null bs=64k count=1000000 iflag=direct
cfq_wait_for grep -q "cgroup " "$CFQ_DEBUG/reservations" ||
	cfq_fail "no reservation is shown"
[ "$(commits 4)" -ge 8 ] || cfq_fail "a commit waits like best effort"
taken "none" ""
sleep 4
[ "$(commits 4)" = 0 ] || cfq_fail "a commit hurries for who reserves no more"
taken "bps=4194304 burst=1048576" "bps=4194304 delay=500000 burst=1048576"
kill "$started"
wait
umount "$CFQ_TMP/mnt"

# A line that changes holds for what comes next, and so does one that is gone.
taken "bps=8388608" "bps=8388608 delay=500000 burst=1048576"
reads a 1
taken "none" ""
before=$(cfq_counter bw_bytes_in)
reads a 4
[ "$(cfq_counter bw_bytes_in)" = "$before" ] || cfq_fail "a line that is gone still holds"
[ -z "$(cfq_iostat a bw.entitled)" ] || cfq_fail "io.stat shows a reservation that is gone"

# Another scheduler keeps the line, and it holds again.
taken "bps=4194304 burst=1048576" "bps=4194304 delay=500000 burst=1048576"
reads a 1
echo none > "$CFQ_QUEUE/scheduler" || cfq_fail "cannot switch"
reads a 4
[ -z "$(cfq_iostat a bw.entitled)" ] || cfq_fail "io.stat shows what no scheduler does"
[ "$(cat "$root/a/io.bw")" = "$line" ] || cfq_fail "the line is lost with the scheduler"
taken "delay=100000" "bps=4194304 delay=100000 burst=1048576"
echo cfq > "$CFQ_QUEUE/scheduler" || cfq_fail "cannot switch back"
reads a 4
[ "$(cfq_counter bw_bytes_in)" = $((4 * 65536)) ] || cfq_fail "the line does not hold again"

# Under load: a process moves, the line changes, the scheduler changes, its group goes.
mkdir "$root/moved"
echo "$dev bps=1048576" > "$root/moved/io.bw" || cfq_fail "a second group cannot reserve"
start_in_group moved dd if=/dev/zero of="$CFQ_DEV" bs=1M count=200 oflag=direct
direct=$started
start_in_group moved dd if=/dev/zero of="$CFQ_DEV" bs=1M count=200 oflag=nocache
for round in 1 2 3 4 5 6 7 8; do
	for group in a b moved; do
		echo "$dev bps=$((65536 * round * round)) delay=$((round * 1000))" \
			> "$root/$group/io.bw" || cfq_fail "no line under load"
		cat "$root"/*/cgroup.procs | while read -r pid; do
			echo "$pid" > "$root/$group/cgroup.procs" 2> /dev/null
		done
		cat "$CFQ_DEBUG/reservations" "$CFQ_DEBUG/queues" "$root"/*/io.stat \
			> /dev/null 2>&1
		[ $((round % 4)) != 2 ] || echo none > "$CFQ_QUEUE/scheduler"
		[ $((round % 4)) != 0 ] || echo cfq > "$CFQ_QUEUE/scheduler"
		echo "$dev none" > "$root/$group/io.bw"
	done
done
kill "$direct" "$started" 2> /dev/null
wait
reads a 1
cfq_wait_for rmdir "$root/moved" 2> /dev/null || cfq_fail "a group does not go"

# What a process has reserved by its I/O priority counts as much as it uses: an eighth
# of the disk, and 86% can't be had beside that, until it is gone for a while.
# shellcheck disable=SC2329  # by cfq_wait_for
class_counts()
{
	{ echo "$dev bps=43000000" > "$root/b/io.bw"; } 2> /dev/null || return 0
	echo "$dev none" > "$root/b/io.bw"
	return 1
}
# shellcheck disable=SC2329  # as above
class_is_forgotten()
{
	! class_counts
}
echo cfq > "$CFQ_QUEUE/scheduler"
echo "$dev bps=50000000 seek=10000 share=90" > "$model" || cfq_fail "the model is refused again"
! class_counts || cfq_fail "a class that nobody is in counts"
# shellcheck disable=SC2016
timeout 120 "$ioprio" 60,5 sh -c \
	'while dd if="$1" of=/dev/null bs=64k iflag=direct status=none; do :; done' - "$CFQ_DEV" &
reader=$!
cfq_wait_for class_counts || cfq_fail "what is reserved by I/O priority does not count"
grep -q "^$dev .*bw.class_us=[1-9]" "$cgroups/io.stat" ||
	cfq_fail "io.stat has nothing of the class: $(cat "$cgroups/io.stat")"
echo "$dev bps=5000000" > "$root/b/io.bw" || cfq_fail "beside the class there is no tenth"
echo "$dev none" > "$root/b/io.bw"
kill "$reader"
wait "$reader" 2> /dev/null
cfq_wait_for class_is_forgotten || cfq_fail "who has been in the class counts for ever"
echo "$dev none" > "$model"

# A device that goes has no line any more.
mkdir "$NULLB/${CFQ_NAME}g" || cfq_fail "no second device"
echo 1 > "$NULLB/${CFQ_NAME}g/power" || cfq_fail "the second device gets no power"
gone=$(cat "/sys/block/${CFQ_NAME}g/dev")
echo cfq > "/sys/block/${CFQ_NAME}g/queue/scheduler"
echo "$gone bps=1000000" > "$root/b/io.bw" || cfq_fail "the second device takes no line"
cfq_in_group b dd if="/dev/${CFQ_NAME}g" of=/dev/null bs=64k count=2 iflag=direct 2> /dev/null
grep -q "^$gone .*bw.entitled=131072 " "$root/b/io.stat" ||
	cfq_fail "the second device does not serve it: $(cat "$root/b/io.stat")"
echo 0 > "$NULLB/${CFQ_NAME}g/power"
rmdir "$NULLB/${CFQ_NAME}g"
! grep -q "^$gone " "$root/b/io.bw" || cfq_fail "a device is gone and its line is not"
exit "$KSFT_PASS"
