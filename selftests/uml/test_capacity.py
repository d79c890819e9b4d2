# SPDX-License-Identifier: GPL-2.0
"""What administrators.md's sum admits is in time on four disks, and what io.bw.model does.

The load is that of streams-limit and players, with as many streams of 1 MiB/s as the sum, or
the kernel with that disk's model, admits. The delay that is reserved is a step shorter than
the second in which a read has to be there, as the page says.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tools.testbed.disk import capacity, characteristics, presets
from tools.testbed.lab.model import catalog, cgroups, units
from tools.testbed.lab.model.results import Result
from tools.testbed.lab.model.scenario import Group, Priority, Scenario
from tools.testbed.lab.model.units import MIB
from tools.testbed.lab.run import layout, runner
from tools.testbed.lab.run.features import probe
from tools.testbed.lab.run.kernels import Kernels
from tools.testbed.lab.run.plan import make_plan
from tools.testbed.vm import uml
from tools.testbed.vm.programs import build_bwctl

DELAY_MS = 800
SECONDS = 60
STARTS = 3  # spread over a second, together, in two halves
# How many streams of 3 MiB/s there are beside those of 1 MiB/s.
DISKS = {"barracuda-7200.11": 10, "laptop-5400": 3, "cheetah-15k": 10, "nearline-20tb": 10}
# Part of the disk: where the files begin, and where they end. The last 20th has the lowest rate.
EVERYWHERE = 0.05, 0.97
INNERMOST = 0.95, 0.99
# Of players that all begin at the same moment, whose read-ahead asks for two reads' worth then, one may be late once.
LATE_TOGETHER = 1


@pytest.fixture(autouse=True)
def bandwidth(guests: uml.Guests) -> None:
    if not probe(guests).bw:
        pytest.skip("the kernel has no BW class")


def admitted(disk: str) -> int:
    """Streams of 1 MiB/s."""
    return capacity.most([3] * DISKS[disk], 1, characteristics.compute(presets.load(disk).attributes))


def group_of(group: Group, hd: int) -> Group:
    """A group of a scenario, as many as there are to be and with the delay to be reserved."""
    if "bw" not in group.priorities:
        return group
    rate = units.parse_rate(group.raw["rate"])
    priorities = {**group.priorities, "bw": Priority(units.bw_ioprio(rate, DELAY_MS), f"BW {DELAY_MS} ms")}
    raw = {**group.raw, "count": hd} if group.name.startswith("hd") else group.raw
    return dataclasses.replace(group, raw=raw, priorities=priorities)


def line(count: int, mib: int) -> str:
    """What io.bw says of so many streams in a control group."""
    return f"bps={count * mib * MIB} delay={DELAY_MS * 1000} streams={count}"


def model(disk: str) -> str:
    known = characteristics.compute(presets.load(disk).attributes)
    return f"bps={int(capacity.inner_mib(known) * MIB)} seek={int(capacity.positioning_ms(known) * 1000)}"


@pytest.mark.parametrize("disk", DISKS)
def test_bwctl_measures_the_model_of_a_disk(kernel: Path, tmp_path: Path, disk: str) -> None:
    """The rate of the last cylinders, and what a positioning takes where a dozen streams wait."""
    build_bwctl()
    uml.run_commands(f"""
tools/testbed/disk/disk create {disk} --name rot0 > /dev/null
mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
for n in 1 2; do
	build/bwctl/bwctl model --measure rot0 > $OUT/said.$n 2>&1
	cat /sys/fs/cgroup/io.bw.model > $OUT/model.$n
done
dd if=/dev/rot0 of=/dev/null bs=64k count=100000 iflag=direct status=none &
build/bwctl/bwctl model --measure rot0 > $OUT/disturbed 2>&1
echo $? > $OUT/code
kill $!
cat /sys/fs/cgroup/io.bw.model > $OUT/model
""", tmp_path, kernel)
    for number in (1, 2):  # of the second nothing is in the drive's cache
        said = (tmp_path / f"said.{number}").read_text()
        assert_model(disk, (tmp_path / f"model.{number}").read_text(), said)
    assert (tmp_path / "code").read_text() == "1\n"
    assert "other I/O disturbed the measurement" in (tmp_path / "disturbed").read_text()
    assert (tmp_path / "model").read_text() == (tmp_path / "model.2").read_text()


def assert_model(disk: str, line: str, said: str) -> None:
    words = dict(word.split("=") for word in line.split()[1:])
    known = characteristics.compute(presets.load(disk).attributes)
    assert int(words["bps"]) == pytest.approx(capacity.inner_mib(known) * MIB, rel=0.1)
    assert int(words["seek"]) == pytest.approx(capacity.positioning_ms(known) * 1000, rel=0.15), said


def admitted_by_kernel(kernel: Path, out: Path, disk: str) -> int:
    """Streams of 1 MiB/s in a control group, beside those of 3 MiB/s in another."""
    out.mkdir()
    most = admitted(disk) + 1
    (out / "lines").write_text("".join(f"{line(count, 1)}\n" for count in range(1, most + 1)))
    console = uml.run_commands(f"""
mount -t cgroup2 cgroup2 /sys/fs/cgroup && cd /sys/fs/cgroup && echo +io > cgroup.subtree_control && mkdir hd dvd
(cd "$OLDPWD" && exec tools/testbed/disk/disk create {disk} --name d)
echo cfq > /sys/block/d/queue/scheduler
read -r dev < /sys/block/d/dev
echo "$dev {model(disk)}" > io.bw.model && echo "$dev {line(DISKS[disk], 3)}" > hd/io.bw || exit
count=0
while read -r said && echo "$dev $said" > dvd/io.bw
do
	count=$((count + 1))
