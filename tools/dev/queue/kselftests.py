# SPDX-License-Identifier: GPL-2.0
"""Checks the shell scripts of the kselftests at one commit: syntax, and that all called functions exist."""

from __future__ import annotations

import re
from pathlib import Path

from .common import git_out, run

# The queue's folders below BELOW. The scripts of NAME share NAME_common.sh, whose functions begin
# with NAME_.
KSELFTESTS = ("blktrace", "cfq", "null_blk")
BELOW = "tools/testing/selftests"
COMMENT = re.compile(r"(?:^|\s)#.*$", re.MULTILINE)


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
