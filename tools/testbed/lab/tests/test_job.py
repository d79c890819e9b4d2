# SPDX-License-Identifier: GPL-2.0
"""A scenario's cell as the load generator gets it."""

from pathlib import Path

import pytest

from tools.testbed.lab.model import disks as disk_module
from tools.testbed.lab.model import schema, units
from tools.testbed.lab.model.errors import BadValue, ScenarioError
from tools.testbed.lab.model.units import GIB, KIB, MIB
from tools.testbed.lab.run import job, layout
from tools.testbed.lab.tests.conftest import SCENARIO, lines_of


def streams(source: str, disks: Path, variant: int = 0, seed: int = 1, policy: str = "rt") -> list[job.Process]:
    loaded = schema.parse(Path("test.toml"), source)
    cell = loaded.cells()[variant]
    return job.processes(loaded, cell, disk_module.of_scenario(loaded, disks), seed, policy)


@pytest.mark.parametrize(
    ("text", "value"),
    [("4KiB", 4096), ("3MiB", 3 * MIB), ("0.5MiB", MIB // 2), (512, 512), ("8GiB", 8 * GIB)],
)
def test_sizes(text: str | int, value: int) -> None:
    assert units.parse_size(text) == value


def test_reservation_is_encoded_in_rate_and_delay_level() -> None:
    # class 4, 24 x 128 KiB/s = 3 MiB/s, 800 ms = level 5
    assert units.bw_ioprio(3 * MIB, 800) == 4 << 13 | 24 << 3 | 5
    assert units.bw_ioprio(128 * KIB, 25) == 4 << 13 | 1 << 3 | 0
    assert units.level_ioprio("rt", 4) == 1 << 13 | 4


@pytest.mark.parametrize("rate", [0, 128 * KIB - 1, 1024 * 128 * KIB])
def test_reservation_out_of_range_is_refused(rate: int) -> None:
    with pytest.raises(ValueError, match="multiple of 128"):
        units.bw_ioprio(rate, 25)


def test_media_files_lie_one_after_the_other_from_five_percent_on() -> None:
    disk = layout.Layout(500 * GIB)
    assert disk.media(0) == (25 * GIB, 8 * GIB)
    assert disk.media(39) == (25 * GIB + 39 * 8 * GIB, 8 * GIB)
    assert disk.database == (345 * GIB, 8 * GIB)
    assert disk.trees == (353 * GIB, 112 * GIB)


def test_disk_too_small_for_the_media_files_is_refused() -> None:
    with pytest.raises(BadValue, match="do not fit a disk of 40 GiB: it takes 48 GiB"):
        layout.Layout(40 * GIB).check()
    layout.Layout(48 * GIB).check()


def test_media_files_are_smaller_on_a_small_disk() -> None:
    disk = layout.Layout(136 * GIB)
    assert disk.media(0)[1] == disk.database[1] < 3 * GIB
    assert disk.media(39)[0] == disk.media(0)[0] + 39 * disk.media(0)[1]
    assert disk.trees[1] >= GIB - MIB and sum(disk.trees) <= 136 * GIB * layout.TREES_TO


def test_each_stream_has_a_file_of_its_own(disks: Path) -> None:
    many = streams(SCENARIO.replace("N = [1, 2]", "N = [40]"), disks)
    offsets = [s.regions[0][0] for s in many if s.group == "stream"]
    disk = layout.Layout(476940 * MIB)
    assert sorted(offsets) == [disk.media(index)[0] for index in range(40)]
    assert offsets != sorted(offsets)


def test_seed_draws_the_files(disks: Path) -> None:
    source = SCENARIO.replace("N = [1, 2]", "N = [20]")

    def drawn(seed: int) -> list[tuple[int, int]]:
        return [s.regions[0] for s in streams(source, disks, seed=seed)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_streams_start_spread_over_the_second(disks: Path) -> None:
    starts = [s.start_ns for s in streams(SCENARIO.replace("N = [1, 2]", "N = [4]"), disks) if s.group == "stream"]
    assert starts == [0, 250_000_000, 500_000_000, 750_000_000]


def test_policy_chooses_the_priority(disks: Path) -> None:
    assert streams(SCENARIO, disks, policy="bw")[0].keys["ioprio"] == 4 << 13 | 8 << 3 | 5
    assert streams(SCENARIO, disks, policy="rt")[0].keys["ioprio"] == 1 << 13 | 4
    assert streams(SCENARIO, disks, policy="none")[0].keys["ioprio"] == 0


def test_job_sets_nr_requests_after_the_scheduler(disks: Path) -> None:
    loaded = schema.parse(Path("test.toml"), SCENARIO)
    disk = disk_module.load_disk(disks, "plain")
    cell = loaded.cells(["mq-deadline"], [32])[0]
    lines = job.job_text(loaded, disk, job.make_run(loaded, cell, disk, 1, bw=False), False).splitlines()
    chosen = lines.index("write /sys/block/rot0/queue/scheduler mq-deadline")
    assert lines[chosen + 1] == "write /sys/block/rot0/queue/nr_requests 256"
    assert "write /sys/kernel/config/nullb/rot0/hw_queue_depth 32" in lines
    assert "write /sys/kernel/config/nullb/rot0/max_sectors 1024" in lines
    assert lines.index("write /sys/kernel/config/nullb/rot0/power 1") < chosen
    assert sum(line.startswith("stream ") for line in lines) == 2


def test_tunables_of_the_bw_class_are_left_out_without_it(disks: Path) -> None:
    source = SCENARIO.replace(
        "[[group]]",
        '[[config]]\nname = "c"\nscheduler = "cfq"\nset = { slice_sync_ms = 50 }\n'
        'bw_set = { bw_bucket_ms = 500 }\n\n[[group]]',
        1,
    )
    config = schema.parse(Path("test.toml"), source).cells(["cfq"])[0].config
    without, with_bw = job.scheduler_lines(config, False), job.scheduler_lines(config, True)
    assert "write /sys/block/rot0/queue/iosched/slice_sync_ms 50" in without
    assert [line for line in with_bw if line not in without] == ["write /sys/block/rot0/queue/iosched/bw_bucket_ms 500"]


def test_edges_alternate_between_outermost_and_innermost(disks: Path) -> None:
    edges = streams(SCENARIO.replace('file = "db"', 'file = "edges"'), disks)[-1].regions
    assert edges[0][0] == 0
    assert sum(edges[1]) == 476940 * MIB


def test_tree_walk_stays_in_its_region_and_repeats() -> None:
    region = (400 * GIB, 50 * GIB)
    files = layout.tree_files(region, 500, layout.Draw(7))
    assert files == layout.tree_files(region, 500, layout.Draw(7))
    assert files != layout.tree_files(region, 500, layout.Draw(8))
    assert len(files) == 500
    for line in (line for reads in files for line in reads):
        offset, length = map(int, line.split())
        assert region[0] <= offset
        assert offset + length <= sum(region)
        assert offset % 4096 == 0


def test_tree_knows_where_its_files_end(disks: Path) -> None:
    source = SCENARIO.replace('kind = "random"\nper_s = 50', 'kind = "tree"\nfiles = 30')
    walk = streams(source.replace('file = "db"', 'file = "tree"'), disks)[-1]
    assert len(walk.file_ends) == 30
    assert walk.file_ends == sorted(set(walk.file_ends))
    assert walk.file_ends[-1] == len(walk.list_lines)


@pytest.mark.parametrize(
    ("file", "region"),
    [
        ("at:100GiB+8GiB", (100 * GIB, 8 * GIB)),
        ("at:0+0.5MiB", (0, MIB // 2)),
        ("at:$offset+4096", (2 * GIB, 4096)),
    ],
)
def test_file_at_an_offset_is_the_same_for_all(disks: Path, file: str, region: tuple[int, int]) -> None:
    source = SCENARIO.replace('file = "db"', f'file = "{file}"\ncount = 2')
    source = source.replace("N = [1, 2]", 'N = [1, 2]\noffset = ["2GiB"]')
    assert [s.regions for s in streams(source, disks) if s.group == "random"] == [[region], [region]]


@pytest.mark.parametrize(("file", "first"), [("block:1GiB", 23847 * MIB), ("block:0+1GiB", 0),
                                             ("block:8GiB+1GiB", 8 * GIB)])
def test_files_in_a_block_are_one_behind_the_other(disks: Path, file: str, first: int) -> None:
    source = SCENARIO.replace('file = "db"', f'file = "{file}"\ncount = 2')
    assert [s.regions for s in streams(source, disks) if s.group == "random"] == [
        [(first, GIB)], [(first + GIB, GIB)]]


def test_more_streams_than_media_files_begin_in_the_middle(disks: Path) -> None:
    regions = [s.regions[0] for s in streams(SCENARIO.replace("N = [1, 2]", "N = [42]"), disks) if s.group == "stream"]
    for first, second in zip(regions[:2], regions[40:], strict=True):
        assert second == (first[0] + 4 * GIB, 4 * GIB)


@pytest.mark.parametrize(
    ("old", "new", "at", "key", "what"),
    [
        ('file = "db"', 'file = "attic"', "file", "group.1.file", "'attic' is not media"),
        ('file = "db"', 'file = "media:99"', "file", "group.1.file", "media file 99 is not in 0..39"),
        ('file = "db"', 'file = "media:x"', "file", "group.1.file", "not media:LIST with numbers"),
        ('file = "db"', 'file = "media:1,2"', "file", "group.1.file", "1 processes but 2 media files"),
        ('file = "db"', 'file = "block:x"', "file", "group.1.file", "'x' is not a size"),
        ('file = "db"', 'file = "block:x+1GiB"', "file", "group.1.file", "'x' is not a size"),
        ('file = "db"', 'file = "block:1024GiB"', "file", "group.1.file", "are not on the disk"),
        ('file = "db"', 'file = "block:1000"\ncount = 2', "file", "group.1.file", "direct I/O cannot begin at"),
        ('file = "db"', 'file = "at:1GiB"', "file", "group.1.file", "'at:1GiB' is not at:OFFSET+LENGTH"),
        ('file = "db"', 'file = "at:x+1GiB"', "file", "group.1.file", "'x' is not a size"),
        ('file = "db"', 'file = "at:1GiB+0"', "file", "group.1.file", "'0' is not in 1.."),
        ('file = "db"', 'file = "at:465GiB+1GiB"', "file", "group.1.file", "are not on the disk"),
        ('file = "db"', 'file = "at:1000+1GiB"', "file", "group.1.file", "direct I/O cannot begin at 1000"),
        ('file = "db"', 'file = "at:0+4095"', "size", "group.1.size", "4096 bytes are more than the file's 4095"),
        ('kind = "random"\nper_s = 50', 'kind = "tree"\nfile = "at:0+1MiB"', "file", "group.1.file", "too few for"),
        ('size = "4KiB"', 'size = "9GiB"', "size", "group.1.size", "bytes are more than the file's"),
        ('size = "4KiB"', 'size = "1000B"', "size", "group.1.size", "a multiple of 512 bytes, not 1000"),
        ('size = "4KiB"', 'size = "4KiB"\nchunk = 100', "chunk", "group.1.chunk", "a multiple of 512 bytes, not 100"),
        ("N = [1, 2]", "N = [81]", "[[group]]", "group.0.file", "more than 80 processes"),
        ('rate = "1MiB/s"', 'rate = "9999999GiB/s"', "rate", "group.0.rate", "less than a nanosecond"),
        ('irqmode = 2', "size = 40960", "[[group]]", "group.0.file", "do not fit a disk of 40 GiB"),
        ('irqmode = 2', "blocksize = 8192", 'size = "4KiB', "group.1.size", "a multiple of 8192 bytes, not 4096"),
        ('disk = "plain"', 'disk = "floppy"', "disk", "disk", "no disk preset 'floppy' (known: plain)"),
        (
            'irqmode = 2',
            '"rot/seek_avg_us" = 1\n"rot/seek_full_us" = 2',
            '"rot/seek_full_us"',
            "disk_set.rot/seek_full_us",
            "set one of them to 0",
        ),
    ],
)
def test_refusal_of_what_the_disk_decides_names_line_and_key(
    disks: Path, old: str, new: str, at: str, key: str, what: str
) -> None:
    source = SCENARIO.replace(old, new, 1)
    if "tree" in new:
        source = source.replace('file = "db"\n', "")
    assert source != SCENARIO
    with pytest.raises(ScenarioError) as refusal:
        streams(source, disks)
    assert what in str(refusal.value)
    assert refusal.value.key == key
    assert refusal.value.line == lines_of(source, at)[-1 if key.startswith("group.1") else 0]


@pytest.mark.parametrize("size", ["1000B", "1"])
def test_buffered_reads_need_no_whole_blocks(disks: Path, size: str) -> None:
    source = SCENARIO.replace('size = "4KiB"\ndirect = true', f'size = "{size}"')
    assert streams(source, disks)[-1].size == units.parse_size(size)


def test_draw_is_splitmix64() -> None:
    # the first numbers of the reference implementation, for the state 0
    draw = layout.Draw()
    assert [hex(draw.next()) for _ in range(2)] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4"]


def test_control_groups_are_made_and_set_before_the_streams(disks: Path) -> None:
    source = SCENARIO.replace('file = "db"', 'file = "db"\ncgroup = "others"')
    source += ('\n[[config]]\nname = "set"\nscheduler = "bfq"\n'
               'cgroup = { root = { "io.cost.qos" = "DEV enable=1" }, others = { "io.weight" = 10 } }\n')
    loaded = schema.parse(Path("test.toml"), source)
    disk = disk_module.of_scenario(loaded, disks)
    texts = {}
    for cell in (loaded.cells()[0], loaded.cells()[-1]):
        run = job.make_run(loaded, cell, disk, 1, bw=False)
        lines = job.job_text(loaded, disk, run, with_bw=False).splitlines()
        texts[cell.config.name] = [line for line in lines if "cgroup" in line and not line.startswith("stream")]
        assert [" cgroup=/sys/fs/cgroup/others" in line for line in lines if line.startswith("stream")] == [
            stream.group == loaded.groups[1].name for stream in run.streams]
    assert texts["set"][0] == "mount cgroup2 cgroup2 /sys/fs/cgroup"
    made = [line.split(" ", 1)[1] for line in texts.pop("set")]
    assert made[1:] == ["/sys/fs/cgroup/cgroup.subtree_control +io +memory", "/sys/fs/cgroup/others",
                        "/sys/fs/cgroup/io.cost.qos enable=1", "/sys/fs/cgroup/others/io.weight 10"]
    assert [len(lines) for lines in texts.values()] == [3]  # the group is there, with nothing set


def test_setting_of_a_control_group_that_fails_has_its_line() -> None:
    source = SCENARIO.replace('file = "db"', 'file = "db"\ncgroup = "others"')
    source += '\n[[config]]\nname = "set"\nscheduler = "bfq"\ncgroup = { others = { "io.bw" = "DEV x" } }\n'
    loaded = schema.parse(Path("test.toml"), source)
    config = loaded.configs[-1]
    line = "write_for_device /sys/fs/cgroup/others/io.bw x"
    assert job.setting_of(line, loaded, config) == ("config", 0, "cgroup", "others", "io.bw")
    assert job.setting_of(line.replace("others", "root"), loaded, config) is None


def test_file_system_is_there_before_the_scheduler_is_chosen(disks: Path) -> None:
    source = SCENARIO.replace("duration_s = 4", 'duration_s = 4\nfilesystem = "ext4"\nswap = "2MiB"')
    source = source.replace("direct = true", 'direct = true\nmemory = "1MiB"\nfile = "own:8MiB"', 1)
    source = source.replace('file = "db"', 'file = "own:1MiB"')
    loaded = schema.parse(Path("test.toml"), source)
    disk = disk_module.of_scenario(loaded, disks)
    run = job.make_run(loaded, loaded.cells()[3], disk, 1, bw=False)
    lines = job.job_text(loaded, disk, run, with_bw=False).splitlines()
    assert [line.split()[:2] for line in lines if line.startswith("prepare")] == [
        ["prepare", f"/dev/disk/group{number}"] for number in ("0.0", "0.1", "1.0")]
    order = ["memory_backed 1", "scheduler none", "mkfs.ext4", "mount ext4", "prepare", "swap /dev/disk/swap 2097152",
             "drop_caches", "scheduler mq"]
    places = [next(n for n, line in enumerate(lines) if what in line) for what in order]
    assert places == sorted(places)
    assert sum(" memory=1048576 " in line for line in lines) == 2
    assert [line for line in lines if "file=/dev/disk/group1.0" in line and "regions=0:1048576" in line]


def test_swap_needs_a_file_system(disks: Path) -> None:
    with pytest.raises(ScenarioError, match="swap: needs a filesystem"):
        streams(SCENARIO.replace("duration_s = 4", 'duration_s = 4\nswap = "2MiB"'), disks)


def test_bursts_and_sizes_that_change_are_for_the_load_generator(disks: Path) -> None:
    source = SCENARIO.replace("per_s = 50\n", "burst = 10\npause_ms = 1000\n", 1)
    assert streams(source, disks)[-1].keys["burst"] == 10
    assert streams(source, disks)[-1].keys["pause_ns"] == 1_000_000_000
    # without a pause there is nothing after a burst
    assert streams(SCENARIO, disks)[-1].keys["burst"] == 0
    swinging = SCENARIO.replace("direct = true\n", 'swing = "512KiB"\nop = "rewrite"\n', 1)
    first = streams(swinging, disks)[0]
    assert (first.keys["swing"], first.keys["write"], first.keys["rewrite"]) == (512 * 1024, 1, 1)


def test_a_swing_as_large_as_the_size_is_refused(disks: Path) -> None:
    with pytest.raises(ScenarioError, match="group.0.swing: 1048576 bytes are not less than the size"):
        streams(SCENARIO.replace("direct = true\n", 'swing = "1MiB"\n', 1), disks)
