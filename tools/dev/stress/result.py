# SPDX-License-Identifier: GPL-2.0
"""The result of a run, from the guest's files and its kernel's messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.base import text

# KCSAN reports races all over the kernel; these functions are the queue's.
OWN = re.compile(r"\b(?:cfq_|bw_|null_rot_|rot_|blk_trace_vfs|blk_add_trace_vfs|(?:__)?vfs_trace_|ioprio_rank)")
RACE = re.compile(r"BUG: KCSAN: ")


@dataclass
class Action:
    """The number of times that an actor did something, with the result."""

    actor: str
    action: str
    result: str
    count: int

    @property
    def unexpected(self) -> bool:
        return self.result.startswith("unexpected")

    @property
    def is_done(self) -> bool:
        return self.result in ("done", "killed")


@dataclass
class Outcome:
    """The result of a run."""

    seed: int
    flavour: str
    seconds: float
    actions: list[Action] = field(default_factory=list)
    requests: int = 0
    wrong: list[str] = field(default_factory=list)  # reasons of a failure
    reports: list[str] = field(default_factory=list)  # warnings of the kernel
    foreign_races: int = 0  # found by KCSAN in code that is not the queue's

    @property
    def ok(self) -> bool:
        return not self.wrong and not self.reports

    def as_json(self) -> dict[str, Any]:
        return {"ok": self.ok, **asdict(self)}


def read_counts(folder: Path) -> tuple[list[Action], list[str]]:
    """The counts of the actors, and the errors that they found."""
    actions, wrong = [], []
    for path in sorted(folder.glob("*")):
        if path.suffix == ".err":
            continue
        for line in path.read_text(errors="replace").splitlines():
            words = line.split("\t")
            if line.startswith(("ERROR: ", "WRONG: ")):
                wrong.append(f"{path.name}: {line}")
            elif len(words) == 3 and words[2].isdigit():
                actions.append(Action(path.name, words[0], words[1], int(words[2])))
    return actions, wrong


def split_reports(reports: Iterable[str]) -> tuple[list[str], int]:
    """The reports to fail for, and the number of races that are not the queue's."""
    own, foreign = [], 0
    for line in reports:
        if RACE.search(line) and not OWN.search(line):
            foreign += 1
        else:
            own.append(line)
    return own, foreign


def read_outcome(out: Path, outcome: Outcome) -> None:
    """Fill in the results from the guest's folder."""
    outcome.actions, wrong = read_counts(out / "counts")
    end = out / "end"
    if not end.is_file():
        wrong.append("the guest did not finish")
    else:
        wrong += [line for line in end.read_text(errors="replace").splitlines() if line != "good"]
    progress = parse_progress(out / "progress")
    outcome.requests = progress[2] if progress else 0
    outcome.wrong += wrong
    if not any(action.is_done for action in outcome.actions) and not outcome.wrong:
        outcome.wrong.append("no actor did anything")


def parse_progress(path: Path) -> tuple[str, int, int] | None:
    """Phase, seconds, requests."""
    try:
        phase, seconds, requests = path.read_text().split()
        return phase, int(seconds), int(requests)
    except (OSError, ValueError):
        return None


def failures(outcome: Outcome) -> list[str]:
    """A line for each reason of a failure; of the kernel's warnings the first 20."""
    return [*(f"wrong: {line}" for line in outcome.wrong),
            *(f"kernel: {line}" for line in outcome.reports[:20])]


def table(outcome: Outcome) -> list[str]:
    """The run as text."""
    actors: dict[str, list[Action]] = {}
    for action in outcome.actions:
        actors.setdefault(action.actor, []).append(action)
    rows = []
    for actor, actions in actors.items():
        done = sum(a.count for a in actions if a.is_done)
        unexpected = sum(a.count for a in actions if a.unexpected)
        expected = sum(a.count for a in actions if a.result.startswith("expected"))
        rows.append([actor, str(done), str(expected), str(unexpected), what(actions)])
    header = ["actor", "done", "expected", "unexpected", "what"]
    lines = [*text.table(header, rows, "lrrrl").splitlines(), "", *failures(outcome)]
    if outcome.foreign_races:
        lines.append(f"{outcome.foreign_races} data races in code that is not the queue's")
    lines.append(
        f"stress: seed {outcome.seed}, {outcome.flavour}, {outcome.seconds:.0f} s, {outcome.requests} requests, "
        f"{sum(a.count for a in outcome.actions if a.is_done)} actions, "
        f"{len(outcome.reports)} kernel reports: {'all checks passed' if outcome.ok else 'FAILED'}")
    return lines


def what(actions: Iterable[Action], most: int = 4) -> str:
    """The most frequent actions of an actor."""
    counts: dict[str, int] = {}
    for action in actions:
        name = action.action
        if not action.is_done:
            name += " (" + action.result.removeprefix("expected ") + ")"
        counts[name] = counts.get(name, 0) + action.count
    largest = sorted(counts.items(), key=lambda item: -item[1])
    named = ", ".join(f"{name} {count}" for name, count in largest[:most])
    return named + (", ..." if len(largest) > most else "")
