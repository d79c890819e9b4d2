# SPDX-License-Identifier: GPL-2.0
"""What the administrators' page, the udev rule and the systemd unit name, exists.

Attributes and debugfs files are read from the scheduler that patches/ make, options
from bwctl's source. Results are not typed: `make pages` fills in what the page names.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

from selftests.docs.added_files import attributes, cfq
from tools.base.paths import ROOT
from tools.testbed.disk import capacity, characteristics, presets
from tools.testbed.lab.model import references
from tools.testbed.lab.model.catalog import all_scenarios
from tools.testbed.lab.report import documents

PAGE = ROOT / "Documentation/queue/administrators.md"
RULES = ROOT / "configs/udev/90-cfq.rules"
UNIT = ROOT / "configs/systemd/recorder.service"
DROP_IN = UNIT.with_name("recorder.service.d") / "bandwidth.conf"
TEXTS = [PAGE, RULES, UNIT, DROP_IN]

# Attributes of a disk that are the kernel's own.
KERNELS_OWN = {"queue/scheduler", "queue/rotational", "queue/zoned", "queue/max_sectors_kb",
               "queue/read_ahead_kb", "queue/nr_requests", "device/queue_depth", "removable"}


# --- what exists --------------------------------------------------------------------------


def debugfs_files() -> set[str]:
    return set(re.findall(r'^\t\{"(\w+)", 0400, ', cfq(), re.M))


def counters() -> set[str]:
    """The first words of what cfq_counters_show() prints, with %s filled in."""
    body = cfq().split("static int cfq_counters_show(", 1)[1].split("\n}", 1)[0]
    found: set[str] = set()
    for word in re.findall(r"(\w+(?:%s)?) %llu", body.replace("\\n", " ")):
        kind = {"dispatched_%s": "CLASS", "expired_%s": "EXPIRE"}.get(word)
        found |= {word.replace("%s", name) for name in
                  re.findall(rf'^\t\[CFQ_{kind}_\w+\]\s*= "(\w+)",$', cfq(), re.M)} if kind else {word}
    return found


@cache
def bwctl() -> dict[str, set[str]]:
    """Each command of bwctl with its options, as its usage has them."""
    text = (ROOT / "tools/user/bwctl/bwctl.c").read_text()
    return {name: set(re.findall(r"--[a-z]+", usage)) | {"--help"} for name, usage in re.findall(
        r'^\t\{ "(\w+)", \w[^\n]*\n((?:\t  "[^\n]*\n)+)', text, re.M)}


def defaults() -> dict[str, str]:
    """The tunables' defaults, as their table has them."""
    text = (ROOT / "Documentation/block/cfq-iosched.rst").read_text()
    return dict(re.findall(r"^(\w+)\s+(\d+)\s+\d+\.\.\d+ ", text, re.M))


def test_what_exists_is_found() -> None:
    assert {"slice_sync_ms", "bw_delays_ms"} <= attributes()
    assert debugfs_files() == {"queues", "service_tree", "sort_tree", "reservations", "state",
                               "counters"}
    assert {"dispatched_RT", "expired_tokens", "idle_hits", "bw_deadlines_missed"} <= counters()
    assert set(bwctl()) == {"run", "set", "group", "model", "show", "check", "encode", "decode"}
    assert "--delay" in bwctl()["run"] and "--delay" not in bwctl()["show"]
    assert set(defaults()) == attributes() - {"bw_delays_ms"}


# --- names ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_attributes_and_debugfs_files_exist(path: Path) -> None:
    text = path.read_text()
    for name in re.findall(r"queue/iosched/(\w+)", text):
        assert name in attributes()
    for name in re.findall(r"/sys/kernel/debug/block/\w+/sched/(\w+)", text):
        assert name in debugfs_files()
    for name in re.findall(r"/sys/block/\w+/([\w/]+)", text):
        assert name in KERNELS_OWN or name.startswith("queue/iosched/")


