# SPDX-License-Identifier: GPL-2.0
"""Schedulers of patches/oldsched: in every scenario where the kernel has them, and nowhere else."""

from pathlib import Path

import pytest

from tools.base.code_id import OLDSCHED, code_id
from tools.testbed.lab.model import schema
from tools.testbed.lab.model.errors import ScenarioError
from tools.testbed.lab.model.scenario import Scenario
from tools.testbed.lab.run import oldsched, runner
from tools.testbed.lab.run.features import Features
from tools.testbed.lab.run.plan import make_plan
from tools.testbed.lab.tests.conftest import SCENARIO

ORDINARY = ["none", "mq-deadline", "cfq"]
WITH_OLD = [*ORDINARY, *oldsched.SCHEDULERS]
APEX = '[[config]]\nname = "a"\nscheduler = "apex"\npolicy = "bw"\n'


def features(schedulers: list[str]) -> Features:
    return Features("7.3", schedulers, True, True)


def scenario(config: str = "") -> Scenario:
    return schema.parse(Path("test.toml"), SCENARIO.replace("[[group]]", f"{config}\n[[group]]", 1))


def names(found: Scenario) -> list[str]:
    return [config.name for config in found.configs]


def test_they_are_in_every_scenario_with_its_priorities() -> None:
    found = oldsched.for_kernel(scenario(), features(WITH_OLD), None)
    assert names(found) == ["none", "mq-deadline", "noop", "deadline-sq", "anticipatory", "apex"]
    assert {config.policy for config in found.configs} == {"rt"}


def test_apex_has_the_reservations_of_the_scenario() -> None:
    cfq = '[[config]]\nname = "c"\nscheduler = "cfq"\npolicy = "bw"\nfallback = "rt"\ndepth = [1, 31]\n'
    found = oldsched.for_kernel(scenario(cfq), features(WITH_OLD), None)
    policies = {config.name: config.policy for config in found.configs}
    assert policies["apex"] == "bw"
    assert policies["noop"] == "rt"
    assert found.configs[-1].depth == (1, 31)


def test_others_have_the_scenario_as_it_is() -> None:
    assert names(oldsched.for_kernel(scenario(), features(ORDINARY), None)) == ["none", "mq-deadline"]


def test_a_configuration_of_a_scenario_is_in_place_of_what_is_added() -> None:
    found = oldsched.for_kernel(scenario(APEX), features(WITH_OLD), None)
    assert names(found) == ["none", "mq-deadline", "a", "noop", "deadline-sq", "anticipatory"]


def test_a_configuration_is_left_out_where_the_kernel_has_not_its_scheduler() -> None:
    assert names(oldsched.for_kernel(scenario(APEX), features(ORDINARY), None)) == ["none", "mq-deadline"]


def test_one_that_is_asked_for_is_refused_there(disks: Path) -> None:
    with pytest.raises(ScenarioError, match="kernel 7.3 has no scheduler 'apex'"):
        make_plan(scenario(APEX), disks, ["apex"], None, None, features(ORDINARY))


def test_results_name_the_patches_of_old_schedulers(disks: Path) -> None:
    results = [
        runner.assemble(make_plan(scenario(), disks, None, None, None, features(schedulers)), [], False)
        for schedulers in (ORDINARY, WITH_OLD)
    ]
    assert "oldsched" not in results[0]["kernel"]
    assert results[1]["kernel"]["oldsched"] == code_id(series=OLDSCHED)
    assert results[0]["kernel"]["patches"] == results[1]["kernel"]["patches"] != code_id(series=OLDSCHED)
