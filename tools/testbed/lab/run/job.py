# SPDX-License-Identifier: GPL-2.0
"""From a cell of a scenario to the load generator's job."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tools.testbed.disk import device, presets

from ..model import cgroups, filesystems, settings, tomllines
from ..model import scenario as sc
from ..model.disks import Disk
from ..model.errors import BadValue
from ..model.reading import Where
from ..model.units import MIB, NSEC_PER_MSEC, NSEC_PER_SEC
from . import layout
from .layout import MEDIA_FILES, TREE_END, Draw, Range

FRAGMENTED_PERCENT = 98  # of free memory: a guest has half of this, in single pages, and the rest
DEVICE = "rot0"
CONFIGFS = f"{device.CONFIGFS}/{DEVICE}"
SYSFS = f"/sys/block/{DEVICE}/queue"
STATS = f"{CONFIGFS}/rot/stats"
COMMANDS = "commands"  # the result with the drive's counters
COUNTERS = "counters"  # the one with cfq's
COUNTERS_FROM = f"/sys/kernel/debug/block/{DEVICE}/sched/counters"

# Streams start at this time after boot, by CLOCK_MONOTONIC: later than any
# set-up takes, and the same in every guest, so that runs can be compared.
START_NS = 5 * NSEC_PER_SEC
# with a file system, whose files have to be written before
START_AFTER_FILES_NS = 600 * NSEC_PER_SEC
# About what a guest has by itself: a tenth and a fifth of its free memory and page cache. As shares they change with
# each page that something else takes, the length of a file of the host's or a directory of it more or less.
DIRTY_LIMITS = (
    f"write /proc/sys/vm/dirty_background_bytes {200 * MIB}",
    f"write /proc/sys/vm/dirty_bytes {400 * MIB}",
)

@dataclass
class Process:
    """One stream as the results name it."""

    name: str
    group: str
    kind: str
    write: bool
    priority: str
    regions: list[Range]
    size: int
    period_ns: int
    start_ns: int
    deadline_ns: int
    keys: dict[str, int]  # more of the load generator's, by its names
    list_lines: list[str]
    file_ends: list[int] = field(default_factory=list)  # of a tree: the reads made when each file is read
    file: str = ""  # of a file system
    prepared: int = 0  # bytes of it that are there before; 0: it is new
    cgroup: str = ""  # control group; empty: the root

    @property
    def copy(self) -> str:
        """Where a copy goes."""
        return f"{self.file}.copy" if self.kind == "copy" else ""


def _check_places(places: list[list[Range]], group: sc.Group, disk: Disk) -> None:
    """All of them on the disk, where direct I/O can begin, and large enough for a tree."""
    for offset, length in (region for regions in places for region in regions):
        if not filesystems.is_file(group.file) and (offset < 0 or offset + length > disk.bytes):
            raise BadValue(f"{length} bytes at {offset} are not on the disk of {disk.bytes}")
        if group.direct and offset % disk.block_bytes:
            raise BadValue(f"direct I/O cannot begin at {offset}, which is no multiple of {disk.block_bytes}")
        if group.kind == "tree" and length < TREE_END + MIB:
            raise BadValue(f"{length} bytes are too few for a tree: it takes {TREE_END + MIB}")


def _check_numbers(numbers: sc.Numbers, group: sc.Group, places: list[list[Range]], disk: Disk, where: Where) -> None:
    """What of a group's numbers depends on its file, on the disk, and on each other."""
    shortest = min((length for regions in places for _, length in regions), default=disk.bytes)
    largest = numbers.size + numbers.swing
    if largest > shortest:
        raise where.error((*group.at, "size"), f"{largest} bytes are more than the file's {shortest}")
    if numbers.swing and numbers.swing >= numbers.size:
        raise where.error((*group.at, "swing"), f"{numbers.swing} bytes are not less than the size, {numbers.size}")
    for key, value in (("size", numbers.size), ("chunk", numbers.chunk)):
        if group.direct and value % disk.block_bytes:
            what = f"direct I/O needs a multiple of {disk.block_bytes} bytes, not {value}"
            raise where.error((*group.at, key), what)
    if numbers.rate and not numbers.period_ns:
        raise where.error((*group.at, "rate"), f"{numbers.size} bytes each in less than a nanosecond")


