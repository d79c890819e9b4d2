# SPDX-License-Identifier: GPL-2.0
"""Runs one by one: inputs that are written when they change, results as of one `lab run`, and the workflow."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tools.base.cli import ToolError
from tools.base.paths import BUILD, TOOLS
from tools.testbed.lab import cells, runner, schema
from tools.testbed.lab.features import Features
from tools.testbed.lab.runner import Plan
from tools.testbed.lab.tests.conftest import PLAIN_DISK, SCENARIO, cell_result, process_result
from tools.testbed.vm.uml import Guests

FEATURES = Features("7.3", ["none", "mq-deadline"], bw=True, rotating=True)
# so short that the test may run all of it, and more than one configuration
SHORT = "preemption"


def plan_of(folder: Path, text: str = SCENARIO) -> Plan:
    (folder / "plain.conf").write_text(PLAIN_DISK)
    path = folder / "test.toml"
    path.write_text(text)
    return runner.make_plan(schema.load(path), folder, None, None, None, FEATURES)


def stamps(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (folder / cells.INPUTS / "test").iterdir()}


def test_input_is_written_only_if_it_changes(tmp_path: Path) -> None:
    plan, out = plan_of(tmp_path), tmp_path / "out"
    out.mkdir()
    assert cells.write_plan(out, {"test": plan}, "k", "l") == 4
    before = stamps(out)
    assert cells.write_plan(out, {"test": plan}, "k", "l") == 0 and stamps(out) == before
    # two of them have another number of streams
    other = plan_of(tmp_path, SCENARIO.replace("N = [1, 2]", "N = [1, 3]"))
    assert cells.write_plan(out, {"test": other}, "k", "l") == 2
    after = stamps(out)
    assert set(after) - set(before) == {"none_depth1_N_3.json", "mq-deadline_depth1_N_3.json"}
    assert all(after[name] == before[name] for name in set(after) & set(before))
    assert cells.write_plan(out, {"test": other}, "another kernel", "l") == 4


def test_run_that_is_not_there_any_more_is_forgotten(tmp_path: Path) -> None:
    plan, out = plan_of(tmp_path), tmp_path / "out"
    for kind in (cells.INPUTS, cells.CELLS):
        for name in ("test/gone.json", "gone/none_depth1.json"):
            (out / kind / name).parent.mkdir(parents=True, exist_ok=True)
            (out / kind / name).write_text("{}")
    cells.write_plan(out, {"test": plan}, "k", "l")
    assert not list(out.rglob("gone*"))
    assert json.loads((out / cells.PLAN).read_text())["test"][0] == "none_depth1_N_1"


def test_two_runs_with_one_file_name_are_refused(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    plan = replace(plan, runs=[plan.runs[0], plan.runs[0]])
    with pytest.raises(ToolError, match="the same file name"):
        cells.write_plan(tmp_path, {"test": plan}, "k", "l")


def test_input_of_another_kernel_or_scenario_is_refused(tmp_path: Path) -> None:
    kernel, loadgen, out = tmp_path / "kernel", tmp_path / "loadgen", tmp_path / "out"
    kernel.write_text("a")
    loadgen.write_text("b")
    for program in (kernel, loadgen):
        program.chmod(0o755)
    out.mkdir()
    plan = plan_of(tmp_path)
    cells.write_plan(out, {"test": plan}, cells.sha256(kernel), cells.sha256(loadgen))
    path = out / cells.INPUTS / "test/none_depth1_N_1.json"
    guests = Guests(kernel, loadgen, 1)

    def tried(text: str = SCENARIO) -> str:
        one = plan_of(tmp_path, text)
        one = replace(one, runs=one.runs[:1])
        with pytest.raises(ToolError) as raised:
            cells.run_one(path, lambda _scenario, _cell: one, guests, loadgen)
        return str(raised.value)

    assert "another job than" in tried(SCENARIO.replace("4KiB", "8KiB"))
    kernel.write_text("c")
    assert "another kernel than" in tried()
    loadgen.write_text("d")
    assert "another kernel, loadgen than" in tried()


def test_result_is_put_together_in_the_order_of_the_scenario(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    folder = tmp_path / cells.CELLS / "test"
    folder.mkdir(parents=True)
    for run in reversed(plan.runs):
        with pytest.raises(ToolError, match="not there"):
            cells.assemble(tmp_path, plan)
        one = cell_result(run.cell.config.name, 1, [process_result("stream"), process_result("random")])
        one["name"] = run.cell.name
        (folder / f"{runner.file_name(run.cell.name)}.json").write_text(json.dumps(one))
    assert [cell["name"] for cell in cells.assemble(tmp_path, plan)["cells"]] == [run.cell.name for run in plan.runs]


def lab(*words: str | Path) -> None:
    done = subprocess.run([TOOLS / "testbed/lab/lab", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def snakemake(folder: Path, *words: str, profile: str = "local") -> str:
    """What it says of a workflow in a folder."""
    workflow = TOOLS / "testbed/lab/workflow"
    done = subprocess.run([BUILD / "venv-workflow/bin/snakemake", "--snakefile", workflow / "Snakefile", "--directory",
                           folder, "--profile", workflow / "profiles" / profile, *words, "--config",
                           "scheduler=none,cfq"], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.usefixtures("kernel")
def test_workflow_has_the_results_of_one_run_and_runs_again_what_has_changed(tmp_path: Path) -> None:
    subprocess.run([TOOLS / "dev/setup/venv", "workflow"], check=True)
    folder = tmp_path / "workflow"
    wanted = ("--scheduler", "none,cfq")
    lab("run", SHORT, *wanted, "--quiet", "--out", tmp_path / "run")
    lab("cells", SHORT, *wanted, "--out", folder)
    runs = json.loads((folder / "plan.json").read_text())[SHORT]
    assert len(runs) >= 4
    results = f"results/{SHORT}.json"
    snakemake(folder, results)
    assert (folder / results).read_bytes() == (tmp_path / "run" / f"{SHORT}.json").read_bytes()
    assert "Nothing to be done" in snakemake(folder, results)

    # a run that an interruption has lost, with what is made of it, and one whose input is another
    (folder / results).unlink()
    (folder / "cells" / SHORT / f"{runs[0]}.json").unlink()
    with (folder / "inputs" / SHORT / f"{runs[1]}.json").open("a") as changed:
        changed.write(" ")
    said = snakemake(folder, results, "--dry-run")
    assert said.count("rule run:") == 2, said
    # nothing of it is this machine's
    for profile, words in (("slurm", ()), ("kubernetes", ("--default-storage-prefix", str(tmp_path / "none")))):
        (tmp_path / "none").mkdir(exist_ok=True)
        target = folder if profile == "slurm" else tmp_path / "none"
        if profile == "kubernetes":
            subprocess.run(["cp", "-r", folder / "inputs", folder / "plan.json", target], check=True)
        assert f"run {len(runs)}" in " ".join(snakemake(folder, results, "--dry-run", "--forceall", *words,
                                                       profile=profile).split())
