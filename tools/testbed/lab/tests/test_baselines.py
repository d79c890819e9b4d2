# SPDX-License-Identifier: GPL-2.0
"""The configurations of baselines.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.testbed.lab.model import baselines, schema
from tools.testbed.lab.model.errors import ScenarioError
from tools.testbed.lab.model.scenario import Config
from tools.testbed.lab.tests.conftest import RECORDER, SCENARIO

GROUPS = RECORDER + """

[[group]]
name = "copy"
kind = "random"
size = "4KiB"
file = "db"
cgroup = "backup"
"""


WRITER = """
[[group]]
name = "writer"
kind = "greedy"
op = "write"
size = "4KiB"
file = "db"
"""


def with_baselines(more: str = "") -> list[Config]:
    text = SCENARIO.replace('schedulers = ["none", "mq-deadline"]', "baselines = true") + more
    return schema.parse(Path("test.toml"), text).configs


def test_every_scheduler_has_its_defaults_and_none_is_throttled_in_another() -> None:
    found = {config.name: config for config in with_baselines(WRITER)}
    for name in ("none", "mq-deadline", "kyber", "bfq"):
        assert found[name].scheduler == name and not found[name].queue and not found[name].tunables
    for name in ("none", "mq-deadline", "kyber"):
        assert found[f"{name}, no wbt"].queue == {"wbt_lat_usec": "0"}


def test_they_have_the_policy_and_the_depths_of_the_scenario() -> None:
    assert {config.policy for config in with_baselines()} == {"rt"}
    assert {config.depth for config in with_baselines()} == {(1,)}


def test_weights_are_of_the_groups_that_reserve_and_of_the_others() -> None:
    found = {config.name: config for config in with_baselines(GROUPS)}
    weights = {"recorder": {"io.bfq.weight": "1000"}, "backup": {"io.bfq.weight": "10"}}
    assert found["bfq weights"].cgroups == found["bfq weights, low_latency 0"].cgroups == weights
    assert found["bfq, low_latency 0"].tunables == {"low_latency": "0"}


def test_without_reservations_of_groups_there_are_no_weights() -> None:
    assert not [config.name for config in with_baselines() if "weights" in config.name]


def test_settings_for_writes_are_run_where_somebody_writes() -> None:
    reads = {config.name for config in with_baselines()}
    writes = {config.name for config in with_baselines(WRITER)}
    assert writes - reads == {"none, no wbt", "mq-deadline, no wbt", "kyber, no wbt", "mq-deadline, async_depth 16"}


def test_ageing_of_priorities_is_run_where_classes_differ() -> None:
    aged = "mq-deadline, prio_aging_expire 60 s"
    assert aged in {config.name for config in with_baselines()}
    text = SCENARIO.replace('schedulers = ["none", "mq-deadline"]', "baselines = true")
    for same in (text.replace('policy = "rt"', ""), text.replace('class = "rt", level = 4', 'class = "be", level = 0')):
        assert aged not in {config.name for config in schema.parse(Path("test.toml"), same).configs}


def test_a_name_of_the_scenario_must_not_be_that_of_a_baseline() -> None:
    with pytest.raises(ScenarioError, match="two configurations are called 'bfq'"):
        with_baselines('[[config]]\nscheduler = "bfq"\n')


EXPECT = """
[[expect]]
says = "x"
left = { metric = "misses" }
op = "<="
right = { metric = "misses", config = "baselines" }
"""


def test_expectation_names_each_of_them() -> None:
    text = SCENARIO[: SCENARIO.index("[[expect]]")].replace('schedulers = ["none", "mq-deadline"]', "baselines = true")
    (wanted,) = schema.parse(Path("test.toml"), text + EXPECT).expects
    assert set(wanted.right.config) == {keys.called for keys in baselines.suited(False, 2, False)}


def test_expectation_names_each_of_them_beside_others() -> None:
    text = SCENARIO[: SCENARIO.index("[[expect]]")].replace('schedulers = ["none", "mq-deadline"]', "baselines = true")
    beside = EXPECT.replace('config = "baselines"', 'config = ["baselines", "cfq"]')
    (wanted,) = schema.parse(Path("test.toml"), text + '[[config]]\nscheduler = "cfq"\n' + beside).expects
    assert set(wanted.right.config) == {"cfq", *(keys.called for keys in baselines.suited(False, 2, False))}


def test_expectation_names_none_where_they_are_not_run() -> None:
    with pytest.raises(ScenarioError, match="the scenario has no baselines = true"):
        schema.parse(Path("test.toml"), SCENARIO[: SCENARIO.index("[[expect]]")] + EXPECT)


def test_the_names_differ() -> None:
    names = [keys.called for keys in baselines.load()]
    assert len(names) == len(set(names))
