# SPDX-License-Identifier: GPL-2.0
"""Replays the lists of requests with DiskSim, and with the kernel's model in virtual time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from tools.testbed.disk.errors import DiskError
from tools.testbed.vm import uml

from . import demerit, derive, parameters, simulator
from .lists import LISTS, Request, kinds

# Drives with measured seek times. Like the model, the first ones read ahead until a segment of the
# cache is full (Buffer continuous read = 3). The others stop at the end of a track, which the model
# does not support.
DRIVES = ("barracuda", "cheetah4LP", "hp_c2490a", "ibm18es")
OTHERS = ("atlas10k", "atlas_III", "cheetah9LP", "dec_rz26")
LIMIT_S = 600
IN_GUEST = 'python3 -m tools.testbed.disk.validation.guest "$OUT"'


@dataclass(frozen=True)
class Times:
    """Response times of one drive and list, in nanoseconds, in the order of the requests."""

    drive: str
    requests: str
    kinds: Sequence[str]
    model: Sequence[int]
    disksim: Sequence[int]

    def verdict(self) -> demerit.Verdict:
        return demerit.verdict(self.drive, self.requests, self.model, self.disksim)

    def by_kind(self) -> list[demerit.Verdict]:
        """The comparison for each kind of request of the list."""
        return [demerit.verdict(self.drive, f"{self.requests}: {wanted}",
                                [ns for ns, kind in zip(self.model, self.kinds, strict=True) if kind == wanted],
                                [ns for ns, kind in zip(self.disksim, self.kinds, strict=True) if kind == wanted])
                for wanted in sorted(set(self.kinds))]


def capacity(drive: parameters.Drive) -> int:
    """The sectors that drive and model have: the model's size is in MiB."""
    return int(derive.preset(drive)["size"]) * derive.MIB // derive.SECTOR


def modelled(attributes: Mapping[str, str], lists: Mapping[str, Sequence[Request]],
             kernel: Path) -> dict[str, list[int]]:
    """The response times of the kernel's model, in a guest."""
    with uml.scratch() as folder:
        job = {"attributes": dict(attributes),
               "lists": {name: [astuple(request) for request in requests] for name, requests in lists.items()}}
        (folder / "job.json").write_text(json.dumps(job))
        console = uml.run_commands(f"{IN_GUEST} > $OUT/output 2>&1", folder, kernel, LIMIT_S)
        try:
            times: dict[str, list[int]] = json.loads((folder / "times.json").read_text())
        except FileNotFoundError:
            output = (folder / "output").read_text().strip().splitlines() or console.strip().splitlines()
            raise DiskError(f"the guest wrote no times: {output[-1] if output else 'no output'}") from None
        return times


def replay_both(names: Sequence[str], disksim: Path, kernel: Path, progress: Callable[[str], None],
                more: Sequence[tuple[str, str]] = ()) -> list[Times]:
    """The response times of both, for each drive and list. @more: changed parameters of DiskSim."""
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
