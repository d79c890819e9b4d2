# SPDX-License-Identifier: GPL-2.0
"""The source: every kind of it makes the same commit, every failure one line."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest

from tools.base.cli import ToolError
from tools.dev.queue import common, source
from tools.dev.queue.tests.trial import AUTHOR, Fake, Queue


def commit_of(queue: Queue, kernel: Path | None) -> str:
    return str(json.loads(queue.works("--json", "fetch", kernel=kernel).splitlines()[0])["commit"])


def make_git(tree: Path, where: Path) -> Path:
    shutil.copytree(tree, where, symlinks=True)
    for args in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "-m", "upstream"]):
        subprocess.run(["git", *args], cwd=where, check=True, env={**os.environ, **AUTHOR})
    return where


def snapshot(folder: Path) -> dict[str, tuple[float, bytes]]:
    return {str(p): (p.stat().st_mtime, p.read_bytes())
            for p in folder.rglob("*") if p.is_file()}


def test_tarball_folder_and_git_tree_make_the_same_commit(
        queue: Queue, tarball: Path, tree: Path, tmp_path: Path) -> None:
    repository = make_git(tree, tmp_path / "git")
    commits = {commit_of(queue, kernel) for kernel in (tarball, tree, repository)}
    assert len(commits) == 1


def test_kernel_is_not_modified(queue: Queue, tree: Path, tmp_path: Path) -> None:
    repository = make_git(tree, tmp_path / "git")
    for kernel in (tree, repository):
        before = snapshot(kernel)
        queue.works("tree", kernel=kernel)
        shutil.rmtree(queue.linux)
        assert snapshot(kernel) == before


def test_uncommitted_changes_of_kernel_are_told_and_not_used(
        queue: Queue, tree: Path, tmp_path: Path) -> None:
    repository = make_git(tree, tmp_path / "git")
    clean = commit_of(queue, repository)
    (repository / "block/elevator.c").write_text("changed\n")
    done = queue("--json", "fetch", kernel=repository)
    assert "has uncommitted changes" in done.stderr
    assert json.loads(done.stdout)["commit"] == clean


def test_debian_ignores_are_taken_out_of_the_base(queue: Queue) -> None:
    queue.works("tree")
    assert (queue.linux / ".gitignore").read_text() == "*.o"
    (queue.linux / "new.c").write_text("int x;\n")
    assert queue.git("status", "--porcelain") == "?? new.c"


def test_modes_survive(queue: Queue) -> None:
    queue.works("tree")
    assert (queue.linux / "scripts/run.sh").stat().st_mode & 0o111
    assert not (queue.linux / "Makefile").stat().st_mode & 0o111


def test_a_tree_that_was_built_in_is_refused(queue: Queue, tree: Path) -> None:
    (tree / "include/generated").mkdir(parents=True)
    assert "a kernel was built in it (include/generated)" in queue.fails("fetch", kernel=tree)


def test_missing_kernel_is_told(queue: Queue, tmp_path: Path) -> None:
    line = queue.fails("fetch", kernel=tmp_path / "nowhere")
    assert "nowhere: no such file or folder; set KERNEL= to" in line


def test_a_folder_that_is_no_kernel_is_told(queue: Queue, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "not a kernel source" in queue.fails("fetch", kernel=tmp_path / "empty")


def refs(queue: Queue) -> str:
    return subprocess.run(["git", "for-each-ref"], cwd=queue.cache / "pristine.git", text=True,
                          capture_output=True, check=True).stdout


def test_damaged_tarball_is_told_and_leaves_nothing(queue: Queue, tarball: Path) -> None:
    whole = tarball.read_bytes()
    tarball.write_bytes(whole[:len(whole) // 2])
    assert "damaged, or not a tar archive" in queue.fails("tree")
    assert refs(queue) == ""
    tarball.write_bytes(whole)
    queue.works("tree")


@pytest.mark.parametrize("mode", ["w:xz", "w:gz", "w:bz2", "w:"])
@pytest.mark.parametrize("part", [0.02, 0.3, 0.6, 0.9, 0.99])
def test_tarball_cut_off_anywhere_is_told(
    queue: Queue, tree: Path, tarball: Path, mode: Literal["w:xz", "w:gz", "w:bz2", "w:"], part: float
) -> None:
    with tarfile.open(tarball, mode) as archive:
        archive.add(tree, "linux-7.3.4")
    # without the zeros behind the last member, of which a part may well be missing
    whole = tarball.read_bytes() if mode != "w:" else tarball.read_bytes().rstrip(b"\0")
    tarball.write_bytes(whole[:int(len(whole) * part)])
    assert "damaged, or not a tar archive" in queue.fails("fetch")
    assert refs(queue) == ""


def test_tarball_with_a_damaged_header_in_the_middle_is_told(
    queue: Queue, tree: Path, tarball: Path
) -> None:
    with tarfile.open(tarball, "w:") as archive:
        archive.add(tree, "linux-7.3.4")
        where = archive.getmembers()[4].offset
    data = bytearray(tarball.read_bytes())
    data[where + 150] ^= 1  # in the header's checksum
    tarball.write_bytes(data)
    assert "damaged, or not a tar archive" in queue.fails("fetch")


# --- Debian's package, with a fake apt ------------------------------------------------


APT = r"""
case "$*" in
*indextargets*) echo "http://mirror.example/debian/ Debian bookworm"; exit 0 ;;
*--print-uris*) exit 0 ;;
*update*) {update} ;;
*download*) {download} ;;
esac
"""
SHOW = r"""printf 'Package: linux-source-7.3\nFilename: pool/linux-source-7.3_1_all.deb\nSize: 1000\nSHA256: {sha}\n'"""


@pytest.fixture
def deb(tarball: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "deb"
    (folder / "DEBIAN").mkdir(parents=True)
    (folder / "DEBIAN/control").write_text(
        "Package: linux-source-7.3\nVersion: 1\nArchitecture: all\nMaintainer: x <x@example.org>\n"
        "Description: x\n")
    (folder / "usr/src").mkdir(parents=True)
    shutil.copy(tarball, folder / "usr/src/linux-source-7.3.tar.xz")
    # whatever the umask is
    for inner in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        inner.chmod(0o755)
    path = tmp_path / "linux-source-7.3_1_all.deb"
    subprocess.run(["dpkg-deb", "-b", folder, path], check=True, capture_output=True)
    return path


@pytest.fixture(autouse=True)
def keyring() -> None:
    if not source.KEYRING.is_file():
        pytest.skip("no debian-archive-keyring")


def fake_apt(fake: Fake, deb: Path, update: str = "exit 0", sha: str | None = None,
             download: str | None = None) -> str:
    fake("apt-get", APT.format(update=update, download=download or f"cp '{deb}' ."))
    digest = hashlib.sha256(deb.read_bytes()).hexdigest()
    return fake("apt-cache", SHOW.format(sha=sha or digest))


def test_package_makes_the_same_commit_as_the_tarball(
        queue: Queue, deb: Path, tarball: Path, fake: Fake) -> None:
    path = fake_apt(fake, deb)
    said = queue.works("--json", "fetch", kernel=None, path=path)
    assert json.loads(said.splitlines()[0])["commit"] == commit_of(queue, tarball)


def test_second_fetch_needs_no_network(queue: Queue, deb: Path, fake: Fake) -> None:
    queue.works("fetch", kernel=None, path=fake_apt(fake, deb))
    queue.works("fetch", kernel=None, path=fake("apt-get", "exit 77"))


@pytest.mark.parametrize(("said", "told"), [
    ("E: Temporary failure resolving 'mirror.example'", "no network: the Debian mirror"),
    ("E: The repository 'x' does not have a Release file.", "no package linux-source-7.3 in"),
    ("E: 404  Not Found [IP: 10.0.0.1 80]", "no package linux-source-7.3 in"),
    ("W: GPG error: the following signatures couldn't be verified", "apt cannot check its signature"),
    ("E: write (28: No space left on device)", "disk full:"),
])
def test_failing_update_is_told_in_one_line(
        queue: Queue, deb: Path, fake: Fake, said: str, told: str) -> None:
    path = fake_apt(fake, deb, update=f'echo "{said}" >&2; exit 100')
    assert told in queue.fails("fetch", kernel=None, path=path)


def test_no_such_package_says_what_to_set(queue: Queue, deb: Path, fake: Fake) -> None:
    fake_apt(fake, deb)
    path = fake("apt-cache", "echo 'E: No packages found' >&2; exit 100")
    line = queue.fails("fetch", kernel=None, path=path)
    assert "no package linux-source-7.3 in trixie-backports" in line
    assert "set KERNEL=" in line


def test_no_debian_mirror_says_what_to_set(queue: Queue, deb: Path, fake: Fake) -> None:
    fake_apt(fake, deb)
    path = fake("apt-get", "exit 0")
    assert "has no Debian mirror" in queue.fails("fetch", kernel=None, path=path)


def test_a_download_shows_how_far_it_is(tmp_path: Path, deb: Path, fake: Fake,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", fake_apt(
        fake, deb, download=f"head -c 500 '{deb}' > {deb.name}; sleep 1; cp '{deb}' ."))
    seen: list[int] = []
    monkeypatch.setattr(common.NamedProgress, "update", lambda _self, done: seen.append(done))
    (work := tmp_path / "work").mkdir()
    apt = source.Apt(work)
    assert apt._download("linux-source-7.3", common.NamedProgress("download")) == (0, "")
    assert 500 in seen


def test_a_disk_that_is_full_while_unpacking_is_told_and_the_next_run_repairs_it(
        queue: Queue, fake: Fake) -> None:
    real = shutil.which("git")
    path = fake("git", f"""case " $* " in
