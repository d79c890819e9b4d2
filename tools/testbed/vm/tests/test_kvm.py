# SPDX-License-Identifier: GPL-2.0
"""KVM is used where a kernel boots on it, not where the device merely opens."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.testbed.vm import qemu as machine


@pytest.fixture
def qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A qemu whose behaviour the test writes, and a device that opens."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(machine, "BUILD", tmp_path / "build")
    monkeypatch.setattr(machine, "KVM_PATIENCE", 1)
    monkeypatch.setattr(os, "access", lambda path, mode: True)
    machine.kvm_works.cache_clear()
    return folder / "qemu-system-x86_64"


@pytest.mark.parametrize(("script", "works"), [
    ("echo 'Kernel panic - not syncing: VFS: Unable to mount root fs'", True),
    ("exec sleep 60", False),
    ("echo 'kvm run failed Internal error'; exit 1", False),
])
def test_only_a_kernel_that_boots_counts(qemu: Path, script: str, works: bool) -> None:
    qemu.write_text(f"#!/bin/sh\n{script}\n")
    qemu.chmod(0o755)
    assert machine.kvm_works(Path("bzImage")) is works
    # the answer is kept: the next process does not ask again
    qemu.write_text("#!/bin/sh\nexit 3\n")
    machine.kvm_works.cache_clear()
    assert machine.kvm_works(Path("bzImage")) is works
