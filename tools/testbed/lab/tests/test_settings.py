# SPDX-License-Identifier: GPL-2.0
"""Settings of a disk's queue: as published, as Linux sets them, as the udev rule recommends."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path

import pytest

from tools.testbed.disk import presets
from tools.testbed.lab.model import schema, settings
from tools.testbed.lab.model.catalog import find_scenario
from tools.testbed.lab.model.disks import Disk
from tools.testbed.lab.model.errors import BadValue, ScenarioError
from tools.testbed.lab.run import job
from tools.testbed.lab.tests.conftest import RECORDER, SCENARIO

RULE = """# a comment with ATTR{queue/nr_requests}="2"
KERNEL=="sd*", ATTR{queue/rotational}=="1", ATTR{queue/scheduler}="cfq", ATTR{queue/max_sectors_kb}="1280"
#ACTION=="add", ATTR{queue/iosched/bw_bucket_ms}="10000"
KERNEL=="sd*", ATTR{queue/read_ahead_kb}="2560"
"""
SATA = Disk("plain", {"irqmode": "3", "size": "476940"}, "sata")
USB = replace(SATA, transport="usb-bot")


def lines(text: str, disk: Disk, scheduler: str = "mq-deadline") -> list[str]:
    """The job of a scenario's first run under a scheduler."""
    scenario = schema.parse(Path("test.toml"), SCENARIO.replace("[disk_set]\nirqmode = 2\n", "").replace(
        "duration_s", f"{text}\nduration_s", 1))
    cell = scenario.cells([scheduler])[0]
    return job.job_text(scenario, disk, job.make_run(scenario, cell, disk, 1, False), False).splitlines()


def test_the_rule_is_read_without_conditions_comments_and_the_scheduler(tmp_path: Path) -> None:
    path = tmp_path / "rules"
    path.write_text(RULE)
    assert list(settings.recommended(path).items()) == [("max_sectors_kb", "1280"), ("read_ahead_kb", "2560")]


def test_recommended_read_ahead_holds_two_commands_and_is_written_after_their_size() -> None:
    found = settings.recommended()
    assert int(found["read_ahead_kb"]) >= 2 * int(found["max_sectors_kb"])
    assert list(found).index("max_sectors_kb") < list(found).index("read_ahead_kb")


@pytest.mark.parametrize("name", presets.names())
def test_every_preset_names_its_transport(name: str) -> None:
    assert presets.load(name).transport


def test_linux_has_the_limits_and_tags_of_the_transport() -> None:
    made = lines('settings = "linux"', SATA)
    assert f"write {job.CONFIGFS}/max_sectors 8192" in made
    assert f"write {job.CONFIGFS}/max_segments 168" in made
    assert f"write {job.SYSFS}/nr_requests 64" in made
    assert not [line for line in made if "max_sectors_kb " in line and line.startswith("write")]


def test_recommended_writes_what_the_rule_has_after_the_scheduler() -> None:
    made = lines('settings = "recommended"', SATA)
    assert f"write {job.CONFIGFS}/max_sectors 8192" in made
    begin = made.index(f"write {job.SYSFS}/scheduler mq-deadline") + 1
    wanted = [f"write {job.SYSFS}/{name} {value}" for name, value in settings.recommended().items()]
    assert made[begin:begin + len(wanted)] == wanted


def test_a_drive_without_command_queueing_leaves_each_scheduler_the_kernels_number() -> None:
    assert not [line for line in lines('settings = "linux"', USB) if line.startswith(f"write {job.SYSFS}/nr_requests")]


def test_without_a_scheduler_the_tags_are_the_drives() -> None:
    assert not [line for line in lines('settings = "linux"', SATA, "none") if line.endswith("nr_requests 64")]


def test_published_settings_are_the_default() -> None:
    assert lines("", SATA) == lines('settings = "published"', SATA)
    assert f"write {job.SYSFS}/nr_requests 256" in lines("", SATA)


def test_a_variant_has_settings_of_its_own() -> None:
    text = SCENARIO.replace("[vary]\n", '[vary]\nhow = ["linux", "published"]\n').replace(
        "duration_s", 'settings = "$how"\nduration_s', 1)
    scenario = schema.parse(Path("test.toml"), text)
    cells = scenario.cells(["none"])
    found = {cell.labels["how"]: job.settings_of(scenario, cell, SATA) for cell in cells}
    assert found["published"] == settings.PUBLISHED and found["linux"].attributes["max_sectors"] == "8192"


def test_one_kind_of_settings_replaces_those_that_vary() -> None:
    players = find_scenario("players")
    one = players.with_settings("linux")
    assert "settings" in players.vary and list(one.vary) == ["start", "N"] and one.settings == "linux"
    assert len(players.cells()) == 2 * len(one.cells())


def test_expectations_and_views_go_with_the_settings_that_vary() -> None:
    recorder, random = find_scenario("recorder"), find_scenario("random-reserved")
    one = recorder.with_settings("recommended")
    says = [expect.says for expect in one.expects]
    assert 0 < len(says) < len(recorder.expects) and not any("Linux's settings" in text for text in says)
    assert not any("settings" in side.vary for expect in one.expects for side in (expect.left, expect.right))
    assert {view.rows for view in random.views} == {"settings"}
    assert {view.rows for view in random.with_settings("linux").views} == {"group"}


@pytest.mark.parametrize(("text", "what"), [
    ('settings = "windows"', "settings: 'windows' is not one of linux, published, recommended"),
    ('settings = "$how"', "settings: $how is not a key of [vary]"),
])
def test_wrong_settings_are_told_with_their_line(text: str, what: str) -> None:
    with pytest.raises(ScenarioError) as error:
        lines(text, SATA)
    assert what in str(error.value) and "test.toml:" in str(error.value)


def test_a_disk_without_a_transport_has_published_settings_only() -> None:
    with pytest.raises(BadValue, match="names its transport"):
        settings.of_disk("linux", "")
    with pytest.raises(ScenarioError, match=r"test.toml:\d+: settings: 'linux' needs a disk"):
        lines('settings = "linux"', dataclasses.replace(SATA, transport=""))


LIMIT = '[cgroup.recorder]\n"memory.high" = "$limit"\n\n[vary]\nlimit = ["max", "65536"]\n'


def test_files_of_control_groups_are_set_under_every_configuration() -> None:
    scenario = schema.parse(Path("test.toml"), SCENARIO.replace("[vary]\n", LIMIT, 1) + RECORDER)
    found = {(cell.config.name, cell.labels["limit"]): job.cgroup_files(scenario, cell) for cell in scenario.cells()
             if cell.labels["N"] == "1"}
    assert found["none", "65536"] == {"recorder": {"memory.high": "65536"}}
    assert found["cfq", "max"]["recorder"] == {"memory.high": "max", "io.bw": "DEV bps=1000000 delay=500000"}


@pytest.mark.parametrize(("changed", "what"), [
    (LIMIT.replace("cgroup.recorder", "cgroup.camera"), "cgroup.camera: no control group 'camera' (known: recorder"),
    (LIMIT.replace("$limit", "$none"), "$none is not a key of [vary]")])
def test_wrong_files_of_control_groups_are_told(changed: str, what: str) -> None:
    with pytest.raises(ScenarioError) as error:
        schema.parse(Path("test.toml"), SCENARIO.replace("[vary]\n", changed, 1) + RECORDER)
    assert what in str(error.value)
