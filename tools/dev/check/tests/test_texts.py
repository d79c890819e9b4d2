# SPDX-License-Identifier: GPL-2.0
"""What lint asks of READMEs and sources (tools/dev/check/texts.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.dev.check.texts import main, missing_license, wide_lines

WORDS = "word " * 24  # 120 columns
TABLE = "| " + "x" * 150 + " |"


@pytest.mark.parametrize("text", [
    WORDS, TABLE, "    " + "x" * 150, "```\n" + "x" * 150 + "\n```",
    f"[{WORDS[:100]}](https://example.org/{'x' * 100})",
    "é" * 120,
])
def test_readme_that_is_not_too_wide(text: str) -> None:
    assert not list(wide_lines(text))


@pytest.mark.parametrize(("text", "said"), [
    (f"one\n{WORDS}x", "2: wider than 120"),
    (f"```\ncode\n```\n{WORDS}x", "4: wider than 120"),
    (f"[{WORDS}](https://example.org)", "1: wider than 120"),
    ("| " + "x" * 200, "1: wider than 200"),
])
def test_readme_that_is_too_wide(text: str, said: str) -> None:
    assert list(wide_lines(text)) == [said]


SPDX = "SPDX-License-Identifier: GPL-2.0"


@pytest.mark.parametrize("text", [f"# {SPDX}\n", f"#!/bin/sh\n# {SPDX}\n", f"/* {SPDX} */", f"<!-- {SPDX} -->"])
def test_license_is_in_the_first_two_lines(text: str) -> None:
    assert not list(missing_license(text))


@pytest.mark.parametrize("text", ["", "import os\n", f"# {SPDX}-only\n", f"\n\n# {SPDX}\n"])
def test_missing_license_is_found(text: str) -> None:
    assert list(missing_license(text)) == ["1: no SPDX-License-Identifier: GPL-2.0"]


def test_files_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text(f"# {SPDX}\n")
    bad.touch()
    assert main(["license", str(good)]) == 0
    assert main(["license", str(good), str(bad)]) == 1
    assert capsys.readouterr().out == f"{bad}:1: no SPDX-License-Identifier: GPL-2.0\n"
