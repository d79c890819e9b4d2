# SPDX-License-Identifier: GPL-2.0
"""What the user is told in one line."""


class DiskError(Exception):
    """Something that cannot be done; the message says what, where and what to do."""
