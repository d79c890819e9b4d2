# SPDX-License-Identifier: GPL-2.0
#
# Common functions of the null_blk tests. Each test case uses a device of its own, which
# is removed when the case ends.
#
# shellcheck shell=bash

# Error messages of programs and of the shell are parsed.
export LC_ALL=C

# shellcheck source=/dev/null
. "$(dirname "$(readlink -f "$0")")/../kselftest/ktap_helpers.sh"

NULLB=/sys/kernel/config/nullb
NULL_BLK_NAME=nullbtest$$
NULL_BLK_DIR=$NULLB/$NULL_BLK_NAME
NULL_BLK_DEV=/dev/$NULL_BLK_NAME
NULL_BLK_SYS=/sys/block/$NULL_BLK_NAME

# Taint flags: bad page, oops, warning, lockup
NULL_BLK_TAINTS=$((1 << 5 | 1 << 7 | 1 << 9 | 1 << 14))

# null_blk_skip REASON...: ends a case as skipped; not for use within $(...)
null_blk_skip()
{
	echo "# SKIP: $*"
	exit "$KSFT_SKIP"
}

# null_blk_fail REASON...: ends a case as failed; not for use within $(...)
null_blk_fail()
{
	echo "# FAIL: $*"
	exit "$KSFT_FAIL"
}

null_blk_skip_all()
{
	ktap_print_header
	ktap_skip_all "$*"
	exit "$KSFT_SKIP"
}

null_blk_cleanup()
{
	null_blk_remove
	rm -rf "$TMP"
}

# null_blk_begin [FEATURE]: checks the requirements of all cases. Sets TMP, a directory.
null_blk_begin()
{
	local cmd features

	[ "$(id -u)" = 0 ] || null_blk_skip_all "must be run as root"
	for cmd in cmp dd mktemp sync; do
		command -v "$cmd" > /dev/null || null_blk_skip_all "no $cmd"
	done
	modprobe -q null_blk nr_devices=0 2> /dev/null
	[ -d "${NULLB%/*}" ] || null_blk_skip_all "no configfs"
	grep -q "^[^ ]* ${NULLB%/*} configfs " /proc/mounts ||
		mount -t configfs none "${NULLB%/*}" 2> /dev/null
	[ -d "$NULLB" ] || null_blk_skip_all "no null_blk with configfs"
	read -r features < "$NULLB/features"
	[[ -z ${1-} || ,$features, == *",$1,"* ]] ||
		null_blk_skip_all "null_blk does not support $1"

	TMP=$(mktemp -d) || null_blk_skip_all "no temporary directory"
	trap null_blk_cleanup EXIT
}

# Sets taints to the taint flags that indicate a kernel error.
null_blk_taints()
{
	read -r taints < /proc/sys/kernel/tainted
	taints=$((taints & NULL_BLK_TAINTS))
}

# null_blk_run CASE...: runs these functions, each in its own subshell
null_blk_run()
{
	local before name code taints

	ktap_print_header
	ktap_set_plan $#
	for name; do
		null_blk_taints
		before=$taints
		( "$name" )
		code=$?
		null_blk_remove || code=$KSFT_FAIL
		null_blk_taints
		[ "$taints" = "$before" ] || {
			echo "# FAIL: the kernel became tainted: $taints, not $before"
			code=$KSFT_FAIL
		}
		case $code in
		"$KSFT_PASS") ktap_test_pass "$name" ;;
		"$KSFT_SKIP") ktap_test_skip "$name" ;;
		*) ktap_test_fail "$name" ;;
		esac
	done
	ktap_finished
}

# null_blk_set ATTR=VALUE
null_blk_set()
{
	echo "${1#*=}" > "$NULL_BLK_DIR/${1%%=*}" || null_blk_fail "cannot set $1"
}

# null_blk_refused ATTR=VALUE ERROR: fails unless the write fails with this error
null_blk_refused()
{
	local said

	said=$({ echo "${1#*=}" > "$NULL_BLK_DIR/${1%%=*}"; } 2>&1) &&
		null_blk_fail "$1 is accepted"
	[[ $said == *": $2" ]] || null_blk_fail "$1: expected '$2', got: $said"
}

# null_blk_off [ATTR=VALUE...]: creates a device without powering it on
null_blk_off()
{
	local attr

	null_blk_remove || null_blk_fail "cannot remove the previous device"
	mkdir "$NULL_BLK_DIR" || null_blk_fail "cannot create a device"
	for attr in size=256 "$@"; do
		null_blk_set "$attr"
	done
}

# Powers the device on and waits for udev.
null_blk_on()
{
	null_blk_set power=1
	[ -b "$NULL_BLK_DEV" ] || null_blk_skip "no $NULL_BLK_DEV: no devtmpfs"
	[ ! -S /run/udev/control ] || udevadm settle 2> /dev/null
	return 0
}

# null_blk_device [ATTR=VALUE...]: creates a device and powers it on
null_blk_device()
{
	null_blk_off "$@"
	null_blk_on
}

null_blk_remove()
{
	[ ! -d "$NULL_BLK_DIR" ] || rmdir "$NULL_BLK_DIR"
}

# null_blk_read SIZE FIRST COUNT: reads blocks of SIZE bytes
null_blk_read()
{
	dd if="$NULL_BLK_DEV" of=/dev/null bs="$1" skip="$2" count="$3" \
		iflag=direct status=none || null_blk_fail "cannot read at $2"
}

# null_blk_write FILE SIZE FIRST COUNT [FLAGS]: writes blocks from the same offset in FILE
null_blk_write()
{
	dd if="$1" of="$NULL_BLK_DEV" bs="$2" skip="$3" seek="$3" count="$4" \
		iflag=fullblock oflag="direct${5:+,$5}" conv=notrunc status=none ||
		null_blk_fail "cannot write at $3"
}

null_blk_flush()
{
	sync "$NULL_BLK_DEV" || null_blk_fail "cannot flush"
}

# null_blk_same FILE FIRST COUNT: fails unless these blocks of 64 KiB are equal on the
# device and in FILE
null_blk_same()
{
	dd if="$NULL_BLK_DEV" bs=64k skip="$2" count="$3" iflag=direct status=none |
		cmp -n $(($3 << 16)) -i 0:$(($2 << 16)) - "$1" ||
		null_blk_fail "the data differs"
}
