# SPDX-License-Identifier: GPL-2.0
"""Types of command line arguments, for argparse: each raises ValueError for an invalid value."""

from __future__ import annotations

import argparse
import re


def words(text: str) -> list[str]:
    """A,B,C"""
    found = [word for word in text.split(",") if word]
    if not found:
        raise ValueError
    return found


def positive(text: str) -> int:
    """A whole number of 1 or more."""
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def positives(text: str) -> list[int]:
    """Whole numbers of 1 or more: 1,31"""
    return [positive(word) for word in words(text)]


def seconds(text: str) -> float:
    """A time greater than 0, in seconds unless the option names another unit."""
    value = float(text)
    if not 0 < value < 1e9:
        raise ValueError
    return value


def regex(text: str) -> str:
    """A regular expression."""
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is not a regular expression ({error})") from None
    return text
