# SPDX-License-Identifier: GPL-2.0
"""Results of runs, kept by all that a run depends on: an identical run is not made again.

`DIR/KEY.json` is the result of one run. The key is a digest of its inputs; a run begins again exactly if one of them
has changed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, TypedDict, cast

from tools.base.files import sha256, write_json
from tools.base.paths import TOOLS
from tools.testbed.vm.uml import Guests

from ..model.results import CellResult
from . import job
from .features import Features, probe
from .job import Run
from .plan import Plan

# The code that reduces a guest's records to results.
REDUCING = tuple(TOOLS / "testbed/lab/run" / name for name in ("stats.py", "runner.py"))
# Of the guest's environment; what is at the first is among the inputs, the second a guest does not see.
PATHS = ("LD_PRELOAD", "TMPDIR")


class Inputs(TypedDict):
    """All that decides what comes out of a run; files as digests of SHA-256."""

    kernel: str  # code, configuration and compiler, or the image itself
    load_generator: str
    random_numbers: str  # the library that is preloaded, and its seed
    command_line: list[str]  # the guest's memory is in it
    environment: dict[str, str]  # of the guest
    programs: dict[str, str]  # of the host that the job runs
    job: str  # disk, scheduler, files, streams
    lists: dict[str, str]  # files that the job names
    reducing: str


def inputs_of(plan: Plan, run: Run, guests: Guests) -> Inputs:
    """What a run of a plan depends on."""
    text = job.job_text(plan.scenario, plan.disk, run, plan.features.bw, None)
    programs = {line.split()[1] for line in text.splitlines() if line.startswith("run ")}
    return {
        "kernel": guests.kernel_id(),
        "load_generator": sha256(guests.init),
        "random_numbers": f"{sha256(guests.preload)} {guests.seed}",
        "command_line": guests.command()[1:],
        "environment": {name: value for name, value in guests.environment(guests.seed).items() if name not in PATHS},
        "programs": {name: sha256(Path(name)) for name in sorted(programs)},
        "job": text,
        "lists": {str(n): "\n".join(s.list_lines) for n, s in enumerate(run.streams) if s.list_lines},
        "reducing": sha256(*REDUCING),
    }


def key_of(inputs: Any) -> str:
    """The name of a result."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:32]


class Cache:
    """A folder of results. With @again nothing in it is used, and all is replaced."""

    def __init__(self, folder: Path, again: bool = False) -> None:
        self.folder = folder
        self.again = again

    def path(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def get(self, key: str) -> CellResult | None:
        """The result, if it is there and whole."""
        if self.again:
            return None
        try:
            return cast(CellResult, json.loads(self.path(key).read_text()))
        except (OSError, ValueError):
            return None

    def put(self, key: str, cell: CellResult) -> None:
        write_json(self.path(key), cell)

    def features(self, guests: Guests) -> Features:
        """What the kernel has: asked once of each kernel."""
        path = self.path(key_of({"features": guests.kernel_id(), "init": sha256(guests.init),
                                 "probe": job.probe_text()}))
        try:
            kept = json.loads(path.read_text())
            return Features(**kept | {"attributes": frozenset(kept["attributes"])})
        except (OSError, ValueError, TypeError, KeyError):
            found = probe(guests)
        write_json(path, vars(found) | {"attributes": sorted(found.attributes)})
        return found
