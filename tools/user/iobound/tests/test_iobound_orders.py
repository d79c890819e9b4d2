# SPDX-License-Identifier: GPL-2.0
"""Each order against its definition, on small traces drawn by a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise, permutations

import pytest

from tools.user.blkviz import blktrace_format as fmt
from tools.user.blkviz import synth
from tools.user.blkviz.errors import NoTraceError
from tools.user.iobound import dependencies, orders
from tools.user.iobound.dependencies import Graph
from tools.user.iobound.tests.conftest import MS, Story, Walk, places, random_story
from tools.user.iobound.work import Request

SEEDS = range(40)


def way(requests: Sequence[Request]) -> int:
    return sum(abs(after.sector - before.sector) for before, after in pairwise(requests))


@pytest.mark.parametrize("seed", SEEDS)
def test_work_is_the_data_of_the_trace_in_the_order_of_dispatch(seed: int) -> None:
    story = random_story(seed)
    assert list(orders.original(story.work())) == story.requests


def test_drawn_traces_have_what_they_are_to_test() -> None:
    found = [random_story(seed) for seed in SEEDS]
    assert {len({one.segment for one in story.requests}) for story in found} >= {1, 2, 3}
    assert any(not story.work().barriers for story in found)
    assert max(len(story.requests) for story in found) > 7


@pytest.mark.parametrize("seed", SEEDS)
def test_no_order_has_less_way_than_the_sweep(seed: int) -> None:
    story = random_story(seed, most=8)
    swept = orders.sweep(story.work())
    assert sorted(places(swept)) == sorted(places(story.requests))
    assert way(swept) == min(way(order) for order in permutations(story.requests))


@pytest.mark.parametrize("seed", SEEDS)
def test_between_two_barriers_no_order_has_less_way(seed: int) -> None:
    story = random_story(seed, most=8)
    swept = orders.barriers(story.work())
    assert sorted(places(swept)) == sorted(places(story.requests))
    assert [one.segment for one in swept] == sorted(one.segment for one in story.requests)
    for segment in {one.segment for one in swept}:
        mine = [one for one in swept if one.segment == segment]
        assert way(mine) == min(way(order) for order in permutations(mine))
        assert mine[0].sector == min(one.sector for one in mine)


@pytest.mark.parametrize("seed", SEEDS)
def test_file_is_the_sweep_on_a_disk_without_the_other_sectors(seed: int) -> None:
    story = random_story(seed)
    asked = sorted({sector for one in story.requests for sector in range(one.sector, one.end)})
    place = {sector: asked[0] + number for number, sector in enumerate(asked)}
    expected = [(place[one.sector], one.sectors) for one in sorted(story.requests, key=lambda one: one.sector)]
    assert places(orders.as_file(story.work())) == expected


def test_what_is_read_twice_is_in_the_file_once() -> None:
    story = Story()
    for number, (sector, length) in enumerate([(800, 16), (0, 8), (804, 4), (812, 12), (0, 8)]):
        begin = number * 20 * MS
        story.writer.request((begin, begin + MS, begin + 9 * MS), sector, length * 512)
    assert places(orders.as_file(story.work())) == [(0, 8), (0, 8), (8, 16), (12, 4), (20, 12)]


def random_graph(draw: random.Random, count: int) -> Graph:
    """Requests and groups of them that depend on earlier ones only."""
    graph = Graph(count)
    for number in range(1, count):
        first = draw.sample(range(number), draw.randrange(min(number, 3) + 1))
        if draw.random() < 0.3:
            first = graph.all_of([*first, *draw.sample(range(number), 1)])
        graph.first[number] = first
    return graph


def before(graph: Graph, number: int) -> set[int]:
    """The requests that must be served before a request."""
    found: set[int] = set()
    for one in graph.first[number]:
        found |= before(graph, one) | ({one} if one < graph.requests else set())
    return found


def scan_by_definition(requests: Sequence[Request], graph: Graph) -> list[int]:
    served: list[int] = []
    at, segment = 0, -1
    while left := [number for number in range(len(requests)) if number not in served]:
        current = min(requests[number].segment for number in left)
        at, segment = (at if current == segment else 0), current
        possible = [number for number in left if requests[number].segment == current
                    and before(graph, number) <= set(served)]
        ahead = [number for number in possible if requests[number].sector >= at]
        served.append(min(ahead or possible, key=lambda number: (requests[number].sector, number)))
        at = requests[served[-1]].sector
    return served


@pytest.mark.parametrize("seed", SEEDS)
def test_scan_takes_the_next_upwards_of_what_depends_on_nothing_any_more(seed: int) -> None:
    draw = random.Random(seed)
    count = draw.randrange(1, 15)
    segments = sorted(draw.randrange(3) for _ in range(count))
    requests = [Request(draw.randrange(40), 8, segment) for segment in segments]
    graph = random_graph(draw, count)
    assert orders.scan(requests, graph) == scan_by_definition(requests, graph)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_dependencies_the_scan_is_the_sweep_with_barriers(seed: int) -> None:
    work = random_story(seed).work()
    assert [work.requests[number] for number in orders.scan(work.requests, Graph(len(work.requests)))] == \
        list(orders.barriers(work))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_calls_are_served_after_what_they_depend_on(seed: int) -> None:
    """Whatever the messages say, each request is served once, and none too early."""
    draw, walk = random.Random(seed), Walk(step=draw_step(seed))
    for number in range(draw.randrange(1, 40)):
        operation, pid = draw.choice(("lookup", "stat", "open", "read", "readdir", "create", "fsync")), 100 + number % 3
        inode = draw.randrange(6)
        chance = draw.random()
        if chance < 0.1:
            walk.leave(operation, inode, pid)
        elif chance < 0.2:
            walk.enter(operation, inode, pid)
        elif chance < 0.3:
            walk.note("barrier")
        else:
            walk.call(operation, inode, *(f"{number}.{part}" for part in range(draw.randrange(3))), pid=pid)
    walk.call("read", 1, "last")
    work = walk.work()
    graph = dependencies.of_work(work)
    order = orders.scan(work.requests, graph)
    assert sorted(order) == list(range(len(work.requests)))
    place = {number: at for at, number in enumerate(order)}
    for number in order:
        assert all(place[one] < place[number] for one in before(graph, number))


def draw_step(seed: int) -> int:
    return (0, 1, MS)[seed % 3]


def test_commands_of_their_own_are_no_data() -> None:
    story = Story(synth.Writer(version=2))
    story.writer.request((0, MS, 2 * MS), 8, 4096)
    story.writer.request((3 * MS, 4 * MS, 5 * MS), 0, 4096, category=fmt.READ | 1 << 9)
    story.writer.request((6 * MS, 7 * MS, 8 * MS), 16, 4096, category=fmt.WRITE | fmt.WRITE_ZEROES)
    story.writer.request((9 * MS, 10 * MS, 11 * MS), 24, 1000)
    assert places(orders.original(story.work())) == [(8, 8)]


def test_a_trace_without_data_is_refused() -> None:
    story = Story()
    story.writer.request((0, MS, 2 * MS), 8, 4096, category=fmt.WRITE | fmt.DISCARD)
    with pytest.raises(NoTraceError, match="none of the 1 requests of the trace is for data"):
        story.work()


@pytest.mark.parametrize(("name", "text"), [
    ("barriers", "no messages 'barrier'"), ("dependencies", "no messages of VFS")])
def test_an_order_that_the_trace_does_not_tell_is_refused(name: str, text: str) -> None:
    story = Story()
    story.writer.request((0, MS, 2 * MS), 8, 4096)
    with pytest.raises(NoTraceError, match=text):
        orders.make(story.work(), name)


def test_mean_distance_is_from_end_to_beginning() -> None:
    assert orders.mean_distance([Request(0, 8), Request(8, 8), Request(100, 8), Request(0, 8)]) == (0 + 84 + 108) / 3
    assert orders.mean_distance([Request(5, 8)]) == 0
