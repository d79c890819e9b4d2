# SPDX-License-Identifier: GPL-2.0
"""tools/importlinter.ini holds, and an import against the layers of lab is found."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tools.base.paths import BUILD, ROOT


def imports(root: Path) -> tuple[int, str]:
    """lint-imports of the tools below a folder."""
    done = subprocess.run([BUILD / "venv/bin/lint-imports", "--no-cache", "tools/importlinter.ini"], cwd=root,
                          env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_import_against_the_layers_is_found(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tools", tmp_path / "tools", symlinks=True,
                    ignore=shutil.ignore_patterns("node_modules", "__pycache__", "scenarios"))
    code, said = imports(tmp_path)
    assert code == 0, said
    units = tmp_path / "tools/testbed/lab/model/units.py"
    units.write_text(units.read_text() + "\nfrom tools.testbed.lab.run import job  # noqa\n")
    code, said = imports(tmp_path)
    assert code == 1
    assert "tools.testbed.lab.model is not allowed to import tools.testbed.lab.run" in said
