# SPDX-License-Identifier: GPL-2.0
"""Runs in guests: known answers, the same ones each time, and every way a run can end."""

import dataclasses
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tools.base.cli import EXIT_INTERRUPTED
from tools.testbed.lab import cli
from tools.testbed.lab.model import catalog, filesystems, schema
from tools.testbed.lab.model.disks import load_disk
from tools.testbed.lab.model.results import load_result
from tools.testbed.lab.run import job, loadgen, runner, stats
from tools.testbed.lab.run.features import probe
from tools.testbed.lab.run.plan import make_plan
from tools.testbed.lab.tests.conftest import LAB, SCENARIO
from tools.testbed.vm import uml
from tools.user.blkviz.parse import scan

MS = 1_000_000
CLOCK_READS_NS = 20_000


def lab(*args: str | Path, **options: Any) -> "subprocess.CompletedProcess[str]":
    command: list[str | Path] = [LAB / "lab", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)


def run_args(kernel: Path, scenario: Path, disks: Path, out: Path) -> list[str | Path]:
    return ["run", scenario, "--kernel", kernel, "--disks", disks, "--out", out]


def guests_of(folder: Path) -> list[str]:
    """Processes that run in a folder, or below."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            where = (path / "cwd").readlink()
            line = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if where.is_relative_to(folder):
            found.append(line)
    return found


def settled(folder: Path) -> bool:
    """Whether two guests have started all that they start: the same processes for a while."""
    before = guests_of(folder)
    time.sleep(0.3)
    return len(before) > 2 and guests_of(folder) == before


def wait_for(condition: Callable[[], bool], what: str | Callable[[], str]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what if isinstance(what, str) else what()}")


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """A folder for kernels that are shell scripts."""
    folder = tmp_path / "fake"
    folder.mkdir()
    return folder


def script(path: Path, text: str) -> Path:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def test_same_scenario_twice_gives_identical_json(
    kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path
) -> None:
    first = lab(*run_args(kernel, scenario_file, disks, tmp_path / "1"))
    second = lab(*run_args(kernel, scenario_file, disks, tmp_path / "2"), "-j2")
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    one, two = (tmp_path / n / "test.json" for n in "12")
    assert one.read_bytes() == two.read_bytes()
    assert str(tmp_path) not in one.read_text()
    assert json.loads(one.read_text())["expect"][0]["status"] == "pass"


def test_other_seed_gives_other_files(kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path) -> None:
    for seed in "12":
        done = lab(*run_args(kernel, scenario_file, disks, tmp_path / seed), "--seed", seed, "--scheduler", "none")
        assert done.returncode == 0, done.stderr
    one, two = (json.loads((tmp_path / n / "test.json").read_text()) for n in "12")
    assert one["cells"][0]["processes"][0]["regions"] != two["cells"][0]["processes"][0]["regions"]


def test_random_numbers_of_a_kernel_are_those_of_a_seed(kernel: Path, tmp_path: Path) -> None:
    """They choose tags, on which bfq's order of requests depends."""
    loadgen.build_loadgen()
    found = []
    for name, seed in (("1", 1), ("2-with-a-longer-name", 1), ("3", 2)):
        folder = tmp_path / name
        folder.mkdir()
        text = "report random /proc/sys/kernel/random/uuid\n"
        uml.Guests(kernel, loadgen.LOADGEN, 60, seed=seed).run(text, {}, folder, "test")
        found.append((folder / "random").read_text())
    assert found[0] == found[1] != found[2]


BY_THE_PAGE_CACHE = """
title = "a file that is written twice"
about = "Through the page cache, beside a reader of another."
disk = "barracuda-7200.11"
filesystem = "ext4"
duration_s = 10
depth = [1]

[[config]]
scheduler = "cfq"

[[group]]
name = "rewriter"
kind = "greedy"
op = "rewrite"
size = "16KiB"
file = "own:400MiB"

[[group]]
name = "reader"
kind = "random"
size = "16KiB"
file = "own:400MiB"
"""


