# SPDX-License-Identifier: GPL-2.0
"""From --rate and --delay to the 16 bits and back; what is rounded, and what is refused."""

from __future__ import annotations

import pytest

from tools.user.bwctl.tests.conftest import DEFAULT_DELAYS, UNIT, Builds, World, one_line, value

PAIRS = [(units, level) for units in range(1, 1024) for level in range(8)]


def test_every_pair_is_encoded_as_defined(builds: Builds, world: World) -> None:
    lines = [f"encode {units * UNIT}\t{DEFAULT_DELAYS[level]}ms".encode() for units, level in PAIRS]
    assert builds.ask(lines, world.env) == [f"0 {value(*pair)}" for pair in PAIRS]


def test_every_pair_is_decoded_as_defined(world: World) -> None:
    priorities = world.run("decode", "--json", *(str(value(*pair)) for pair in PAIRS)).json["priorities"]
    assert [(p["class"], p["rate_units"], p["delay_level"], p["rate"], p["delay_ms"]) for p in priorities] == [
        ("bw", units, level, units * UNIT, DEFAULT_DELAYS[level]) for units, level in PAIRS]


@pytest.mark.parametrize("number, text", [
    (0, "class none"), (1 << 13 | 3, "class rt level 3"), (2 << 13 | 4, "class be level 4"), (3 << 13, "class idle"),
    (value(24, 3), "class bw rate 3 MiB/s delay level 3 (200 ms by the default table)"),
    (value(1, 0), "rate 128 KiB/s"), (value(1023, 7), "rate 127.875 MiB/s"), (5 << 13, "class unknown"),
    (65535, "class unknown"),
])
def test_decode_prints_what_a_number_means(world: World, number: int, text: str) -> None:
    for written in (str(number), hex(number)):
        result = world.run("decode", written)
        assert (result.code, result.err) == (0, "")
        assert text in result.out


@pytest.mark.parametrize("number", ["", "65536", "-1", "x", "12x", "0x", "0x10000", "1 ", " 1", "99999999999999999999"])
def test_decode_refuses_what_is_no_priority(world: World, number: str) -> None:
    assert "is not a number from 0 to 65535" in one_line(world.run("decode", "--", "0", number), 2)


@pytest.mark.parametrize("rate, units", [
    ("3M", 24), ("3MiB", 24), ("24Mbit", 23), ("3MB", 23), ("1", 1), ("1bit", 1), ("0.000000001B", 1), ("131072", 1),
    ("131073", 2), ("127.875M", 1023), ("127.874999999M", 1023), ("0.125M", 1), ("0.125000001M", 2), ("1Gbit", 954),
])
def test_rate_is_rounded_up_to_the_next_unit(world: World, rate: str, units: int) -> None:
    result = world.run("encode", "--rate", rate, "--delay", "25ms", "--json")
    assert result.code == 0
    assert result.json["rate_units"] == units
    assert result.json["rate"] == units * UNIT
    assert result.json["ioprio"] == value(units, 0)
    assert result.json["rate_rounded"] == ("rounded up to" in result.err)


def test_rounded_rate_is_reported_in_one_line(world: World) -> None:
    result = world.run("encode", "--rate", "3.1M", "--delay", "200ms")
    assert result.out == f"{value(25, 3)}\n"
    assert result.err == "bwctl: rate 3.1M rounded up to 3.125 MiB/s\n"


@pytest.mark.parametrize("rate", ["128M", "127.875000001M", "1G", "134086657", "1073Mbit", "18446744073709551615bit"])
def test_rate_beyond_the_largest_is_refused(world: World, rate: str) -> None:
    assert "too high: the class can reserve up to 127.875 MiB/s" in one_line(
        world.run("encode", "--rate", rate, "--delay", "1s"), 2)


@pytest.mark.parametrize("rate", ["0", "0M", "0.000Mbit"])
def test_rate_zero_is_refused(world: World, rate: str) -> None:
    assert "is zero" in one_line(world.run("encode", "--rate", rate, "--delay", "1s"), 2)


@pytest.mark.parametrize("delay, level", [
    ("25ms", 0), ("49.999ms", 0), ("50ms", 1), ("199999us", 2), ("0.2s", 3), ("250ms", 3), ("499ms", 3), ("799ms", 4),
    ("999ms", 5), ("1s", 6), ("1.999999999s", 6), ("2s", 7), ("1000s", 7), ("2000.0000001ms", 7),
])
def test_delay_is_rounded_down_to_an_entry(world: World, delay: str, level: int) -> None:
    result = world.run("encode", "--rate", "3M", "--delay", delay, "--json")
    assert result.code == 0
    assert (result.json["delay_level"], result.json["delay_ms"]) == (level, DEFAULT_DELAYS[level])
    assert result.json["delay_rounded"] == ("rounded down to" in result.err)


def test_exact_values_are_not_reported_as_rounded(world: World) -> None:
    for units, level in [(1, 0), (24, 3), (1023, 7)]:
        result = world.run("encode", "--rate", str(units * UNIT), "--delay", f"{DEFAULT_DELAYS[level]}ms", "--json")
        assert result.err == ""
        assert not result.json["rate_rounded"] and not result.json["delay_rounded"]


def test_quiet_rounds_without_a_word(world: World) -> None:
    world.disk("sda", delays=[1, 2, 3, 4, 5, 6, 7, 8])
    result = world.run("encode", "--quiet", "--rate", "3.1M", "--delay", "250ms")
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize("delay", ["0ms", "24.999999ms", "1us"])
def test_delay_below_each_entry_is_refused(world: World, delay: str) -> None:
    line = one_line(world.run("encode", "--rate", "3M", "--delay", delay), 2)
    assert "shorter than every entry of the delay table (25 50 100 200 500 800 1000 2000 ms)" in line


