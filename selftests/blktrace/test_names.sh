#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A process whose name is in a trace gets another BLK_TN_PROCESS record when exec()
# changes its name. A process that is not in the trace gets none. The test skips on
# kernels that record only the first name.

. "$(dirname "$0")/blktrace_common.sh"

blktrace_need blktrace blkparse blockdev
blktrace_device
ln -s "$(type -P true)" "$BT_TMP/bt-renamed"
ln -s "$(type -P true)" "$BT_TMP/bt-silent"
echo "a line" > "$BT_DEV"

# shellcheck disable=SC2329  # called by blktrace_run
renamed()
{
	# A cached read makes no request, and the name is recorded with the first one.
	blockdev --flushbufs "$BT_DEV"
	(
		read -r _ < "$BT_DEV"
		exec "$BT_TMP/bt-renamed"
	)
	"$BT_TMP/bt-silent"
}

blktrace_run "$BT_TMP" renamed
grep -q "Q *R.*\[test_names.sh\]" "$BT_TMP/trace" || blktrace_fail "the reader made no request"
grep -qa bt-silent "$BT_TMP/raw" &&
	blktrace_fail "a process without requests has a name in the trace"
grep -qa bt-renamed "$BT_TMP/raw" || blktrace_skip "this kernel records the first name only"
exit "$KSFT_PASS"
