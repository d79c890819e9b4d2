#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests bwctl on a kernel with the bandwidth class. Run it as root in a guest of its own.
# usage: guest.sh DISK        (DISK: a rotating disk that nothing else uses, as sda)
# BWCTL is the program (default: the one that `make -C tools/user/bwctl` builds).
# Prints `ok NAME` or `not ok NAME` for each check, what went wrong as lines of
# `# `; exit 0 if all are ok, 1 if not, 2 if nothing could be checked.
# shellcheck disable=SC2329 # the functions are called by check
set -u

disk=${1-}
here=$(cd "$(dirname "$0")" && pwd)
program=${BWCTL:-$here/../../../build/bwctl/bwctl}
queue=/sys/block/$disk/queue

[ -n "$disk" ] || { echo "usage: guest.sh DISK" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "guest.sh: must be root" >&2; exit 2; }
[ -b "/dev/$disk" ] || { echo "guest.sh: /dev/$disk is not a block device" >&2; exit 2; }
[ -x "$program" ] || { echo "guest.sh: $program does not exist: run make -C tools/user/bwctl" >&2; exit 2; }

work=$(mktemp -d) || exit 2
chmod 755 "$work" # other users run the copy
install -m 755 "$program" "$work/bwctl"
bwctl=$work/bwctl
failed=0
reader='' sleeper=''
delays=$(cat "$queue/iosched/bw_delays_ms" 2> /dev/null)
scheduler=$(sed -E 's/.*\[(.*)\].*/\1/' "$queue/scheduler")

restore() {
	[ -z "$reader" ] || kill "$reader" 2> /dev/null
	[ -z "$sleeper" ] || kill "$sleeper" 2> /dev/null
	echo "$scheduler" > "$queue/scheduler"
	[ -z "$delays" ] || echo "$delays" > "$queue/iosched/bw_delays_ms"
	rm -rf "$work"
}
trap restore EXIT

# --- how to check ---------------------------------------------------------------

# check NAME FUNCTION: a check is ok when its function is.
check() {
	if "$2" > "$work/log" 2>&1; then
		echo "ok $1"
	else
		echo "not ok $1"
		sed 's/^/# /' "$work/log"
		failed=1
	fi
}

# exits CODE COMMAND...: run it, keep its output in $output, compare its exit code.
exits() {
	local expected=$1 code
	shift
	output=$("$@" 2>&1)
	code=$?
	echo "$* -> $code"
	echo "$output"
	[ "$code" = "$expected" ]
}

prints() { [[ $output == *"$1"* ]] || { echo "the output lacks: $1"; false; }; }

# Repeat a check until it is ok, for a minute at most.
soon() {
	local end=$((SECONDS + 60))
	until "$@" > "$work/soon" 2>&1; do
		[ "$SECONDS" -lt "$end" ] || { cat "$work/soon"; return 1; }
		sleep 0.1
	done
}

as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

# The reservation of a process on the disk, as printed by show --json.
reservation_of() {
	"$bwctl" show --json "$disk" | grep -o "{\"pid\": $1,[^}]*}"
}

# figure NAME RESERVATION
figure() { sed -nE "s/.*\"$1\": (-?[0-9]+).*/\1/p" <<< "$2"; }

# --- checks without load -----------------------------------------------------------

other_scheduler() {
	echo none > "$queue/scheduler"
	exits 1 "$bwctl" check "$disk" && prints "NO  scheduler" &&
		! prints "not available" && prints "echo cfq > $queue/scheduler"
}

advice_helps() {
	"$bwctl" check "$disk" | grep -o "echo cfq > $queue/scheduler" > "$work/advice"
	sh -e "$work/advice" && exits 0 "$bwctl" check "$disk"
}

honoured() {
	exits 0 "$bwctl" check "/dev/$disk" && prints "ok  kernel" && prints "ok  tunables" &&
		prints "The class is honoured." && ! prints "NO "
}

honoured_in_json() { exits 0 "$bwctl" check --json "$disk" && prints '"honoured": true'; }

unprivileged_check() {
	exits 0 as_nobody "$bwctl" check "$disk" && prints "supports the class" && prints "CAP_SYS_NICE"
}

