# SPDX-License-Identifier: GPL-2.0
"""The folders of a checkout."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
TOOLS = ROOT / "tools"
DOCUMENTS = ROOT / "Documentation" / "queue"
