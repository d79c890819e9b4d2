# SPDX-License-Identifier: GPL-2.0
"""Bad scenario files are refused with the line, the key and what is wrong."""

import tomllib
from pathlib import Path

import pytest

from tools.base.cli import EXIT_USAGE, ToolError
from tools.testbed.lab.model import catalog, scenario, schema, tomllines
from tools.testbed.lab.model.errors import ScenarioError
from tools.testbed.lab.run import oldsched
from tools.testbed.lab.tests.conftest import SCENARIO, lines_of


def parse(source: str) -> scenario.Scenario:
    return schema.parse(Path("test.toml"), source)


@pytest.mark.parametrize(
    ("old", "new", "at", "key", "what"),
    [
        ("duration_s = 4", "duration_s = -4", "duration_s", "duration_s", "-4 is not in"),
        ("duration_s = 4", 'duration_s = "4"', "duration_s", "duration_s", "must be a number, not a string"),
        ("duration_s = 4", "duration_s = 4\ndurations = 4", "durations", "durations", "unknown key"),
        ('rate = "1MiB/s"', 'rate = "1MiB"', "rate", "group.0.rate", "not a rate"),
        ('size = "1MiB"', 'size = "1 apple"', "size", "group.0.size", "not a size"),
        ('kind = "paced"', 'kind = "hasty"', "kind", "group.0.kind", "not one of copy, greedy"),
        ('count = "$N"', 'count = "$M"', "count", "group.0.count", "$M is not a key of [vary]"),
        ("N = [1, 2]", "N = [1, -2]", "count", "group.0.count", "-2 is not in"),
        ("deadline_ms = 1000", "deadline_ms = true", "deadline_ms", "group.0.deadline_ms", "not a boolean"),
        ("level = 4", "level = 8", "priority.rt", "group.0.priority.rt.level", "8 is not in 0..7"),
        ('class = "rt"', 'class = "best"', "priority.rt", "group.0.priority.rt.class", "not one of"),
        (
            "delay_ms = 800",
            "delay_ms = 801",
            "priority.bw",
            "group.0.priority.bw",
            "not in the device's table",
        ),
        (
            '"bw", rate = "1MiB/s"',
            '"bw", rate = "1000B/s"',
            "priority.bw",
            "group.0.priority.bw",
            "multiple of 128 KiB/s",
        ),
        ('policy = "rt"', 'policy = "wish"', "policy", "policy", "no group has a priority.wish"),
        ('groups = "stream"', 'groups = "dream"', "left", "expect.0.left", "no group 'dream'"),
        ('metric = "reads"', 'metric = "joy"', "metric", "view.0.metric", "not one of"),
        ('op = "=="', 'op = "is"', "op", "expect.0.op", "not one of"),
        ('name = "random"', 'name = "stream"', 'name = "stream"', "group.1.name", "two groups are called"),
        ('title = "test"', "title = ", "title", "", "not TOML"),
        ('rate = "1MiB/s"', 'rate = "0MiB/s"', "rate", "group.0.rate", "'0MiB' is not in 1.."),
        ('size = "1MiB"', "size = 4.5", "size", "group.0.size", "'4.5' is not a size"),
        ('size = "1MiB"', "size = true", "size", "group.0.size", "'True' is not a size"),
        ('size = "1MiB"', "size = 0", "size", "group.0.size", "'0' is not in 1.."),
        ('size = "1MiB"', "size = -5", "size", "group.0.size", "'-5' is not in 1.."),
        ('size = "1MiB"', f'size = "{"9" * 400}GiB"', "size", "group.0.size", "is not in 1.."),
        ('kind = "paced"\n', 'kind = "paced"\nchunk = 0\n', "chunk", "group.0.chunk", "'0' is not in 1.."),
        ("N = [1, 2]", 'N = [1, 2]\nseed = ["x"]', "seed", "vary.seed", "must be an integer, not a string"),
        ("N = [1, 2]", "N = [1, 2]\nseed = { a = -1 }", "seed", "vary.seed", "-1 is not in 0.."),
        ('metric = "reads"', 'metric = "reads"\nunit = "apples"', "unit", "view.0.unit", "not one of"),
        ('metric = "reads"', 'metric = "reads"\ngroups = ["s"]', "groups", "view.0.groups", "no group 's'"),
        ('metric = "reads"', 'metric = "reads"\nconfig = "cfq"', "config", "view.0.config", "no config 'cfq'"),
        ('irqmode = 2', "hw_queue_depth = 4", "hw_queue_depth", "disk_set.hw_queue_depth", "'depth' says"),
        ('irqmode = 2', "power = 0", "power", "disk_set.power", "each run switches its disk on"),
        ('irqmode = 2', 'irqmode = 2\n"rot/rpm" = 1', '"rot/rpm"', "disk_set.rot/rpm", "irqmode = 2: there"),
        ('irqmode = 2', "size = 4.5", "size", "disk_set.size", "'4.5' is not a whole number"),
        ('irqmode = 2', "blocksize = 0", "blocksize", "disk_set.blocksize", "'0' is not a whole number"),
        ('irqmode = 2', '"rot/rpm" = []', '"rot/rpm"', "disk_set.rot/rpm", "a string or number, not an array"),
        ('irqmode = 2', '"rot/rpm" = "1\\n2"', '"rot/rpm"', "disk_set.rot/rpm", "must be one line"),
        ('policy = "rt"', 'policy = ["rt"]', "policy", "policy", "must be a string, not an array"),
        ('file = "db"', 'file = "db"\nwhen = { N = [] }', "when", "group.1.when", "names no label"),
        ('file = "db"', 'file = "db"\nwhen = { N = [1, 3] }', "when", "group.1.when", "[vary] has no N = 3"),
        (
            'kind = "random"\nper_s = 50\nsize = "4KiB"',
            'kind = "tree"\nrate = "1MiB/s"',
            "[[group]]",
            "group.1",
            "'size' is missing",
        ),
        (
            "[[group]]",
            '[[config]]\nscheduler = "none"\nname = "n"\nset = { a = 1 }\n\n[[group]]',
            "set",
            "config.0.set",
            "none has no tunables",
        ),
        (
            "[[group]]",
            '[[config]]\nscheduler = "cfq"\nset = { slice_async_rq = "" }\n\n[[group]]',
            "set",
            "config.0.set",
            "'slice_async_rq' must be one line that is not empty",
        ),
        (
            "[[group]]",
            '[[config]]\nscheduler = "none"\n\n[[group]]',
            "[[config]]",
            "config.0",
            "two configurations are called 'none'",
        ),
    ],
)
def test_refusal_names_line_and_key(old: str, new: str, at: str, key: str, what: str) -> None:
    source = SCENARIO.replace(old, new, 1)
    assert source != SCENARIO
    with pytest.raises(ScenarioError) as refusal:
        parse(source)
    assert what in str(refusal.value)
    assert refusal.value.key == key
    expected = lines_of(source, at)[1 if key in ("group.1", "group.1.name") else 0]
    assert refusal.value.line == expected
    assert str(refusal.value).startswith(f"test.toml:{expected}: ")
    assert refusal.value.code == EXIT_USAGE


