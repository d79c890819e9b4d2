# SPDX-License-Identifier: GPL-2.0
"""Replays the lists on both sides of the comparison: DiskSim, and the kernel's model in virtual time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from tools.testbed.disk.errors import DiskError
from tools.testbed.vm import uml

from . import demerit, derive, parameters, simulator
from .lists import LISTS, Request, kinds

# Drives with measured seek times. The model's read-ahead goes on until a segment is full; DiskSim says
# of the first that theirs does so, too (Buffer continuous read = 3), and of the others that it ends
# with a track, which the model has not.
DRIVES = ("barracuda", "cheetah4LP", "hp_c2490a", "ibm18es")
OTHERS = ("atlas10k", "atlas_III", "cheetah9LP", "dec_rz26")
LIMIT_S = 600
IN_GUEST = 'python3 -m tools.testbed.disk.judge.guest "$OUT"'


@dataclass(frozen=True)
class Times:
    """Response times of one drive and list, in nanoseconds, in the order of the requests."""

    drive: str
    requests: str
    kinds: Sequence[str]
    model: Sequence[int]
    judge: Sequence[int]

    def verdict(self) -> demerit.Verdict:
        return demerit.verdict(self.drive, self.requests, self.model, self.judge)

    def by_kind(self) -> list[demerit.Verdict]:
        """The same for each kind of request in the list."""
        return [demerit.verdict(self.drive, f"{self.requests}: {wanted}",
                                [ns for ns, kind in zip(self.model, self.kinds, strict=True) if kind == wanted],
                                [ns for ns, kind in zip(self.judge, self.kinds, strict=True) if kind == wanted])
                for wanted in sorted(set(self.kinds))]


def capacity(drive: parameters.Drive) -> int:
    """Sectors that both sides have: the model's size is in MiB."""
    return int(derive.preset(drive)["size"]) * derive.MIB // derive.SECTOR


def modelled(attributes: Mapping[str, str], lists: Mapping[str, Sequence[Request]],
             kernel: Path) -> dict[str, list[int]]:
    """Response times of the kernel's model, in a guest of its own."""
    with uml.scratch() as folder:
        job = {"attributes": dict(attributes),
               "lists": {name: [astuple(request) for request in requests] for name, requests in lists.items()}}
        (folder / "job.json").write_text(json.dumps(job))
        console = uml.run_commands(f"{IN_GUEST} > $OUT/said 2>&1", folder, kernel, LIMIT_S)
        try:
            times: dict[str, list[int]] = json.loads((folder / "times.json").read_text())
        except FileNotFoundError:
            said = (folder / "said").read_text().strip().splitlines() or console.strip().splitlines()
            raise DiskError(f"the guest left no times: {said[-1] if said else 'it said nothing'}") from None
        return times


def judge(names: Sequence[str], disksim: Path, kernel: Path, progress: Callable[[str], None],
          more: Sequence[tuple[str, str]] = ()) -> list[Times]:
    """The response times of both, for each drive and list. @more: parameters that DiskSim is told."""
    found = []
    for name in names:
        drive = parameters.load(name, disksim / "valid")
        lists = {title: make(capacity(drive)) for title, make in LISTS.items()}
        progress(f"{name}: the model")
        model = modelled(derive.preset(drive), lists, kernel)
        for title, requests in lists.items():
            progress(f"{name}: DiskSim, {title}")
            found.append(Times(name, title, kinds(requests), model[title],
                               simulator.replay(disksim, name, requests, more)))
    return found
