# SPDX-License-Identifier: GPL-2.0
"""Sizes, rates and priorities as scenario files write them."""

import re

NSEC_PER_SEC = 1_000_000_000
NSEC_PER_MSEC = 1_000_000

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(B|KiB|MiB|GiB)?")
_FACTOR = {None: 1, "B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB}
_SIZE_MAX = 2**63 - 1

# Units of a table's figures, and what a figure is divided by.
SCALES = {"": 1, "%": 1, "ms": 1, "s": 1000, "reads/s": 1, "MiB/s": MIB, "MiB": MIB, "KiB/s": KIB, "KB/s": 1000}

CLASSES = {"rt": 1, "be": 2, "idle": 3, "bw": 4}
CLASS_SHIFT = 13
BW_RATE_UNIT = 128 * KIB
BW_RATE_MAX = 1023
BW_RATE_SHIFT = 3
BW_DELAYS_MS = (25, 50, 100, 200, 500, 800, 1000, 2000)


def parse_size(text: object, least: int = 1) -> int:
    """'3MiB' or 3145728 in bytes."""
    match = _SIZE.fullmatch(text.strip()) if isinstance(text, str) else None
    value: float
    if match:
        value = float(match[1]) * _FACTOR[match[2]]
    elif isinstance(text, int) and not isinstance(text, bool):
        value = text
    else:
        raise ValueError(f"'{text}' is not a size such as 64KiB, 3MiB or 8GiB")
    if not least <= value <= _SIZE_MAX:
        raise ValueError(f"'{text}' is not in {least}..{_SIZE_MAX} bytes")
    if value != int(value):
        raise ValueError(f"'{text}' is not a whole number of bytes")
    return int(value)


def parse_rate(text: object) -> int:
    """'3MiB/s' in bytes a second."""
    if not isinstance(text, str) or not text.endswith("/s"):
        raise ValueError(f"'{text}' is not a rate such as 3MiB/s")
    return parse_size(text[:-2])


def level_ioprio(cls: str, level: int) -> int:
    """An ioprio of the classes with levels, as ioprio_set takes it."""
    if cls not in ("rt", "be", "idle"):
        raise ValueError(f"class '{cls}' is not one of rt, be, idle, bw")
    if not 0 <= level <= 7:
        raise ValueError(f"level {level} is not in 0..7")
    return CLASSES[cls] << CLASS_SHIFT | level


def ioprio_class(ioprio: int) -> int:
    """The kernel's number of the class of a priority."""
    return ioprio >> CLASS_SHIFT


def bw_ioprio(rate: int, delay_ms: int) -> int:
    """A reservation of rate bytes a second, dispatched within delay_ms."""
    units, rest = divmod(rate, BW_RATE_UNIT)
    if rest or not 1 <= units <= BW_RATE_MAX:
        raise ValueError(f"a reservation of {rate} bytes/s is not a multiple of 128 KiB/s in 1..{BW_RATE_MAX} of them")
    if delay_ms not in BW_DELAYS_MS:
        table = " ".join(map(str, BW_DELAYS_MS))
        raise ValueError(f"delay of {delay_ms} ms is not in the device's table ({table})")
    return CLASSES["bw"] << CLASS_SHIFT | units << BW_RATE_SHIFT | BW_DELAYS_MS.index(delay_ms)