def test_a_run_on_a_file_system_is_the_same_with_other_memory_left(kernel: Path) -> None:
    """Limits of dirty memory that are shares of it decide in which steps, and so where, files are written."""
    loadgen.build_loadgen()
    scenario = schema.parse(Path("test.toml"), BY_THE_PAGE_CACHE)
    found = []
    for memory in ("2G", "2040M"):
        guests = uml.Guests(kernel, loadgen.LOADGEN, 120, memory)
        plan = make_plan(scenario, catalog.DISKS, None, None, None, probe(guests))
        found.append([runner.run_cell(plan, run, guests, None) for run in plan.runs])
    assert found[0] == found[1]
    assert all(process["bytes"] for cell in found[0] for process in cell["processes"])


def run_job(guests: uml.Guests, tmp_path: Path, lines: list[str], count: int) -> list[list[tuple[int, ...]]]:
    """Records of streams on a disk that takes 2 ms for a command, one at a time."""
    head = [
        f"mkdir {job.CONFIGFS}",
        f"write {job.CONFIGFS}/size 1024",
        f"write {job.CONFIGFS}/irqmode 2",
        f"write {job.CONFIGFS}/completion_nsec 2000000",
        f"write {job.CONFIGFS}/hw_queue_depth 1",
        f"write {job.CONFIGFS}/power 1",
        f"device /dev/{job.DEVICE}",
        f"start_ns {job.START_NS}",
        "duration_ns 1000000000",
    ]
    guests.run("\n".join(head + lines) + "\n", {}, tmp_path, "test")
    result = []
    for number in range(count):
        flat = stats.read_records(tmp_path / f"{number}.bin")
        result.append([tuple(flat[i : i + 4]) for i in range(0, len(flat), 4)])
    return result


def close(value: int, expected: int) -> bool:
    """Equal but for what looking at the clock costs: 128 ns each time, in the kernel too."""
    return 0 <= value - expected < CLOCK_READS_NS


def test_greedy_direct_reader_makes_a_read_each_two_milliseconds(guests: uml.Guests, tmp_path: Path) -> None:
    (reads,) = run_job(guests, tmp_path, ["stream direct=1 size=4096 regions=0:1048576"], 1)
    assert len(reads) == 500
    assert all(close(end - issue, 2 * MS) for _, issue, end, _ in reads)


def test_two_readers_wait_for_each_other(guests: uml.Guests, tmp_path: Path) -> None:
    line = "stream direct=1 size=4096 regions=0:1048576"
    choose = [
        "write /sys/block/rot0/queue/scheduler mq-deadline",
        "write /sys/block/rot0/queue/nr_requests 256",
    ]
    both = run_job(guests, tmp_path, [*choose, line, line], 2)
    assert sorted(len(reads) for reads in both) == [250, 251]
    assert all(close(end - issue, 4 * MS) for reads in both for _, issue, end, _ in reads[1:])


def test_paced_reader_keeps_its_pace_and_its_start(guests: uml.Guests, tmp_path: Path) -> None:
    line = "stream direct=1 size=8192 period_ns=100000000 start_ns=30000000 regions=0:16384"
    (reads,) = run_job(guests, tmp_path, [line], 1)
    assert [due for due, _, _, _ in reads] == [30 * MS + n * 100 * MS for n in range(10)]
    assert all(close(issue, due) and close(end, due + 2 * MS) for due, issue, end, _ in reads)
    assert {size for _, _, _, size in reads} == {8192}


def test_paced_reader_behind_its_pace_catches_up_only_if_told(guests: uml.Guests, tmp_path: Path) -> None:
    line = "stream direct=1 size=4096 period_ns=1000000 regions=0:1048576"
    (lagging,) = run_job(guests, tmp_path, [line], 1)
    assert all(close(issue, due) for due, issue, _, _ in lagging)
    (tmp_path / "done").unlink()
    (catching,) = run_job(guests, tmp_path, [line + " catch_up=1"], 1)
    assert [due for due, _, _, _ in catching] == [n * MS for n in range(500)]
    assert catching[-1][1] - catching[-1][0] > 498 * MS


