# SPDX-License-Identifier: GPL-2.0
"""Runs begin again exactly when something that they depend on has changed."""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tools.base import files
from tools.base.code_id import KERNEL_ID
from tools.base.paths import BUILD, TOOLS
from tools.testbed.lab.model import schema
from tools.testbed.lab.model.results import CellResult
from tools.testbed.lab.run import job, runner
from tools.testbed.lab.run.cache import Cache, inputs_of, key_of
from tools.testbed.lab.run.features import Features
from tools.testbed.lab.run.kernels import Kernels
from tools.testbed.lab.run.plan import Plan, make_plan
from tools.testbed.lab.tests.conftest import PLAIN_DISK, SCENARIO, cell_result, process_result
from tools.testbed.vm.uml import Guests

FEATURES = Features("7.3", ["none", "mq-deadline", "cfq"], bw=True, rotating=True)
# so short that the test may run all of it, and more than one configuration
SHORT = "preemption"


class Site:
    """Everything that runs of SCENARIO depend on, in a folder, so that each can be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scenario = SCENARIO
        self.disk = PLAIN_DISK
        self.options: dict[str, object] = {}
        self.two_kernels = False
        for name in ("vmlinux", "without-cfq", "loadgen", "random.so"):
            (folder / name).write_text(name)
            (folder / name).chmod(0o755)

    def plan(self) -> Plan:
        (self.folder / "plain.conf").write_text(self.disk)
        path = self.folder / "test.toml"
        path.write_text(self.scenario)
        return make_plan(schema.load(path), self.folder, None, None, None, FEATURES)

    def guests(self, kernel: str = "vmlinux") -> Guests:
        made = Guests(self.folder / kernel, self.folder / "loadgen", 1, **self.options)  # type: ignore[arg-type]
        made.preload = self.folder / "random.so"
        return made

    def kernels(self) -> Kernels:
        return Kernels(self.guests(), self.guests("without-cfq") if self.two_kernels else None)

    def begun(self, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> set[str]:
        """The names of the runs that are made, not taken from the cache."""
        names = set()

        def run_cell(_plan: Plan, run: job.Run, _guests: Guests, _trace: Path | None) -> CellResult:
            names.add(run.cell.name)
            made = cell_result(run.cell.config.name, 1, [process_result("stream"), process_result("random")])
            return {**made, "name": run.cell.name, "vary": run.cell.labels}

        monkeypatch.setattr(runner, "run_cell", run_cell)
        failures = runner.run_plans([self.plan()], self.kernels(), 1, None, lambda *_: None, lambda *_: None, cache)
        assert failures == []
        return names


ALL = {f"{name} depth1 N={n}" for name in ("none", "mq-deadline") for n in (1, 2)}
WITH_TWO = {name for name in ALL if name.endswith("N=2")}


def change_scenario(old: str, new: str) -> Callable[[Site], None]:
    def change(site: Site) -> None:
        assert old in site.scenario
        site.scenario = site.scenario.replace(old, new)
    return change


def change_file(name: str) -> Callable[[Site], None]:
    def change(site: Site) -> None:
        (site.folder / name).write_text("another")
    return change


def change_options(**options: object) -> Callable[[Site], None]:
    return lambda site: site.options.update(options)


def change_disk(site: Site) -> None:
    site.disk = site.disk.replace("2000000", "3000000")


@pytest.mark.parametrize(("change", "begun"), [
    (change_scenario('size = "4KiB"', 'size = "8KiB"'), ALL),  # the job
    (change_scenario("duration_s = 4", "duration_s = 5"), ALL),
    (change_scenario("N = [1, 2]", "N = [1, 3]"), {name.replace("N=2", "N=3") for name in WITH_TWO}),
    (change_scenario("per_s = 50", "per_s = 60\nwhen = { N = 2 }"), ALL),
    (change_disk, ALL),
    (change_file("vmlinux"), ALL),  # kernel code
    (change_file("loadgen"), ALL),
    (change_file("random.so"), ALL),  # the preloaded random numbers
    (change_options(seed=2), ALL),
    (change_options(memory="1G"), ALL),
    (change_options(options=("nosmp",)), ALL),  # the command line
    (change_scenario('title = "test"', 'title = "other"'), set()),
    (change_scenario('says = "nothing is missed"', 'says = "none is missed"'), set()),
    (change_options(), set()),
], ids=["job", "duration", "variant", "group", "disk", "kernel", "load generator", "random numbers", "seed",
        "memory", "command line", "title", "expectation", "nothing"])
def test_exactly_the_runs_that_depend_on_a_change_begin_again(
        change: Callable[[Site], None], begun: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, cache = Site(tmp_path), Cache(tmp_path / "cache")
    assert site.begun(cache, monkeypatch) == ALL
    assert site.begun(cache, monkeypatch) == set()
    change(site)
    files._sha256.cache_clear()
    assert site.begun(cache, monkeypatch) == begun
    assert site.begun(cache, monkeypatch) == set()


# All three kinds of a run: of cfq, of another scheduler, and of one with a process in class BW.
THREE = SCENARIO.replace('schedulers = ["none", "mq-deadline"]\npolicy = "rt"\n\n[vary]\nN = [1, 2]', """
[[config]]
scheduler = "cfq"
policy = "bw"

