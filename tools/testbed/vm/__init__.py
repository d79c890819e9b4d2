# SPDX-License-Identifier: GPL-2.0
"""Run commands in a booted kernel: `vm.run(...)` in QEMU, `smp.run(...)` in User-Mode Linux with two CPUs,
`uml.run_commands(...)` in virtual time.
"""

from .command import Result, VMError, named_kernel, parameters, unspoiled
from .programs import build_bwctl, build_static, light_fio
from .qemu import image, kvm_works, run
from .reports import scan

__all__ = ["Result", "VMError", "build_bwctl", "build_static", "image", "kvm_works", "light_fio", "named_kernel",
           "parameters", "run", "scan", "unspoiled"]
