# SPDX-License-Identifier: GPL-2.0
#
# What the tests of null_blk share: cases that are run one by one, each with a device
# of its own that is gone when the case ends.
#
# shellcheck shell=bash

# The words of programs and of the shell are read here.
export LC_ALL=C

# shellcheck source=/dev/null
. "$(dirname "$(readlink -f "$0")")/../kselftest/ktap_helpers.sh"

NULLB=/sys/kernel/config/nullb
NULL_BLK_NAME=nullbtest$$
NULL_BLK_DIR=$NULLB/$NULL_BLK_NAME
NULL_BLK_DEV=/dev/$NULL_BLK_NAME
NULL_BLK_SYS=/sys/block/$NULL_BLK_NAME

# A bad page, an oops, a warning, a lockup
NULL_BLK_TAINTS=$((1 << 5 | 1 << 7 | 1 << 9 | 1 << 14))

# null_blk_skip WHY...: ends a case, not from within $(...)
null_blk_skip()
{
	echo "# SKIP: $*"
	exit "$KSFT_SKIP"
}

# null_blk_fail WHY...: likewise
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

# null_blk_begin [FEATURE]: what all cases need. Sets TMP, a folder.
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
		null_blk_skip_all "null_blk has no $1"

	TMP=$(mktemp -d) || null_blk_skip_all "no temporary directory"
	trap null_blk_cleanup EXIT
}

# Sets taints, the flags that remain when something is wrong with the kernel.
null_blk_taints()
{
	read -r taints < /proc/sys/kernel/tainted
	taints=$((taints & NULL_BLK_TAINTS))
}

# null_blk_run CASE...: runs these functions, each in a shell of its own
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
	echo "${1#*=}" > "$NULL_BLK_DIR/${1%%=*}" || null_blk_fail "$1 is not taken"
}

# null_blk_refused ATTR=VALUE ERROR: fails unless this comes of writing it
null_blk_refused()
{
	local said

	said=$({ echo "${1#*=}" > "$NULL_BLK_DIR/${1%%=*}"; } 2>&1) &&
		null_blk_fail "$1 is taken"
	[[ $said == *": $2" ]] || null_blk_fail "$1 is refused, but not with '$2': $said"
}

# null_blk_off [ATTR=VALUE...]: makes a device that is switched off
null_blk_off()
{
	local attr

	null_blk_remove || null_blk_fail "the device before is still there"
	mkdir "$NULL_BLK_DIR" || null_blk_fail "null_blk makes no device"
	for attr in size=256 "$@"; do
		null_blk_set "$attr"
	done
}

# The device is switched on, and nobody else reads it any more.
null_blk_on()
{
	null_blk_set power=1
	[ -b "$NULL_BLK_DEV" ] || null_blk_skip "no $NULL_BLK_DEV: no devtmpfs"
	[ ! -S /run/udev/control ] || udevadm settle 2> /dev/null
	return 0
}

# null_blk_device [ATTR=VALUE...]: makes a device
null_blk_device()
{
	null_blk_off "$@"
	null_blk_on
}

null_blk_remove()
{
	[ ! -d "$NULL_BLK_DIR" ] || rmdir "$NULL_BLK_DIR"
}

# null_blk_read SIZE FIRST COUNT: reads blocks of so many bytes
null_blk_read()
{
	dd if="$NULL_BLK_DEV" of=/dev/null bs="$1" skip="$2" count="$3" \
		iflag=direct status=none || null_blk_fail "cannot read at $2"
}

# null_blk_write FILE SIZE FIRST COUNT [FLAGS]: writes them, of the same place in FILE
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

# null_blk_same FILE FIRST COUNT: fails unless the device has these blocks of 64 KiB as
# FILE has them
null_blk_same()
{
	dd if="$NULL_BLK_DEV" bs=64k skip="$2" count="$3" iflag=direct status=none |
		cmp -n $(($3 << 16)) -i 0:$(($2 << 16)) - "$1" ||
		null_blk_fail "other data is read"
}
