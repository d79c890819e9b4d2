# SPDX-License-Identifier: GPL-2.0
"""The base source: from KERNEL= or from Debian's package, which are never modified.

The source becomes one commit without parents in the bare repository of the cache. Author and dates
are fixed, so the same source has the same commit ID on every machine. A new clone of the project
uses the cache, and downloads and unpacks nothing.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tools.base.cli import ToolError
from tools.base.files import write_if_changed

from .common import NO_SPACE, PLAIN_GIT, NamedProgress, Project, disk_full, git, git_out, locked, need_space, run, say

PACKAGE = "linux-source-7.3"
SUITE = "trixie-backports"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SET_KERNEL = "set KERNEL= to a kernel git tree, an unpacked tree or a tarball"

BASE_IDENT = {
    **PLAIN_GIT,
    "GIT_AUTHOR_NAME": "pristine source",
    "GIT_AUTHOR_EMAIL": "queue@localhost",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00 +0000",
    "GIT_COMMITTER_NAME": "pristine source",
    "GIT_COMMITTER_EMAIL": "queue@localhost",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00 +0000",
}


@dataclass(frozen=True)
class Base:
    """A base in the cache."""

    commit: str
    version: str
    origin: str


def fetch(project: Project, kernel: str | None, *, package: str = PACKAGE,
          suite: str = SUITE, refresh: bool = False) -> Base:
    """Get the base into the cache, if it is not there; returns it."""
    if kernel is None and (remembered := _sticky(project)):
        kernel = remembered
    project.cache.mkdir(parents=True, exist_ok=True)
    with locked(project.cache / "lock"):
        _bare(project)
        for left in project.cache.glob("apt-*"):  # of a run that was killed
            shutil.rmtree(left, ignore_errors=True)
        if kernel is None:
            return _from_debian(project, package, suite, refresh)
        path = Path(kernel).expanduser()
        if not path.exists():
            raise ToolError(f"KERNEL={kernel}: no such file or folder; {SET_KERNEL}")
        return _from_path(project, path.resolve())


def _sticky(project: Project) -> str | None:
    """The KERNEL= that build/linux was made from, if it was made from one."""
    state = project.linux / ".git" / "queue-state.json"
    if not state.is_file():
        return None
    kernel = json.loads(state.read_text()).get("kernel")
    return kernel if kernel and Path(kernel).exists() else None


def _bare(project: Project) -> None:
    if not (project.pristine / "HEAD").is_file():
        shutil.rmtree(project.pristine, ignore_errors=True)
        git(project.cache, "init", "-q", "--bare", project.pristine, env=PLAIN_GIT)


def _known(project: Project, key: str) -> Base | None:
    """A base that an earlier run has put into the cache, if it is complete."""
    ref = f"refs/heads/{key}"
    found = git(project.pristine, "rev-parse", "-q", "--verify", f"{ref}^{{tree}}", check=False)
    if found.returncode:
        return None
    return _base(project, git_out(project.pristine, "rev-parse", ref), key)


def _base(project: Project, commit: str, origin: str) -> Base:
    makefile = git(project.pristine, "show", f"{commit}:Makefile", check=False)
    if makefile.returncode:
        raise ToolError(f"{origin}: not a kernel source: no Makefile in the top folder; "
                         f"{SET_KERNEL}")
    return Base(commit, kernel_version(makefile.stdout, origin), origin)


def kernel_version(makefile: str, origin: str) -> str:
    parts = []
    for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL", "EXTRAVERSION"):
        found = re.search(rf"^{name} *= *(\S*) *$", makefile, re.M)
        parts.append(found.group(1) if found else "")
    if not parts[0] or not parts[1]:
        raise ToolError(f"{origin}: not a kernel source: no version in its Makefile; {SET_KERNEL}")
    return f"{parts[0]}.{parts[1]}" + (f".{parts[2]}" if parts[2] else "") + parts[3]


def _commit_tree(project: Project, tree: str, key: str) -> Base:
    """Commit a tree of the cache as a base, and record it under the key."""
    tree = _without_debian_ignores(project, tree)
    makefile = git(project.pristine, "show", f"{tree}:Makefile", check=False).stdout
    version = kernel_version(makefile, key)
    commit = git(project.pristine, "commit-tree", tree, "-m", f"linux {version}: pristine source",
                 env=BASE_IDENT).stdout.strip()
    git(project.pristine, "update-ref", f"refs/heads/{key}", commit)
    return Base(commit, version, key)


def _without_debian_ignores(project: Project, tree: str) -> str:
    """Remove Debian's rule that ignores every new file (`/*`): `git add` would skip files of the patches."""
    text = git(project.pristine, "show", f"{tree}:.gitignore", check=False).stdout
    kept = re.sub(r"\n#\n# Debian packaging:.*?\n/\*\n(?:!.*\n)*", "", text, flags=re.DOTALL)
    if kept == text:
        return tree
    blob = git(project.pristine, "hash-object", "-w", "--stdin", input_text=kept).stdout.strip()
    listing = git(project.pristine, "ls-tree", tree).stdout
    changed = re.sub(r"^(100644 blob )\w+(\t\.gitignore)$", rf"\g<1>{blob}\2", listing,
                     flags=re.MULTILINE)
    return git(project.pristine, "mktree", input_text=changed).stdout.strip()


