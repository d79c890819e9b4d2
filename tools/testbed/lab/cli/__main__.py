# SPDX-License-Identifier: GPL-2.0
"""`python -m tools.testbed.lab.cli`, as tools/base/start runs it."""

import sys

from . import main

if __name__ == "__main__":
    sys.exit(main())
