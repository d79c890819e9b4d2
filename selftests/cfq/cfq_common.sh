# SPDX-License-Identifier: GPL-2.0
#
# What the tests of the CFQ I/O scheduler share: a null_blk device of their own
# that is gone when the test ends, and words for what they check.
#
# shellcheck shell=bash

# shellcheck disable=SC2034  # used by the tests
KSFT_PASS=0
KSFT_FAIL=1
KSFT_SKIP=4

NULLB=/sys/kernel/config/nullb

# The words of programs and of the shell are read here.
export LC_ALL=C

# How the kernel's log begins to say that something is wrong with it, and the flags
# that remain of that: a bad page, an oops, a warning, a lockup. No stalls of RCU: a
# virtual machine has them that waits for its turn.
CFQ_COMPLAINT='^(\[[^]]*\] *)*(WARNING: |BUG: |[a-z]+: BUG|kernel BUG |Oops|UBSAN: |'
CFQ_COMPLAINT+='INFO: (task|possible|suspicious|trying) |refcount_t: |'
CFQ_COMPLAINT+='list_(add|del) |general protection fault)'
CFQ_TAINTS=$((1 << 5 | 1 << 7 | 1 << 9 | 1 << 14))

cfq_skip()
{
	echo "SKIP: $*"
	exit "$KSFT_SKIP"
}

# To stderr: the output of a $(...) is a value.
cfq_fail()
{
	echo "FAIL: $*" >&2
	# The end of a subshell does not end the test.
	[ "$BASHPID" = "$$" ] || kill -USR1 "$$"
	exit "$KSFT_FAIL"
}
trap 'exit "$KSFT_FAIL"' USR1

# Sets complaint, the last one in the log, and taints.
cfq_look_at_kernel()
{
	complaint=$(dmesg -k 2> /dev/null | grep -E "$CFQ_COMPLAINT" | tail -n 1)
	read -r taints < /proc/sys/kernel/tainted
	taints=$((taints & CFQ_TAINTS))
}

# Whether the kernel has not complained since the test began. Its log may have lost
# what it said; a flag tells nothing if it was there before.
cfq_kernel_is_well()
{
	local complaint taints

	cfq_look_at_kernel
	[ "$taints" = "$CFQ_TAINTS_BEFORE" ] || {
		echo "FAIL: the kernel became tainted: $taints, not $CFQ_TAINTS_BEFORE" \
			"${complaint:+($complaint)}"
		return 1
	}
	[ -z "$complaint" ] || [ "$complaint" = "$CFQ_COMPLAINT_BEFORE" ] || {
		echo "FAIL: the kernel complains: $complaint"
		return 1
	}
}

# At the end of a test: nothing of it is left, and the kernel has not complained of
# it. What a test has made besides is taken away by its function cleanup().
cfq_exit()
{
	local code=$? pid

	trap '' USR1
	for pid in $(jobs -p); do
		kill "$pid" 2>/dev/null
	done
	wait
	! declare -F cleanup > /dev/null || cleanup
	if [ -d "$NULLB/$CFQ_NAME" ]; then
		echo 0 > "$NULLB/$CFQ_NAME/power"
		rmdir "$NULLB/$CFQ_NAME" || {
			echo "FAIL: the device does not go"
			code=$KSFT_FAIL
		}
	fi
	rm -rf "$CFQ_TMP"
	cfq_kernel_is_well || code=$KSFT_FAIL
	exit "$code"
}

# cfq_device [ATTR=VALUE...]: makes a device with these null_blk attributes and
# gives it the scheduler. Sets CFQ_DEV, CFQ_QUEUE, CFQ_DEBUG, and CFQ_TMP, a folder.
cfq_device()
{
	local attr file said complaint taints

	[ "$(id -u)" = 0 ] || cfq_skip "must be run as root"
	cfq_look_at_kernel
	CFQ_COMPLAINT_BEFORE=$complaint
	CFQ_TAINTS_BEFORE=$taints
	modprobe -q null_blk nr_devices=0 2>/dev/null
	mountpoint -q /sys/kernel/config ||
		mount -t configfs none /sys/kernel/config 2>/dev/null
	mountpoint -q /sys/kernel/debug ||
		mount -t debugfs none /sys/kernel/debug 2>/dev/null
	[ -d "$NULLB" ] || cfq_skip "no null_blk with configfs"
	# What has warned, and does so once a boot, may do it again.
	{ echo 1 > /sys/kernel/debug/clear_warn_once; } 2> /dev/null

	CFQ_TMP=$(mktemp -d) || cfq_fail "no temporary directory"
	CFQ_NAME=cfqtest$$
	trap cfq_exit EXIT
	mkdir "$NULLB/$CFQ_NAME" || cfq_fail "null_blk makes no device"
	for attr in size=256 irqmode=2 completion_nsec=500000 \
		    hw_queue_depth=32 memory_backed=1 "$@"; do
		file=$NULLB/$CFQ_NAME/${attr%%=*}
		[ -e "$file" ] || cfq_skip "null_blk has no ${attr%%=*}"
		said=$({ echo "${attr#*=}" > "$file"; } 2>&1) && continue
		[[ $said != *"not supported" ]] || cfq_skip "null_blk has no $attr"
		cfq_fail "null_blk does not take $attr: $said"
	done
	echo 1 > "$NULLB/$CFQ_NAME/power" || cfq_fail "cannot power the device on"

	CFQ_DEV=/dev/$CFQ_NAME
	CFQ_QUEUE=/sys/block/$CFQ_NAME/queue
	CFQ_DEBUG=/sys/kernel/debug/block/$CFQ_NAME/sched
	modprobe -q cfq-iosched 2>/dev/null
	grep -qw cfq "$CFQ_QUEUE/scheduler" || cfq_skip "no cfq in this kernel"
	echo cfq > "$CFQ_QUEUE/scheduler" || cfq_fail "cannot choose cfq"
	grep -qF '[cfq]' "$CFQ_QUEUE/scheduler" || cfq_fail "cfq is not chosen"
}