# --- KERNEL= ---------------------------------------------------------------


def _from_path(project: Project, path: Path) -> Base:
    if path.is_dir():
        top = git(path, "rev-parse", "--show-toplevel", check=False)
        if top.returncode == 0 and Path(top.stdout.strip()).resolve() == path:
            return _from_git(project, path)
        if (path / ".git").exists():
            raise ToolError(f"KERNEL={path}: git cannot read it: {top.stderr.strip()}")
        return _from_folder(project, path)
    return _from_tarball(project, path)


def _from_git(project: Project, path: Path) -> Base:
    head = git(path, "rev-parse", "-q", "--verify", "HEAD^{commit}", check=False).stdout.strip()
    if not head:
        raise ToolError(f"KERNEL={path}: a git tree without a commit; {SET_KERNEL}")
    dirty = git(path, "--no-optional-locks", "status", "--porcelain", "-uno").stdout
    if dirty:
        say(f"note: KERNEL={path} has uncommitted changes; its commit {head[:12]} is used")
    key = f"git-{head}"
    if known := _known(project, key):
        return known
    need_space(project.cache, 700, "a copy of the source")
    progress = NamedProgress(f"copy {path}")
    git(project.pristine, "fetch", "-q", "--depth=1", "--no-tags", "--no-write-fetch-head",
        path.as_uri(), "HEAD")
    base = _commit_tree(project, f"{head}^{{tree}}", key)
    progress.finish(f"linux {base.version}")
    return base


def _from_folder(project: Project, path: Path) -> Base:
    """Read an unpacked tree, each time, as it may have changed."""
    if not (path / "Makefile").is_file():
        raise ToolError(f"KERNEL={path}: not a kernel source: no Makefile; "
                         f"{SET_KERNEL}")
    for built in ("vmlinux.o", "include/generated", "include/config"):
        if (path / built).exists():
            raise ToolError(f"KERNEL={path}: a kernel was built in it ({built}); use a copy "
                             "after `make mrproper`, or the tarball")
    name = hashlib.sha256(str(path).encode()).hexdigest()[:16]
    index = {"GIT_DIR": str(project.pristine), "GIT_WORK_TREE": str(path),
             "GIT_INDEX_FILE": str(project.cache / f"index-{name}"), **PLAIN_GIT}
    Path(index["GIT_INDEX_FILE"] + ".lock").unlink(missing_ok=True)
    progress = NamedProgress(f"read {path}")
    git(path, "-c", "core.compression=1", "-c", "core.bare=false", "add", "-A", "-f", ".",
        env=index)
    tree = git(path, "write-tree", env=index).stdout.strip()
    base = _known(project, f"dir-{tree}") or _commit_tree(project, tree, f"dir-{tree}")
    progress.finish(f"linux {base.version}")
    return base


def _from_tarball(project: Project, path: Path) -> Base:
    key = f"tar-{_sha256(path)}"
    if known := _known(project, key):
        return known
    need_space(project.cache, 700, "unpacking the source")
    try:
        with path.open("rb") as stream:
            return _import_tar(project, stream, key, f"unpack {path.name}")
    except tarfile.TarError as error:
        raise ToolError(f"KERNEL={path}: damaged, or not a tar archive ({error}); "
                         "download it again") from error


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


