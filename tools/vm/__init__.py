# SPDX-License-Identifier: GPL-2.0
"""Run commands in a booted kernel: `vm.run(...)` is all that a test needs."""

from .fio import light_fio
from .machine import Result, VMError, image, kvm_works, run
from .reports import scan

__all__ = ["Result", "VMError", "image", "kvm_works", "light_fio", "run", "scan"]