@pytest.mark.parametrize("rows", ["3", "[1]", "[[1]]", '["1"]', '[["1", "2"]]'])
def test_published_rows_are_rows_of_texts(rows: str) -> None:
    source = SCENARIO + f'\n[[published]]\ncaption = "old"\ncolumns = ["a"]\nrows = {rows}\n'
    with pytest.raises(ScenarioError) as refusal:
        parse(source)
    assert refusal.value.line == lines_of(source, "rows")[0]
    assert refusal.value.key.startswith("published.0.rows")


def test_message_is_one_line() -> None:
    with pytest.raises(ScenarioError) as refusal:
        parse(SCENARIO.replace('policy = "rt"', 'policy = "a\\nb"'))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("unit", ["", "%", "ms", "reads/s", "KiB/s", "KB/s", "MiB", "MiB/s"])
def test_units_of_views(unit: str) -> None:
    assert parse(SCENARIO.replace('metric = "reads"', f'metric = "reads"\nunit = "{unit}"')).views[0].unit == unit


def test_missing_key_is_named() -> None:
    with pytest.raises(ScenarioError, match="'disk' is missing"):
        parse(SCENARIO.replace('disk = "plain"\n', ""))


def test_scenario_without_groups_is_refused() -> None:
    with pytest.raises(ScenarioError, match="the scenario has no processes"):
        parse('title = "t"\ndisk = "plain"\nduration_s = 1\nschedulers = ["none"]\n')


def test_cells_are_schedulers_times_depths_times_variants() -> None:
    cells = parse(SCENARIO.replace('disk = "plain"', 'disk = "plain"\ndepth = [1, 31]')).cells()
    assert len(cells) == 2 * 2 * 2
    assert cells[0].name == "none depth1 N=1"
    assert {cell.depth for cell in cells} == {1, 31}