# --- importing a tar archive, without unpacking it into a folder ------------
# An unpacked folder takes 1.8 GB, and a repository of its single files 0.6 GB and more; the pack
# that git fast-import makes takes 0.36 GB.

UNPACKERS: dict[bytes, Callable[[Any], Any]] = {
    b"\xfd7zXZ": lzma.open, b"\x1f\x8b": gzip.open, b"BZh": bz2.open}


class _Unpacked:
    """Decompresses a tar archive, and checks that it is complete.

    tarfile treats a truncated or damaged header as the end of the archive.
    """

    def __init__(self, stream: Any) -> None:
        start = stream.peek(6)
        unpack = next((how for magic, how in UNPACKERS.items() if start.startswith(magic)), None)
        self._stream = unpack(stream) if unpack else stream
        self._last = b""

    def read(self, size: int) -> bytes:
        try:
            data: bytes = self._stream.read(size)
        except (lzma.LZMAError, zlib.error, EOFError, OSError) as error:
            raise tarfile.ReadError(str(error)) from error
        self._last = (self._last + data)[-tarfile.BLOCKSIZE:]
        return data

    def check_end(self, archive: tarfile.TarFile) -> None:
        """Check that the archive ends with at least one block of zeros."""
        while rest := archive.fileobj.read(1 << 16):
            if rest.strip(b"\0"):
                raise tarfile.ReadError("a header in the middle is damaged")
        if self._last != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError("the end is missing")


def _import_tar(project: Project, stream: IO[bytes], key: str, label: str) -> Base:
    """Feed a tar stream to git fast-import; on an error nothing remains."""
    ref = f"refs/heads/incoming-{key}"
    importer = subprocess.Popen(
        ["git", "-c", "core.compression=1", "fast-import", "--quiet", "--force", "--done"],
        cwd=project.pristine, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, **PLAIN_GIT})
    assert importer.stdin and importer.stderr
    progress = NamedProgress(label, unit="files")
    try:
        unpacked = _Unpacked(stream)
        with tarfile.open(fileobj=unpacked, mode="r|") as archive:  # type: ignore[call-overload]
            count = _feed(archive, importer.stdin, ref, progress)
            unpacked.check_end(archive)
            importer.stdin.write(b"done\n")
        importer.stdin.close()
        output = importer.stderr.read().decode(errors="replace")
        if importer.wait():
            raise ToolError(disk_full(project.cache) if NO_SPACE in output
                             else f"git fast-import: {output.strip().splitlines()[0]}")
    except BrokenPipeError as error:
        output = importer.stderr.read().decode(errors="replace")
        raise ToolError(disk_full(project.cache) if NO_SPACE in output
                         else f"git fast-import stopped: {output.strip()[:200]}") from error
    finally:
        if importer.poll() is None:
            importer.kill()
            importer.wait()
        # what is left in its buffer is for nobody
        with contextlib.suppress(OSError):
            importer.stdin.close()
        for left in (project.pristine / "objects" / "pack").glob("tmp_pack_*"):
            left.unlink(missing_ok=True)
        for left in project.pristine.glob("fast_import_crash_*"):
            left.unlink(missing_ok=True)
    base = _commit_tree(project, git_out(project.pristine, "rev-parse", f"{ref}^{{tree}}"), key)
    git(project.pristine, "update-ref", "-d", ref)
    progress.finish(f"linux {base.version}, {count:,} files")
    return base


def _feed(archive: tarfile.TarFile, out: IO[bytes], ref: str, progress: NamedProgress) -> int:
    out.write(f"commit {ref}\ncommitter x <x> 0 +0000\ndata 0\ndeleteall\n".encode())
    count = 0
    for member in archive:
        # the archive's single top folder is not part of the source
        name = member.name.removeprefix("./").partition("/")[2]
        if not name:
            continue
        if member.issym():
            data, mode = member.linkname.encode(), "120000"
        elif member.isfile():
            content = archive.extractfile(member)
            assert content
            data, mode = content.read(), "100755" if member.mode & 0o100 else "100644"
        else:
            continue
        quoted = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
        out.write(f"M {mode} inline {quoted}\ndata {len(data)}\n".encode())
        out.write(data)
        out.write(b"\n")
        count += 1
        progress.update(count)
    return count


