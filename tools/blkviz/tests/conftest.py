# SPDX-License-Identifier: GPL-2.0
"""Let the tests import the tool and the writer of traces."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
