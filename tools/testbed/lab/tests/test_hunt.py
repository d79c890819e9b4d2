# SPDX-License-Identifier: GPL-2.0
"""The hunt: loads are drawn, compared and shrunk."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, cast

import pytest

from tools.dev.check.seed import seed
from tools.testbed.lab import cli
from tools.testbed.lab.model import schema
from tools.testbed.lab.model.catalog import DISKS
from tools.testbed.lab.model.disks import Disk, load_disk
from tools.testbed.lab.model.results import Result
from tools.testbed.lab.model.units import NSEC_PER_SEC
from tools.testbed.lab.run import expect, hunt, matrix
from tools.testbed.lab.run.hunt import Kind
from tools.testbed.lab.tests.conftest import cell_result, process_result, result_of

BE = {"bw": {"class": "be", "level": 4}, "rt": {"class": "be", "level": 4}}
IDLE = {"bw": {"class": "idle"}, "rt": {"class": "idle"}}
HELD = {"bw": {"class": "bw", "rate": "1MiB/s", "delay_ms": 800}, "rt": {"class": "rt", "level": 4}}
READER = {"name": "reader", "kind": "greedy", "count": 2, "size": "1048576B", "priority": BE}
STREAM = {"name": "stream", "kind": "paced", "rate": "1MiB/s", "size": "1MiB", "deadline_ms": 1000, "priority": HELD}
TOP = {"disk": "barracuda-7200.11", "settings": "linux", "depth": 1, "duration_s": 20, "seed": 3}
LOAD = hunt.Load(TOP, 256, (STREAM, READER), {"max_sectors": "2560"})


def of_checkout(name: str) -> Disk:
    return load_disk(DISKS, name)


def made(**configs: dict[str, list[dict[str, Any]]]) -> Result:
    """Results with processes by configuration and group, each with what differs from a process without I/O."""
    cells = []
    for config, groups in configs.items():
        processes = [{**process_result(f"{group}.{number}"), "group": group, "start_ns": 0, "lost": 0, **one}
                     for group, members in groups.items() for number, one in enumerate(members)]
        cells.append(cell_result(config.replace("_", "-"), 1, cast(Any, processes)))
    return {**result_of(cells), "duration_ns": 20 * NSEC_PER_SEC}


def kinds(load: hunt.Load, result: Result) -> dict[Kind, tuple[str, float]]:
    return {one.kind: (one.baseline, one.score) for one in hunt.findings(load, result)}


def test_load_is_the_same_for_a_seed_and_number_and_another_for_others() -> None:
    drawn = [hunt.draw_load(seed, number, of_checkout) for seed, number in ((1, 7), (1, 7), (1, 8), (2, 7))]
    assert drawn[0] == drawn[1] and drawn[0] != drawn[2] and drawn[0] != drawn[3]


@pytest.mark.parametrize("number", range(60))
def test_each_load_is_a_scenario_with_admitted_reservations(number: int) -> None:
    load = hunt.draw_load(5, number, of_checkout)
    scenario = hunt.scenario_of(load, "load")
    assert 1 <= load.processes <= hunt.PROCESSES and scenario.configs[0].name == hunt.OURS
    assert hunt.admitted(load, of_checkout(load.top["disk"]))
    for group in scenario.groups:
        numbers = group.numbers({})
        if group.name.startswith("reserved") and numbers.deadline_ms:
            assert numbers.period_ns == pytest.approx(1e6 * (numbers.deadline_ms or 0), rel=0.05)


def test_reservations_are_mostly_half_to_all_of_what_is_admitted() -> None:
    shares = []
    for number in range(200):
        load = hunt.draw_load(3, number, of_checkout)
        if any(hunt.class_of(group) == "bw" for group in load.groups):
            shares.append(hunt.share(load.groups, of_checkout(load.top["disk"])))
    assert max(shares) <= 0.9 and sum(share >= 0.45 for share in shares) > 0.8 * len(shares)


def test_draws_are_of_all_kinds() -> None:
    loads = [hunt.draw_load(1, number, of_checkout) for number in range(200)]
    assert {load.top["disk"] for load in loads} == set(matrix.DISKS)
    assert {load.top.get("filesystem", "") for load in loads} == {"", "ext4", "xfs", "btrfs"}
    assert {load.tags for load in loads} == set(matrix.TAGS)
    assert {load.top["depth"] for load in loads if load.tags == 2} == {1}
    classes = {hunt.class_of(group) for load in loads for group in load.groups}
    assert classes == {"be", "bw", "idle", "rt"}
    holders = {("filesystem" in load.top, "cgroup" in group, "buffer_ms" in group) for load in loads
               for group in load.groups if hunt.class_of(group) == "bw"}
    assert holders == {(False, False, False), (False, True, False), (True, True, False), (True, True, True)}
    kinds_of = {group["kind"] for load in loads for group in load.groups if hunt.class_of(group) == "bw"}
    assert kinds_of == {"paced", "greedy"}


def test_control_groups_have_their_reservation_under_cfq_and_weights_under_bfq() -> None:
    camera = {"name": "reserved0", "count": 4, "kind": "paced", "op": "write", "size": "20000B", "period_ms": 40,
              "buffer_ms": 4000, "fsync_every": 50, "file": "new", "cgroup": "reserved0", "priority": BE}
    copy = {"name": "copy", "kind": "copy", "size": "128KiB", "file": "own:32MiB", "cgroup": hunt.OTHERS,
            "priority": BE}
    scenario = hunt.scenario_of(hunt.Load(TOP | {"filesystem": "ext4"}, 64, (camera, copy)), "load")
    files = {config.name: config.cgroups for config in scenario.configs}
    assert files["cfq"] == {"reserved0": {"io.bw": "DEV bps=2000000 delay=500000"}}
    assert files["bfq weights"] == {"reserved0": {"io.bfq.weight": "1000"}, hunt.OTHERS: {"io.bfq.weight": "10"}}
    assert not files["bfq"] and "bfq weights" not in [keys.called for keys in hunt.suited(LOAD)]


def test_writers_of_the_same_blocks_are_all_direct_or_all_cached() -> None:
    shared = [[group["direct"] for group in load.groups if hunt.writes_shared(group)]
              for load in (hunt.draw_load(1, number, of_checkout) for number in range(300))]
    assert all(len(set(direct)) <= 1 for direct in shared)
    assert {True, False} <= {direct[0] for direct in shared if len(direct) > 1}


def test_write_back_throttling_is_compared_under_loads_that_write() -> None:
    names = [keys.called for keys in hunt.suited(LOAD)]
    writer = {**READER, "op": "write"}
    more = [keys.called for keys in hunt.suited(dataclasses.replace(LOAD, groups=(writer,)))]
    assert "none, no wbt" not in names and "none, no wbt" in more and "bfq, low_latency 0" in names


def test_missed_promise_is_a_finding_whatever_baselines_do() -> None:
    readers: list[dict[str, Any]] = [{}, {}]
    result = made(cfq={"stream": [{"misses": 3}], "reader": readers},
                  bfq={"stream": [{"misses": 9}], "reader": readers})
    assert kinds(LOAD, result) == {Kind.PROMISE: ("", 3.0)}


def test_requests_that_cfq_itself_counts_as_late_are_a_finding() -> None:
    processes: dict[str, list[dict[str, Any]]] = {"stream": [{"misses": 0}], "reader": [{}, {}]}
    result = made(cfq=processes, bfq=processes)
    assert kinds(LOAD, result) == {}
    result["cells"][0]["deadlines"] = {"bw_missed": 2}
    assert kinds(LOAD, result) == {Kind.REQUEST: ("", 2.0)}


def test_baseline_that_is_better_counts_only_if_it_is_not_worse_elsewhere() -> None:
    ours = {"stream": [{"misses": 0}], "reader": [{"bytes": 100}, {"bytes": 100}]}
    better = {"stream": [{"misses": 0}], "reader": [{"bytes": 200}, {"bytes": 200}]}
    assert kinds(LOAD, made(cfq=ours, bfq=better)) == {Kind.BEST_EFFORT: ("bfq", 2.0)}
    unfair = {"stream": [{"misses": 0}], "reader": [{"bytes": 390}, {"bytes": 10}]}
    assert kinds(LOAD, made(cfq=ours, bfq=unfair)) == {}
    starved = {"stream": [{"misses": 0}], "reader": [{"bytes": 200}, {"bytes": 0}]}
    assert set(kinds(LOAD, made(cfq=starved, bfq=better))) == {Kind.BEST_EFFORT, Kind.UNFAIRNESS}
    late = {"stream": [{"misses": 5}], "reader": [{"bytes": 200}, {"bytes": 200}]}
    assert kinds(LOAD, made(cfq=ours, bfq=late)) == {}


def test_worst_of_several_baselines_is_told() -> None:
    ours = {"stream": [{"misses": 0}], "reader": [{"bytes": 100}, {"bytes": 100}]}
    by = {name: {"stream": [{"misses": 0}], "reader": [{"bytes": share}, {"bytes": share}]}
          for name, share in (("none", 150), ("bfq", 300), ("kyber", 100))}
    assert kinds(LOAD, made(cfq=ours, **by))[Kind.BEST_EFFORT] == ("bfq", 3.0)


def test_process_that_got_nothing_has_waited_all_the_time() -> None:
    load = dataclasses.replace(LOAD, groups=(READER,))
    ours = {"reader": [{"reads": 0, "bytes": 0, "start_ns": 5 * NSEC_PER_SEC}, {"bytes": 100}]}
    found = hunt.values(load, made(cfq=ours)["cells"][0], 20 * NSEC_PER_SEC)
    assert found[Kind.WAIT] == 15_000 and found[Kind.UNFAIRNESS] == 100


def test_lost_frames_fsyncs_and_class_idle_are_kinds_of_their_own() -> None:
    camera = {"name": "camera", "kind": "paced", "op": "write", "buffer_ms": 4000, "fsync_every": 50, "priority": BE}
    syncer = {"name": "syncer", "kind": "paced", "op": "write", "fsync_every": 1, "priority": BE}
    backup = {"name": "backup", "kind": "greedy", "priority": IDLE}
    load = dataclasses.replace(LOAD, groups=(camera, syncer, backup))
    took = {"mean": 1, "p99": 700_000_000, "max": 800_000_000}
    cell = made(cfq={"camera": [{"lost": 4}, {"lost": 3}], "syncer": [{"latency_ns": took}],
                     "backup": [{"bytes": 9}]})["cells"][0]
    found = hunt.values(load, cell, 20 * NSEC_PER_SEC)
    assert (found[Kind.LOST], found[Kind.FSYNC], found[Kind.IDLE], found[Kind.WAIT]) == (7, 700, 9, 800)
    assert Kind.PROMISE not in found and Kind.UNFAIRNESS not in found


def test_class_idle_is_compared_only_where_others_leave_time() -> None:
    backup = {"name": "backup", "kind": "greedy", "priority": IDLE}
    load = dataclasses.replace(LOAD, groups=(READER, backup))
    cell = made(cfq={"reader": [{}, {}], "backup": [{"bytes": 9}]})["cells"][0]
    assert Kind.IDLE not in hunt.values(load, cell, 20 * NSEC_PER_SEC)


def test_short_waits_are_equally_good() -> None:
    load = dataclasses.replace(LOAD, groups=(READER,))
    fast = {"mean": 1, "p99": 1, "max": 1000}
    result = made(cfq={"reader": [{}, {}]}, bfq={"reader": [{"latency_ns": fast}, {"latency_ns": fast}]})
    assert kinds(load, result) == {}


def test_each_simpler_load_is_a_scenario_and_differs() -> None:
    found = list(hunt.smaller(LOAD))
    assert len(found) > 8 and LOAD not in found
    for load in found:
        hunt.scenario_of(load, "simpler")
    assert any(len(load.groups) == 1 for load in found) and any(load.top["duration_s"] == 10 for load in found)


@pytest.mark.parametrize("kind", Kind)
def test_shrunk_file_expects_what_is_not_so(kind: Kind) -> None:
    camera = {"name": "camera", "kind": "paced", "op": "write", "size": "20000B", "period_ms": 40, "buffer_ms": 4000,
              "fsync_every": 1, "file": "new", "priority": BE}
    backup = {"name": "backup", "kind": "greedy", "size": "1MiB", "file": "own:32MiB", "priority": IDLE}
    groups = (camera, backup) if kind in (Kind.LOST, Kind.FSYNC, Kind.IDLE) else LOAD.groups
    top = TOP | {"filesystem": "ext4"} if groups is not LOAD.groups else TOP
    load = hunt.Load(top, 64, groups)
    finding = hunt.Finding(kind, 2.5, 5.0, "" if kind in (Kind.PROMISE, Kind.REQUEST) else "bfq", 2.0)
    slow = {"mean": 1, "p50": 1, "p90": 1, "p999": 1, "p99": 9 * 10**9, "max": 9 * 10**9}
    fast = slow | {"p99": 10**9, "max": 10**9}
    ours = {"bytes": 10, "lost": 20, "misses": 1, "latency_ns": slow}
    theirs = {"bytes": 100, "lost": 2, "misses": 0, "latency_ns": fast}
    made_up: dict[str, Any] = {name: {group["name"]: [one, one | {"bytes": least}] for group in groups}
                               for name, one, least in (("cfq", ours, 1), ("bfq", theirs, 100))}
    result = made(**made_up)
    result["cells"][0]["deadlines"] = {"bw_missed": 3}
    text = hunt.text_of(load, "t", finding.says(), [hunt.expect_of(finding, load, result["cells"][0])], ["bfq"])
    scenario = schema.parse(Path("t.toml"), text)
    result["kernel"]["bw"] = True
    assert [one["status"] for one in expect.evaluate(result, scenario)] == ["fail"]
    result["cells"] = [{**result["cells"][1], "deadlines": {"bw_missed": 0}, "config": name, "name": name}
                       for name in ("cfq", "bfq")]
    assert [one["status"] for one in expect.evaluate(result, scenario)] == ["pass"]


def test_findings_of_new_loads_are_scenarios_that_fail(kernel: Path, tmp_path: Path,
                                                       capsys: pytest.CaptureFixture[str]) -> None:
    """Of another seed in each run of `make check`, which says it (SEED=N chooses)."""
    arguments = ["hunt", "--seed", str(seed()), "--runs", "1", "--duration", "3", "--tries", "1", "--quiet", "-j", "2",
                 "--kernel", str(kernel), "--out", str(tmp_path), "--cache", str(tmp_path / "cache")]
    assert cli.main(arguments) == 0, capsys.readouterr()
    said = capsys.readouterr()
    assert f"seed {seed()}: 1 loads" in said.out and "its expectation holds" not in said.err
    kept = json.loads((tmp_path / f"seed-{seed()}.json").read_text())
    assert {one["kind"].replace(" ", "-") for one in kept["findings"]} == {
        path.stem.removeprefix(f"seed-{seed()}-") for path in tmp_path.glob("*.toml")}
    for path in tmp_path.glob("*.toml"):
        schema.load(path)
