# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of runs: traced here, drawn by blkviz, made small."""

import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import run
from .errors import EXIT_USAGE, LabError
from .guest import Features, Guests, scratch

BLKVIZ = Path(__file__).resolve().parents[2] / "blkviz" / "blkviz"
COLOURS = 48


@dataclass(frozen=True)
class Picture:
    """One entry of the list; `start` and `end` are seconds of the run."""

    name: str
    scenario: str
    run: str
    title: str
    start: float
    end: float
    processes: list[str] = field(default_factory=list)


def load(path: Path, named: list[str]) -> list[Picture]:
    try:
        table = tomllib.loads(path.read_text())
        found = [Picture(**entry) for entry in table["picture"]]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise LabError(f"{path}: {error}", EXIT_USAGE) from None
    unknown = set(named) - {picture.name for picture in found}
    if unknown:
        raise LabError(f"no picture '{min(unknown)}' in {path}", EXIT_USAGE)
    return [picture for picture in found if not named or picture.name in named]


def make(picture: Picture, plan: run.Plan, features: Features, guests: Guests, out: Path) -> str:
    """Trace the run and draw it; the name of the file."""
    (cell,) = plan.cells
    with scratch() as folder:
        run.run_cell(plan, cell, features, guests, folder)
        (trace,) = folder.iterdir()
        drawn = folder / "picture.png"
        # the trace begins a second before the streams do
        command: list[Any] = [sys.executable, BLKVIZ, trace, "--title", picture.title, "--png", drawn]
        command += ["--from", picture.start + 1, "--to", picture.end + 1]
        for process in picture.processes:
            command += ["--process", process]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise LabError(f"{picture.name}: {done.stderr.strip().splitlines()[-1]}")
        target = out / f"{picture.name}.png"
        partial = target.with_name(f".{target.name}.{os.getpid()}")
        _shrink(drawn, partial)
        partial.replace(target)
    return target.name


def _shrink(drawn: Path, target: Path) -> None:
    """Few colours make a small file."""
    from PIL import Image

    with Image.open(drawn) as image:
        image.convert("RGB").quantize(COLOURS).save(target, format="PNG", optimize=True)


def of_scenario(name: str, path: Path, folder: Path) -> list[tuple[str, Path]]:
    """Title and file of the pictures of a scenario that have been made."""
    return [
        (picture.title, folder / f"{picture.name}.png")
        for picture in load(path, [])
        if picture.scenario == name and (folder / f"{picture.name}.png").exists()
    ]
