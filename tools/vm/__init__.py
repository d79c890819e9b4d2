# SPDX-License-Identifier: GPL-2.0
"""Run commands in a booted kernel: `vm.run(...)` is all that a test needs."""

from .machine import Result, VMError, emulator_failed, image, kvm_works, run
from .programs import build_bwctl, build_static, light_fio
from .reports import scan

__all__ = ["Result", "VMError", "build_bwctl", "build_static", "emulator_failed", "image",
           "kvm_works", "light_fio", "run", "scan"]