def test_scheduler_selects_configurations() -> None:
    cells = parse(SCENARIO).cells(schedulers=["mq-deadline"], depths=[7])
    assert [cell.name for cell in cells] == ["mq-deadline depth7 N=1", "mq-deadline depth7 N=2"]


def test_configuration_can_be_limited_to_variants() -> None:
    source = SCENARIO.replace(
        "[[group]]", '[[config]]\nname = "few"\nscheduler = "bfq"\nonly = { N = [2] }\n\n[[group]]', 1
    )
    assert [cell.labels for cell in parse(source).cells(["bfq"])] == [{"N": "2"}]


GROUPED = SCENARIO.replace('file = "db"', 'file = "db"\ncgroup = "others"')


def with_cgroup(setting: str) -> str:
    return f'{GROUPED}\n[[config]]\nname = "set"\nscheduler = "bfq"\ncgroup = {setting}\n'


def test_processes_may_be_in_control_groups() -> None:
    scenario = parse(with_cgroup('{ root = { "io.cost.qos" = "DEV enable=1" }, others = { "io.weight" = 10 } }'))
    assert [group.cgroup for group in scenario.groups] == ["", "others"]
    assert scenario.configs[-1].cgroups == {"root": {"io.cost.qos": "DEV enable=1"}, "others": {"io.weight": "10"}}


@pytest.mark.parametrize(
    ("source", "key", "what"),
    [
        (GROUPED.replace('"others"', '"Others"'), "group.1.cgroup", "no name of a control group"),
        (GROUPED.replace('"others"', '"root"'), "group.1.cgroup", "no name of a control group"),
        (GROUPED.replace('"others"', '"a/b"'), "group.1.cgroup", "no name of a control group"),
        (with_cgroup('{ other = { "io.bw" = "DEV none" } }'), "config.0.cgroup.other", 'no group has cgroup = "other"'),
        (with_cgroup('{ others = { "../io" = "1" } }'), "config.0.cgroup", "not the name of a control group's file"),
        (with_cgroup('{ others = "1" }'), "config.0.cgroup", "must be a table"),
        (with_cgroup('{ others = { "io.bw" = "" } }'), "config.0.cgroup", "must be one line that is not empty"),
    ],
)
def test_control_groups_that_cannot_be_are_refused(source: str, key: str, what: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        parse(source)
    assert refusal.value.key == key
    assert what in str(refusal.value)


def test_group_can_be_limited_to_some_variants() -> None:
    source = SCENARIO.replace("N = [1, 2]", "N = [1, 2, 3]")
    source = source.replace('file = "db"', 'file = "db"\nwhen = { N = [1, 3] }')
    group = parse(source).groups[1]
    assert [group.active({"N": label}) for label in "123"] == [True, False, True]


ON_FILES = (
    SCENARIO.replace("duration_s = 4", 'duration_s = 4\nfilesystem = "ext4"')
    .replace("direct = true", 'direct = true\nfile = "own:8MiB"', 1).replace('file = "db"', 'file = "own:8MiB"')
)
COPIED = ON_FILES.replace('kind = "random"\nper_s = 50', 'kind = "copy"')


@pytest.mark.parametrize(
    ("source", "key", "what"),
    [
        (SCENARIO.replace('file = "db"', 'file = "new"'), "group.1.file", "'new': needs a filesystem"),
        (ON_FILES.replace('file = "own:8MiB"', 'file = "disk"', 1), "group.0.file", "with a filesystem it is own:SIZE"),
        (ON_FILES.replace('file = "own:8MiB"', 'file = "new"', 1), "group.0.file", "a new file has nothing to be read"),
        (ON_FILES.replace('"ext4"', '"ntfs"'), "filesystem", "'ntfs' is not one of"),
        (SCENARIO.replace('kind = "random"\nper_s = 50', 'kind = "copy"'), "group.1.kind", "a copy needs a filesystem"),
        (SCENARIO.replace("per_s = 50", "per_s = 50\nbuffer_ms = 1"), "group.1.buffer_ms", "only a paced group"),
        (COPIED.replace('kind = "copy"', 'kind = "copy"\nop = "write"'), "group.1.op", "writes another"),
        (COPIED.replace('kind = "copy"', 'kind = "copy"\nfsync_every = 1'), "group.1.fsync_every", "is not synced"),
    ],
)
def test_files_are_of_a_file_system_or_of_the_device(source: str, key: str, what: str) -> None:
    assert parse(ON_FILES).filesystem == parse(COPIED).filesystem == "ext4"
    with pytest.raises(ScenarioError) as refusal:
        parse(source)
    assert refusal.value.key == key
    assert what in str(refusal.value)


def test_group_can_be_limited_to_a_variant() -> None:
    source = SCENARIO.replace('file = "db"', 'file = "db"\nwhen = { N = "2" }')
    group = parse(source).groups[1]
    assert group.active({"N": "2"})
    assert not group.active({"N": "1"})


@pytest.mark.parametrize("path", sorted(catalog.SCENARIOS.rglob("*.toml")), ids=lambda path: path.stem)
def test_every_scenario_of_ours_is_valid(path: Path) -> None:
    loaded = schema.load(path)
    assert loaded.cells()
    schedulers = {cell.config.scheduler for cell in loaded.cells()}
    # without one it is a figure of the disk; those in oldsched/ are for a kernel with old schedulers
    if path.parent == catalog.SCENARIOS:
        assert schedulers in ({"none", "mq-deadline", "kyber", "bfq", "cfq"}, {"none"})
    else:
        assert schedulers & set(oldsched.SCHEDULERS)
    if loaded.source != "not published":
        assert loaded.published
        assert loaded.expects


def test_unreadable_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="No such file") as refusal:
        schema.load(tmp_path / "none.toml")
    assert "\n" not in str(refusal.value)


