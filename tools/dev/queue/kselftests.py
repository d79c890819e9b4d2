# SPDX-License-Identifier: GPL-2.0
"""The kselftests of the queue: writes them to a folder, and checks their shell scripts at one commit.

usage: python3 -m tools.dev.queue.kselftests FOLDER    write those of patches/ below FOLDER
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.base.paths import ROOT

from .common import PLAIN_GIT, git_out, run

# The queue's folders below BELOW. The scripts of NAME share NAME_common.sh, whose functions begin
# with NAME_.
KSELFTESTS = ("blktrace", "cfq", "null_blk")
BELOW = "tools/testing/selftests"
COMMENT = re.compile(r"(?:^|\s)#.*$", re.MULTILINE)


def write_added(folder: Path, names: Sequence[str]) -> None:
    """Write files that the patches add below @folder, which may lie in a checkout. @names: patterns of git apply."""
    folder.mkdir(parents=True, exist_ok=True)
    run(["git", "apply", *(f"--include={name}" for name in names), *sorted((ROOT / "patches").glob("[0-9]*.patch"))],
        cwd=folder, env=PLAIN_GIT | {"GIT_CEILING_DIRECTORIES": str(folder.resolve().parent)})


def extract(folder: Path) -> Path:
    """Write the kselftests of the patches below @folder; the folder of their targets."""
    write_added(folder, [f"{BELOW}/{name}/*" for name in KSELFTESTS])
    return folder / BELOW


def shell_problems(linux: Path, commit: str) -> list[str]:
    """Scripts with syntax errors, and calls of functions that a later commit adds."""
    return [problem for folder in KSELFTESTS for problem in folder_problems(linux, commit, folder)]


def folder_problems(linux: Path, commit: str, folder: str) -> list[str]:
    path = f"{BELOW}/{folder}"
    names = [Path(name).name for name in git_out(linux, "ls-tree", "--name-only", commit, f"{path}/").splitlines()]
    texts = {name: git_out(linux, "show", f"{commit}:{path}/{name}") + "\n"
             for name in names if name.endswith(".sh")}
    defined = re.compile(rf"^({folder}_\w+)\(\)", re.MULTILINE)
    word = re.compile(rf"\b{folder}_\w+")
    # what the folder has of files is a program, or a script that is read
    files = {Path(name).stem for name in names}
    common = set(defined.findall(texts.get(f"{folder}_common.sh", "")))
    wrong = []
    for name, text in texts.items():
        output = run(["bash", "-n"], check=False, input_text=text).stderr.splitlines()
        wrong += [f"{name}: {line.removeprefix('bash: ')}" for line in output[:1]]
        calls = set(word.findall(COMMENT.sub("", text)))
        wrong += [f"{name}: {call}() is not defined"
                  for call in sorted(calls - files - common - set(defined.findall(text)))]
    return wrong


if __name__ == "__main__":
    print(extract(Path(sys.argv[1])))
