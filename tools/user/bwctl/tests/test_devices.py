# SPDX-License-Identifier: GPL-2.0
"""The ways to name a device."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.user.bwctl.tests.conftest import World, one_line


def shown(world: World, device: str) -> list[str]:
    result = world.run("show", "--json", device)
    assert result.code == 0, result
    return [found["name"] for found in result.json["devices"]]


@pytest.mark.parametrize("name", ["sda", "/dev/sda", "sda1", "/dev/sda1"])
def test_names_and_partitions_mean_the_disk(world: World, name: str) -> None:
    world.disk("sda", "[none]")
    world.partition("sda", "sda1")
    assert shown(world, name) == ["sda"]


def test_slash_in_a_name_is_an_exclamation_mark_in_sysfs(world: World) -> None:
    world.disk("cciss!c0d0", "[none]")
    assert shown(world, "/dev/cciss/c0d0") == ["cciss!c0d0"]


@pytest.mark.parametrize("kind", ["disk", "partition"])
def test_files_and_folders_mean_the_disk_of_their_file_system(world: World, tmp_path: Path, kind: str) -> None:
    number = tmp_path.stat().st_dev
    text = f"{os.major(number)}:{os.minor(number)}"
    world.disk("sdz", "[none]", number=text if kind == "disk" else None)
    if kind == "partition":
        world.partition("sdz", "sdz3", number=text)
    (tmp_path / "film").write_text("")
    assert shown(world, str(tmp_path)) == ["sdz"]
    assert shown(world, "./film") == ["sdz"]
    assert shown(world, "film") == ["sdz"]


def mountinfo(world: World, *lines: str) -> None:
    (world.proc / "self").mkdir()
    (world.proc / "self/mountinfo").write_text("".join(line + "\n" for line in lines))


def test_file_system_without_a_disk_number_is_found_by_its_mount(world: World, tmp_path: Path) -> None:
    place = tmp_path / "my films"
    place.mkdir()
    world.disk("sdb", "[none]")
    world.partition("sdb", "sdb2")
    escaped = str(place).replace(" ", "\\040")
    mountinfo(world, "20 1 0:19 / / rw - overlay overlay rw",
              f"21 20 0:33 /sub {escaped} rw,noatime shared:1 - btrfs /dev/sdb2 rw,subvol=/sub",
              f"22 20 0:40 / {tmp_path}/my rw - tmpfs tmpfs rw", "damaged line", "")
    assert shown(world, str(place)) == ["sdb"]


def test_mount_whose_name_only_begins_alike_is_another(world: World, tmp_path: Path) -> None:
    world.disk("sdb", "[none]")
    (tmp_path / "films").mkdir()
    mountinfo(world, "20 1 0:19 / / rw - btrfs /dev/sdb rw", f"22 20 0:40 / {tmp_path}/film rw - tmpfs tmpfs rw")
    assert shown(world, str(tmp_path / "films")) == ["sdb"]


def test_later_mount_at_a_place_hides_the_earlier_one(world: World, tmp_path: Path) -> None:
    world.disk("sdb", "[none]")
    mountinfo(world, f"21 20 0:33 / {tmp_path} rw - tmpfs tmpfs rw", f"22 20 0:33 / {tmp_path} rw - btrfs /dev/sdb rw")
    assert shown(world, str(tmp_path)) == ["sdb"]


def test_file_system_that_is_on_no_disk_is_reported(world: World, tmp_path: Path) -> None:
    mountinfo(world, "20 1 0:19 / / rw - overlay overlay rw")
    line = one_line(world.run("show", str(tmp_path)), 1)
    assert line == f"show: {tmp_path} is on the file system 'overlay', which is not a disk: give the disk"


def test_without_mountinfo_the_disk_must_be_named(world: World, tmp_path: Path) -> None:
    assert "is on a file system without a disk" in one_line(world.run("show", str(tmp_path)), 1)


@pytest.mark.parametrize("name", ["sdq", "/dev/sdq", "nowhere/at/all", "x" * 300, "/" + "x" * 5000, "..x", "-"])
def test_missing_device_is_reported(world: World, name: str) -> None:
    assert f"no device, file or directory '{name[:40]}" in one_line(world.run("show", "--", name), 1)


def test_empty_name_is_refused(world: World) -> None:
    assert "device name is empty" in one_line(world.run("show", ""), 1)


def test_character_device_is_refused(world: World) -> None:
    assert "/dev/null is not a block device, file or directory" in one_line(world.run("show", "/dev/null"), 1)


def test_dots_are_folders_and_not_names_in_sysfs(world: World) -> None:
    world.disk("sda", "[none]")
    for name in (".", ".."):
        assert "is on a file system" in one_line(world.run("show", name), 1)


def test_stacked_devices_mean_the_disks_below_each_once(world: World) -> None:
    for disk in ("sda", "sdb", "sdc"):
        world.disk(disk, "[none]")
    world.partition("sda", "sda1")
    world.partition("sda", "sda2")
    world.stack("md0", "sda1", "sdb")
    world.stack("md1", "sda2", "sdc")
    world.stack("dm-0", "md0", "md1")
    assert shown(world, "dm-0") == ["sda", "sdb", "sdc"]


def test_stack_that_stands_on_itself_ends(world: World) -> None:
    world.stack("dm-0")
    world.stack("dm-1", "dm-0")
    (world.sysfs / "block/dm-0/slaves/dm-1").symlink_to(world.sysfs / "block/dm-1")
    assert world.run("show", "dm-0").code == 0


def test_block_device_missing_in_sysfs_is_reported(world: World) -> None:
    node = next((path for path in Path("/dev").iterdir() if path.is_block_device()), None)
    if not node:
        pytest.skip("no block device here")
    assert f"show: the block device {node} (" in one_line(world.run("show", str(node)), 1)
