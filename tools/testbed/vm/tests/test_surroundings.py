# SPDX-License-Identifier: GPL-2.0
"""Nothing of a user's set-up reaches a guest: neither the environment, nor udev, nor other defaults of mkfs.

Needs the plain kernel, the smp one and the one with virtual time; `make check` builds them before.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from tools.base.paths import BUILD, ROOT
from tools.testbed import vm
from tools.testbed.vm import smp, surroundings, uml

# What a shell adds, a launcher means to, or the kernel makes of its own command line.
OF_SHELL = {"_", "OLDPWD", "OUT", "PWD", "SHLVL", "TERM", "ssl", "VM_OUT", "VM_STOP", "LD_LIBRARY_PATH"}
SEEN = """\
out=${VM_OUT:-$OUT}
umask > "$out/umask"
env -0 > "$out/environment"
command -v mkfs.ext4 mount > "$out/programs"
cat /proc/[0-9]*/comm > "$out/processes"
cat /etc/udev/udev.conf /etc/lvm/lvm.conf /etc/mdadm/mdadm.conf > "$out/settings" 2> /dev/null
ls /dev > "$out/devices"
mkdir /sys/kernel/config/nullb/disk
for setting in size=64 memory_backed=1 power=1; do
	echo "${setting#*=}" > "/sys/kernel/config/nullb/disk/${setting%=*}"
done
mkfs.ext4 -q -F /dev/disk && dumpe2fs -h /dev/disk > "$out/features" 2> /dev/null
[ -b /dev/disk ] && touch "$out/disk-is-a-disk"
true
"""


def make_hostile(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """A user whose settings are all unlike the project's."""
    home = folder / "home"
    (home / "bin").mkdir(parents=True)
    for name in ("mkfs.ext4", "mount", "fio", "bash", "env"):
        fake = home / "bin" / name
        fake.write_text(f"#!/bin/sh\ntouch {folder}/fake-{name}\nexit 1\n")
        fake.chmod(0o755)
    (home / "bash-env").write_text("exit 1\n")
    (home / "mke2fs.conf").write_text("[defaults]\n\tblocksize = 4096\n\tbase_features = sparse_super,orphan_file\n")
    for name, value in {
            "PATH": f"{home / 'bin'}:{os.environ['PATH']}", "HOME": str(home), "LC_ALL": "de_DE.UTF-8",
            "LANG": "de_DE.UTF-8", "LANGUAGE": "de", "TZ": "Asia/Tokyo", "BASH_ENV": str(home / "bash-env"),
            "ENV": str(home / "bash-env"), "MKE2FS_CONFIG": str(home / "mke2fs.conf"), "PYTHONPATH": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"), "POSIXLY_CORRECT": "1"}.items():
        patch.setenv(name, value)


def in_qemu(out: Path) -> None:
    result = vm.run(SEEN, out=out, timeout=240, append=["null_blk.nr_devices=0"], folders=[out])
    assert result.ok, result.why()


def in_uml_with_two_cpus(out: Path) -> None:
    result = smp.run(SEEN, out=out, timeout=240, append=["null_blk.nr_devices=0"])
    assert result.ok, result.why()


def in_virtual_time(out: Path) -> None:
    uml.run_commands(SEEN, out)


@pytest.fixture(scope="module", params=[in_qemu, in_uml_with_two_cpus, in_virtual_time])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one boot for that user leaves, in the folder "out"."""
    folder = tmp_path_factory.mktemp("hostile")
    umask = os.umask(0o077)
    try:
        with pytest.MonkeyPatch.context() as patch:
            make_hostile(folder, patch)
            (folder / "out").mkdir()
            request.param(folder / "out")
    finally:
        os.umask(umask)
    return folder / "out"


def test_environment_is_the_projects(seen: Path) -> None:
    entries = (seen / "environment").read_text().split("\0")
    environment = dict(entry.split("=", 1) for entry in entries if entry)
    assert {name: value for name, value in environment.items() if name not in OF_SHELL} == surroundings.of_guest()
    assert environment["PATH"] == f"{BUILD}/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def test_umask_is_the_projects(seen: Path) -> None:
    assert (seen / "umask").read_text() == "0022\n"
    assert stat.S_IMODE((seen / "umask").stat().st_mode) == 0o644


def test_programs_are_the_systems(seen: Path) -> None:
    assert {Path(line).parent.name for line in (seen / "programs").read_text().split()} <= {"bin", "sbin"}
    assert not list(seen.parent.glob("fake-*"))


def test_names_of_disks_are_free(seen: Path) -> None:
    """No udev makes a folder /dev/disk, also where the user's machine has udev, lvm2 and mdadm."""
    assert (seen / "disk-is-a-disk").exists()
    assert "block" not in (seen / "devices").read_text().split()
    assert "udev" not in (seen / "processes").read_text()


def test_mkfs_ext4_has_the_defaults_of_the_project(seen: Path) -> None:
    found = (seen / "features").read_text()
    assert "metadata_csum" in found and "64bit" in found
    # of Debian 13, and of the user
    assert "orphan_file" not in found and "metadata_csum_seed" not in found
    # that of small file systems
    assert re.search(r"Block size: +1024", found)


def test_settings_of_storage_daemons_are_hidden(seen: Path) -> None:
    assert (seen / "settings").read_text() == "" or uml.OUT in (seen / "environment").read_text()


def test_folder_that_the_guest_mounts_something_above_is_seen(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("seen\n")
    result = vm.run(f"cat {tmp_path}/here; ls /root", out=tmp_path / "out", timeout=240, folders=[tmp_path])
    assert (result.stdout, result.exit_code) == ("seen\n", 0), result.why()
    assert str(ROOT) in surroundings.folders()
