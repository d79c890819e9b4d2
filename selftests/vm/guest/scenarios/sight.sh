# SPDX-License-Identifier: GPL-2.0
#
# Traces and debugfs files while everything else goes on.
#
# shellcheck shell=bash

# The messages are looked for in the raw trace: blkparse 1.2 does not show those
# of a kernel with BLK_CGROUP.
scenario_blktrace_under_load()
{
	local message count

	disk disk rotational=1
	load disk
	blktrace -d /dev/disk -D "$TMP" -a notify -a issue -a complete \
		-w "$(amount 4 3)" > "$TMP/blktrace.out" 2>&1 || {
		cat "$TMP/blktrace.out"
		fail "blktrace failed"
	}
	load_end
	# Whether it idles depends on how slow the guest is.
	for message in 'slice start length_us [0-9]+' 'slice end [a-z]+' \
		       'dispatch [0-9]+[+][0-9]+ queued'; do
		count=$(cat "$TMP"/disk.blktrace.* |
			grep -aoE "cfq [0-9]+[SA] (RT|BE|idle)[0-7] $message" |
			wc -l)
		echo "'$message': $count"
		[ "$count" -gt 0 ] || fail "no message '$message'"
	done
	blkparse -D "$TMP" -i disk > "$TMP/trace" 2> "$TMP/blkparse.out" || {
		cat "$TMP/blkparse.out"
		fail "blkparse failed"
	}
	count=$(grep -cE '^ *[0-9]+,[0-9]+ .* D +R?W?[A-Z]* [0-9]+ ' "$TMP/trace")
	echo "issued: $count"
	[ "$count" -gt 0 ] || fail "no request in the trace"
	drained disk
}

# keep_reading DISK: all that debugfs says of it, as often as there is time
keep_reading()
{
	local n=0

	while [ ! -e "$TMP/stop" ]; do
		read_debugfs "$DEBUG/block/$1" > "$TMP/debugfs"
		n=$((n + 1))
	done
	echo "$n times all files" > "$TMP/read"
}

scenario_debugfs_under_load()
{
	local i reader

	disk disk rotational=1 submit_queues=2
	load disk
	keep_reading disk &
	reader=$!
	sleep "$(amount 5 2)"
	for ((i = 0; i < $(amount 40 5); i++)); do
		choose disk "${SCHEDULERS[i % ${#SCHEDULERS[@]}]}"
	done
	choose disk cfq
	touch "$TMP/stop"
	wait "$reader"
	cat "$TMP/read" || fail "debugfs was never read through"
	for i in queues service_tree state counters; do
		cat "$DEBUG/block/disk/sched/$i" > "$TMP/debugfs" ||
			fail "no debugfs file $i"
	done
	load_end
	drained disk
}

# What blkviz records here has the application's calls and the disk's requests.
scenario_blkviz_records()
{
	local blkviz=$HERE/../../../tools/blkviz/blkviz

	disk disk rotational=1
	"$blkviz" record -o "$TMP/recorded" disk -- dd if=/dev/disk of=/dev/null \
		bs=1M count=4 iflag=direct 2> "$TMP/said" || {
		cat "$TMP/said"
		fail "blkviz record failed"
	}
	[ "$(cat /sys/block/disk/trace/vfs)" = 0 ] ||
		fail "the messages are still on"
	"$blkviz" --json "$TMP/recorded" > "$TMP/figures" || fail "blkviz --json"
	python3 - "$TMP/figures" <<- END || fail "not all of it is in the trace"
		import json, sys
		found = json.load(open(sys.argv[1]))
		dd = next(p for p in found["processes"] if p["name"] == "dd")
		print(dd, found["problems"])
		assert dd["bytes"] == 4 << 20 and dd["calls"] >= 4
		assert found["slices"] and not found["problems"]
	END
	drained disk
}
