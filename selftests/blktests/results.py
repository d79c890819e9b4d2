# SPDX-License-Identifier: GPL-2.0
"""Reads the results of blktests, and makes the table by group and scheduler."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from tools.base.text import markdown

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"
STATES = (PASSED, FAILED, NOT_RUN)
MEASURE = "bfq"  # the baseline for the other schedulers

# As `throtl/001 (nullb) (basic functionality)   [passed]`: a device and a condition tell
# several runs of a test apart. A group that cannot be run has *** for a number.
ENDED = re.compile(r"^\w+/(?:\d{3}|\*{3})(?: => (?P<device>[^(]*\S))?(?: \((?P<condition>[^()]*)\)(?= \())?"
                   r" .*\[(?P<state>passed|failed|not run)\]$")
# Below it, what was measured, as `    runtime    ...  3.1s`; and where a test's output is
# not what it should be, how it differs.
MEASURED = re.compile(r"^ {4}\S.*? +\.\.\.  ")
DIFFERENCE = re.compile(r"^ {4}[-+](?![-+]{2} )")


@dataclass
class Outcome:
    """The outcome of one run of a test."""

    name: str  # block/001, with the device and the condition
    state: str
    why: str = ""
    seconds: int = 0  # of all runs of the test
    failures: int = 0  # failures before it passed


def outcomes(test: str, log: str, code: str, seconds: int) -> list[Outcome]:
    """The runs in the log of a test; a run that occurs several times was repeated.

    @code: the exit code, or why there is none
    """
    tried: list[Outcome] = []
    below: list[str] = []
    for line in log.splitlines():
        if ended := ENDED.match(line):
            below = []
            tried.append(Outcome(run_name(test, ended), ended["state"], "", seconds))
        elif tried and line.startswith("    "):
            below.append(line)
            tried[-1].why = reason(tried[-1].state, below)
    found = [best([each for each in tried if each.name == name])
             for name in dict.fromkeys(each.name for each in tried)]
    if not code.isdigit():
        found.append(Outcome(test, FAILED, code, seconds))
    elif not found:
        said = (log.strip().splitlines() or ["nothing"])[-1]
        found.append(Outcome(test, FAILED, f"no result; the last output: {said}", seconds))
    return found


def best(tried: Sequence[Outcome]) -> Outcome:
    """The first of the repeated runs that did not fail, else the last one, with the number of failures before."""
    failed = [each for each in tried if each.state == FAILED]
    good = next((each for each in tried if each.state != FAILED), None)
    if good and failed:
        good.failures, good.why = len(failed), failed[-1].why
    return good or tried[-1]


def run_name(test: str, ended: re.Match[str]) -> str:
    device, condition = ended["device"], ended["condition"]
    return test + (f" => {device}" if device else "") + (f" ({condition})" if condition else "")


def reason(state: str, below: Sequence[str]) -> str:
    """The lines below a result, joined; for a failure only those of the difference, if it has any."""
    if state == PASSED:
        return ""
    differing = [line for line in below if DIFFERENCE.match(line)] if state == FAILED else []
    told = [line for line in below if not MEASURED.match(line)]
    return "; ".join(line.strip() for line in (differing or told)[:4])


Results = Mapping[str, Mapping[str, Sequence[Outcome]]]  # by scheduler and group


def group_of(name: str) -> str:
    return name.partition("/")[0]


def counts(found: Iterable[Outcome]) -> dict[str, int]:
    states = [outcome.state for outcome in found]
    return {state: states.count(state) for state in STATES}


def by_name(groups: Mapping[str, Sequence[Outcome]]) -> dict[str, Outcome]:
    return {outcome.name: outcome for found in groups.values() for outcome in found}


def worse(results: Results, scheduler: str) -> list[tuple[Outcome, str]]:
    """The failures that the baseline does not have, and its outcome."""
    measured = by_name(results.get(MEASURE, {}))
    found = []
    for outcome in by_name(results[scheduler]).values():
        other = measured[outcome.name].state if outcome.name in measured else "no result"
        if outcome.state == FAILED and other != FAILED:
            found.append((outcome, other))
    return found


def page(results: Results) -> str:
    """The table and the failures, as Markdown."""
    schedulers = list(results)
    groups = list(dict.fromkeys(group for found in results.values() for group in found))
    rows = [[group, *(cell(results[name].get(group, [])) for name in schedulers)] for group in groups]
    rows.append(["all", *(cell(chain.from_iterable(results[name].values())) for name in schedulers)])
    parts = ["Passed / failed / not run:", markdown(["group", *schedulers], rows)]
    parts += [failures(results, name) for name in schedulers if name != MEASURE]
    parts.append(common_failures(results))
    parts += [unsteady(results, name) for name in schedulers]
    return "\n\n".join(part for part in parts if part)


def cell(found: Iterable[Outcome]) -> str:
    return " / ".join(str(number) for number in counts(found).values())


def failures(results: Results, scheduler: str) -> str:
    found = worse(results, scheduler)
    if not found:
        return f"{scheduler} has no failure that {MEASURE} does not have."
    return "\n".join([f"Failures of {scheduler} that {MEASURE} does not have:", "",
                      *(f"- {outcome.name} ({MEASURE}: {other}): {outcome.why}" for outcome, other in found)])


def common_failures(results: Results) -> str:
    """The failures under the baseline."""
    found = [outcome for outcome in by_name(results.get(MEASURE, {})).values() if outcome.state == FAILED]
    if not found:
        return ""
    return "\n".join([f"Failures of {MEASURE}:", "", *(f"- {outcome.name}: {outcome.why}" for outcome in found)])


def unsteady(results: Results, scheduler: str) -> str:
    """The tests that passed only when repeated."""
    found = [outcome for outcome in by_name(results[scheduler]).values() if outcome.failures]
    if not found:
        return ""
    return "\n".join([f"Passed under {scheduler} when tried again:", "",
                      *(f"- {outcome.name}: {outcome.why}" for outcome in found)])


def as_json(results: Results, about: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **about,
        "schedulers": {name: {group: {"counts": counts(found), "tests": [asdict(outcome) for outcome in found]}
                              for group, found in groups.items()} for name, groups in results.items()},
        "worse": {name: [{**asdict(outcome), MEASURE: other} for outcome, other in worse(results, name)]
                  for name in results if name != MEASURE},
    }