def _process(
    group: sc.Group, numbers: sc.Numbers, member: int, regions: list[Range], policy: str, draw: Draw
) -> Process:
    """One member of a group; each draws for itself."""
    priority = group.priorities.get(policy)
    keys = {
        "write": int(group.write),
        "rewrite": int(group.rewrite),
        "random": int(group.kind == "random"),
        "direct": int(group.direct),
        "catch_up": int(group.catch_up),
        "ioprio": priority.ioprio if priority else 0,
        "chunk": numbers.chunk,
        "think_ns": round(numbers.think_ms * NSEC_PER_MSEC),
        "burst": numbers.burst if numbers.pause_ms else 0,
        "pause_ns": round(numbers.pause_ms * NSEC_PER_MSEC),
        "swing": numbers.swing,
        "fsync_every": numbers.fsync_every,
        "count": numbers.reads,
        "buffer_ns": round(numbers.buffer_ms * NSEC_PER_MSEC),
        "memory": numbers.memory,
        "seed": draw.next(),
    }
    lines, ends = layout.walk(regions[0], numbers.files, draw.state) if group.kind == "tree" else ([], [])
    return Process(
        name=f"{group.name}.{member}" if numbers.count > 1 else group.name,
        group=group.name,
        kind=group.kind,
        write=group.write,
        priority=priority.text if priority else "default",
        regions=regions,
        size=numbers.size,
        period_ns=numbers.period_ns,
        start_ns=numbers.start_ns(member),
        deadline_ns=round(numbers.deadline_ms * NSEC_PER_MSEC),
        keys=keys,
        list_lines=lines,
        file_ends=ends,
        file=f"{filesystems.MOUNTED}/group{group.at[1]}.{member}" if filesystems.is_file(group.file) else "",
        prepared=0 if group.file == filesystems.NEW else regions[0][1],
        cgroup=group.cgroup,
    )