run_gives_it() {
	exits 0 "$bwctl" run --rate 3M --delay 200ms -- sh -c "$bwctl show \$\$" &&
		prints " bw " && prints "3 MiB/s" && prints "200 ms"
}

# The number that io_uring and aio would use is the one that the kernel keeps.
kernel_keeps_encoded_priority() {
	local rate delay
	for rate in 128K 3M 127.875M; do
		for delay in 25ms 200ms 2s; do
			exits 0 "$bwctl" run --rate "$rate" --delay "$delay" sh -c "$bwctl show --json \$\$" &&
				prints "\"ioprio\": $("$bwctl" encode --rate "$rate" --delay "$delay")," || return 1
		done
	done
}

children_inherit() {
	exits 0 "$bwctl" run --rate 3M --delay 200ms sh -c "sh -c '$bwctl show \$\$'; true" &&
		prints "3 MiB/s"
}

run_refuses_zero() { exits 2 "$bwctl" run --rate 0 --delay 1s true && prints "is zero"; }

run_needs_a_capability() {
	exits 1 as_nobody "$bwctl" run --rate 3M --delay 200ms touch "$work/started" &&
		prints "CAP_SYS_NICE or CAP_SYS_ADMIN" && [ ! -e "$work/started" ]
}

one_capability_is_enough() {
	local capability
	for capability in sys_nice sys_admin; do
		exits 0 as_nobody --inh-caps="+$capability" --ambient-caps="+$capability" \
			"$bwctl" run --rate 3M --delay 200ms echo started && prints started || return 1
	done
}

# Like configs/systemd/recorder.service: bwctl has one capability, which its command drops.
service_keeps_it_without_the_capability() {
	exits 0 as_nobody --no-new-privs --inh-caps=-all,+sys_nice --ambient-caps=-all,+sys_nice \
		--bounding-set=-all,+sys_nice "$bwctl" run --rate 3M --delay 200ms -- \
		setpriv --inh-caps=-all -- \
		sh -c "grep ^CapEff: /proc/self/status; $bwctl show \$\$" &&
		prints "3 MiB/s" && prints $'CapEff:\t0000000000000000'
}

threads_inherit() {
	exits 0 "$bwctl" run --rate 3M --delay 200ms -- python3 -c 'import os, subprocess, sys, threading, time
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
sys.exit(subprocess.call([sys.argv[1], "show", str(os.getpid())]))' "$bwctl" &&
		[ "$(grep -c ' bw .* 3 MiB/s .* 200 ms ' <<< "$output")" = 2 ]
}

set_gives_it_to_every_thread() {
	exits 0 "$bwctl" set --rate 5M --delay 1s "$sleeper" &&
		exits 0 "$bwctl" show "$sleeper" &&
		[ "$(grep -c ' bw .* 5 MiB/s .* 1000 ms ' <<< "$output")" = "$threads" ]
}

show_lists_it() {
	exits 0 "$bwctl" show && prints "all $threads" && prints "5 MiB/s" && prints "$disk: cfq"
}

set_thread_is_for_one() {
	exits 0 "$bwctl" set --thread --rate 1M --delay 1s "$sleeper" &&
		exits 0 "$bwctl" show "$sleeper" && [ "$(grep -c ' bw .* 1 MiB/s ' <<< "$output")" = 1 ]
}

set_goes_on() {
	exits 1 "$bwctl" set --rate 7M --delay 1s 4194304 "$sleeper" &&
		prints "process 4194304: no such process" &&
		exits 0 "$bwctl" show "$sleeper" && prints "7 MiB/s"
}

set_needs_a_capability() {
	exits 1 as_nobody "$bwctl" set --rate 3M --delay 1s "$sleeper" && prints CAP_SYS_NICE
}

set_none_takes_it_away() {
	exits 0 "$bwctl" set --none "$sleeper" && exits 0 "$bwctl" show "$sleeper" && ! prints " bw " &&
		[ "$(grep -c ' none ' <<< "$output")" = "$threads" ]
}

table_of_the_device_is_used() {
	echo 10 20 40 80 160 320 640 1280 > "$queue/iosched/bw_delays_ms" || return 1
	exits 0 "$bwctl" encode --json --device "$disk" --rate 3M --delay 200ms &&
		prints "rounded down to 160 ms" && prints '"delay_level": 4' &&
		exits 0 "$bwctl" encode --rate 3M --delay 200ms && prints "use --device $disk"
}

