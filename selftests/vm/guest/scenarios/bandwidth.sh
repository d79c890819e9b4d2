# SPDX-License-Identifier: GPL-2.0
#
# The bandwidth class: with every scheduler, on every way in, while everything
# changes; and the tool that sets it.
#
# shellcheck shell=bash

BWCTL=${BWCTL:-$HERE/../../../build/bwctl/bwctl}

# reserved RATE DELAY COMMAND...
reserved()
{
	local rate=$1 delay=$2

	shift 2
	"$BWCTL" run --quiet --rate "$rate" --delay "$delay" -- "$@"
}

# reserved_writes DISK: written with a reservation, and read back
reserved_writes()
{
	local file=$TMP/pattern

	head -c 262144 /dev/urandom > "$file"
	# Direct, through the page cache, and written back by the process itself.
	reserved 1M 200ms dd if="$file" of="/dev/$1" bs=64k oflag=direct \
		2> /dev/null || fail "cannot write with a reservation"
	reserved 1M 200ms dd if="$file" of="/dev/$1" bs=64k seek=4 \
		conv=fsync 2> /dev/null || fail "cannot write through the cache"
	reserved 127M 25ms dd if="$file" of="/dev/$1" bs=64k seek=8 \
		oflag=sync 2> /dev/null || fail "cannot write with sync"
	for skip in 0 4 8; do
		reserved 2M 2s dd if="/dev/$1" bs=64k count=4 skip="$skip" \
			iflag=direct 2> /dev/null | cmp - "$file" ||
			fail "what was written at $skip is not there"
	done
}

scenario_reserved_with_every_scheduler()
{
	local scheduler class

	disk disk rotational=1 submit_queues=2
	for scheduler in $(amount "${SCHEDULERS[*]}" "mq-deadline bfq cfq"); do
		choose disk "$scheduler"
		reserved_writes disk
		for class in 1 3; do
			ionice -c "$class" dd if=/dev/disk of=/dev/null bs=64k \
				count=4 iflag=direct 2> /dev/null ||
				fail "cannot read beside it under $scheduler"
		done
	done
	choose disk cfq
	reserved_writes disk
	counted disk dispatched_BW
	drained disk
}

# A loop device submits with the priority of who asked it to.
scenario_reserved_through_a_loop_device()
{
	local loop

	disk disk rotational=1
	loop=$(losetup --find --show --direct-io=on /dev/disk) ||
		skip "no loop device"
	reserved 4M 100ms dd if="$loop" of=/dev/null bs=64k count=32 \
		iflag=direct 2> /dev/null || fail "cannot read from $loop"
	losetup --detach "$loop" || fail "cannot detach $loop"
	counted disk dispatched_BW
	drained disk
}

# driver_of DISK: the driver of its host or controller
driver_of()
{
	local at

	at=$(readlink -f "/sys/block/$1/device")
	while [ "$at" != / ] && [ "$at" != /sys ]; do
		[ -e "$at/driver" ] && case $(basename "$(readlink "$at/driver")") in
		virtio_scsi) echo scsi; return ;;
		ahci) echo ata; return ;;
		nvme) echo nvme; return ;;
		esac
		at=$(dirname "$at")
	done
}

