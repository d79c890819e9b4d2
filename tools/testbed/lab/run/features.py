# SPDX-License-Identifier: GPL-2.0
"""What the kernel under test has, asked of a guest."""

from __future__ import annotations

from dataclasses import dataclass

from tools.testbed.vm.uml import Guests, scratch

from . import job


@dataclass(frozen=True)
class Features:
    """What the kernel under test has."""

    release: str
    schedulers: list[str]
    bw: bool
    rotating: bool
    attributes: frozenset[str] = frozenset()  # of null_blk; empty where nobody asked


def probe(guests: Guests) -> Features:
    """Boot a guest and look."""
    with scratch() as folder:
        guests.run(job.probe_text(), {}, folder, "asking the kernel what it has")
        schedulers = (folder / "schedulers").read_text().replace("[", "").replace("]", "").split()
        features = (folder / "features").read_text()
        return Features(
            release=(folder / "release").read_text().strip(),
            schedulers=schedulers,
            bw=(folder / "bw").read_text().strip() == "1",
            rotating="rot/rpm" in features,
            attributes=frozenset(features.replace(",", " ").split()),
        )