def test_key_lines_of_nested_and_repeated_tables() -> None:
    text = 'a = 1\nlong = """\nb = 2\n"""\n[[t]]\nx.y = 1\n[[t]]\nz = 3\n[t.u]\nv = 4\n'
    lines = tomllines.key_lines(text)
    assert lines["a",] == 1
    assert ("b",) not in lines
    assert lines["t", 0, "x", "y"] == 6
    assert lines["t", 1, "z"] == 8
    assert lines["t", 1, "u", "v"] == 10
    assert tomllines.line_of(lines, ("t", 0, "missing")) == 5


@pytest.mark.parametrize(
    "before",
    [
        'x = [\n  ["1", "2"],\n  ["3", "4"]\n]\n',
        'x = [\n  [\n    "a ] b"  # and ]]\n  ],\n]\n',
        "x = [\n  { y = 1 },\n  [ 2 ]\n]\n",
        "x = \"'''\"\n",
        "x = '\"\"\"'\n",
        'x = "a \\" \'\'\'"\n',
        "x = 1  # it's \"\"\" or ''' or [\n",
        'x = """\n\'\'\' [[no]]\n[no]\nno = 1\n"""\n',
        "x = '''\n\"\"\" a ''\nno = 1'''''\n",
        'x = """\\""" # quoted\nno = 1"""\n',
        'x = ""\ny = """"""\n',
    ],
)
def test_key_lines_behind_arrays_and_strings_of_all_kinds(before: str) -> None:
    source = f"{before}key = 1\n[table]\n'a.b'.c = 1\n[[array]]\nkey = 2"
    tomllib.loads(source)
    line = before.count("\n") + 1
    found = tomllines.key_lines(source)
    assert {path: number for path, number in found.items() if path[0] not in ("x", "y")} == {
        ("key",): line,
        ("table",): line + 1,
        ("table", "a.b"): line + 2,
        ("table", "a.b", "c"): line + 2,
        ("array", 0): line + 3,
        ("array", 0, "key"): line + 4,
    }


def test_refusal_behind_an_array_without_a_last_comma_names_its_line() -> None:
    rows = 'rows = [\n  ["1", "2"],\n  ["3", "4"]\n]\n'
    source = SCENARIO + f'[[published]]\ncaption = "old"\ncolumns = ["a", "b"]\n{rows}colums = 2\n'
    with pytest.raises(ScenarioError, match="published.0.colums: unknown key") as refusal:
        parse(source)
    assert refusal.value.line == lines_of(source, "colums")[0]


def test_refusal_behind_three_quotes_in_a_string_names_its_line() -> None:
    source = SCENARIO.replace('title = "test"', "title = \"'''\"").replace("duration_s = 4", "duration_s = -1")
    with pytest.raises(ScenarioError, match="test.toml:3: duration_s: -1 is not in"):
        parse(source)
