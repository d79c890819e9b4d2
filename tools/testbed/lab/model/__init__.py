# SPDX-License-Identifier: GPL-2.0
"""What a scenario is: files that are read and checked; types of results. Imports no other layer."""

import sys

try:
    import msgspec  # noqa: F401
except ImportError:
    print("scenarios need msgspec: `make venv`, or install python3-msgspec", file=sys.stderr)
    raise SystemExit(2) from None
