# SPDX-License-Identifier: GPL-2.0
"""The root file system of a Debian machine, and how commands run in it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tools.base.cli import ToolError
from tools.base.paths import ROOT
from tools.dev.queue.common import run
from tools.dev.queue.source import KEYRING, mirrors_of_this_machine

RELEASES = ("bookworm", "trixie")
# What an ordinary machine has and a developer's container lacks, and what the commands themselves require.
PACKAGES = ("udev", "systemd", "lvm2", "mdadm", "btrfs-progs", "sudo", "locales", "ca-certificates",
            "git", "make", "python3")
LOCALE = "de_DE.UTF-8"
USER = "ordinary"
HOME = "/srv/people/ordinary"
CHECKOUT = "/project"  # where root sees the host's checkout
# Settings of the host without which packages cannot be downloaded there.
OF_NETWORK = ("/etc/apt/apt.conf.d", "/etc/apt/auth.conf.d", "/etc/ssl/certs/ca-certificates.crt", "/etc/hosts",
              "/etc/resolv.conf", "/etc/pip.conf")
# In mount and process namespaces of its own, so that nothing stays mounted or runs on, whatever ends it.
ENTER = """\
set -e
mount -t proc proc "$root/proc"
for folder in sys dev; do mount --rbind "/$folder" "$root/$folder"; done
mkdir -p "$root$checkout"
mount --bind -o ro "$project" "$root$checkout"
exec chroot "$root" "$@"
"""


def why_not() -> str | None:
    """Why no root file system can be made here; None where one can."""
    if os.geteuid() != 0:
        return "debootstrap needs root"
    if not shutil.which("debootstrap"):
        return "debootstrap is not installed"
    if run(["unshare", "--mount", "true"], check=False).returncode:
        return "no mount namespaces here"
    return None


@dataclass(frozen=True)
class Root:
    """One release of Debian below a folder."""

    folder: Path

    def stamp(self, stage: str) -> Path:
        return self.folder.with_name(f".{self.folder.name}-{stage}")

    def make(self, release: str, log: IO[str]) -> None:
        """The release itself; what an interrupted run has left is removed."""
        if self.stamp("made").exists():
            return
        mirrors = mirrors_of_this_machine()
        if not mirrors:
            raise ToolError("apt's configuration names no Debian mirror")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        logged(["debootstrap", "--variant=minbase", f"--keyring={KEYRING}", release, str(self.folder), mirrors[0]], log)
        self.stamp("made").touch()

    def install(self, log: IO[str]) -> None:
        """The packages, with the host's settings of the network; what is installed takes no time."""
        self.share_network()
        packages = shlex.join(PACKAGES)
        self.run(["sh", "-ec", f"""
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
dpkg --configure -a
apt-get -q update
apt-get -q -y --no-install-recommends install {packages}
sed -i 's/^# *{LOCALE}/{LOCALE}/' /etc/locale.gen
locale-gen
id {USER} > /dev/null 2>&1 || useradd --create-home --base-dir {Path(HOME).parent} --shell /bin/bash {USER}
{CHECKOUT}/tools/dev/setup/setup run
{CHECKOUT}/tools/dev/setup/setup test
"""], log)
        self.share_network()  # the package ca-certificates has made its own

    def share_network(self) -> None:
        """The host's settings of the network, in place of the release's."""
        for name in OF_NETWORK:
            copy(Path(name), self.folder / name.lstrip("/"))

    def clone(self, cache: Path, log: IO[str]) -> None:
        """A clone of what is committed, by the user, in whose cache is the kernel's source if the host has it."""
        home = self.folder / HOME.lstrip("/")
        logged(["git", "-C", str(ROOT), "bundle", "create", "-q", str(home / "project.bundle"), "HEAD"], log)
        target = home / ".cache/cfq-queue"
        target.mkdir(parents=True, exist_ok=True)
        for path in (*cache.glob("linux-source-*.deb"), *cache.glob("linux-source-*.json")):
            copy(path, target / path.name)
        self.run(["chown", "-R", f"{USER}:", f"{HOME}/project.bundle", f"{HOME}/.cache"], log)
        self.as_user("""
[ -d project/.git ] || git clone -q project.bundle project
cd project
git fetch -q ../project.bundle HEAD
git reset -q --hard FETCH_HEAD
""", log)

    def as_user(self, commands: str, log: IO[str]) -> None:
        """Shell commands of a user without rights, whose settings are not the project's, in the user's home."""
        settings = {"HOME": HOME, "USER": USER, "LOGNAME": USER, "SHELL": "/bin/bash", "LANG": LOCALE, "LC_ALL": LOCALE,
                    "TZ": "Asia/Tokyo", "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"}
        self.run(["setpriv", "--reuid", USER, "--regid", USER, "--init-groups", "--inh-caps=-all", "--no-new-privs",
                  "env", "-i", *(f"{name}={value}" for name, value in settings.items()),
                  "sh", "-ec", f"umask 077\ncd\n{commands}"], log)

    def run(self, command: Sequence[str], log: IO[str]) -> None:
        """A command of root."""
        variables = {"root": str(self.folder), "project": str(ROOT), "checkout": CHECKOUT}
        logged(["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child",
                "sh", "-c", ENTER, "sh", *command], log,
               {**os.environ, **variables, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})


def copy(source: Path, target: Path) -> None:
    """A file or a folder, if it is there, in place of what is in the root file system."""
    if source.is_dir():
        for path in source.iterdir():
            copy(path, target / path.name)
    elif source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy(source, target)


def logged(command: Sequence[str], log: IO[str], env: dict[str, str] | None = None) -> None:
    """Run a command into the log; its failure is the last line of what it prints."""
    log.flush()
    before = Path(log.name).stat().st_size
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=env)
    if done.returncode:
        said = Path(log.name).read_bytes()[before:].decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(said) if line.strip()), "no message")
        raise ToolError(f"{last} (exit code {done.returncode})")
