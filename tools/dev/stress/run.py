# SPDX-License-Identifier: GPL-2.0
"""Boots a kernel and runs the stress test in it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from tools.base.paths import BUILD, TOOLS
from tools.testbed.vm import build_bwctl, build_static, light_fio, named_kernel, parameters, run

from .knobs import tables
from .result import Outcome, parse_progress, read_outcome, split_reports

GUEST = TOOLS / "dev/stress" / "guest"
PROGRAMS = BUILD / "stress"
FLAVOURS = ("plain", "debug", "kcsan")
PROGRESS_S = 1.0

Report = Callable[[str, int, int], None]


def build_programs() -> None:
    """Build the guest's programs, static: they start often, and their pages stay in memory."""
    for name in ("worker", "knobs"):
        build_static(GUEST / f"{name}.c", PROGRAMS)
    build_bwctl()
    light_fio()


def prepare(out: Path, flavour: str) -> None:
    """Prepare the guest's folder, and remove the files of an earlier run."""
    for name in ("counts", "tables", "programs"):
        shutil.rmtree(out / name, ignore_errors=True)
    for name in ("progress", "exits", "end", "kmemleak"):
        (out / name).unlink(missing_ok=True)
    (out / "tables").mkdir(parents=True)
    (out / "programs").mkdir()
    for name, table in tables(flavour == "debug").items():
        (out / "tables" / name).write_text(table.text(1 if flavour == "plain" else 3))
    for path in (PROGRAMS / "worker", PROGRAMS / "knobs", BUILD / "bwctl/bwctl"):
        shutil.copy(path, out / "programs")


class _ProgressReader(threading.Thread):
    """Reports the guest's progress while it runs."""

    def __init__(self, path: Path, report: Report) -> None:
        super().__init__(daemon=True)
        self.path, self.report = path, report
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(PROGRESS_S):
            if found := parse_progress(self.path):
                self.report(*found)


def run_stress(flavour: str, seconds: int, seed: int, out: Path, *, image: Path | None = None,
               report: Report | None = None) -> Outcome:
    """Run once; errors are in the outcome."""
    build_programs()
    out.mkdir(parents=True, exist_ok=True)
    prepare(out, flavour)
    slow = 1 if flavour == "plain" else 3
    reader = _ProgressReader(out / "progress", report or (lambda *_: None))
    reader.start()
    try:
        # more than the run time: for boot, end and final checks
        result = run(str(GUEST / "run"), flavour=flavour, kernel=image or named_kernel(flavour), cpus=2,
                     memory="1G" if flavour == "plain" else "1500M",
                     timeout=seconds / 0.9 + 600 * slow, out=out, append=parameters(flavour),
                     env={"FLAVOUR": flavour, "SECONDS_TO_RUN": str(seconds), "SEED": str(seed)})
    finally:
        reader.ended.set()
        reader.join()
    outcome = Outcome(seed, flavour, result.seconds)
    outcome.reports, outcome.foreign_races = split_reports(result.reports)
    read_outcome(out, outcome)
    if result.exit_code != 0 and not outcome.wrong:
        outcome.wrong.append(result.why().splitlines()[-1] if result.why() else "the guest failed")
    shutil.rmtree(out / "programs", ignore_errors=True)
    return outcome
