# SPDX-License-Identifier: GPL-2.0
"""The texts of new files; @NAME@ and @PACKAGE@ are replaced."""

SCENARIO = """\
# One sentence: which question does this scenario answer?
title = "@NAME@: two readers with a reservation and one without"
source = "not published"
about = \"\"\"
What the processes do, and why. Two streams of 1 MiB/s read alongside a sequential reader at queue depth 1.
\"\"\"
must_show = "no read of a stream misses its deadline"
disk = "barracuda-7200.11"
duration_s = 20
schedulers = ["none", "mq-deadline", "kyber", "bfq"]
policy = "rt"

[[config]]
name = "cfq-bw"
scheduler = "cfq"
policy = "bw"
fallback = "rt"

[[group]]
name = "stream"
kind = "paced"
count = 2
rate = "1MiB/s"
size = "256KiB"
deadline_ms = 1000
priority.rt = { class = "rt", level = 4 }
priority.bw = { class = "bw", rate = "1MiB/s", delay_ms = 500 }

[[group]]
name = "reader"
kind = "greedy"
size = "512KiB"

[[view]]
title = "throughput"
metric = "bytes_per_s"
rows = "group"
unit = "MiB/s"

[[expect]]
says = "no read of a stream misses its deadline under cfq"
left = { metric = "misses", groups = "stream", config = "cfq-bw" }
op = "=="
right = 0
needs = ["bw"]
"""

KSELFTEST = """\
#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What this test checks, in one sentence.

. "$(dirname "$0")/cfq_common.sh"

cfq_need dd
cfq_device size=64

dd if="$CFQ_DEV" of=/dev/null bs=64k count=16 2> /dev/null ||
	cfq_fail "the device cannot be read"
exit "$KSFT_PASS"
"""

TOOL_INIT = """\
# SPDX-License-Identifier: GPL-2.0
\"\"\"What @NAME@ is for, in one sentence.\"\"\"
"""

TOOL_CLI = """\
# SPDX-License-Identifier: GPL-2.0
\"\"\"What @NAME@ does, in one sentence.

Exit codes: 0 done; 1 something failed; 2 nothing was run.
\"\"\"

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.base import cli


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="@NAME@", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("file", type=Path, help="file whose lines are counted")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    return cli.run("@NAME@", lambda: command(args))


def command(args: argparse.Namespace) -> int:
    if not args.file.is_file():
        raise cli.ToolError(f"{args.file}: not a file", cli.EXIT_USAGE)
    print(len(args.file.read_text().splitlines()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
"""

TOOL_TEST = """\
# SPDX-License-Identifier: GPL-2.0
\"\"\"What @NAME@ prints, and what it refuses.\"\"\"

from __future__ import annotations

from pathlib import Path

import pytest

from tools.base.cli import EXIT_USAGE
from @PACKAGE@.cli import main


def test_lines_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "file"
    path.write_text("one\\ntwo\\n")
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == "2\\n"


def test_missing_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none")]) == EXIT_USAGE
    assert capsys.readouterr().err.splitlines() == [f"@NAME@: {tmp_path / 'none'}: not a file"]
"""

TOOL_README = """\
# @NAME@: what it does, in a few words

For whom it is, and which question it answers.

    @FOLDER@/@NAME@ FILE    # prints the number of lines
"""