done 2> "$OUT/said" < "$OUT/lines"
echo $count > "$OUT/count"
""", out, kernel)
    assert (out / "count").is_file(), console
    assert "No space left" in (out / "said").read_text()
    return int((out / "count").read_text())


def late(
    guests: uml.Guests,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    disk: str,
    count: int,
    where: tuple[float, float],
    by_group: bool = False,
) -> dict[str, tuple[int, int]]:
    """Reads of reserved streams that were late, and those due, in each run of a scenario.

    @count: streams of 1 MiB/s
    @by_group: reserved by two control groups, in place of each process's class
    """
    begin, end = where
    size = int(presets.load(disk).attributes["size"]) * MIB
    part = int(size * (end - begin)) // (layout.MEDIA_FILES + 1) // MIB * MIB
    for key, value in {"MEDIA_FROM": begin, "MEDIA_BYTES": part, "TREES_TO": 1.0}.items():
        monkeypatch.setattr(layout, key, value)
    ours = catalog.find_scenario(name).with_settings("published")  # 256 tags; with 64 two reads are late
    scenario = dataclasses.replace(
        ours,
        disk=disk,
        duration_s=SECONDS,
        vary={**ours.vary, "N": {str(count): count}},
        groups=[group_of(group, DISKS[disk]) for group in ours.groups],
        configs=[dataclasses.replace(one, depth=(1,)) for one in ours.configs if one.name == "cfq-bw"],
        expects=[],
        views=[],
    )
    if by_group:
        scenario = reserved_by_group(scenario, disk, count)
    plan = make_plan(scenario, catalog.DISKS, None, None, None, probe(guests))
    found: list[Result] = []
    failed = runner.run_plans([plan], Kernels(guests), 2, None, lambda _, result: found.append(result),
                              lambda *_: None)
    assert failed == []
    reads = {}
    for cell in found[0]["cells"]:
        assert not cell["fallback"]
        streams = [process for process in cell["processes"] if "misses" in process]
        due = sum(process["expected"] for process in streams)
        assert len(streams) == DISKS[disk] + count and due >= len(streams) * (SECONDS - 2)
        reads[cell["name"]] = sum(process["misses"] for process in streams), due
    return reads


def reserved_by_group(scenario: Scenario, disk: str, count: int) -> Scenario:
    """Streams are of best effort, in control groups that have reserved what the processes would have."""
    lines = {"hd": line(DISKS[disk], 3), "dvd": line(count, 1)}
    files = {cgroups.ROOT: {"io.bw.model": f"DEV {model(disk)}"}}
    files |= {name: {"io.bw": f"DEV {said}"} for name, said in lines.items()}
    return dataclasses.replace(
        scenario,
        groups=[
            dataclasses.replace(one, cgroup=one.name.split("-")[0]) if "bw" in one.priorities else one
            for one in scenario.groups
        ],
        configs=[dataclasses.replace(one, policy="be", cgroups=files) for one in scenario.configs],
    )


def check(reads: dict[str, tuple[int, int]]) -> None:
    for name, (misses, due) in reads.items():
        allowed = LATE_TOGETHER if "start=together" in name else 0
        assert misses <= allowed, f"{name}: {misses} of {due}"


@pytest.mark.parametrize("where", [EVERYWHERE, INNERMOST], ids=["everywhere", "innermost"])
@pytest.mark.parametrize("disk", DISKS)
def test_direct_reads_are_in_time(
    guests: uml.Guests, monkeypatch: pytest.MonkeyPatch, disk: str, where: tuple[float, float]
) -> None:
    assert admitted(disk) > 0
    check(late(guests, monkeypatch, "streams-limit", disk, admitted(disk), where))


@pytest.mark.parametrize("disk", DISKS)
def test_reads_through_the_page_cache_are_in_time(
    guests: uml.Guests, monkeypatch: pytest.MonkeyPatch, disk: str
) -> None:
    reads = late(guests, monkeypatch, "players", disk, admitted(disk), EVERYWHERE)
    assert len(reads) == STARTS
    check(reads)


@pytest.mark.parametrize("disk", DISKS)
def test_what_the_kernel_admits_for_control_groups_is_in_time(
    kernel: Path, guests: uml.Guests, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, disk: str
) -> None:
    count = admitted_by_kernel(kernel, tmp_path / "out", disk)
    assert 0 < count <= admitted(disk)
    check(late(guests, monkeypatch, "streams-limit", disk, count, EVERYWHERE, by_group=True))
    check(late(guests, monkeypatch, "players", disk, count, EVERYWHERE, by_group=True))


def test_what_is_refused_by_a_quarter_is_late(guests: uml.Guests, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum is not more careful than it has to be, and the load above can fail."""
    disk = "barracuda-7200.11"
    known = characteristics.compute(presets.load(disk).attributes)
    limit, count = 1.25 * (1 - capacity.MARGIN), admitted(disk)
    while capacity.load([3] * 10 + [1] * count, capacity.inner_mib(known), capacity.positioning_ms(known)) < limit:
        count += 1
    ((misses, due),) = late(guests, monkeypatch, "streams-limit", disk, count, INNERMOST).values()
    assert misses > due / 100, f"{misses} of {due}, {count} streams"