# --- checks with a reader -----------------------------------------------------------

reservation_is_shown() {
	local shown
	shown=$(reservation_of "$reader") || { echo "no reservation of $reader"; "$bwctl" show "$disk"; return 1; }
	echo "$shown"
	[ "$(figure rate "$shown")" = 3145728 ] && [ "$(figure delay_ms "$shown")" = 200 ] &&
		[ "$(figure bytes_in "$shown")" -gt 0 ] &&
		[ "$(figure tokens "$shown")" -le "$(figure bucket "$shown")" ] &&
		[ $(($(figure met "$shown") + $(figure missed "$shown"))) -gt 0 ]
}

# Bytes within the reservation, and over it while no other process uses the disk.
served() { echo $(($(figure bytes_in "$1") + $(figure bytes_over "$1"))); }

served_more_than() {
	local now
	now=$(reservation_of "$reader")
	echo "$now"
	[ "$(served "$now")" -gt "$1" ]
}

reservation_is_spent() {
	local first
	first=$(reservation_of "$reader")
	echo "$first"
	soon served_more_than "$(served "$first")"
}

show_process_shows_the_device() {
	exits 0 "$bwctl" show "$reader" && prints "3 MiB/s" && prints "$disk: cfq" && prints MISSED
}

counters_count_it() {
	exits 0 "$bwctl" show --json "$disk" && [ "$(figure bw_reservations "$output")" -ge 1 ] &&
		[ "$(figure bw_bytes_in "$output")" -gt 0 ]
}

unprivileged_show() {
	exits 0 as_nobody "$bwctl" show "$reader" && prints "3 MiB/s" && prints "run as root"
}

rate_is_now() { [ "$(figure rate "$(reservation_of "$reader")")" = "$1" ]; }

new_rate_is_taken() {
	exits 0 "$bwctl" set --rate 6M --delay 200ms "$reader" && soon rate_is_now 6291456
}

# --- all of it -------------------------------------------------------------------------

check "check prints what to do under another scheduler" other_scheduler
check "what check advises makes the class honoured" advice_helps
check "check finds the class honoured" honoured
check "check prints the same in JSON" honoured_in_json
check "check distinguishes a missing privilege from a missing class" unprivileged_check
check "run gives the command its priority" run_gives_it
check "the kernel keeps the priority that encode prints" kernel_keeps_encoded_priority
check "children inherit the priority" children_inherit
check "run refuses the rate zero" run_refuses_zero
check "run without privilege names the capability and starts nothing" run_needs_a_capability
check "either capability is enough for run" one_capability_is_enough
check "a service keeps it without the capability" service_keeps_it_without_the_capability

if command -v python3 > /dev/null; then
	check "threads inherit the priority" threads_inherit
	threads=3
	python3 -c 'import threading, time
for _ in range(2): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
time.sleep(600)' &
else
	threads=1
	sleep 600 &
fi
sleeper=$!
all_threads_run() { [ "$(find "/proc/$sleeper/task" -mindepth 1 -maxdepth 1 | wc -l)" = "$threads" ]; }
soon all_threads_run
check "set gives it to every thread" set_gives_it_to_every_thread
check "show lists process and device" show_lists_it
check "set --thread is for one thread" set_thread_is_for_one
check "set goes on after a process that does not exist" set_goes_on
check "set without privilege names the capability" set_needs_a_capability
check "set --none takes it away" set_none_takes_it_away

"$bwctl" run --rate 3M --delay 200ms -- dd if="/dev/$disk" of=/dev/null bs=128k iflag=direct 2> /dev/null &
reader=$!
reservation_appears() { soon reservation_is_shown; }
check "show has the reservation of a reader" reservation_appears
check "a reader spends its reservation" reservation_is_spent
check "show PID has the device" show_process_shows_the_device
check "the device's counters count it" counters_count_it
check "show without privilege shows the rest and reports what is missing" unprivileged_show
check "a new rate is taken while it reads" new_rate_is_taken
kill "$reader"
wait "$reader" 2> /dev/null
reader=''

check "the table of delays of the device is used" table_of_the_device_is_used
exit $failed