# --- Debian's package --------------------------------------------------------


def _from_debian(project: Project, package: str, suite: str, refresh: bool) -> Base:
    record = project.cache / f"{package}.json"
    if record.is_file() and not refresh:
        known = json.loads(record.read_text())
        if base := _known(project, f"debian-{known['sha256']}"):
            return base
    if not shutil.which("apt-get"):
        raise ToolError(f"apt is not installed, so {package} cannot be downloaded: {SET_KERNEL}")
    if not KEYRING.is_file():
        raise ToolError(f"{KEYRING} does not exist: install debian-archive-keyring, or {SET_KERNEL}")
    with tempfile.TemporaryDirectory(dir=project.cache, prefix="apt-") as work:
        apt = Apt(Path(work))
        deb, sha256 = apt.package(package, suite, project.cache)
    key = f"debian-{sha256}"
    base = _known(project, key)
    if base is None:
        need_space(project.cache, 700, "unpacking the source")
        base = unpack_deb(project, deb, key, package)
    write_if_changed(record, json.dumps({"package": deb.name, "sha256": sha256,
                                         "commit": base.commit}, indent=1).encode())
    return base


def unpack_deb(project: Project, deb: Path, key: str, package: str) -> Base:
    with _tarball_of(deb, package) as stream:
        try:
            return _import_tar(project, stream, key, f"unpack {deb.name}")
        except tarfile.TarError as error:
            deb.unlink(missing_ok=True)
            raise ToolError(f"{deb.name} is damaged ({error}) and was removed; "
                             "run it again to download it again") from error


@contextlib.contextmanager
def _tarball_of(deb: Path, package: str) -> Iterator[IO[bytes]]:
    """The source tarball inside the package, as a stream."""
    unpack = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert unpack.stdout
    try:
        with tarfile.open(fileobj=unpack.stdout, mode="r|") as outer:
            for member in outer:
                if re.fullmatch(rf"\./usr/src/{re.escape(package)}\.tar\.\w+", member.name):
                    inner = outer.extractfile(member)
                    assert inner
                    yield inner
                    return
        raise ToolError(f"{deb.name}: no {package}.tar inside; {SET_KERNEL}")
    except tarfile.TarError as error:
        raise ToolError(f"{deb.name}: cannot be read ({error}); remove {deb} and "
                         "run it again") from error
    finally:
        unpack.stdout.close()
        unpack.kill()
        unpack.wait()


