# SPDX-License-Identifier: GPL-2.0
"""Where processes read and what they get there: equal time is not equal bytes. After figure 2.14 of Lunde (2009)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tools.base import plots
from tools.testbed.disk.characteristics import Characteristics
from tools.user.blkviz.tables import Process, Requests

from ..model.units import MIB, NSEC_PER_SEC

MB = 10**6


class Place(NamedTuple):
    """@cylinder: of the first block; @mib_s: MiB a second; @time: of the drive, per cent"""

    name: str
    cylinder: int
    mib_s: float
    time: float


def places(requests: Requests, processes: Sequence[Process], disk: Characteristics, start_ns: int,
           seconds: float) -> list[Place]:
    """Of processes, by their requests that complete within so many seconds, the outermost first.

    The drive's time is from each completion to the next, and belongs to the request that completes.
    """
    done = np.flatnonzero(requests.finished() & (requests.length > 0))
    done = done[np.argsort(requests.completed[done], kind="stable")]
    ended = (requests.completed[done] - start_ns) / NSEC_PER_SEC
    begun = np.maximum(np.concatenate(([0.0], ended[:-1])), (requests.dispatched[done] - start_ns) / NSEC_PER_SEC)
    within = (ended > 0) & (ended <= seconds)
    made = []
    for process in processes:
        own = requests.pid[done] == process.pid
        if own.any():
            taken, length = (ended - begun)[own & within].sum(), requests.length[done][own & within].sum()
            made.append(Place(process.name, disk.cylinder(int(requests.sector[done][own].min())),
                              float(length) / MIB / seconds, 100 * float(taken) / seconds))
    return sorted(made, key=lambda place: place.cylinder)


def drawn(found: Sequence[Place], disk: Characteristics, title: str, path: Path) -> bytes:
    """What a picture file of that name is to hold: each process at its cylinder, and what the disk has there."""
    pyplot = plots.load("places", {"font.size": 7})
    figure, axes = pyplot.subplots(figsize=(6, 2.6), layout="constrained")
    edges = [*(zone.cylinder for zone in disk.zones), disk.cylinders]
    axes.stairs([zone.mbps * MB / MIB for zone in disk.zones], edges, baseline=None, color="#999999",
                label="one reader alone")
    top = max(zone.mbps for zone in disk.zones) * MB / MIB
    axes.vlines([place.cylinder for place in found], 0, [place.mib_s for place in found], color="#2166ac", linewidth=3)
    for number, place in enumerate(found):
        # one above the other, for neighbours are near
        axes.annotate(f"{place.name}: {place.mib_s:.1f} MiB/s, {place.time:.0f}% of the time",
                      (place.cylinder, place.mib_s), xytext=(12, 8 + 11 * (len(found) - 1 - number)),
                      textcoords="offset points", arrowprops={"arrowstyle": "-", "linewidth": 0.5, "relpos": (0, 0.5)})
    axes.set_xlim(0, disk.cylinders * 1.04)
    axes.set_ylim(0, top * 1.1)
    axes.set_xlabel("cylinder, from the outer edge")
    axes.set_ylabel("MiB/s")
    axes.set_title(title, fontsize=8)
    axes.legend(fontsize=6, loc="upper right")
    return plots.drawn(pyplot, figure, path)
