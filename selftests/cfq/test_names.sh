#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A process whose name a trace knows tells it the name that it gets by exec().

. "$(dirname "$0")/cfq_common.sh"

cfq_need blktrace blkparse blockdev
cfq_device size=64
ln -s "$(type -P true)" "$CFQ_TMP/cfq-renamed"
ln -s "$(type -P true)" "$CFQ_TMP/cfq-silent"
echo "a line" > "$CFQ_DEV"

# shellcheck disable=SC2329  # by cfq_trace
renamed()
{
	# what is cached needs no request, without which nobody tells his name
	blockdev --flushbufs "$CFQ_DEV"
	(
		read -r _ < "$CFQ_DEV"
		exec "$CFQ_TMP/cfq-renamed"
	)
	"$CFQ_TMP/cfq-silent"
}

cfq_trace "$CFQ_TMP" renamed
grep -q "Q *R.*\[test_names.sh\]" "$CFQ_TMP/trace" || cfq_fail "the reader made no request"
grep -qa cfq-renamed "$CFQ_TMP/raw" ||
	cfq_fail "the name after exec() is not in the trace"
grep -qa cfq-silent "$CFQ_TMP/raw" &&
	cfq_fail "a process that the trace does not know tells its name"
exit "$KSFT_PASS"
