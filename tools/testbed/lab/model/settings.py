# SPDX-License-Identifier: GPL-2.0
"""What a disk's queue is set to, whatever its scheduler: as published, as Linux does, or as this project recommends."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tools.base.paths import ROOT
from tools.testbed.disk.presets import MAX_SECTORS
from tools.testbed.disk.transports import TRANSPORTS

from .errors import BadValue

RULES = ROOT / "configs" / "udev" / "90-cfq.rules"

Name = Literal["published", "linux", "recommended"]
_SET = re.compile(r'ATTR\{queue/(\w+)\}="(\w+)"')


@dataclass(frozen=True)
class QueueSettings:
    """Settings of a disk that are the same under each scheduler."""

    attributes: Mapping[str, str] = field(default_factory=dict)  # of null_blk
    queue: Mapping[str, str] = field(default_factory=dict)  # files of queue/, in the order of writing


# The kernel lets nr_requests be set to no less. A drive without command queueing has 2 tags: there each scheduler keeps
# the number that the kernel gives it.
LEAST_NR_REQUESTS = 4

# 512 KiB a command, and tags for any load: the legacy queue had 128 for reads and 128 for writes.
PUBLISHED = QueueSettings({"max_sectors": str(MAX_SECTORS)}, {"nr_requests": "256"})


def recommended(rules: Path = RULES) -> dict[str, str]:
    """What the udev rule writes to queue/, but for the scheduler, in its order."""
    lines = [line for line in rules.read_text().splitlines() if not line.startswith("#")]
    return {name: value for line in lines for name, value in _SET.findall(line) if name != "scheduler"}


def of_disk(name: str, transport: str) -> QueueSettings:
    """The settings of a preset's transport. @name: one of Name"""
    if name == "published":
        return PUBLISHED
    if transport not in TRANSPORTS:
        raise BadValue(f"'{name}' needs a disk whose preset names its transport")
    limits = TRANSPORTS[transport]
    queue = {"nr_requests": str(limits.nr_requests)}
    if name == "recommended":
        queue = recommended()
    return QueueSettings(limits.attributes, queue)