def test_tunables_and_counters_of_the_page_exist() -> None:
    known = attributes() | counters()
    words = set(re.findall(r"`([a-z]+_\w+)`", PAGE.read_text())) - {"aio_reqprio"}
    assert len(words) > 8
    assert words <= known, words - known
    table = PAGE.read_text().split("| what | means | do |", 1)[1].split("\n\n", 1)[0]
    first = {word for row in table.splitlines()[2:] for word in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert {"aged", "fallback"} <= first <= counters()


def test_defaults_of_the_page_are_those_of_the_scheduler() -> None:
    text = " ".join(PAGE.read_text().split())
    assert f"`bw_bucket_ms` of the rate ({defaults()['bw_bucket_ms']})" in text
    assert defaults()["prio_aging_ms"] == "1000" and "for a second (`prio_aging_ms`)" in text
    delays = re.search(r"cfq_bw_delay_ms\[CFQ_NR_DELAYS\] = \{\s*([\d, ]+?),\s*\};", cfq())
    assert delays and f"`bw_delays_ms` ({delays.group(1).replace(',', '')})" in text


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_bwctl_has_the_commands_and_options(path: Path) -> None:
    text = path.read_text().replace("\\\n", " ")
    calls = re.findall(r"bwctl (run|set|group|model|show|check|encode|decode)\b([^\n`#|]*)", text)
    assert calls or path == RULES
    for command, arguments in calls:
        own = arguments.split(" -- ")[0]
        assert set(re.findall(r"(?<!\S)--[a-z]+", own)) <= bwctl()[command], arguments
    for word in re.findall(r"`(--[a-z]+)", text):
        assert any(word in options for options in bwctl().values())


def test_bwctl_takes_the_rates_and_delays(tmp_path: Path) -> None:
    make = subprocess.run(["make", "-s", "-C", ROOT / "tools/user/bwctl", f"BUILD={tmp_path}"],
                          capture_output=True, text=True, check=False)
    assert make.returncode == 0, make.stderr
    pairs = {pair for path in TEXTS for pair in
             re.findall(r"--rate (\w+) --delay (\w+)", path.read_text())}
    assert len(pairs) > 2
    for rate, delay in pairs:
        subprocess.run([tmp_path / "bwctl", "encode", "--rate", rate, "--delay", delay], check=True,
                       capture_output=True)
    said = subprocess.run([tmp_path / "bwctl", "encode", "--rate", "3M", "--delay", "200ms"],
                          check=True, capture_output=True, text=True).stdout
    assert f"$ bwctl encode --rate 3M --delay 200ms\n    {said}" in PAGE.read_text()


def formats() -> list[re.Pattern[str]]:
    """The strings of bwctl's source, cell by cell, with what is filled in as any text."""
    source = "".join(path.read_text() for path in (ROOT / "tools/user/bwctl").glob("*.c"))
    source = re.sub(r'" PRI[du]64(?=[,)])', 'd"', re.sub(r'" PRI[du]64 "', "d", source))
    strings = re.findall(r'"((?:[^"\\\n]|\\.)+)"', source)
    cells = {cell.removeprefix("%s: ").strip(" ,") for text in strings for cell in re.split(r"\s{2,}|\\[nt]", text)}
    parts = [re.split(r"%[-.*\d]*(?:l*[dufgs]|%)", cell) for cell in cells if re.search("[A-Za-z]{2}", cell)]
    return [re.compile(".*".join(map(re.escape, part))) for part in parts if "".join(part).strip()]


def test_sample_output_of_bwctl_is_what_it_prints() -> None:
    """Each cell that is a message or a heading; names and numbers are not looked at."""
    known = formats()

    def is_known(cell: str) -> bool:
        return any(one.fullmatch(cell) for one in known)

    cells = []
    for block in re.findall(r"(?:^    .*\n)+", PAGE.read_text(), re.M):
        of_bwctl = False
        for line in block.splitlines():
            if line.lstrip().startswith(("# ", "$ ")):
                of_bwctl = " bwctl " in line
            elif of_bwctl:
                said = re.split(r"\s{2,}", re.sub(r"(?:(?<=\s)|^)(?:bwctl|sd[a-z]): ", "", line).strip())
                cells += [cell for cell in said if re.fullmatch(r"[A-Z][A-Z ]+", cell) or len(cell.split()) > 2]
    assert len(cells) > 20
    cells = [part for cell in cells for part in ([cell] if is_known(cell) else re.split(r", (?=\w+ \d|rot)", cell))]
    assert not [cell for cell in cells if not is_known(cell)]


def test_targets_and_files_of_the_page_exist() -> None:
    text = PAGE.read_text()
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:`|\$ )make ([a-z]\w*)", text):
        assert re.search(rf"^{target}:", makefile, re.M), target
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert (PAGE.parent / link).exists(), link
    for name in re.findall(r"(?<![\w/])(?:tools|configs)/[\w./-]*\w", text):
        assert (ROOT / name).exists(), name


def test_the_evaluation_lacks_nothing() -> None:
    assert "Not run" not in (PAGE.parent / "evaluation.md").read_text()


def results_of(text: str) -> list[str]:
    """What the marked places of a document name, which `make pages` fills in."""
    return [found[2] for found in documents.FILLED.finditer(text)]


@pytest.mark.parametrize("path", documents.DOCUMENTS_WITH_RESULTS, ids=lambda path: path.name)
def test_marked_places_name_runs_and_views_that_exist(path: Path) -> None:
    ours = {scenario.name: scenario for scenario in all_scenarios()}
    for inner in results_of(path.read_text()):
        if table := documents.TABLE.fullmatch(inner):
            name, title, *more = shlex.split(table[1])
            assert title in [view.title for view in ours[name].views], inner
            assert all(word.startswith("configs=") for word in more), inner
            chosen = {config for word in more for config in word.removeprefix("configs=").split(",")}
            assert chosen <= {config.name for config in ours[name].configs}, inner
            continue
        reference = references.parse(inner)
        of = ours[reference.scenario]
        for select in reference.selects:
            assert set(select.groups) <= {group.name for group in of.groups}, inner
            runs = [cell for cell in of.cells() if cell.config.name in select.config
                    and (not select.depth or cell.depth in select.depth)
                    and all(cell.labels[key] in labels for key, labels in select.vary.items())]
            assert runs if select.over != "each" else len(runs) == 1, inner


def test_measurements_are_not_typed() -> None:
    section = PAGE.read_text().split("\n## Measurements\n", 1)[1]
    assert len(results_of(section)) > 15
    typed = documents.FILLED.sub("", section)
    assert not [line for line in typed.splitlines() if line.startswith("|")]


def test_the_sum_of_streams_is_that_of_the_tool() -> None:
    text = " ".join(PAGE.read_text().split())
    assert f"<= {1 - capacity.MARGIN - (1 - capacity.SHARE_PERCENT / 100):.2f} s" in text
    assert defaults()["bw_share_percent"] == str(capacity.SHARE_PERCENT) and "5 % for best effort" in text
    for disk, row in (("cheetah-15k", "15000 rpm"), ("nearline-20tb", "7200 rpm, nearline"),
                      ("barracuda-7200.11", "7200 rpm, desktop"), ("laptop-5400", "5400 rpm, laptop")):
        known = characteristics.compute(presets.load(disk).attributes)
        assert f"| {row} | {known.seek_avg_ms:g} | {capacity.positioning_ms(known):.1f} |" in text


def test_the_example_of_the_sum_is_worked_out() -> None:
    text = " ".join(PAGE.read_text().split())
    desktop = characteristics.compute(presets.load("barracuda-7200.11").attributes)
    inner, each_ms = capacity.inner_mib(desktop), capacity.positioning_ms(desktop)
    count = capacity.most([3] * 10, 1, desktop)
    share = 1 - capacity.SHARE_PERCENT / 100
    fits, too_much = (capacity.load([3] * 10 + [1] * n, inner, each_ms) - share for n in (count, count + 1))
    assert f"ten streams of 3 MiB/s and {count} of 1 MiB/s" in text
    summed = f"{30 + count} / {inner:.1f} + {10 + count} x {each_ms / 1e3:.4f} = {fits:.3f}"
    assert f"inner cylinders have {inner:.1f} MiB/s: {summed}. One more" in text
    assert f"One more makes it {too_much:.3f}, too much" in text


# --- the udev rule ------------------------------------------------------------------------------


DISK = {"ACTION": "add", "SUBSYSTEM": "block", "KERNEL": "sda", "ENV{DEVTYPE}": "disk",
        "ATTR{removable}": "0", "ATTR{queue/rotational}": "1", "ATTR{queue/zoned}": "none"}
KEY = r'([A-Z]+(?:\{[\w/]+\})?)(==|=)"([^"]*)"'


def rules(comments: bool = False) -> list[list[tuple[str, str, str]]]:
    """Key, operator and value of each part of each rule."""
    found = []
    for line in RULES.read_text().splitlines():
        if comments and line.startswith("#ACTION"):
            line = line[1:]
        if line and not line.startswith("#"):
            assert re.fullmatch(rf"{KEY}(?:, {KEY})*", line), line
            found.append(re.findall(KEY, line))
    return found


def scheduler(device: dict[str, str]) -> str | None:
    """What the rule writes for a device, as udev would."""
    chosen = None
    for rule in rules():
        asked = [(key, value.split("|")) for key, sign, value in rule if sign == "=="]
        if all(any(fnmatchcase(device.get(key, ""), one) for one in values) for key, values in asked):
            chosen = {key: value for key, sign, value in rule if sign == "="}.get("ATTR{queue/scheduler}", chosen)
    return chosen


def test_a_rotating_disk_gets_cfq() -> None:
    assert scheduler(DISK) == "cfq"
    assert scheduler({**DISK, "KERNEL": "sdaa"}) == "cfq"


@pytest.mark.parametrize(("what", "differs"), [
    ("a solid-state disk", {"ATTR{queue/rotational}": "0"}),
    ("a partition", {"KERNEL": "sda1", "ENV{DEVTYPE}": "partition"}),
    ("a host-managed disk", {"ATTR{queue/zoned}": "host-managed"}),
    ("a card reader", {"ATTR{removable}": "1"}),
    ("what was set by hand", {"ACTION": "change"}),
    ("a SCSI generic device", {"SUBSYSTEM": "scsi_generic"}),
    *[(name, {"KERNEL": name}) for name in ("loop0", "zram0", "dm-0", "md0", "ram0", "vda", "sr0",
                                            "nvme0n1", "nbd0", "nullb0")],
])
def test_nothing_else_does(what: str, differs: dict[str, str]) -> None:
    assert scheduler({**DISK, **differs}) is None, what


def test_read_ahead_of_stacked_devices_is_that_of_the_disks() -> None:
    """Linux raises read_ahead_kb of a device made of others to the largest of its disks."""
    disk, stacked = ({key: value for key, sign, value in rule if sign == "="} for rule in rules())
    assert stacked == {"ATTR{queue/read_ahead_kb}": disk["ATTR{queue/read_ahead_kb}"]}
    assert list(disk)[:2] == ["ATTR{queue/scheduler}", "ATTR{queue/max_sectors_kb}"]


def test_the_examples_of_tunables_are_rules_that_look_for_cfq() -> None:
    examples = [rule for rule in rules(comments=True) if rule not in rules()]
    assert len(examples) == 3
    for rule in examples:
        assert any(key == "TEST" and value.startswith("queue/iosched/") for key, _, value in rule)
        (target,) = [key for key, sign, _ in rule if sign == "="]
        name = target.removeprefix("ATTR{").removesuffix("}")
        assert name in KERNELS_OWN or name.removeprefix("queue/iosched/") in attributes()


def test_udev_takes_the_rule() -> None:
    if not shutil.which("udevadm"):
        pytest.skip("udevadm is not installed")
    if subprocess.run(["udevadm", "verify", "--help"], capture_output=True, check=False).returncode:
        pytest.skip("this udevadm has no verify, which came with version 254")
    done = subprocess.run(["udevadm", "verify", "--resolve-names=never", RULES], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# --- the systemd unit --------------------------------------------------------------------------


def settings() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text().replace("\\\n", " ").splitlines():
        name, sign, value = line.partition("=")
        if sign and not line.startswith("#"):
            found.setdefault(name, []).append(" ".join(value.split()))
    return found


def test_the_unit_has_the_one_capability_that_the_kernel_asks_for() -> None:
    patch = next((ROOT / "patches").glob("*-block-add-the-bandwidth-class-*.patch")).read_text()
    case = patch.split("+\t\tcase IOPRIO_CLASS_BW:\n+\t\t\tif (!IOPRIO_BW_RATE", 1)[1].split("break;", 1)[0]
    enough = re.findall(r"!capable\((\w+)\)", case)
    unit = settings()
    assert unit["AmbientCapabilities"] == unit["CapabilityBoundingSet"] == ["CAP_SYS_NICE"]
    assert "CAP_SYS_NICE" in enough and "&&" in case
    assert unit["User"] and unit["NoNewPrivileges"] == ["yes"]
    assert "PrivateUsers" not in unit and "IOSchedulingClass" not in unit


def test_the_unit_runs_bwctl_where_it_is_installed() -> None:
    done = subprocess.run(["make", "-sn", "-C", ROOT / "tools/user/bwctl", "install"], check=True,
                          capture_output=True, text=True)
    (start,), (check,) = settings()["ExecStart"], settings()["ExecStartPre"]
    program = start.split()[0]
    assert program in done.stdout and check.removeprefix("-").split()[0] == program
    assert program in PAGE.read_text()


def test_the_recorder_has_no_capability(tmp_path: Path) -> None:
    """The words between bwctl's and the recorder's, as a user with the capability runs them."""
    words = settings()["ExecStart"][0].split(" -- ")[1].split()
    assert Path(words[0]).name == "setpriv"
    if not shutil.which("setpriv") or subprocess.run(["id", "-u"], capture_output=True, text=True,
                                                     check=True).stdout != "0\n":
        pytest.skip("needs setpriv and root")
    capability = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs",
                  *(f"--{kind}=-all,+sys_nice" for kind in ("inh-caps", "ambient-caps", "bounding-set"))]
    for drop, expected in (([], 1 << 23), ([*words, "--"], 0)):
        status = subprocess.run([*capability, *drop, "cat", "/proc/self/status"], check=True,
                                capture_output=True, text=True).stdout
        found = re.search(r"^CapEff:\t(\w+)$", status, re.M)
        assert found and int(found.group(1), 16) == expected


@pytest.mark.parametrize("with_drop_in", [False, True])
def test_systemd_takes_the_unit(tmp_path: Path, with_drop_in: bool) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    # programs that are there for sure, in place of bwctl, setpriv and the recorder
    text = re.sub(r"(?<=[=\s-])/usr/\S*bin/\w+", "/bin/true", UNIT.read_text())
    (tmp_path / UNIT.name).write_text(text)
    if with_drop_in:
        (tmp_path / DROP_IN.parent.name).mkdir()
        (tmp_path / DROP_IN.parent.name / DROP_IN.name).write_text(
            DROP_IN.read_text().replace("/usr/local/sbin/bwctl", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", tmp_path / UNIT.name],
                          check=False, capture_output=True, text=True)
    if "Failed to initialize manager" in done.stderr:
        pytest.skip("systemd-analyze cannot verify units here")
    told = [line for line in done.stderr.splitlines() if UNIT.name in line or DROP_IN.name in line]
    assert done.returncode == 0 and not told, done.stderr
