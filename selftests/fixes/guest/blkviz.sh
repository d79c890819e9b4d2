#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# blkviz records a player beside a reader without a pause, in a kernel that has no messages
# of VFS operations, by events of tracefs, and shows what each of them asked for.

. "${0%/*}/lib.sh"

blkviz=${0%/*}/../../../tools/user/blkviz/blkviz
tmp=$(mktemp -d)
null_disk disk size=256 completion_nsec=4000000
choose disk mq-deadline
echo 128 > /sys/block/disk/queue/read_ahead_kb
"$blkviz" record --events tracefs -o "$tmp/trace" disk -- \
	fio --filename=/dev/disk --readonly --rw=read --ioengine=psync --size=64M --time_based --runtime=4 \
	--output="$tmp/fio" --name=player --bs=256k --thinktime=200ms \
	--name=reader --bs=1M --offset=128M || broken "blkviz record"
! grep -aq "enter vfs_read" "$tmp"/trace.blktrace.* || broken "this kernel has messages of VFS operations"
cp "$tmp"/trace* "$VM_OUT"
# AVX of an emulated CPU is a general protection fault in this kernel
export NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4"
"$blkviz" --json "$tmp/trace" > "$tmp/figures" || bug "blkviz cannot read it"
python3 - "$tmp/figures" <<- END || bug "not all of it is in the trace"
	import json, sys
	figures = json.load(open(sys.argv[1]))
	print("problems:", figures["problems"])
	readers = [process for process in figures["processes"] if process["bytes"] >= 1 << 20]
	for process in readers:
	    print({key: process[key] for key in ("name", "pid", "calls", "bytes")})
	assert not figures["problems"]
	assert len(readers) == 2 and all(process["calls"] >= 10 for process in readers)
END
