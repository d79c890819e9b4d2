# SPDX-License-Identifier: GPL-2.0
"""check: each possible fault, and the advice for it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tools.user.bwctl.tests.conftest import World, one_line


def checks(world: World, device: str, **options: str) -> dict[str, dict[str, Any]]:
    """The results by name; by name and disk where there are several."""
    result = world.run("check", "--json", device, **options)
    found = result.json
    assert result.code == (0 if found["honoured"] else 1)
    assert found["honoured"] == all(check["status"] != "no" for check in found["checks"])
    return {check["check"]: check for check in found["checks"]}


def test_disk_with_cfq_and_the_class_is_honoured(world: World) -> None:
    world.disk("sda")
    result = world.run("check", "/dev/sda")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert [text.split()[:2] for text in lines[:-1]] == [
        ["ok", name] for name in (
            "kernel", "device", "stack", "scheduler", "tunables", "rotation", "drive", "settings")]
    assert lines[-1] == "The class is honoured."


def test_text_and_json_say_the_same(world: World) -> None:
    world.disk("sda", "none [mq-deadline]", depth="32")
    text = world.run("check", "sda", kernel="EINVAL").out
    marks = {"ok": "ok", "no": "NO", "skipped": "- "}
    for name, check in checks(world, "sda", kernel="EINVAL").items():
        device = f"{check['device']}: " if check["device"] else ""
        assert f"{marks[check['status']]}  {name:10} {device}{check['found']}\n" in text
        if check["advice"]:
            assert f" {check['advice']}\n" in text


@pytest.mark.parametrize("kernel, status, found, advice", [
    ("ok", "ok", "supports the class, and you may use it", None),
    ("EPERM", "ok", "supports the class", "CAP_SYS_NICE or CAP_SYS_ADMIN"),
    ("EINVAL", "no", "does not support the class", "patches of the bandwidth class"),
    ("ENOSYS", "no", "Function not implemented", "CONFIG_BLOCK"),
    ("EIO", "no", "ioprio_set: Input/output error", "seccomp"),
])
def test_kernel(world: World, kernel: str, status: str, found: str, advice: str | None) -> None:
    world.disk("sda")
    check = checks(world, "sda", kernel=kernel)["kernel"]
    assert check["status"] == status
    assert found in check["found"]
    assert advice in check["advice"] if advice else check["advice"] is None


def test_kernel_is_asked_by_a_child(world: World) -> None:
    world.disk("sda")
    assert checks(world, "sda")["kernel"]["status"] == "ok"
    files = [int(path.name) for path in world.state.iterdir()]
    assert len(files) == 1 and world.ioprio(files[0]) == 4 << 13 | 1 << 3


def test_device_that_does_not_exist(world: World) -> None:
    result = world.run("check", "sdq")
    assert (result.code, result.err) == (1, "")
    lines = result.out.splitlines()
    assert lines[1].startswith("NO  device     no device, file or directory 'sdq'")
    assert lines[2].strip() == "run lsblk for a list of devices"
    assert set(checks(world, "sdq")) == {"kernel", "device"}


def test_scheduler_that_is_not_active(world: World) -> None:
    world.disk("sda", "none [mq-deadline] cfq")
    found = checks(world, "sda")
    assert found["scheduler"] | {"advice": None} == {
        "check": "scheduler", "device": "sda", "status": "no", "found": "mq-deadline is active", "advice": None}
    assert found["scheduler"]["advice"] == "echo cfq > /sys/block/sda/queue/scheduler"
    assert found["tunables"]["status"] == "skipped"
    assert found["rotation"]["status"] == found["drive"]["status"] == "ok"


@pytest.mark.parametrize("schedulers", ["none [mq-deadline] bfq", "none", "[none] cfq2 xcfq", ""])
def test_scheduler_that_is_not_available(world: World, schedulers: str) -> None:
    world.disk("sda", schedulers)
    check = checks(world, "sda")["scheduler"]
    assert check["status"] == "no"
    assert "cfq is not available" in check["found"]
    assert "modprobe cfq-iosched" in check["advice"] and "CONFIG_IOSCHED_CFQ" in check["advice"]


def test_device_without_a_queue(world: World) -> None:
    world.disk("sda", None)
    check = checks(world, "sda")["scheduler"]
    assert (check["status"], check["found"]) == ("no", "has no queue/scheduler: No such file or directory")


@pytest.mark.parametrize("name", ["bw_delays_ms", "bw_bucket_ms", "bw_seek_kb", "bw_share_percent", "bw_depth"])
def test_tunable_that_is_missing(world: World, name: str) -> None:
    folder = world.disk("sda")
    (folder / "queue/iosched" / name).unlink()
    check = checks(world, "sda")["tunables"]
    assert check["status"] == "no"
    assert f"queue/iosched/{name} is missing" in check["found"]
    assert "patches of the bandwidth class" in check["advice"]


def test_table_of_delays_that_is_damaged(world: World) -> None:
    world.disk("sda", delays="25 50")
    check = checks(world, "sda")["tunables"]
    assert (check["status"], check["found"]) == ("no", "queue/iosched/bw_delays_ms does not hold eight numbers")


def test_table_of_delays_is_shown(world: World) -> None:
    world.disk("sda", delays=[10, 20, 40, 80, 160, 320, 640, 1280])
    assert checks(world, "sda")["tunables"]["found"] == "delays 10 20 40 80 160 320 640 1280 ms"


@pytest.mark.parametrize("rotational, found", [("1", "rotating: "), ("0", "not rotating: "), (None, "unknown"),
                                               ("x", "unknown")])
def test_rotation(world: World, rotational: str | None, found: str) -> None:
    world.disk("sda", rotational=rotational)
    check = checks(world, "sda")["rotation"]
    assert check["status"] == "ok" and check["found"].startswith(found)
    assert ("by deadline" in check["found"]) == (rotational == "0")


@pytest.mark.parametrize("rotational, depth, found, advised", [
    ("1", "1", "queue depth 1", False), ("1", "32", "queue depth 32", True),
    ("0", "32", "queue depth 32", False), ("1", None, "queue depth unknown", False),
    ("1", "many", "queue depth unknown", False),
])
def test_drive(world: World, rotational: str, depth: str | None, found: str, advised: bool) -> None:
    world.disk("sda", rotational=rotational, depth=depth)
    check = checks(world, "sda")["drive"]
    assert (check["status"], check["found"]) == ("ok", found)
    assert (check["advice"] is not None) == advised
    if advised:
        assert "cfq keeps this queue short for reservations (bw_depth)" in check["advice"]
        assert "echo 1 > /sys/block/sda/device/queue_depth" in check["advice"]


def test_drive_whose_queue_is_not_kept_short(world: World) -> None:
    folder = world.disk("sda", depth="32")
    (folder / "queue/iosched/bw_depth").write_text("0\n")
    check = checks(world, "sda")["drive"]
    assert check["status"] == "ok"
    assert check["advice"] == ("up to 32 queued requests may delay one with a deadline; "
                               "echo 1 > /sys/block/sda/queue/iosched/bw_depth")


def test_drive_without_the_class_is_not_advised_on(world: World) -> None:
    world.disk("sda", "[none] cfq", depth="32")
    check = checks(world, "sda")["drive"]
    assert (check["status"], check["advice"]) == ("ok", None)


def test_stacked_device_is_as_good_as_the_disks_below(world: World) -> None:
    world.disk("sda")
    world.disk("sdb")
    world.partition("sda", "sda3")
    world.stack("dm-0", "sda3", "sdb")
    result = world.run("check", "--json", "dm-0")
    assert result.code == 0
    found = [(check["check"], check["device"]) for check in result.json["checks"]]
    assert found[:3] == [("kernel", None), ("device", "dm-0"), ("stack", "dm-0")]
    assert found[3:] == [(name, disk) for disk in ("sda", "sdb")
                         for name in ("scheduler", "tunables", "rotation", "drive", "settings")]
    assert result.json["checks"][2]["found"] == "stacked: reservations apply to the disks below it: sda sdb"


def test_stacked_device_with_one_wrong_disk_is_not_honoured(world: World) -> None:
    world.disk("sda")
    world.disk("sdb", "[none] cfq")
    world.stack("md0", "sda", "sdb")
    result = world.run("check", "md0")
    assert result.code == 1
    assert "ok  scheduler  sda: cfq is active\n" in result.out
    assert "NO  scheduler  sdb: none is active\n" in result.out
    assert result.out.endswith("The class is not honoured.\n")


def test_partition_is_checked_as_its_disk(world: World) -> None:
    world.disk("sda")
    world.partition("sda", "sda1")
    assert checks(world, "sda1")["device"]["device"] == "sda"


@pytest.mark.parametrize("args", [[], ["a", "b"], ["--quiet", "sda"], ["--json=1", "sda"]])
def test_wrong_command_lines_are_refused(world: World, args: list[str]) -> None:
    one_line(world.run("check", *args), 2)


def settings(world: World, device: str) -> list[tuple[str, str, str | None]]:
    """Device, state and advice of each line about settings."""
    result = world.run("check", "--json", device)
    assert result.code == 0
    return [(check["device"], check["found"], check["advice"]) for check in result.json["checks"]
            if check["check"] == "settings"]


def test_each_setting_that_differs_from_the_udev_rule_is_named(world: World) -> None:
    folder = world.disk("sda")
    assert settings(world, "sda") == [("sda", "as recommended", None)]
    for name, value in (("max_sectors_kb", 4096), ("read_ahead_kb", 1024), ("nr_requests", 2)):
        (folder / "queue" / name).write_text(f"{value}\n")
    (large, few) = settings(world, "sda")
    assert large[:2] == ("sda", "max_sectors_kb is 4096, recommended: 512")
    assert re.fullmatch(r"with Linux's settings 26 players on a modelled disk miss up to \d+ deadlines a minute, with "
                        r"the recommended ones up to \d+; echo 512 > /sys/block/sda/queue/max_sectors_kb",
                        large[2] or "")
    assert few == ("sda", "nr_requests is 2, recommended: 64",
                   "not measured; a scheduler has little to choose from; echo 64 > /sys/block/sda/queue/nr_requests")


def test_settings_of_a_disk_that_does_not_rotate_are_its_own(world: World) -> None:
    folder = world.disk("sda", rotational="0")
    (folder / "queue/max_sectors_kb").write_text("4096\n")
    assert settings(world, "sda") == []


def test_read_ahead_of_a_stacked_device_is_compared_too(world: World) -> None:
    world.disk("sda")
    world.stack("dm-0", "sda")
    (world.sysfs / "block/dm-0/queue/read_ahead_kb").write_text("8192\n")
    stacked, below = settings(world, "dm-0")
    assert stacked[:2] == ("dm-0", "read_ahead_kb is 8192, recommended: 1024")
    assert (stacked[2] or "").endswith("; echo 1024 > /sys/block/dm-0/queue/read_ahead_kb")
    assert below == ("sda", "as recommended", None)


@pytest.mark.parametrize(("name", "value", "recommended"), [
    ("nr_requests", 256, 64), ("max_sectors_kb", 120, 512), ("read_ahead_kb", 128, 1024)])
def test_setting_that_differs_to_the_other_side(world: World, name: str, value: int, recommended: int) -> None:
    (world.disk("sda") / "queue" / name).write_text(f"{value}\n")
    ((_, seen, told),) = settings(world, "sda")
    assert seen == f"{name} is {value}, recommended: {recommended}"
    assert (told or "").startswith("not measured")