class Apt:
    """apt with its own lists and caches; those of the machine are not changed."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.sources = work / "sources.list"
        for folder in ("lists/partial", "cache/archives/partial"):
            (work / folder).mkdir(parents=True)

    def _command(self, program: str, *args: str) -> list[str]:
        options = {
            "Dir::Etc::sourcelist": self.sources,
            "Dir::Etc::sourceparts": "-",
            "Dir::Etc::preferences": "-",
            "Dir::Etc::preferencesparts": "-",
            "Dir::State::lists": self.work / "lists",
            "Dir::Cache": self.work / "cache",
            "APT::Sandbox::User": "",
            "APT::Update::Error-Mode": "any",
            "Acquire::Retries": "2",
            "Acquire::Languages": "none",
        }
        flags = [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
        return [program, *flags, *args]

    def _apt(self, program: str, *args: str) -> subprocess.CompletedProcess[str]:
        return run(self._command(program, *args), cwd=self.work, check=False, env={"LC_ALL": "C"})

    def package(self, package: str, suite: str, keep: Path) -> tuple[Path, str]:
        """Download the package, unless `keep` has it; returns its path and SHA-256."""
        mirrors = mirrors_of_this_machine()
        if not mirrors:
            raise ToolError("apt's configuration has no Debian mirror to download "
                             f"{package} from; {SET_KERNEL}")
        self._update(mirrors, package, suite)
        name, sha256, size = self._newest(package, suite)
        deb = keep / name
        if deb.is_file() and _sha256(deb) == sha256:
            return deb, sha256
        need_space(keep, size // 2**20 + 50, f"downloading {package}")
        progress = NamedProgress(f"download {name} ({size // 2**20} MiB)", size)
        code, output = self._download(package, progress)
        if code:
            raise ToolError(explain_apt(output, package, suite, keep))
        loaded = next(self.work.glob(f"{package}_*.deb"), None)
        if loaded is None:
            raise ToolError(f"apt-get download {package}: no file was written; run it again")
        if _sha256(loaded) != sha256:
            raise ToolError(f"{name}: damaged download: its SHA-256 is not the signed one; "
                             "run it again")
        loaded.replace(deb)
        for old in keep.glob(f"{package}_*.deb"):
            if old != deb:
                old.unlink()
        progress.finish()
        return deb, sha256

    def _download(self, package: str, progress: NamedProgress) -> tuple[int, str]:
        """Download into the work folder; returns apt's exit code and its messages."""
        with (self.work / "download.log").open("w+") as output:
            loading = subprocess.Popen(self._command("apt-get", "download", package),
                                       cwd=self.work, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=output,
                                       env={**os.environ, "LC_ALL": "C"})
            try:
                while loading.poll() is None:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        loading.wait(0.2)
                    progress.update(sum(path.stat().st_size
                                        for path in self.work.glob(f"{package}_*")))
            finally:
                loading.kill()
                loading.wait()
            output.seek(0)
            return loading.returncode, output.read()

    def _update(self, mirrors: Iterable[str], package: str, suite: str) -> None:
        output = ""
        for mirror in mirrors:
            self.sources.write_text(f"deb [signed-by={KEYRING}] {mirror} {suite} main\n")
            done = self._apt("apt-get", "update")
            if done.returncode == 0:
                return
            output = output or done.stderr
        raise ToolError(explain_apt(output, package, suite, self.work))

    def _newest(self, package: str, suite: str) -> tuple[str, str, int]:
        shown = self._apt("apt-cache", "show", "--no-all-versions", package)
        fields = dict(re.findall(r"^(\S+): (.*)$", shown.stdout, re.M))
        if shown.returncode or not {"Filename", "SHA256", "Size"} <= fields.keys():
            raise ToolError(explain_apt(f"Unable to locate package {package}", package, suite,
                                         self.work))
        name = Path(fields["Filename"]).name
        return name, fields["SHA256"], int(fields["Size"])


def mirrors_of_this_machine() -> list[str]:
    """The archives in apt's configuration that may be Debian's."""
    listed = run(["apt-get", "indextargets", "--format",
                  "$(REPO_URI) $(ORIGIN) $(CODENAME)"], check=False).stdout
    known = [line.split() for line in listed.splitlines()]
    mirrors = [words[0] for words in known
               if len(words) == 3 and words[1] == "Debian" and "security" not in words[2]]
    # works on a machine without downloaded lists, too
    planned = run(["apt-get", "update", "--print-uris"], check=False).stdout
    for uri, suite in re.findall(r"^'(\S+?/)dists/(\S+)/InRelease'", planned, re.M):
        if "security" not in suite and uri.rstrip("/").endswith("debian"):
            mirrors.append(uri)
    return list(dict.fromkeys(mirrors))


def explain_apt(output: str, package: str, suite: str, where: Path) -> str:
    """apt's messages as one line that names the fix."""
    if NO_SPACE in output or "not enough free space" in output:
        return disk_full(where)
    if re.search(r"Hash Sum mismatch|unexpected size|corrupted", output, re.I):
        return f"{package}: damaged download (apt: hash or size mismatch); run it again"
    if re.search(r"NO_PUBKEY|not signed|EXPKEYSIG|BADSIG|signatures? (?:couldn't|were)", output):
        return (f"{suite}: apt cannot check its signature; update debian-archive-keyring, "
                f"or {SET_KERNEL}")
    if re.search(r"Temporary failure|Could not resolve|Could not connect|Connection (?:failed|"
                 r"refused|timed out)|Network is unreachable|Unable to connect", output):
        return f"no network: the Debian mirror of this machine does not respond; connect, or {SET_KERNEL}"
    if re.search(r"Unable to locate|No packages found|404|does not have a Release", output):
        return (f"no package {package} in {suite} on the Debian mirror of this machine; "
                f"{SET_KERNEL}")
    errors = [line for line in output.splitlines() if line.startswith(("E:", "W:"))]
    return f"apt: {(errors or ['no message'])[0]}; or {SET_KERNEL}"
