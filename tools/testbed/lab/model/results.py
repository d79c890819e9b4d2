# SPDX-License-Identifier: GPL-2.0
"""What results are made of, as they stand in JSON, and reading them back; README.md says what the keys mean."""

import json
from pathlib import Path
from typing import Literal, NotRequired, TypedDict, cast

from tools.base.cli import EXIT_USAGE, ToolError

SCHEMA = 1


class ProcessResult(TypedDict):
    """One stream of a run."""

    name: str
    group: str
    kind: str
    op: str
    priority: str
    regions: list[list[int]]
    start_ns: int
    bytes: int
    bytes_per_s: float
    own_bytes_per_s: float
    reads: int
    latency_ns: dict[str, int]
    histogram: list[int]
    operations_sha256: str
    # with deadlines
    deadline_ns: NotRequired[int]
    met_percent: NotRequired[float]
    # of those with a pace
    expected: NotRequired[int]
    misses: NotRequired[int]
    # with a buffer
    lost: NotRequired[int]
    # of a tree
    files_per_s: NotRequired[float]


class CellResult(TypedDict):
    """One run."""

    name: str
    config: str
    scheduler: str
    depth: int
    vary: dict[str, str]
    policy: str
    fallback: bool
    status: Literal["ok", "needs-bw", "failed"]
    processes: list[ProcessResult]
    # of a run that is ok
    queue: NotRequired[dict[str, str]]
    commands: NotRequired[dict[str, float]]  # sizes of the drive's commands, by metric
    deadlines: NotRequired[dict[str, float]]  # of requests with a reservation, by metric: cfq's own counters
    bytes_each_second: NotRequired[dict[str, list[int]]]
    # of one that failed
    error: NotRequired[str]
    # of a committed record, which has no processes: figures by their names (run/figures.py)
    figures: NotRequired[dict[str, float | None]]


class Verdict(TypedDict):
    """What became of an expectation."""

    says: str
    status: Literal["pass", "fail", "needs-bw", "not-run"]
    detail: str


class KernelResult(TypedDict):
    """The kernel of all runs."""

    release: str
    bw: bool
    schedulers: list[str]
    patches: NotRequired[str]  # the hash of what they leave; results of before have none
    without_cfq: NotRequired[bool]  # other schedulers ran on a kernel without cfq and bandwidth
    oldsched: NotRequired[str]  # of what those of patches/oldsched leave, where the kernel has their schedulers


class DiskResult(TypedDict):
    """The disk of all runs."""

    preset: str
    attributes: dict[str, str]


class Result(TypedDict):
    """A scenario's runs."""

    schema: int
    scenario: str
    title: str
    kernel: KernelResult
    disk: DiskResult
    seed: int
    duration_ns: int
    digest: str  # Scenario.digest
    cells: list[CellResult]
    expect: list[Verdict]


class CrosscheckRow(TypedDict):
    """A figure in virtual and in real time."""

    what: str
    virtual: float
    real: float
    percent: float


class CrosscheckResult(TypedDict):
    """How far both are apart."""

    scenario: str
    about: str
    clock: Literal["real", "icount"]
    limit_percent: float
    status: Literal["pass", "fail"]
    rows: list[CrosscheckRow]


def load_result(path: Path) -> Result:
    try:
        result = json.loads(path.read_text())
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}", EXIT_USAGE) from None
    except ValueError:
        raise ToolError(f"{path}: not a result of `lab run` (no JSON)", EXIT_USAGE) from None
    if not isinstance(result, dict) or result.get("schema") != SCHEMA:
        raise ToolError(f"{path}: not a result of this version of lab", EXIT_USAGE)
    return cast(Result, result)