def test_buffered_reader_profits_from_read_ahead(guests: uml.Guests, tmp_path: Path) -> None:
    (reads,) = run_job(guests, tmp_path, ["stream size=4096 count=1000 regions=0:67108864"], 1)
    waits = [end - issue for _, issue, end, _ in reads if not close(end - issue, 0)]
    assert len(reads) == 1000
    assert 8 < len(waits) < 100


def test_direct_write_takes_a_command_and_fsync_none_without_a_cache(guests: uml.Guests, tmp_path: Path) -> None:
    line = "stream write=1 direct=1 fsync_every=1 size=4096 count=10 regions=0:1048576"
    (writes,) = run_job(guests, tmp_path, [line], 1)
    assert len(writes) == 10
    assert all(close(end - issue, 2 * MS) for _, issue, end, _ in writes)


def test_buffered_write_waits_for_the_disk_at_fsync_only(guests: uml.Guests, tmp_path: Path) -> None:
    line = "stream write=1 fsync_every=5 size=4096 count=10 regions=0:1048576"
    (writes,) = run_job(guests, tmp_path, [line], 1)
    assert [close(end - issue, 0) for _, issue, end, _ in writes] == ([True] * 4 + [False]) * 2


def test_reader_of_several_regions_takes_them_in_turn(guests: uml.Guests, tmp_path: Path) -> None:
    # one block each: after one read of each, all is in the page cache
    line = "stream random=1 size=4096 seed=7 count=20 regions=1048576:4096,16777216:4096,33554432:4096"
    (reads,) = run_job(guests, tmp_path, [line], 1)
    assert [close(end - issue, 2 * MS) for _, issue, end, _ in reads] == [True] * 3 + [False] * 17


def test_bursts_are_made_at_once_and_followed_by_a_pause(guests: uml.Guests, tmp_path: Path) -> None:
    lines = ["stream size=4096 direct=1 burst=3 pause_ns=100000000 seed=1 regions=0:1048576"]
    (reads,) = run_job(guests, tmp_path, lines, 1)
    gaps = [after[1] - before[2] for before, after in zip(reads, reads[1:], strict=False)]
    within, between = [gap for n, gap in enumerate(gaps, 1) if n % 3], gaps[2::3]
    assert max(within) < CLOCK_READS_NS
    assert max(between) <= 100 * MS + CLOCK_READS_NS
    assert len(set(between)) > 3
    assert max(between) > 50 * MS


def test_sizes_swing_around_the_size_in_steps(guests: uml.Guests, tmp_path: Path) -> None:
    lines = ["stream size=65536 swing=32768 seed=1 period_ns=20000000 regions=0:1073741824"]
    (reads,) = run_job(guests, tmp_path, lines, 1)
    sizes = [read[3] for read in reads]
    assert min(sizes) >= 32768 and max(sizes) <= 98304
    assert all(size % 1024 == 0 for size in sizes)
    assert max(sizes) - min(sizes) > 32768


def test_rewrite_reads_what_it_writes(guests: uml.Guests, tmp_path: Path) -> None:
    (reads,) = run_job(guests, tmp_path, ["stream size=4096 direct=1 write=1 rewrite=1 regions=0:1048576"], 1)
    assert close(reads[0][2] - reads[0][1], 4 * MS)