def processes(scenario: sc.Scenario, cell: sc.Cell, disk: Disk, seed: int, policy: str) -> list[Process]:
    """The streams of a cell, in the order in which they are started."""
    there = layout.Layout(disk.bytes)
    seed = int(cell.variant.get("seed", seed))
    drawn = [there.media(number) for number in Draw(seed).sample(MEDIA_FILES, MEDIA_FILES)]
    # more streams than files: the rest begin in the middle
    drawn += [(offset + length // 2, length - length // 2) for offset, length in drawn]
    result: list[Process] = []
    for index, group in enumerate(scenario.groups):
        if not group.active(cell.labels):
            continue
        numbers = group.numbers(cell.variant)
        try:
            places = layout.places(str(sc.resolve(group.file, cell.variant)), numbers.count, there, drawn)
            _check_places(places, group, disk)
        except ValueError as error:
            raise scenario.where.error((*group.at, "file"), str(error)) from None
        _check_numbers(numbers, group, places, disk, scenario.where)
        result += [
            _process(group, numbers, member, regions, policy, Draw(seed, index + 1, member))
            for member, regions in enumerate(places)
        ]
    return result


@dataclass(frozen=True)
class Run:
    """A cell as one kernel and disk have it."""

    cell: sc.Cell
    policy: str | None  # of priorities; None: the run needs the BW class, and has no fallback
    streams: list[Process]


def make_run(scenario: sc.Scenario, cell: sc.Cell, disk: Disk, seed: int, bw: bool) -> Run:
    """Raises ScenarioError for what the disk cannot have.

    @bw: the kernel has the BW class
    """
    wanted = cell.config.policy
    policy = wanted if bw or not needs_bw(scenario, cell, wanted) else cell.config.fallback or None
    return Run(cell, policy, processes(scenario, cell, disk, seed, policy or wanted))


def needs_bw(scenario: sc.Scenario, cell: sc.Cell, policy: str) -> bool:
    """Whether a process of a run is in class BW."""
    return any(
        group.priorities[policy].needs_bw
        for group in scenario.groups
        if policy in group.priorities and group.active(cell.labels)
    )


def device_lines(disk: Disk, disk_set: dict[str, str], depth: int) -> list[str]:
    """Make the disk."""
    return presets.job_lines(CONFIGFS, {**disk.attributes, **disk_set}, depth)


def scheduler_lines(config: sc.Config, with_bw: bool, queue: Mapping[str, str] = settings.PUBLISHED.queue) -> list[str]:
    """@queue: settings that are the same under each scheduler"""
    lines = [f"write {SYSFS}/scheduler {config.scheduler}"]
    common = {key: value for key, value in queue.items() if key not in config.queue}
    if config.scheduler == "none":  # the tags are the drive's
        common.pop("nr_requests", None)
    lines += [f"write {SYSFS}/{key} {value}" for key, value in (common | config.queue).items()
              if key != "nr_requests" or int(value) >= settings.LEAST_NR_REQUESTS]
    tunables = config.tunables | (config.bw_tunables if with_bw else {})
    lines += [f"write {SYSFS}/iosched/{key} {value}" for key, value in tunables.items()]
    for key in ("scheduler", "nr_requests", "max_sectors_kb", "rotational", "read_ahead_kb"):
        lines.append(f"report queue.{key} {SYSFS}/{key}")
    return lines


def stream_line(process: Process, number: int) -> str:
    keys = {
        "name": process.name.replace(" ", ""),
        "size": process.size,
        "period_ns": process.period_ns,
        "start_ns": process.start_ns,
        **process.keys,
    }
    words = [f"{key}={value}" for key, value in keys.items() if value]
    if process.file:
        words.append(f"file={process.file}")
        words += ["create=1"] if not process.prepared else []
        words += [f"to={process.copy}"] if process.copy else []
    if process.cgroup:
        words.append(f"cgroup={cgroups.folder(process.cgroup)}")
    if process.list_lines:
        words.append(f"list={number}.list")
    else:
        words.append("regions=" + ",".join(f"{offset}:{length}" for offset, length in process.regions))
    return "stream " + " ".join(words)


def cgroup_files(scenario: sc.Scenario, cell: sc.Cell) -> dict[str, dict[str, str]]:
    """The files of control groups: of the scenario, then of the configuration."""
    files = {group: {file: str(sc.resolve(value, cell.variant)) for file, value in files.items()}
             for group, files in scenario.cgroups.items()}
    for group, own in cell.config.cgroups.items():
        files[group] = files.get(group, {}) | own
    return files


def settings_of(scenario: sc.Scenario, cell: sc.Cell, disk: Disk) -> settings.QueueSettings:
    """Raises ScenarioError if the preset does not name a transport."""
    try:
        return settings.of_disk(str(sc.resolve(scenario.settings, cell.variant)), disk.transport)
    except BadValue as error:
        raise scenario.where.error(("settings",), str(error)) from None


def job_text(scenario: sc.Scenario, disk: Disk, run: Run, with_bw: bool, trace: str | None = None) -> str:
    """All that the load generator does, a line each."""
    lines = ["# job of lab's load generator", *DIRTY_LIMITS]
    if scenario.fragmented:
        lines.append(f"fragment {FRAGMENTED_PERCENT}")
    filesystem = str(sc.resolve(scenario.filesystem, run.cell.variant))
    in_memory = {"memory_backed": "1"} if filesystem else {}
    of_queue = settings_of(scenario, run.cell, disk)
    changed = {**of_queue.attributes, **scenario.disk_set, **in_memory}
    attributes = {**disk.attributes, **changed}
    lines += device_lines(disk, changed, run.cell.depth)
    if filesystem:
        prepared = {stream.file: stream.prepared for stream in run.streams if stream.prepared}
        lines.append(f"write {SYSFS}/scheduler none")
        lines += filesystems.job_lines(filesystem, f"/dev/{DEVICE}", prepared, scenario.swap)
    lines += scheduler_lines(run.cell.config, with_bw, of_queue.queue)
    lines.append(f"device /dev/{DEVICE}")
    names = [stream.cgroup for stream in run.streams if stream.cgroup]
    lines += cgroups.job_lines(names, cgroup_files(scenario, run.cell))
    if attributes.get("irqmode") == presets.ROTATING:
        lines += [f"write_if_there {STATS} 0", f"report_after {COMMANDS} {STATS}"]
    if run.cell.config.scheduler == "cfq" and with_bw:
        lines.append(f"report_after {COUNTERS} {COUNTERS_FROM}")
    lines.append(f"start_ns {START_AFTER_FILES_NS if filesystem else START_NS}")
    lines.append(f"duration_ns {scenario.duration_ns}")
    lines += [stream_line(process, number) for number, process in enumerate(run.streams)]
    if trace:
        # messages of the processes' reads and writes, where the kernel has them
        lines.append(f"write_if_there /sys/block/{DEVICE}/trace/vfs 1")
        lines.append(f"trace {trace}")
    return "\n".join(lines) + "\n"


def setting_of(line: str, scenario: sc.Scenario, config: sc.Config) -> tomllines.Path | None:
    """The key of the scenario file that made this line of a job."""
    verb, path, *_ = [*line.split(" "), ""]
    folder, _, name = path.rpartition("/")
    attribute = path.removeprefix(f"{CONFIGFS}/")
    if verb not in ("write", "write_for_device"):
        return None
    if folder == f"{SYSFS}/iosched":
        return (*config.at[:2], "bw_set" if name in config.bw_tunables else "set", name)
    for at, groups in ((config.at[:2], config.cgroups), ((), scenario.cgroups)):
        for group, files in groups.items():
            if folder == cgroups.folder(group) and name in files:
                return (*at, "cgroup", group, name)
    if folder == SYSFS and name in config.queue:
        return (*config.at[:2], "queue", name)
    if attribute in scenario.disk_set:
        return ("disk_set", attribute)
    if path == f"{CONFIGFS}/power" and scenario.disk_set:
        return ("disk_set",)  # each setting is valid, and all of them together are no disk
    return None


def probe_text() -> str:
    """A job without streams: what does this kernel have?"""
    return "\n".join(
        [
            "report features /sys/kernel/config/nullb/features",
            f"mkdir {CONFIGFS}",
            f"write {CONFIGFS}/size 64",
            f"write {CONFIGFS}/power 1",
            f"report schedulers {SYSFS}/scheduler",
            "",
        ]
    )
