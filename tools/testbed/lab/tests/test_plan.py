# SPDX-License-Identifier: GPL-2.0
"""A scenario on a kernel: what the kernel lacks is refused, and where a setting of it came from is said."""

from pathlib import Path
from typing import Literal

import pytest

from tools.base.cli import EXIT_FAILED, EXIT_USAGE
from tools.testbed.lab import cli
from tools.testbed.lab.model import schema
from tools.testbed.lab.model.errors import ScenarioError
from tools.testbed.lab.model.units import GIB
from tools.testbed.lab.run import job, runner
from tools.testbed.lab.run.features import Features, probe
from tools.testbed.lab.run.plan import Plan, make_plan
from tools.testbed.lab.tests.conftest import SCENARIO, lines_of
from tools.testbed.vm import uml

SCHEDULERS = ["none", "mq-deadline", "cfq"]
ATTRIBUTES = frozenset(["irqmode", "rot/rpm", "size"])
CONFIG = '[[config]]\nname = "c"\nscheduler = "cfq"\n'


def with_config(lines: str) -> str:
    return SCENARIO.replace("[[group]]", f"{CONFIG}{lines}\n[[group]]", 1)


def features(bw: bool = False) -> Features:
    return Features("7.3", SCHEDULERS, bw, True, ATTRIBUTES)


def plan_of(source: str, disks: Path, kernel: Features) -> Plan:
    return make_plan(schema.parse(Path("test.toml"), source), disks, None, None, None, kernel)


@pytest.mark.parametrize(
    ("source", "at", "key", "what"),
    [
        (SCENARIO.replace('"mq-deadline"]', '"elevator9"]'), "schedulers", "schedulers", "no scheduler 'elevator9'"),
        (
            with_config("").replace('"cfq"', '"elevator9"'),
            "scheduler =",
            "config.0.scheduler",
            "kernel 7.3 has no scheduler 'elevator9' (it has none, mq-deadline, cfq)",
        ),
        (SCENARIO.replace('irqmode = 2', '"rot/rpn" = 1'), '"rot/rpn"', "disk_set.rot/rpn",
         "has no such attribute"),
        (SCENARIO.replace('"plain"', '"floppy"'), "disk", "disk", "no disk preset 'floppy' (known: plain)"),
        (SCENARIO.replace('file = "db"', 'file = "media:99"'), "file", "group.1.file", "media file 99 is not in 0..39"),
    ],
)
def test_refusal_of_what_the_kernel_lacks_names_line_and_key(
    disks: Path, source: str, at: str, key: str, what: str
) -> None:
    with pytest.raises(ScenarioError) as refusal:
        plan_of(source, disks, features())
    assert str(refusal.value).startswith(f"test.toml:{lines_of(source, at)[0]}: {key}: ")
    assert what in str(refusal.value)
    assert refusal.value.code == EXIT_USAGE


def test_kernel_without_the_rotating_disk_is_refused(disks: Path) -> None:
    with pytest.raises(ScenarioError, match="test.toml:2: disk: kernel 7.3 has no rotating disk"):
        plan_of(SCENARIO.replace("irqmode = 2", "size = 1024"), disks, Features("7.3", SCHEDULERS, False, False))


def test_size_of_disk_set_is_the_disk_that_files_lie_on(disks: Path) -> None:
    plan = plan_of(SCENARIO.replace('irqmode = 2', 'irqmode = 2\nsize = 1024000'), disks, features())
    assert plan.disk.bytes == 1000 * GIB


@pytest.mark.parametrize(
    ("bw", "policies", "chosen"),
    [
        (True, 'policy = "bw"\nfallback = "rt"', "bw"),
        (True, 'policy = "bw"', "bw"),
        (False, 'policy = "bw"\nfallback = "rt"', "rt"),
        (False, 'policy = "bw"\nfallback = "none"', "none"),
        (False, 'policy = "bw"', None),
        (False, 'policy = "rt"\nfallback = "none"', "rt"),
        (False, 'policy = "none"', "none"),
    ],
)
def test_policy_on_a_kernel_with_and_without_the_bw_class(
    disks: Path, bw: bool, policies: str, chosen: str | None
) -> None:
    plan = plan_of(with_config(policies), disks, features(bw))
    assert next(one for one in plan.runs if one.cell.config.name == "c").policy == chosen


def test_reservation_of_a_group_that_is_not_there_needs_no_fallback(disks: Path) -> None:
    source = with_config('policy = "bw"').replace('name = "stream"', 'name = "stream"\nwhen = { N = "2" }')
    plan = plan_of(source, disks, features())
    chosen = {one.cell.name: one.policy for one in plan.runs if one.cell.config.name == "c"}
    assert chosen == {"c depth1 N=1": "bw", "c depth1 N=2": None}


