# SPDX-License-Identifier: GPL-2.0
"""Old schedulers, of patches/oldsched, in a kernel of `make uml FLAVOUR=oldsched`.

On such a kernel they are in every scenario, with the priorities that the scenario's other schedulers have; apex with
reservations, where the scenario has any. On others a scenario's own configurations of them are left out.
"""

from __future__ import annotations

import dataclasses

from ..model.scenario import Config, Scenario
from .features import Features

ORDINARY = ("noop", "deadline-sq", "anticipatory")
RESERVING = "apex"
SCHEDULERS = (*ORDINARY, RESERVING)


def has_any(features: Features) -> bool:
    return any(name in features.schedulers for name in SCHEDULERS)


def for_kernel(scenario: Scenario, features: Features, asked: list[str] | None) -> Scenario:
    """The scenario with what the kernel has of these schedulers.

    @asked: schedulers that were asked for by name; one that the kernel has not is not left out, but refused
    """
    configs = [
        config
        for config in scenario.configs
        if config.scheduler not in SCHEDULERS
        or config.scheduler in features.schedulers
        or config.scheduler in (asked or [])
    ]
    return with_all(dataclasses.replace(scenario, configs=configs), features.schedulers)


def with_all(scenario: Scenario, schedulers: list[str]) -> Scenario:
    """The scenario with a configuration of each old scheduler that a kernel has and the scenario does not name."""
    own = {config.scheduler for config in scenario.configs}
    more = [added(scenario, name) for name in SCHEDULERS if name in schedulers and name not in own]
    return dataclasses.replace(scenario, configs=[*scenario.configs, *more])


def added(scenario: Scenario, name: str) -> Config:
    """A scheduler as the scenario's own are: their first, or for apex the first one that reserves."""
    like = scenario.configs[0]
    if name == RESERVING:
        like = next((config for config in scenario.configs if reserves(scenario, config)), like)
    return Config(like.at, name, name, like.policy, like.depth, like.only, fallback=like.fallback)


def reserves(scenario: Scenario, config: Config) -> bool:
    """Whether any process has a reservation of its own there."""
    return any(
        config.policy in group.priorities and group.priorities[config.policy].needs_bw for group in scenario.groups
    )
