# SPDX-License-Identifier: GPL-2.0
"""Pictures of runs: traced here, drawn by blkviz, made small."""

import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from tools.base import plots
from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.files import write_whole
from tools.base.paths import TOOLS
from tools.testbed.disk import characteristics
from tools.testbed.vm.uml import Guests, scratch

from ..model.units import NSEC_PER_SEC
from ..run import runner
from ..run.plan import Plan

LIST = Path(__file__).resolve().with_name("pictures.toml")
BLKVIZ = TOOLS / "user/blkviz" / "blkviz"
BEFORE_S = 1  # the trace begins so long before the streams do


@dataclass(frozen=True)
class Picture:
    """One entry of the list; `start` and `end` are seconds of the run.

    @oldsched: it wants a kernel with patches/oldsched
    @places: where the processes read and what they get, in place of blkviz's picture
    """

    name: str
    scenario: str
    run: str
    title: str
    start: float
    end: float
    processes: list[str] = field(default_factory=list)
    oldsched: bool = False
    places: bool = False


def load(path: Path, named: list[str]) -> list[Picture]:
    try:
        table = tomllib.loads(path.read_text())
        found = [Picture(**entry) for entry in table["picture"]]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise ToolError(f"{path}: {error}", EXIT_USAGE) from None
    unknown = set(named) - {picture.name for picture in found}
    if unknown:
        raise ToolError(f"no picture '{min(unknown)}' in {path}", EXIT_USAGE)
    return [picture for picture in found if not named or picture.name in named]


def make(picture: Picture, plan: Plan, guests: Guests, out: Path) -> str:
    """Trace the run and draw it; the name of the file."""
    (traced,) = plan.runs
    with scratch() as folder:
        runner.run_cell(plan, traced, guests, folder)
        (trace,) = folder.iterdir()
        drawn = folder / "picture.png"
        if picture.places:
            write_whole(drawn, _of_places(picture, plan, trace, drawn))
        else:
            _draw(picture, trace, drawn)
        target = out / f"{picture.name}.png"
        write_whole(target, plots.few_colours(drawn.read_bytes()))
    return target.name


def _draw(picture: Picture, trace: Path, drawn: Path) -> None:
    command: list[str | Path] = [BLKVIZ, trace, "--title", picture.title, "--png", drawn]
    command += ["--from", str(picture.start + BEFORE_S), "--to", str(picture.end + BEFORE_S)]
    for process in picture.processes:
        command += ["--process", process]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(f"{picture.name}: {done.stderr.strip().splitlines()[-1]}")


def _of_places(picture: Picture, plan: Plan, trace: Path, drawn: Path) -> bytes:
    from tools.user.blkviz import model, trace_files

    from . import places

    disk = characteristics.compute(plan.disk.attributes)
    found = model.build(*trace_files.read([str(trace)]))
    shown = [process for process in found.processes if process.name in picture.processes]
    begin_ns = found.start + int((picture.start + BEFORE_S) * NSEC_PER_SEC)
    return places.drawn(places.places(found.requests, shown, disk, begin_ns, picture.end - picture.start), disk,
                        picture.title, drawn)


def of_scenario(name: str) -> list[tuple[str, str]]:
    """Title and name of the pictures of a scenario."""
    return [(picture.title, picture.name) for picture in load(LIST, []) if picture.scenario == name]