def test_device_gives_its_own_table(world: World) -> None:
    world.disk("sda", delays=[10, 20, 40, 80, 160, 320, 640, 1280])
    result = world.run("encode", "--device", "sda", "--rate", "3M", "--delay", "200ms", "--json")
    assert (result.json["delay_level"], result.json["delay_ms"]) == (4, 160)
    assert "rounded down to 160 ms" in result.err
    assert world.run("encode", "--device", "/dev/sda", "--rate", "3M", "--delay", "10ms").code == 0


def test_unsorted_table_gives_the_longest_that_is_not_longer(world: World) -> None:
    world.disk("sda", delays=[2000, 25, 190, 1000, 150, 500, 201, 50])
    result = world.run("encode", "--device", "sda", "--rate", "3M", "--delay", "200ms", "--json")
    assert result.json["delay_level"] == 2


def test_without_device_another_table_is_warned_of(world: World) -> None:
    world.disk("sda")
    world.disk("sdb", delays=[10, 20, 40, 80, 160, 320, 640, 1280])
    world.disk("sdc", "none [mq-deadline] cfq", bw=True, delays=[1, 2, 3, 4, 5, 6, 7, 8])
    result = world.run("encode", "--rate", "3M", "--delay", "200ms")
    assert result.out == f"{value(24, 3)}\n"
    assert result.err.count("\n") == 1 and "--device sdb" in result.err


def test_without_device_default_tables_are_not_warned_of(world: World) -> None:
    world.disk("sda")
    world.disk("sdb", "[none] cfq")
    assert world.run("encode", "--rate", "3M", "--delay", "200ms").err == ""


@pytest.mark.parametrize("delays", ["", "25", "25 50 100 200 500 800 1000", "25 50 100 200 500 800 1000 2000 3000",
                                    "25 50 100 200 500 800 1000 x", "-25 50 100 200 500 800 1000 2000",
                                    "25 50 100 200 500 800 1000 99999999999"])
def test_damaged_table_of_the_device_is_refused(world: World, delays: str) -> None:
    world.disk("sda", delays=delays)
    line = one_line(world.run("encode", "--device", "sda", "--rate", "3M", "--delay", "200ms"), 1)
    assert line == "sda has no delay table: bw_delays_ms does not hold eight numbers (try bwctl check sda)"
    assert world.run("encode", "--rate", "3M", "--delay", "200ms").err == ""


def test_device_without_cfq_has_no_table(world: World) -> None:
    world.disk("sda", "[none] mq-deadline")
    line = one_line(world.run("encode", "--device", "sda", "--rate", "3M", "--delay", "200ms"), 1)
    assert "sda has no delay table: No such file or directory (try bwctl check sda)" in line


def test_stacked_device_takes_the_table_of_the_disks_below(world: World) -> None:
    table = [10, 20, 40, 80, 160, 320, 640, 1280]
    world.disk("sda", delays=table)
    world.disk("sdb", delays=table)
    world.stack("md0", "sda", "sdb")
    assert world.run("encode", "--device", "md0", "--rate", "3M", "--delay", "160ms", "--json").json["delay_level"] == 4


def test_stacked_device_with_differing_tables_is_refused(world: World) -> None:
    world.disk("sda")
    world.disk("sdb", delays=[10, 20, 40, 80, 160, 320, 640, 1280])
    world.stack("md0", "sda", "sdb")
    line = one_line(world.run("encode", "--device", "md0", "--rate", "3M", "--delay", "160ms"), 1)
    assert "sda and sdb have different delay tables" in line


def test_arguments_cannot_break_the_line(world: World) -> None:
    line = one_line(world.run("encode", "--rate", "3M\nbwctl: \x1b[31mall is well", "--delay", "1s"), 2)
    assert "3M?bwctl: ?[31mall is well" in line


def test_endless_argument_is_cut(world: World) -> None:
    line = one_line(world.run("encode", "--rate", "3" + "x" * 100000, "--delay", "1s"), 2)
    assert len(line) < 2000


def test_bytes_that_are_no_text_are_refused(world: World) -> None:
    one_line(world.run("encode", "--rate", b"\xff\xfe", "--delay", "1s"), 2)


def test_encode_and_decode_refuse_a_wrong_command_line(world: World) -> None:
    assert "encode: unexpected argument '7'" in one_line(world.run("encode", "--rate", "3M", "--delay", "1s", "7"), 2)
    assert "encode: --rate is missing" in one_line(world.run("encode"), 2)
    assert "decode: no number given" in one_line(world.run("decode"), 2)


def test_decode_gives_the_level_of_other_classes_in_json(world: World) -> None:
    assert world.run("decode", "--json", str(2 << 13 | 4)).json == {
        "priorities": [{"ioprio": 2 << 13 | 4, "class": "be", "level": 4}]}


@pytest.mark.parametrize("rate, delay, rounded", [
    ("128K", "1s", (False, False)), ("128.000000001K", "1s", (True, False)), ("131072.000000001", "1s", (True, False)),
    ("128K", "1000.000001ms", (False, True)), ("128K", "25000.0001us", (False, True)),
])
def test_the_smallest_remainder_counts_as_rounded(world: World, rate: str, delay: str,
                                                  rounded: tuple[bool, bool]) -> None:
    found = world.run("encode", "--rate", rate, "--delay", delay, "--json").json
    assert (found["rate_rounded"], found["delay_rounded"]) == rounded