[[config]]
name = "cfq-rt"
scheduler = "cfq"
policy = "rt"

[[config]]
scheduler = "none"
policy = "rt"

[[config]]
name = "none, class BW"
scheduler = "none"
policy = "bw"

[vary]
N = [1]
""")
OTHERS = {"none depth1 N=1"}
OURS = {"cfq depth1 N=1", "cfq-rt depth1 N=1", "none, class BW depth1 N=1"}


@pytest.mark.parametrize(("change", "begun"), [
    (change_file("vmlinux"), OURS), (change_file("without-cfq"), OTHERS), (change_file("loadgen"), OURS | OTHERS)])
def test_without_cfq_only_its_own_runs_depend_on_cfq(
        change: Callable[[Site], None], begun: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, cache = Site(tmp_path), Cache(tmp_path / "cache")
    site.scenario, site.two_kernels = THREE, True
    assert site.begun(cache, monkeypatch) == OURS | OTHERS
    change(site)
    files._sha256.cache_clear()
    assert site.begun(cache, monkeypatch) == begun
    assert site.begun(cache, monkeypatch) == set()


def test_another_program_of_the_host_begins_the_runs_again_that_use_it(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(tmp_path)
    mkfs = tmp_path / "mkfs.ext4"
    mkfs.write_text("one")
    plan, guests = site.plan(), site.guests()
    before = inputs_of(plan, plan.runs[0], guests)
    assert before["programs"] == {}
    text = job.job_text
    monkeypatch.setattr(job, "job_text", lambda *args: text(*args) + f"run {mkfs} /dev/rot0\n")
    one = key_of(inputs_of(plan, plan.runs[0], guests))
    mkfs.write_text("another")
    os.utime(mkfs, ns=(1, 1))
    assert key_of(inputs_of(plan, plan.runs[0], guests)) != one


def test_kernel_of_the_same_code_is_the_same_kernel(tmp_path: Path) -> None:
    site = Site(tmp_path)
    image = site.guests().kernel_id()
    digest = files.sha256(tmp_path / "vmlinux")
    assert image == digest
    (tmp_path / KERNEL_ID).write_text(json.dumps({"image": digest, "code": "abc"}))
    assert site.guests().kernel_id() == "abc"
    (tmp_path / "vmlinux").write_text("built by hand")
    assert site.guests().kernel_id() not in ("abc", digest)


def test_result_that_is_half_written_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, cache = Site(tmp_path), Cache(tmp_path / "cache")
    site.begun(cache, monkeypatch)
    plan = site.plan()
    path = cache.path(key_of(inputs_of(plan, plan.runs[0], site.guests())))
    path.write_text(path.read_text()[:100])
    assert site.begun(cache, monkeypatch) == {plan.runs[0].cell.name}
    assert site.begun(Cache(tmp_path / "cache", again=True), monkeypatch) == ALL


def test_what_the_cache_has_takes_the_names_of_the_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two configurations of one job have one result, each under its own name."""
    site, cache = Site(tmp_path), Cache(tmp_path / "cache")
    site.begun(cache, monkeypatch)
    plan = site.plan()
    run = plan.runs[0]
    renamed = replace(run, cell=replace(run.cell, config=replace(run.cell.config, name="other name")))
    done = runner._attempt(plan, renamed, site.kernels(), cache, None)
    assert done.kept and done.cell["config"] == "other name" and done.cell["processes"]


def lab(*words: str | Path) -> None:
    done = subprocess.run([TOOLS / "testbed/lab/lab", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def snakemake(folder: Path, *words: str, profile: str = "local") -> str:
    """What it says of a workflow in a folder."""
    workflow = TOOLS / "testbed/lab/workflow"
    done = subprocess.run([BUILD / "venv-workflow/bin/snakemake", "--snakefile", workflow / "Snakefile", "--directory",
                           folder, "--profile", workflow / "profiles" / profile, *words], capture_output=True,
                          text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.usefixtures("kernel")
def test_workflow_fills_the_cache_that_one_run_takes_its_results_from(tmp_path: Path) -> None:
    subprocess.run([TOOLS / "dev/setup/venv", "workflow"], check=True)
    folder = tmp_path / "workflow"
    folder.mkdir()
    wanted = ("--scheduler", "none,cfq")
    lab("run", SHORT, *wanted, "--quiet", "--out", tmp_path / "run", "--cache", tmp_path / "apart")
    lab("cells", SHORT, *wanted, "--out", folder / "plan.json", "--cache", folder / "cache")
    runs = json.loads((folder / "plan.json").read_text())
    assert len(runs) >= 4
    for profile, words in (("slurm", ()), ("kubernetes", ("--default-storage-prefix", str(folder)))):
        assert f"run {len(runs)}" in " ".join(snakemake(folder, "--dry-run", *words, profile=profile).split())
    snakemake(folder)
    assert {path.stem for path in (folder / "cache").iterdir()} >= set(runs)
    lab("cells", SHORT, *wanted, "--out", folder / "again.json", "--cache", folder / "cache")
    assert json.loads((folder / "again.json").read_text()) == {}
    lab("run", SHORT, *wanted, "--quiet", "--out", folder, "--cache", folder / "cache")
    assert (folder / f"{SHORT}.json").read_bytes() == (tmp_path / "run" / f"{SHORT}.json").read_bytes()
