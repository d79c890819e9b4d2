# SPDX-License-Identifier: GPL-2.0
"""Presets: what is accepted, what is refused, and what those of the project say."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tools.testbed.disk import characteristics, presets
from tools.testbed.disk.errors import DiskError
from tools.testbed.disk.transports import TRANSPORTS

GOOD = """# A disk
#@ outer_mbps = 105   from its data sheet
irqmode = 3           # on
size = 1024

rot/rpm=7200
"""


def test_attributes_title_and_rated_speeds() -> None:
    preset = presets.parse(GOOD, "good")
    assert preset.title == "A disk"
    assert preset.attributes == {"irqmode": "3", "size": "1024", "rot/rpm": "7200"}
    assert preset.rated == {"outer_mbps": 105.0}


@pytest.mark.parametrize(("line", "message"), [
    ("rot/rpm 7200", "bad.conf:7: not of the form 'attribute = value'"),
    ("rot/rpm = 7200 rpm", "bad.conf:7: not of the form 'attribute = value'"),
    ("rot/rpm = 5400", "bad.conf:7: rot/rpm is set twice"),
    ("#@ speed = 3", "bad.conf:7: unknown rated speed 'speed'"),
    ("#@ inner_mbps = fast", "bad.conf:7: inner_mbps: 'fast' is not a number"),
])
def test_bad_line_is_named(line: str, message: str) -> None:
    with pytest.raises(DiskError) as error:
        presets.parse(GOOD + line + "\n", "bad")
    assert str(error.value).startswith(message)


def test_a_disk_needs_model_and_size() -> None:
    with pytest.raises(DiskError, match="irqmode = 3"):
        presets.parse("size = 3\n", "none")
    with pytest.raises(DiskError, match="size"):
        presets.parse("irqmode = 3\n", "none")


def test_unknown_preset_names_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "one.conf").write_text(GOOD)
    with pytest.raises(DiskError, match="no preset 'two' .*known: one"):
        presets.load("two", tmp_path)


def test_change_replaces_adds_and_drops_the_rated_speeds() -> None:
    preset = presets.parse(GOOD, "good")
    presets.change(preset, ["rot/rpm=5400", "memory_backed=1"])
    assert preset.attributes["rot/rpm"] == "5400"
    assert preset.attributes["memory_backed"] == "1"
    assert not preset.rated
    with pytest.raises(DiskError, match="not 'attribute=value'"):
        presets.change(preset, ["rot/rpm"])


def test_lines_of_a_guests_job_create_the_disk_with_the_given_depth() -> None:
    attributes = {"size": "64", "hw_queue_depth": "32", "rot/rpm": "7200", "submit_queues": "2"}
    assert presets.job_lines("/nullb/d", attributes, 1) == [
        "mkdir /nullb/d", "write /nullb/d/max_sectors 1024", "write /nullb/d/submit_queues 2",
        "write /nullb/d/size 64", "write /nullb/d/hw_queue_depth 1", "write /nullb/d/rot/rpm 7200",
        "write /nullb/d/power 1"]


@pytest.mark.parametrize("name", presets.names())
def test_preset_has_the_rated_speeds_of_its_sources(name: str) -> None:
    preset = presets.load(name)
    computed = characteristics.compute(preset.attributes)
    assert preset.title
    assert {"outer_mbps", "inner_mbps"} <= set(preset.rated)
    tolerance = {"outer_mbps": 0.01, "inner_mbps": 0.01, "random_4k_ms": 0.02,
                 "random_4k_kib_s": 0.05, "random_64k_kib_s": 0.05}
    values = {"outer_mbps": computed.outer_mbps, "inner_mbps": computed.inner_mbps,
              "random_4k_ms": computed.random_ms(4096),
              "random_4k_kib_s": computed.random_kib_s(4096),
              "random_64k_kib_s": computed.random_kib_s(65536)}
    for key, rated in preset.rated.items():
        assert values[key] == pytest.approx(rated, rel=tolerance[key]), key


def without_source(text: str) -> list[str]:
    """The values without a comment on their line, and without one above that names a source or has "assumed".

    The sources of a file are its words in quotes, as "Manual" or "Derived". A comment above holds for all
    values without a comment that follow it.
    """
    sources = [*re.findall(r'"(\w+)"', text), "assumed"]
    found, above = [], ""
    for before, line in pairwise(["", *text.splitlines()]):
        if line.startswith("#"):
            above = f"{above}{line}\n" if before.startswith("#") else line
        elif not line or "#" in line:
            above = ""
        elif not line.startswith("irqmode") and not any(source in above for source in sources):
            found.append(line)
    return found


def test_value_without_a_source_is_found() -> None:
    head = '# A disk\n#\n# "Manual": its manual\n\n'
    tracks = "rot/track_outer_sectors = 1873\nrot/track_inner_sectors = 937\n"
    for comment in ("# Manual: on page 4\n", "# Computed of\n# what is assumed.\n"):
        assert without_source(f"{head}{comment}{tracks}") == []
    for comment in ("", "# Manual: on page 4\n\n", "# The tracks.\n", "# Manual: 4\nrot/heads = 4  # 4\n"):
        assert without_source(f"{head}{comment}{tracks}") == tracks.splitlines()
    assert without_source(f"{head}size = 1024\n") == ["size = 1024"]


@pytest.mark.parametrize("name", presets.names())
def test_every_value_of_a_preset_has_its_source_in_a_comment(name: str) -> None:
    assert not without_source((presets.FOLDER / f"{name}.conf").read_text())


def test_the_four_disks_of_the_documentation_exist() -> None:
    assert {"barracuda-7200.11", "cheetah-15k", "laptop-5400", "nearline-20tb"} <= set(
        presets.names())


def test_transport_is_no_attribute_of_the_disk() -> None:
    preset = presets.parse(GOOD + "transport = sata\n", "good")
    assert preset.transport == "sata" and "transport" not in preset.attributes
    with pytest.raises(DiskError, match=r"bad.conf:7: no transport 'scsi' \(known: sata, pata"):
        presets.parse(GOOD + "transport = scsi\n", "bad")
    with pytest.raises(DiskError, match="bad.conf:8: transport is set twice"):
        presets.parse(GOOD + "transport = sata\ntransport = sas\n", "bad")


@pytest.mark.parametrize("name", presets.names())
def test_disk_has_the_limits_of_its_transport(name: str) -> None:
    preset = presets.load(name)
    limits = TRANSPORTS[preset.transport]
    published = {"barracuda-7200.10": "1024"}  # the thesis says so
    assert preset.with_limits()["max_sectors"] == published.get(name, str(2 * limits.max_sectors_kb))
    assert preset.with_limits()["max_segments"] == str(limits.max_segments)