def test_write_that_comes_later_than_the_buffer_has_place_is_lost(guests: uml.Guests, tmp_path: Path) -> None:
    """One is due each millisecond, and takes two; the buffer has place for 100."""
    line = "stream write=1 direct=1 size=4096 period_ns=1000000 catch_up=1 buffer_ns=100000000 regions=0:1048576"
    (writes,) = run_job(guests, tmp_path, [line], 1)
    assert [due for due, _, _, _ in writes] == [n * MS for n in range(len(writes))]
    lost = [write for write in writes if not write[3]]
    assert all((issue > due + 100 * MS) == (size == 0) for due, issue, _, size in writes)
    # each is a millisecond later than the one before it: of the first 100 none, of the others each second one
    assert writes.index(lost[0]) == pytest.approx(100, abs=2)
    assert len(lost) == pytest.approx(400, abs=5)


ON_FILES = """\
title = "files"
disk = "plain"
filesystem = "{filesystem}"
duration_s = 4
schedulers = ["none", "mq-deadline"]

[disk_set]
irqmode = 2

[[group]]
name = "camera"
kind = "paced"
op = "write"
count = 2
size = "20000B"
period_ms = 40
buffer_ms = 3000
fsync_every = 25
file = "new"

[[group]]
name = "table"
kind = "random"
op = "write"
size = "4KiB"
fsync_every = 1
file = "own:16MiB"

[[group]]
name = "copy"
kind = "copy"
size = "64KiB"
file = "own:64MiB"
"""


@pytest.mark.parametrize("filesystem", filesystems.MKFS)
def test_runs_on_a_file_system_are_the_same_each_time(
    kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path, filesystem: str
) -> None:
    scenario_file.write_text(ON_FILES.format(filesystem=filesystem))
    for name in "12":
        done = lab(*run_args(kernel, scenario_file, disks, tmp_path / name), "--scheduler", "mq-deadline")
        assert done.returncode == 0, done.stderr
    one, two = (tmp_path / name / "test.json" for name in "12")
    assert one.read_bytes() == two.read_bytes()
    processes = {process["name"]: process for process in json.loads(one.read_text())["cells"][0]["processes"]}
    assert all(process["bytes"] for process in processes.values())
    assert processes["camera.0"]["lost"] == 0
    assert processes["camera.0"]["bytes"] == 20_000 * processes["camera.0"]["reads"]
    # what has been prepared is read from the disk, which has 4 KiB in 2 ms at least, and written there
    assert processes["copy"]["latency_ns"]["max"] >= 2 * MS
    assert processes["table"]["latency_ns"]["p50"] >= 2 * MS


IN_GROUPS = """\
title = "groups"
disk = "plain"
duration_s = 4
depth = 1

[disk_set]
irqmode = 2

[[config]]
name = "limit"
scheduler = "none"
cgroup = { slow = { "io.max" = "DEV rbps=1048576" } }

[[group]]
name = "limited"
kind = "greedy"
size = "64KiB"
direct = true
file = "at:0B+8MiB"
cgroup = "slow"

[[group]]
name = "free"
kind = "greedy"
size = "64KiB"
direct = true
file = "at:8MiB+8MiB"
cgroup = "fast"
"""


def test_control_group_has_the_processes_and_the_setting(
    kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path
) -> None:
    scenario_file.write_text(IN_GROUPS)
    done = lab(*run_args(kernel, scenario_file, disks, tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    cell = json.loads((tmp_path / "out/test.json").read_text())["cells"][0]
    rates = {process["name"]: process["bytes_per_s"] for process in cell["processes"]}
    assert 0 < rates["limited"] <= 1.1 * (1 << 20)
    assert rates["free"] > 4 * (1 << 20)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("run /bin/false", "the program ended with status"),
        ("prepare /dev/nowhere/file 1", "/dev/nowhere/file: No such file"),
        ("mount ext4 /dev/rot0", "mount needs three arguments"),
        ("mount ext4 /dev/nothing /tmp", "mount /dev/nothing on /tmp: No such file"),
        ("stream size=4096", "needs size and regions"),
        ("stream size=x regions=0:4096", "'x' is not a number"),
        ("stream sizes=4096 regions=0:4096", "unknown key 'sizes'"),
        ("dance", "unknown verb 'dance'"),
        ("write /sys/block/rot0/queue/scheduler nonsense", "Invalid argument"),
    ],
)
def test_bad_job_is_reported_from_inside_the_guest(
    guests: uml.Guests, tmp_path: Path, line: str, message: str
) -> None:
    with pytest.raises(uml.GuestFailed, match=message):
        run_job(guests, tmp_path, [line], 0)


