# SPDX-License-Identifier: GPL-2.0
#
# Traces of a kernel without messages of VFS operations, which this one is taken for.
#
# shellcheck shell=bash

# calls_of_reads BASE: what blkviz finds there of a fio that read 8 MiB in 32 pieces, by
# two of the things that it writes
calls_of_reads()
{
	"$BLKVIZ" --json --perfetto "$1.perfetto" -o "$1.html" "$1" > "$1.figures" ||
		fail "blkviz cannot read $1"
	python3 - "$1" <<- END || fail "not all of it is in the trace"
		import json, pathlib, sys
		figures = json.load(open(sys.argv[1] + ".figures"))
		events = json.load(open(sys.argv[1] + ".perfetto"))["traceEvents"]
		print(figures["problems"])
		assert not figures["problems"]
		whole = [e for e in events
			 if e.get("name") == "vfs_read" and e["args"].get("ret") == 256 << 10]
		print(len(whole), "whole reads:", sorted(e["dur"] for e in whole), "us")
		assert len(whole) == 32
		fio, = (p for p in figures["processes"] if p["pid"] == whole[0]["tid"])
		print(fio)
		assert all(e["tid"] == fio["pid"] for e in whole)
		# metadata of the file may be among it
		assert fio["bytes"] >= 8 << 20 and fio["files"] >= 1
		# a piece is 16 times what is read ahead, so that it waits for the disk: 2 ms a request
		assert all(e["dur"] > 2000 for e in whole)
		assert "vfs_read" in pathlib.Path(sys.argv[1] + ".html").read_text()
	END
}

tracefs_left_nothing()
{
	blkviz_left_nothing
	[ -z "$(ls /sys/kernel/tracing/instances)" ] || fail "an instance is left"
}

# What blkviz records here has the application's calls, of a file and not of others.
scenario_blkviz_records_by_tracefs()
{
	kernels plain
	disk disk completion_nsec=2000000
	queue disk max_sectors_kb 16
	queue disk read_ahead_kb 16
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/disk || fail "mkfs.ext4"
	mkdir "$TMP/mnt"
	mount /dev/disk "$TMP/mnt" || fail "mount"
	head -c 8M /dev/urandom > "$TMP/mnt/film" || fail "no file"
	umount "$TMP/mnt" || fail "umount"
	mount /dev/disk "$TMP/mnt" || fail "mount"
	"$BLKVIZ" record --events tracefs -o "$TMP/recorded" disk -- \
		fio --name=player --filename="$TMP/mnt/film" --readonly --rw=read \
		--size=8M --bs=256k --ioengine=psync --output="$TMP/fio" 2> "$TMP/said" || {
		cat "$TMP/said"
		fail "blkviz record failed"
	}
	cat "$TMP/said"
	grep -q 'tracefs events (raw_syscalls' "$TMP/said" || fail "it does not print which events"
	tracefs_left_nothing
	[ -s "$TMP/recorded.tracefs" ] || fail "no events"
	! grep -aq 'enter vfs_read' "$TMP"/recorded.blktrace.* ||
		fail "there are messages of VFS operations as well"
	calls_of_reads "$TMP/recorded"
	cp "$TMP/recorded.html" "$VM_OUT"
	umount "$TMP/mnt" || fail "umount"
	drained disk
}

# Interrupted, it leaves the events and no instance.
scenario_blkviz_record_by_tracefs_is_interrupted()
{
	kernels plain

	local pid

	disk disk
	env --default-signal=INT "$BLKVIZ" record --events tracefs -o "$TMP/cut" disk -- \
		sh -c 'dd if=/dev/disk of=/dev/null bs=1M count=4 iflag=direct
		       touch "$1"; exec sleep 98765' sh "$TMP/has-read" &
	pid=$!
	until_true test -e "$TMP/has-read"
	[ -n "$(ls /sys/kernel/tracing/instances)" ] || fail "there is no instance"
	kill -INT "$pid"
	wait "$pid" && fail "blkviz record tells of a success"
	tracefs_left_nothing
	[ "$(tail -n 1 "$TMP/cut.tracefs")" = "# end" ] || fail "the events are not whole"
	"$BLKVIZ" --json "$TMP/cut" > "$TMP/figures" || fail "blkviz --json"
	python3 - "$TMP/figures" <<- END || fail "not all of it is in the trace"
		import json, sys
		found = json.load(open(sys.argv[1]))
		dd = next(p for p in found["processes"] if p["name"] == "dd")
		print(dd, found["problems"])
		assert dd["bytes"] == 4 << 20 and dd["calls"] >= 4 and not found["problems"]
	END
	drained disk
}
