# SPDX-License-Identifier: GPL-2.0
"""Links between the project's documents."""

from __future__ import annotations

import re
import subprocess

from tools.base.paths import ROOT

LINK = re.compile(r"\]\(([^)#\s]+)")


def test_every_link_to_a_file_leads_to_one() -> None:
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "*.md"], check=True, capture_output=True, text=True)
    missing = []
    for name in names.stdout.split("\0")[:-1]:
        path = ROOT / name
        for target in LINK.findall(path.read_text()) if path.exists() else []:
            if "://" not in target and not (path.parent / target).exists():
                missing.append(f"{name}: {target}")
    assert not missing, "\n".join(missing)
