# SPDX-License-Identifier: GPL-2.0
#
# blktrace, blkviz and debugfs files under load.
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

BLKVIZ=$HERE/../../../tools/user/blkviz/blkviz

# blkviz_figures BASE: what blkviz finds there of a dd that read 4 MiB goes to stdout;
# fails if that is not all of it
blkviz_figures()
{
	"$BLKVIZ" --json "$1" > "$1.figures" || fail "blkviz --json"
	python3 - "$1.figures" <<- END || fail "not all of it is in the trace"
		import json, sys
		found = json.load(open(sys.argv[1]))
		dd = next(p for p in found["processes"] if p["name"] == "dd")
		print(dd, found["problems"])
		assert dd["bytes"] == 4 << 20 and dd["calls"] >= 4
		assert found["slices"] and not found["problems"]
	END
}

# until_true COMMAND...: waits for it, as long as a scenario may take
until_true()
{
	until "$@"; do
		nap 0.3
	done
}

# Nothing that blkviz started or switched on is left.
blkviz_left_nothing()
{
	[ "$(cat /sys/block/disk/trace/vfs)" = 0 ] ||
		fail "the messages are still on"
	! pgrep -x blktrace || fail "blktrace still runs"
}

# What blkviz records here has the application's calls and the disk's requests.
scenario_blkviz_records()
{
	kernels plain smp
	disk disk rotational=1
	"$BLKVIZ" record -o "$TMP/recorded" disk -- dd if=/dev/disk of=/dev/null \
		bs=1M count=4 iflag=direct 2> "$TMP/said" || {
		cat "$TMP/said"
		fail "blkviz record failed"
	}
	blkviz_left_nothing
	blkviz_figures "$TMP/recorded"
	drained disk
}

# Interrupted, it leaves a whole trace, and neither its command nor blktrace.
scenario_blkviz_record_is_interrupted()
{
	kernels plain smp

	local signal pid

	disk disk rotational=1
	for signal in INT TERM HUP; do
		rm -f "$TMP/has-read"
		# In the background of a shell SIGINT is ignored.
		env --default-signal=INT "$BLKVIZ" record -o "$TMP/cut" disk -- \
			sh -c 'dd if=/dev/disk of=/dev/null bs=1M count=4 iflag=direct
			       touch "$1"; exec sleep 98765' sh "$TMP/has-read" \
			2> "$TMP/said" &
		pid=$!
		until_true test -e "$TMP/has-read"
		[ "$(cat /sys/block/disk/trace/vfs)" != 0 ] ||
			fail "the messages are not on"
		kill -s "$signal" "$pid"
		wait "$pid" && fail "$signal: blkviz record tells of a success"
		cat "$TMP/said"
		blkviz_left_nothing
		! pgrep -f 'sleep 98765' || fail "$signal: the command still runs"
		blkviz_figures "$TMP/cut"
	done
	drained disk
}

# The page of a trace that runs has what was read since it was opened.
scenario_blkviz_live()
{
	kernels plain smp

	local url pid

	disk disk rotational=1
	ip link set lo up 2> /dev/null
	env --default-signal=INT "$BLKVIZ" --live disk --port 0 > "$TMP/url" &
	pid=$!
	until_true grep -q http "$TMP/url"
	read -r url _ < "$TMP/url"
	python3 - "$url" <<- END || fail "the page does not follow"
		import json, subprocess, sys, time, urllib.request
		def ask(path):
		    with urllib.request.urlopen(sys.argv[1] + path) as answer:
		        return answer.status, answer.read()
		def read(skip):
		    subprocess.run(["dd", "if=/dev/disk", "of=/dev/null", "bs=64k", "count=8",
		                    "iflag=direct", f"skip={skip}"], check=True)
		def seen(wanted, after=0):
		    while True:
		        status, body = ask(f"data?after={after}")
		        head = json.loads(body)["head"] if status == 200 else {"processes": []}
		        found = [p for p in head["processes"] if p["name"] == "dd"]
		        if sum(p["bytes"] for p in found) == wanted << 10:
		            return head["version"]
		        time.sleep(0.3)
		read(0)
		version = seen(512)
		status, page = ask("")
		assert status == 200 and b"</html>" in page
		read(100)
		print(version, seen(1024, version))
	END
	kill -INT "$pid"
	wait "$pid" || fail "blkviz --live: exit code $?"
	blkviz_left_nothing
	drained disk
}
