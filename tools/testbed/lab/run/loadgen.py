# SPDX-License-Identifier: GPL-2.0
"""The load generator, and guests that end with the program."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tools.base.paths import BUILD, TOOLS
from tools.testbed.vm import build_static
from tools.testbed.vm.uml import Guests, Stopped

from .kernels import Kernels

LOADGEN = BUILD / "lab" / "loadgen"


def build_loadgen() -> Path:
    """The load generator, up to date."""
    return build_static(TOOLS / "testbed/lab/loadgen/loadgen.c", LOADGEN.parent)


@contextlib.contextmanager
def ending(guests: Guests | Kernels) -> Iterator[None]:
    """An interrupt ends all guests, whether it is noticed here or by one that cannot start any more."""
    try:
        yield
    except (KeyboardInterrupt, Stopped):
        guests.stop()
        raise KeyboardInterrupt from None