@pytest.mark.parametrize(("given", "used"), [(None, 9), (0, 0), (7, 7)])
def test_streams_are_those_of_the_seed_that_the_results_name(disks: Path, given: int | None, used: int) -> None:
    loaded = schema.parse(Path("test.toml"), SCENARIO.replace("duration_s = 4", "duration_s = 4\nseed = 9"))
    plan = make_plan(loaded, disks, None, None, given, features())
    assert plan.seed == used
    for one in plan.runs:
        assert one.streams == job.processes(loaded, one.cell, plan.disk, used, "rt")
        assert one.streams != job.processes(loaded, one.cell, plan.disk, used + 1, "rt")


@pytest.mark.parametrize(
    ("bw", "status", "policy", "fallback"),
    [(True, "ok", "bw", False), (False, "ok", "rt", True), (False, "failed", "bw", False)],
)
def test_cell_says_what_it_ran_with_if_it_ran(
    disks: Path, bw: bool, status: Literal["ok", "failed"], policy: str, fallback: bool
) -> None:
    plan = plan_of(with_config('policy = "bw"\nfallback = "rt"'), disks, features(bw))
    cell = runner.cell_result(plan.runs[-1], status)
    assert (cell["name"], cell["status"]) == ("c depth1 N=2", status)
    assert (cell["policy"], cell["fallback"]) == (policy, fallback)


def fake_kernel(folder: Path, refused: str = "nothing") -> Path:
    """A kernel that has what features() has, and refuses to open files of a name."""
    path = folder / "linux"
    path.write_text(
        f"""#!/bin/sh
for folder; do :; done
cd "$folder" || exit 1
echo boot >> {folder}/boots
echo 7.3 > release
echo 0 > bw
if grep -q "^report schedulers" job; then
	echo "[none] mq-deadline cfq" > schedulers
	echo "{",".join(sorted(ATTRIBUTES))}" > features
	echo 1 > done
elif line=$(grep -n "^write .*/{refused} " job); then
	path=${{line#* }}
	printf 'job line %s: open %s: No such file or directory' "${{line%%:*}}" "${{path%% *}}" > error
else
	n=$(grep -c "^stream" job)
	while [ "$n" -gt 0 ]; do n=$((n - 1)); : > "$n.bin"; done
	echo 1 > done
fi
"""
    )
    path.chmod(0o755)
    return path


def run_lab(source: str, kernel: Path, disks: Path, tmp_path: Path) -> int:
    path = tmp_path / "test.toml"
    path.write_text(source)
    args = ["--kernel", kernel, "--loadgen", "/bin/true", "--disks", disks, "--out", tmp_path / "out", "--quiet"]
    return cli.main(["run", str(path), *map(str, args)])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (SCENARIO.replace("size =", "size = 4.5 #", 1), "test.toml:18: group.0.size: '4.5' is not a size"),
        (SCENARIO.replace("rate =", 'rate = "0MiB/s" #', 1), "test.toml:17: group.0.rate: '0MiB' is not in 1.."),
        (SCENARIO.replace('"mq-deadline"]', '"bfq"]'), "test.toml:4: schedulers: kernel 7.3 has no scheduler 'bfq'"),
        (SCENARIO.replace('irqmode = 2', '"rot/rpn" = 1'), "test.toml:11: disk_set.rot/rpn: null_blk of kernel"),
        (SCENARIO.replace('file = "db"', 'file = "media:99"'), "test.toml:30: group.1.file: media file 99 is not in"),
    ],
)
def test_bad_scenario_runs_nothing(
    disks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, message: str
) -> None:
    assert run_lab(source, fake_kernel(tmp_path), disks, tmp_path) == EXIT_USAGE
    said = capsys.readouterr().err
    assert said.startswith(f"lab: {message}")
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()
    # at most one guest, which was asked what the kernel has
    boots = tmp_path / "boots"
    assert not boots.exists() or boots.read_text() == "boot\n"


@pytest.mark.parametrize(
    ("lines", "refused", "at", "key"),
    [
        ("set = { slice_snc_ms = 50 }", "iosched/slice_snc_ms", "set", "config.0.set.slice_snc_ms"),
        ("set = { slice_async_rq = 5 }\nqueue = { rotatonal = 1 }", "rotatonal", "queue", "config.0.queue.rotatonal"),
        ("", "rot0/irqmode", "irqmode", "disk_set.irqmode"),
        ("", "rot0/power", "[disk_set]", "disk_set"),
    ],
)
def test_setting_that_the_kernel_refuses_is_an_error_with_line_and_key(
    disks: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    lines: str,
    refused: str,
    at: str,
    key: str,
) -> None:
    source = with_config(lines)
    assert run_lab(source, fake_kernel(tmp_path, refused), disks, tmp_path) == EXIT_FAILED
    said = capsys.readouterr().err
    assert f"lab: test.toml:{lines_of(source, at)[0]}: {key}: test c depth1 N=1: job line " in said
    assert "No such file or directory" in said


def test_probe_knows_the_attributes_of_null_blk(tmp_path: Path) -> None:
    assert probe(uml.Guests(fake_kernel(tmp_path), Path("/bin/true"), 60)) == features()