# cfq_need COMMAND...
cfq_need()
{
	local cmd

	for cmd in "$@"; do
		command -v "$cmd" >/dev/null || cfq_skip "no $cmd"
	done
}

cfq_need_ext4()
{
	cfq_need mkfs.ext4
	modprobe -q ext4 2> /dev/null
	grep -qw ext4 /proc/filesystems || cfq_skip "no ext4"
}

cfq_need_debugfs()
{
	[ -r "${CFQ_DEBUG%/*}/state" ] || cfq_skip "no BLK_DEBUG_FS"
	[ -r "$CFQ_DEBUG/counters" ] || cfq_fail "no counters in debugfs"
}

# cfq_shows FILE VALUE: whether this is its first line; without a program, which
# takes long to start on some machines
cfq_shows()
{
	local shown

	read -r shown < "$1"
	[ "$shown" = "$2" ]
}

# cfq_set TUNABLE VALUE
cfq_set()
{
	echo "$2" > "$CFQ_QUEUE/iosched/$1" || cfq_fail "$1 does not take $2"
}

# cfq_counter NAME: a counter of the scheduler
cfq_counter()
{
	local name value

	while read -r name value; do
		[ "$name" != "$1" ] || { echo "$value"; return; }
	done < "$CFQ_DEBUG/counters"
	cfq_fail "no counter $1"
}

# cfq_wait_for COMMAND...: until it is true, a minute at most
cfq_wait_for()
{
	local n

	for n in $(seq 600); do
		"$@" && return 0
		sleep 0.1
	done
	return 1
}

# cfq_groups NAME...: control groups of these names. Sets CFQ_CGROUPS, where all groups
# of the machine are, and CFQ_GROUPS, where these are.
cfq_groups()
{
	local controller

	CFQ_GROUPS_MOUNTED=
	CFQ_CGROUPS=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup2 .*/\1/p' /proc/mounts | head -n 1)
	if [ -z "$CFQ_CGROUPS" ]; then
		CFQ_CGROUPS=$CFQ_TMP/cgroups
		mkdir "$CFQ_CGROUPS"
		mount -t cgroup2 cgroup2 "$CFQ_CGROUPS" 2> /dev/null || cfq_skip "no cgroup v2"
		CFQ_GROUPS_MOUNTED=yes
	fi
	for controller in io memory; do
		grep -qw "$controller" "$CFQ_CGROUPS/cgroup.controllers" ||
			cfq_skip "no controller $controller of cgroup v2"
	done
	echo "+io +memory" > "$CFQ_CGROUPS/cgroup.subtree_control" ||
		cfq_skip "the controllers cannot be had"
	CFQ_GROUPS=$CFQ_CGROUPS/$CFQ_NAME
	mkdir "$CFQ_GROUPS" || cfq_fail "no control group"
	echo "+io +memory" > "$CFQ_GROUPS/cgroup.subtree_control" ||
		cfq_fail "no controllers in a group"
	mkdir "${@/#/$CFQ_GROUPS/}" || cfq_fail "no control groups"
	[ -e "$CFQ_GROUPS/$1/io.bw" ] || cfq_skip "no CFQ_GROUP_IOSCHED"
}

# For cleanup(): all of them go.
cfq_groups_end()
{
	[ ! -d "$CFQ_GROUPS" ] || find "$CFQ_GROUPS" -depth -type d -exec rmdir {} \;
	[ -z "$CFQ_GROUPS_MOUNTED" ] || umount "$CFQ_CGROUPS"
}

# cfq_in_group GROUP COMMAND...
cfq_in_group()
{
	(
		echo "$BASHPID" > "$CFQ_GROUPS/$1/cgroup.procs" || exit
		shift
		exec "$@"
	)
}

# cfq_iostat GROUP KEY: of io.stat; nothing if it is not there
cfq_iostat()
{
	local dev

	read -r dev < "/sys/block/$CFQ_NAME/dev"
	sed -n "s/^$dev .*\\<$2=\\([-0-9]*\\).*/\\1/p" "$CFQ_GROUPS/$1/io.stat"
}

# cfq_spent GROUP: served of its reservation
cfq_spent()
{
	local in over

	in=$(cfq_iostat "$1" bw.entitled)
	over=$(cfq_iostat "$1" bw.surplus)
	echo $((in + over))
}

# cfq_read SECONDS RESULT [COMMAND...]: reads 64 KiB blocks one after the other
# for so long, run by COMMAND (ionice); their number goes to the file RESULT.
cfq_read()
{
	local seconds=$1 result=$2

	shift 2
	# In the foreground dd gets one signal; a second one would end it mute.
	"$@" timeout --foreground -s INT "$seconds" dd if="$CFQ_DEV" \
		of=/dev/null bs=64k iflag=direct 2> "$result.dd"
	sed -n 's/^\([0-9]*\)+.*records in$/\1/p' "$result.dd" > "$result"
	[ -s "$result" ]
}

# Whether io_uring_setup() says that there is no io_uring here
cfq_no_uring()
{
	"$(dirname "$0")/cfq_request" uring "$CFQ_DEV" 0 0
	[ $? = 254 ]
}