scenario_reserved_on_scsi_ata_and_nvme()
{
	kernels plain debug

	local io=${CFQ_REQUEST:-$PROGRAMS/cfq_request}
	local path name driver scheduler seen=""

	for path in /sys/block/sd* /sys/block/nvme*; do
		name=${path##*/}
		[ -e "$path" ] || continue
		driver=$(driver_of "$name")
		[ -n "$driver" ] || continue
		seen+=" $driver"
		# what a scheduler does with the class does not depend on the driver
		for scheduler in $(amount "mq-deadline cfq" cfq); do
			choose "$name" "$scheduler"
			reserved_writes "$name"
			"$io" aio "/dev/$name" 16,2 4 || fail "$driver: aio: errno $?"
			"$io" uring "/dev/$name" 16,2 4 ||
				fail "$driver: io_uring: errno $?"
		done
		counted "$name" dispatched_BW
		# of SCSI disks what the disk takes, not what the host adapter has tags for
		if [ -w "/sys/block/$name/device/queue_depth" ]; then
			echo 1 > "/sys/block/$name/device/queue_depth" ||
				fail "$driver: no queue depth of 1"
			grep -q " drive_depth 1 " "/sys/kernel/debug/block/$name/sched/state" ||
				fail "$driver: the drive's depth is not 1: $(cat "/sys/kernel/debug/block/$name/sched/state")"
		fi
		choose "$name" none
	done
	echo "drivers:$seen"
	for driver in scsi ata nvme; do
		[[ $seen == *" $driver"* ]] || fail "no disk of driver $driver"
	done
}

scenario_cgroup_policies_know_the_class()
{
	kernels plain smp

	local policy class before

	disk disk rotational=1
	cgroup_begin
	for policy in no-change:BW promote-to-rt:RT restrict-to-be:BE idle:idle; do
		class=${policy#*:}
		echo "${policy%:*}" > "$CGROUP/io.prio.class" || fail "no $policy"
		before=$(counter disk "dispatched_$class")
		reserved 1M 200ms "${IN_CGROUP[@]}" dd if=/dev/disk of=/dev/null \
			bs=64k count=8 iflag=direct 2> /dev/null || fail "cannot read"
		[ "$(counter disk "dispatched_$class")" -ge $((before + 8)) ] ||
			fail "with ${policy%:*} it is not of class $class"
	done
	cgroup_end
	drained disk
}

# streams DISK N: reserved readers that come and go, until $TMP/stop exists
streams()
{
	local i

	for ((i = 0; i < $2; i++)); do
		(
			n=$i
			while [ ! -e "$TMP/stop" ]; do
				n=$(((n * 7 + 3) % 1000 + 1))
				reserved "${n}00K" "$((25 << n % 6))ms" \
					dd if="/dev/$1" of=/dev/null bs=64k \
					skip=$((n % 500)) count=$((n % 30 + 1)) \
					iflag=direct 2>> "$TMP/streams" ||
					touch "$TMP/failed"
			done
		) &
		STREAMS+=($!)
	done
}

streams_end()
{
	touch "$TMP/stop"
	wait "${STREAMS[@]}"
	if [ -e "$TMP/failed" ]; then
		tail -n 5 "$TMP/streams"
		fail "a stream failed"
	fi
}

scenario_streams_come_and_go_while_everything_changes()
{
	local i word

	STREAMS=()
	disk disk rotational=1 submit_queues=2
	queue disk nr_requests 256
	load disk
	streams disk 4
	for ((i = 0; i < $(amount 4 1); i++)); do
		for word in "bw_seek_kb 0" "bw_bucket_ms 10" "bw_share_percent 10" \
			    "bw_depth 0" "bw_seek_kb 1024" "bw_share_percent 100" \
			    "bw_delays_ms 1 2 3 4 5 6 7 8" "bw_bucket_ms 10000" \
			    "bw_delays_ms 25 50 100 200 500 800 1000 2000" \
			    "bw_seek_kb 64" "bw_depth 1" "bw_bucket_ms 3000" \
			    "bw_share_percent 95"; do
			echo "${word#* }" > "/sys/block/disk/queue/iosched/${word%% *}" ||
				fail "$word is not taken"
			cat "$DEBUG"/block/disk/sched/* > /dev/null ||
				fail "debugfs cannot be read"
		done
		choose disk "${SCHEDULERS[i % 4]}"
		queue disk rotational $((i % 2))
		choose disk cfq
	done
	streams_end
	load_end
	drained disk
	[ -z "$(cat "$DEBUG/block/disk/sched/reservations")" ] ||
		fail "reservations are left: $(cat "$DEBUG/block/disk/sched/reservations")"
	[ -z "$(cat "$DEBUG/block/disk/sched/sort_tree")" ] ||
		fail "queues are left in the sort tree"
}

scenario_streams_on_a_drive_that_queues()
{
	STREAMS=()
	rotating disk rot/sched=rpo
	choose disk cfq
	streams disk 3
	sleep "$(amount 5 2)"
	streams_end
	counted disk dispatched_BW
	counted disk bw_deadlines_met
	drained disk
}

# slow_disk: takes 200 requests a second, and has 64 tags
slow_disk()
{
	disk disk rotational=1 hw_queue_depth=1 memory_backed=0 size=1000 \
		completion_nsec=5000000
	queue disk nr_requests 64
}

# reader NAME CLASS BLOCK [WORD...] -- FIO-ARGUMENT...: a fio in the background, with
# these words before it, that reads BLOCK bytes at a time. Goes on when the scheduler
# has served 100 requests of CLASS, or, of class idle, has a dozen. In READERS then.
reader()
{
	local name=$1 class=$2 block=$3 before=() pid

	shift 3
	while [ "$1" != -- ]; do
		before+=("$1")
		shift
	done
	shift
	setsid "${before[@]}" fio --name="$name" --output="$TMP/$name" \
		--filename=/dev/disk --rw=randread --bs="$block" --direct=1 \
		--time_based --runtime="$LIMIT" "$@" &
	pid=$!
	READERS+=("$pid")
	until reads "$class"; do
		kill -0 "$pid" || fail "fio ended: $(cat "$TMP/$name")"
		nap 0.5
	done
}

# reads CLASS
reads()
{
	if [ "$1" = idle ]; then
		class_queued disk idle
		[ "$QUEUED" -ge 12 ]
	else
		[ "$(counter disk "dispatched_$1")" -ge 100 ]
	fi
}

readers_end()
{
	local pid

	kill -INT "${READERS[@]}"
	for pid in "${READERS[@]}"; do
		load_wait "$pid"
	done
}

# A process that queues far more than it has reserved leaves tags to others, once its
# tokens are gone.
scenario_reserved_requests_leave_tags()
{
	local patience=240

	READERS=()
	slow_disk
	reader others BE 4k -- --ioengine=psync --numjobs=4
	reader greedy BW 64k "$BWCTL" run --quiet --rate 1M --delay 2s -- \
		--ioengine=libaio --iodepth=128
	# It has had all its tokens, and what was queued with them has been served.
	until class_queued disk BW; [ "$QUEUED" -le 32 ]; do
		[ $((patience -= 1)) -gt 0 ] ||
			fail "class BW has $QUEUED requests queued, of 64"
		kill -0 "${READERS[@]}" || fail "fio ended: $(cat "$TMP/greedy")"
		nap 0.5
	done
	echo "$QUEUED requests of class BW are queued"
	readers_end
	drained disk
}

# A process of class BW that waits for a tag, because it has queued much, gets one when
# that has been served: not when those have been who hold the tags that it could have
# then, which takes long.
scenario_reservation_beside_held_tags()
{
	# Where the disk is not what limits the readers, everybody has what it wants.
	kernels plain smp

	local got others

	READERS=()
	slow_disk
	reader others BE 64k -- --ioengine=psync --numjobs=4
	reader idle idle 64k ionice -c 3 -- --ioengine=libaio --iodepth=64
	reader reserved BW 64k "$BWCTL" run --quiet --rate 1M --delay 500ms -- \
		--ioengine=libaio --iodepth=64
	got=$(counter disk dispatched_BW) others=$(counter disk dispatched_BE)
	nap 20
	got=$(($(counter disk dispatched_BW) - got))
	others=$(($(counter disk dispatched_BE) - others))
	class_queued disk idle
	echo "$got reserved reads, $others others; $QUEUED idle ones hold tags"
	readers_end
	# 16 a second are reserved, of 200 at most; as many as the disk is slow are more
	# of the whole.
	[ $((got * 16)) -ge "$others" ] || fail "the reservation was not kept"
	drained disk
}

# a_root FOLDER: what a container finds as its root, all of it the guest's
a_root()
{
	local place

	mkdir -p "$1/usr"
	for place in bin lib lib64; do
		ln -s "usr/$place" "$1/$place"
	done
}

# cameras_reserve GROUP ENGINE...: the container of that name, as administrators.md has it
cameras_reserve()
{
	local group=$1 bytes
	shift

	"$BWCTL" group --rate 16MB --delay 500ms "$group" /dev/disk || fail "bwctl does not take '$group'"
	"$@" exec cameras dd if=/dev/disk of=/dev/null bs=1M count=4 iflag=direct || fail "it cannot read"
	bytes=$("$BWCTL" group --json "$group" | grep -oE '"(entitled|surplus)": *[0-9]+' | grep -oE '[0-9]+$' |
		paste -sd +)
	[ $((bytes)) = $((4 << 20)) ] || fail "of 4 MiB its reservation knows $bytes"
	"$@" rm -f cameras > /dev/null || fail "it cannot be removed"
}

# contain COMMAND...: podman, in folders of the scenario's own
contain()
{
	CONTAINERS_CONF=$TMP/containers.conf podman --root "$TMP/images" --runroot "$TMP/containers" \
		--storage-driver vfs "$@" 2>> "$TMP/podman.log"
}

scenario_container_of_podman_reserves()
{
	kernels plain
	command -v podman > /dev/null || skip "podman is not installed"
	patience 120

	disk disk rotational=1
	printf '[engine]\ncgroup_manager="cgroupfs"\nevents_logger="none"\nruntime="crun"\n%s\n' \
		$'[containers]\ndefault_sysctls=[]' > "$TMP/containers.conf"
	a_root "$TMP/rootfs"
	# this kernel has no network of its own for it, and no filter of system calls
	contain run -d --name cameras --privileged --network host --ipc host --uts host --pid host \
		--cgroupns host --security-opt seccomp=unconfined --log-driver none --pids-limit -1 \
		-v /usr:/usr:ro --rootfs "$TMP/rootfs" sleep 1000 > /dev/null ||
		fail "podman runs nothing: $(tail -n 3 "$TMP/podman.log")"
	cameras_reserve "$(contain inspect -f '{{.State.CgroupPath}}' cameras)" contain
	drained disk
}

scenario_container_of_docker_reserves()
{
	kernels plain
	command -v dockerd > /dev/null || skip "docker is not installed"
	command -v docker > /dev/null || skip "docker's client is not installed"
	patience 120

	local tries=0
	export DOCKER_HOST=unix://$TMP/docker.sock DOCKER_CONFIG=$TMP

	disk disk rotational=1
	dockerd --host "$DOCKER_HOST" --data-root "$TMP/docker" --exec-root "$TMP/docker.exec" \
		--pidfile "$TMP/docker.pid" --storage-driver vfs --bridge none --iptables=false --ip6tables=false \
		--exec-opt native.cgroupdriver=cgroupfs --add-runtime crun=/usr/bin/crun --default-runtime crun \
		> "$TMP/dockerd.log" 2>&1 &
	until docker info > /dev/null 2> "$TMP/docker.log"; do
		kill -0 $! 2> /dev/null && [ $((tries += 1)) -lt 300 ] ||
			fail "dockerd: $(tail -n 3 "$TMP/dockerd.log" "$TMP/docker.log")"
		sleep 0.2
	done
	a_root "$TMP/rootfs"
	tar -C "$TMP/rootfs" -c . | docker import - root > /dev/null || fail "docker takes no image"
	docker run -d --name cameras --privileged --network host --ipc host --uts host --pid host \
		--cgroupns host --security-opt seccomp=unconfined --log-driver none \
		-v /usr:/usr:ro root sleep 1000 > /dev/null 2> "$TMP/docker.log" ||
		fail "docker runs nothing: $(tail -n 3 "$TMP/docker.log")"
	cameras_reserve "$(docker inspect -f '{{.Id}}' cameras)" docker
	kill "$(cat "$TMP/docker.pid")"
	wait
	drained disk
}

scenario_bwctl()
{
	kernels plain smp
	# The reader must not come to its end.
	disk disk rotational=1 memory_backed=0 size=100000 completion_nsec=5000000
	BWCTL=$BWCTL "$HERE/../../../tools/user/bwctl/tests/guest.sh" disk ||
		fail "bwctl: $?"
	drained disk
}