def test_panic_is_reported_with_the_console(kernel: Path, tmp_path: Path) -> None:
    # an init that exits: the kernel panics
    leaver = uml.Guests(kernel, Path("/bin/true"), 60)
    with pytest.raises(uml.GuestFailed, match="Attempted to kill init"):
        leaver.run("", {}, tmp_path, "test")
    wait_for(lambda: not guests_of(tmp_path), "the end of all processes")


def test_error_of_a_guest_has_what_its_programs_said(fake: Path, tmp_path: Path) -> None:
    loadgen.build_loadgen()
    kernel = script(fake / "linux", """
for folder; do :; done
echo "[ 0.0] boot"; echo "init: fsync: Input/output error"; echo "init: a stream ended"
echo "init: fsync: Input/output error"; echo "a stream ended" > "$folder/error"
""")
    with pytest.raises(uml.GuestFailed) as raised:
        uml.Guests(kernel, loadgen.LOADGEN, 60).run("", {}, tmp_path, "test")
    assert str(raised.value) == "test: a stream ended; fsync: Input/output error"


def test_guest_that_hangs_is_ended_after_the_limit(fake: Path, tmp_path: Path) -> None:
    loadgen.build_loadgen()
    kernel = script(fake / "linux", "echo last words; sleep 1000 & sleep 1000\n")
    slow = uml.Guests(kernel, loadgen.LOADGEN, 0.5)
    with pytest.raises(uml.GuestFailed, match=r"no end after 0.5 s[^$]*last words"):
        slow.run("", {}, tmp_path, "test")
    wait_for(lambda: not guests_of(tmp_path), "the end of all processes")


