# SPDX-License-Identifier: GPL-2.0
"""The reference of scenario files is that of the schema, and the README's example is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.testbed.lab import cli
from tools.testbed.lab.model import keys, schema
from tools.testbed.lab.tests.conftest import LAB


def test_page_is_what_lab_keys_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["keys"]) == 0
    printed = capsys.readouterr().out
    assert (LAB / "scenarios.md").read_text() == printed, "`lab keys > tools/testbed/lab/scenarios.md`"
    assert "Generated" in printed.splitlines()[0]


def test_every_key_has_a_description_and_a_kind() -> None:
    for _, structs in keys.SECTIONS:
        for struct in structs:
            for field in keys.fields(struct):
                name, kind, meaning = keys.row(field)
                assert name and kind and keys.description(field.type), f"{struct.__name__}.{field.name}"
                assert "None" not in kind + meaning


def test_example_of_the_readme_is_a_scenario() -> None:
    lines = (LAB / "README.md").read_text().splitlines()
    example = [line.removeprefix("    ") for line in lines if line.startswith("    ")]
    assert len(example) <= 12
    assert len(lines) <= 42
    assert schema.parse(Path("example.toml"), "\n".join(example)).cells()