*" fast-import "*) head -c 100 > /dev/null
	echo 'fatal: write error: No space left on device' >&2; exit 128 ;;
esac
exec {real} "$@" """)
    line = queue.fails("fetch", path=path)
    assert re.fullmatch(r"queue fetch: disk full: \d+ MiB free at \S+; free some space and run it again",
                        line)
    queue.works("fetch")


def test_a_disk_that_will_not_do_is_told_before_the_long_step(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=5 << 20))
    with pytest.raises(ToolError) as told:
        common.need_space(tmp_path / "not/made/yet", 700, "unpacking the source")
    assert re.fullmatch(r"disk full: unpacking the source needs about 700 MiB at \S+, 5 MiB are free",
                        str(told.value))


def test_damaged_download_is_refused_and_the_next_run_repairs_it(
        queue: Queue, deb: Path, fake: Fake) -> None:
    path = fake_apt(fake, deb, download=f"head -c 700 '{deb}' > {deb.name}")
    assert "damaged download" in queue.fails("fetch", kernel=None, path=path)
    fake_apt(fake, deb)
    queue.works("fetch", kernel=None, path=path)


def test_damaged_package_in_the_cache_is_downloaded_again(
        queue: Queue, deb: Path, fake: Fake) -> None:
    queue.cache.mkdir()
    (queue.cache / deb.name).write_bytes(b"half")
    queue.works("fetch", kernel=None, path=fake_apt(fake, deb))
    assert (queue.cache / deb.name).read_bytes() == deb.read_bytes()


def test_leftovers_of_a_killed_run_are_removed(queue: Queue, deb: Path, fake: Fake) -> None:
    (queue.cache / "apt-killed").mkdir(parents=True)
    queue.works("fetch", kernel=None, path=fake_apt(fake, deb))
    assert not list(queue.cache.glob("apt-*"))