def test_guest_that_hangs_in_virtual_time_is_ended(kernel: Path, tmp_path: Path) -> None:
    # a busy loop never ends where computing takes no time
    spinner = tmp_path / "spin.c"
    spinner.write_text("int main(void) { for (;;) ; }\n")
    subprocess.run(["gcc", "-O0", "-static", "-o", tmp_path / "spin", spinner], check=True)
    folder = tmp_path / "run"
    folder.mkdir()
    with pytest.raises(uml.GuestFailed, match="no end after 2 s"):
        uml.Guests(kernel, tmp_path / "spin", 2).run("", {}, folder, "test")
    wait_for(lambda: not guests_of(folder), "the end of all processes")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupt_leaves_no_process_behind(
    kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path, number: signal.Signals
) -> None:
    # long enough to be caught in the middle
    scenario_file.write_text(SCENARIO.replace("duration_s = 4", "duration_s = 100000"))
    folder = tmp_path / "tmp"
    folder.mkdir()
    command = [str(LAB / "lab")]
    command += map(str, run_args(kernel, scenario_file, disks, tmp_path / "out"))
    running = subprocess.Popen(
        [*command, "-j2"],
        env={**os.environ, "TMPDIR": str(folder)},
        stderr=subprocess.PIPE,
        text=True,
        # a shell's background commands ignore it, and what they start too
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for(lambda: len(list(folder.glob("uml-*/console"))) == 2, "two guests")
    # A process of User-Mode Linux asks for its parent's signal a moment after its start (stub_exe.c of
    # arch/um): one that is started while the runner is killed may outlive it. So none is being started.
    wait_for(lambda: settled(folder), "their processes")
    running.send_signal(number)
    _, errors = running.communicate(timeout=60)
    wait_for(lambda: not guests_of(folder), lambda: f"the end of {guests_of(folder)}")
    if number != signal.SIGKILL:
        assert running.returncode == EXIT_INTERRUPTED
        assert "interrupted" in errors
        assert list(folder.glob("uml-*")) == []


def test_interrupt_while_runs_are_still_handed_out_ends_those_that_run(
    kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario_file.write_text(SCENARIO.replace("duration_s = 4", "duration_s = 100000"))
    submit = ThreadPoolExecutor.submit
    submitted: list[object] = []

    def second_is_interrupted(pool: ThreadPoolExecutor, *args: Any) -> Any:
        if submitted:
            raise KeyboardInterrupt
        submitted.append(args)
        return submit(pool, *args)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", second_is_interrupted)
    begin = time.monotonic()
    assert cli.main([*map(str, run_args(kernel, scenario_file, disks, tmp_path / "out")), "-j2"]) == EXIT_INTERRUPTED
    assert time.monotonic() - begin < 60, "the guest has not been ended"


def test_scheduler_that_the_kernel_lacks_runs_nothing(
    kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path
) -> None:
    scenario_file.write_text(SCENARIO.replace('"mq-deadline"]', '"elevator9"]'))
    done = lab(*run_args(kernel, scenario_file, disks, tmp_path / "out"))
    assert done.returncode == 2
    assert "no scheduler 'elevator9'" in done.stderr
    assert not (tmp_path / "out").exists()


def test_scheduler_that_the_scenario_does_not_use_runs_nothing(
    kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path
) -> None:
    done = lab(*run_args(kernel, scenario_file, disks, tmp_path / "out"), "--scheduler", "kyber")
    assert done.returncode == 2
    assert "no configuration uses kyber" in done.stderr


def test_disk_that_does_not_exist_runs_nothing(kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path) -> None:
    scenario_file.write_text(SCENARIO.replace('"plain"', '"floppy"'))
    done = lab(*run_args(kernel, scenario_file, disks, tmp_path / "out"))
    assert done.returncode == 2
    assert "test.toml:2: disk: no disk preset 'floppy' (known: plain)" in done.stderr


def test_kernel_that_does_not_exist_runs_nothing(scenario_file: Path, disks: Path, tmp_path: Path) -> None:
    done = lab(*run_args(tmp_path / "none", scenario_file, disks, tmp_path / "out"))
    assert done.returncode == 2
    assert "make uml" in done.stderr


def test_failing_guest_is_reported_and_the_rest_runs(
    kernel: Path, scenario_file: Path, disks: Path, fake: Path, tmp_path: Path
) -> None:
    # a kernel that dies from its third boot on: the probe and one run go well
    count = fake / "count"
    wrapper = script(
        fake / "linux",
        f"n=$(cat {count} 2>/dev/null || echo 0); echo $((n + 1)) > {count}\n"
        f'[ "$n" -lt 2 ] && exec {kernel} "$@"\necho "Kernel panic - not syncing: test"; exit 1\n',
    )
    done = lab(*run_args(wrapper, scenario_file, disks, tmp_path / "out"), "--scheduler", "none")
    assert done.returncode == 1
    assert "none depth1 N=2" in done.stderr
    assert "Kernel panic - not syncing: test" in done.stderr
    result = json.loads((tmp_path / "out" / "test.json").read_text())
    assert [cell["status"] for cell in result["cells"]] == ["ok", "failed"]


def test_reservation_without_the_class_falls_back_and_says_so(
    kernel: Path, guests: uml.Guests, scenario_file: Path, disks: Path, tmp_path: Path
) -> None:
    bw = probe(guests).bw
    configs = '[[config]]\nname = "{}"\nscheduler = "none"\npolicy = "bw"\n{}\n'
    text = configs.format("with", 'fallback = "rt"\n') + configs.format("without", "")
    scenario_file.write_text(SCENARIO.replace("[[group]]", text + "[[group]]", 1))
    assert lab(*run_args(kernel, scenario_file, disks, tmp_path / "out"), "--scheduler", "none").returncode == 0
    cells = json.loads((tmp_path / "out" / "test.json").read_text())["cells"]
    found = {cell["config"]: (cell["status"], cell["fallback"]) for cell in cells}
    assert found["with"] == ("ok", not bw)
    assert found["without"] == (("ok" if bw else "needs-bw"), False)


def test_trace_is_kept(kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path) -> None:
    plain = lab(*run_args(kernel, scenario_file, disks, tmp_path / "1"), "--scheduler", "none")
    traced = lab(*run_args(kernel, scenario_file, disks, tmp_path / "2"), "--scheduler", "none", "--trace")
    if "needs blktrace" in traced.stderr:
        pytest.skip("no blktrace")
    assert plain.returncode == traced.returncode == 0, traced.stderr
    traces = list((tmp_path / "2" / "traces").glob("*/trace.blktrace.*"))
    assert len(traces) == 2
    assert all(path.stat().st_size > 10_000 for path in traces)
    # watching costs looks at the clock and no more
    one, two = (json.loads((tmp_path / n / "test.json").read_text()) for n in "12")
    for a, b in zip(one["cells"], two["cells"], strict=True):
        for old, new in zip(a["processes"], b["processes"], strict=True):
            assert (old["reads"], old.get("misses")) == (new["reads"], new.get("misses"))
            assert abs(old["latency_ns"]["mean"] - new["latency_ns"]["mean"]) < CLOCK_READS_NS


def test_trace_of_many_messages_has_no_holes(kernel: Path, tmp_path: Path) -> None:
    """Pages that blktrace maps of a file of the host's are lost now and then."""
    args: list[str | Path] = ["--kernel", kernel, "--out", tmp_path, "--duration", "20", "--trace", "--quiet"]
    done = lab("run", "syncer", "--cell", "^cfq depth1 beside=both begin_ms=0$", *args)
    if "needs blktrace" in done.stderr:
        pytest.skip("no blktrace")
    assert done.returncode == 0, done.stderr
    (trace,) = (tmp_path / "traces").glob("*/trace.blktrace.0")
    found = scan(trace.read_bytes())
    assert found.problems == []
    assert len(found.offsets) > 10_000


SWAPPER = """
title = "a process with more memory than its control group may have"
disk = "barracuda-7200.11"
filesystem = "ext4"
swap = "64MiB"
duration_s = 2
schedulers = ["none"]

[cgroup.small]
"memory.high" = "4194304"

[[group]]
name = "writer"
kind = "paced"
op = "write"
size = "4KiB"
period_ms = 10
memory = "16MiB"
file = "new"
cgroup = "small"
"""


def test_memory_beyond_the_limit_of_a_group_is_swapped(guests: uml.Guests, tmp_path: Path) -> None:
    scenario = schema.parse(Path("swapper.toml"), SWAPPER)
    plan = make_plan(scenario, catalog.DISKS, None, None, None, probe(guests))
    text = job.job_text(scenario, plan.disk, plan.runs[0], plan.features.bw)
    guests.run(text + "report_after vmstat /proc/vmstat\n", {}, tmp_path, "test")
    counters = dict(line.split() for line in (tmp_path / "vmstat").read_text().splitlines() if len(line.split()) == 2)
    assert int(counters["pswpout"]) > 1000


def test_cfq_counts_what_becomes_of_requests_with_a_reservation(guests: uml.Guests, tmp_path: Path) -> None:
    scenario = catalog.find_scenario("players")
    scenario = dataclasses.replace(scenario, duration_s=2, vary=scenario.vary | {"N": {"8": 8}})
    plan = make_plan(scenario, catalog.DISKS, None, None, None, probe(guests), "^cfq-(rt|bw).*spread.*recommended")
    found = {run.cell.config.name: runner.run_cell(plan, run, guests, None)["deadlines"] for run in plan.runs}
    assert found["cfq-bw"]["bw_met"] > 10 and found["cfq-rt"]["bw_met"] == 0


def test_write_back_throttling_is_on_as_linux_has_it(guests: uml.Guests, tmp_path: Path) -> None:
    """Off under bfq and cfq, on under the others."""
    lines = job.device_lines(load_disk(catalog.DISKS, "barracuda-7200.11"), {}, 32)
    for name in ("none", "mq-deadline", "kyber", "bfq", "cfq"):
        lines += [f"write {job.SYSFS}/scheduler {name}", f"report {name} {job.SYSFS}/wbt_lat_usec"]
    lines += [f"device /dev/{job.DEVICE}", f"start_ns {job.START_NS}", "duration_ns 1000000",
              "stream direct=1 size=4096 regions=0:1048576"]
    guests.run("\n".join(lines) + "\n", {}, tmp_path, "test")
    throttled = {path.name: int(path.read_text()) for path in tmp_path.iterdir() if path.name in (
        "none", "mq-deadline", "kyber", "bfq", "cfq")}
    assert throttled == {"none": 75000, "mq-deadline": 75000, "kyber": 75000, "bfq": 0, "cfq": 0}


def test_commands_of_fragmented_memory_have_a_page_a_segment(kernel: Path, tmp_path: Path) -> None:
    """168 segments of a SATA disk, 672 KiB."""
    cells = ["--cell", "^none depth1 readers=2$", "--settings", "linux", "--duration", "5"]
    mean = {}
    for name, more in (("fresh", []), ("fragmented", ["--fragmented"])):
        done = lab("run", "streamed-readers", *cells, *more, "--kernel", kernel, "--out", tmp_path / name, "--quiet")
        assert done.returncode == 0, done.stderr
        (cell,) = load_result(tmp_path / name / "streamed-readers.json")["cells"]
        mean[name] = cell["commands"]["read_command_mean_kib"]
        assert mean[name] <= cell["commands"]["read_command_max_kib"] <= 4096
    assert mean["fresh"] > 3000
    assert 400 < mean["fragmented"] <= 672


def test_cell_and_duration_choose_a_part(kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path) -> None:
    args = run_args(kernel, scenario_file, disks, tmp_path / "out")
    done = lab(*args, "--cell", "none.*N=2$", "--duration", "2")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out" / "test.json").read_text())
    assert [cell["name"] for cell in result["cells"]] == ["none depth1 N=2"]
    assert result["duration_ns"] == 2 * 10**9


@pytest.mark.parametrize(("words", "says"), [(("--cell", "N=9"), "no run is called"), (("--cell", "("), "regular")])
def test_cell_that_is_not_there_runs_nothing(
    kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path, words: tuple[str, str], says: str
) -> None:
    done = lab(*run_args(kernel, scenario_file, disks, tmp_path / "out"), *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert not (tmp_path / "out").exists()


def test_picture_of_a_run(kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    entry = f'[[picture]]\nname = "one"\nscenario = "{scenario_file}"\nrun = "none depth1 N=1"\ntitle = "t"\n'
    entry += "start = 1\nend = 2\n"
    where = entry.replace('"one"', '"where"') + 'places = true\nprocesses = ["stream.0"]\n'
    (tmp_path / "list.toml").write_text(entry + where)
    args: list[str | Path] = ["--list", tmp_path / "list.toml", "--out", tmp_path / "out"]
    args += ["--kernel", kernel, "--disks", disks]
    done = lab("pictures", *args)
    if "needs blktrace" in done.stderr:
        pytest.skip("no blktrace")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"one.png", "where.png"}
    for path in (tmp_path / "out").iterdir():
        assert path.read_bytes().startswith(b"\x89PNG")
    wrong = lab("pictures", "two", *args)
    assert (wrong.returncode, "no picture 'two'" in wrong.stderr) == (2, True)


def test_folder_that_cannot_be_made_is_told_before_anything_runs(
    kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    done = lab(*run_args(kernel, scenario_file, disks, tmp_path / "file/out"))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1:] == done.stderr.splitlines()[:1], done.stderr
    assert str(tmp_path / "file/out") in done.stderr
