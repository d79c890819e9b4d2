# SPDX-License-Identifier: GPL-2.0
"""What the messages of VFS operations say of which request leads to which: directory, inode, data."""

from __future__ import annotations

import pytest

from tools.user.blkviz import blktrace_format as fmt
from tools.user.iobound import dependencies
from tools.user.iobound.dependencies import NEAR_INODES
from tools.user.iobound.tests.conftest import MS, Walk


def leading(walk: Walk) -> dict[str, set[str]]:
    """By the name of each request, those that must be served before it."""
    work = walk.work()
    graph = dependencies.of_work(work)
    by_sector = {sector: name for name, sector in walk.sectors.items()}
    names = [by_sector[request.sector] for request in work.requests]

    def before(number: int) -> set[str]:
        found: set[str] = set()
        for one in graph.first[number]:
            found |= before(one) | ({names[one]} if one < graph.requests else set())
        return found

    return {name: before(number) for number, name in enumerate(names)}


# a clock that stands still, too: the events are in order all the same
@pytest.mark.parametrize("step", [MS, 0])
def test_a_directory_leads_to_inodes_and_these_to_data(step: int) -> None:
    walk = Walk(step)
    walk.call("readdir", 2, "names")
    walk.call("lookup", 2, "inodes")
    walk.call("stat", 100)
    walk.call("lookup", 2, "other inodes")
    walk.call("stat", 5000)
    walk.call("read", 100, "data")
    walk.call("read", 5000, "other data")
    assert leading(walk) == {
        "names": set(), "inodes": {"names"}, "other inodes": {"names"},
        "data": {"names", "inodes"}, "other data": {"names", "other inodes"}}


def test_a_tree_is_walked_from_its_root_on() -> None:
    walk = Walk()
    walk.call("readdir", 2, "root")
    walk.call("lookup", 2, "inode of the folder")
    walk.call("open", 900)
    walk.call("readdir", 900, "folder")
    walk.call("readdir", 900, "rest of the folder")
    walk.call("lookup", 900, "inode of the file")
    walk.call("open", 2000)
    walk.call("read", 2000, "file")
    found = leading(walk)
    assert found["folder"] == {"root", "inode of the folder"}
    assert found["rest of the folder"] == {*found["folder"], "folder"}
    assert found["inode of the file"] == {*found["rest of the folder"], "rest of the folder"}
    assert found["file"] == {*found["inode of the file"], "inode of the file"}


def test_data_do_not_lead_to_data() -> None:
    walk = Walk()
    walk.call("read", 7, "first")
    walk.enter("read", 7)
    walk.begin("second")
    walk.end("second")
    walk.begin("third")
    walk.end("third")
    walk.leave("read", 7)
    assert leading(walk) == {"first": set(), "second": set(), "third": set()}


def test_metadata_within_a_read_lead_to_what_was_asked_for_when_they_were_back() -> None:
    walk = Walk()
    walk.enter("read", 7)
    walk.begin("extents", category=fmt.READ | fmt.META)
    walk.begin("read ahead")
    walk.end("extents", "read ahead")
    walk.begin("data")
    walk.end("data")
    walk.leave("read", 7)
    assert leading(walk) == {"extents": set(), "read ahead": set(), "data": {"extents"}}


def test_a_lookup_reads_one_thing_after_the_other_but_not_what_it_reads_at_once() -> None:
    walk = Walk()
    walk.enter("lookup", 2)
    walk.begin("directory", "neighbour")
    walk.end("directory")
    walk.begin("inode")
    walk.end("neighbour", "inode")
    walk.leave("lookup", 2)
    assert leading(walk) == {"directory": set(), "neighbour": set(), "inode": {"directory"}}


@pytest.mark.parametrize(("inode", "expected"), [
    (101, {"inodes"}), (100 - NEAR_INODES + 1, {"inodes"}), (100 + NEAR_INODES, set())])
def test_an_inode_that_was_there_came_with_a_near_one(inode: int, expected: set[str]) -> None:
    walk = Walk()
    walk.call("lookup", 2, "inodes")
    walk.call("stat", 100)
    walk.call("lookup", 2)
    walk.call("stat", inode)
    walk.call("read", inode, "data")
    assert leading(walk)["data"] == expected


def test_a_lookup_that_reads_nothing_still_needs_the_names() -> None:
    walk = Walk()
    walk.call("readdir", 2, "names")
    walk.call("lookup", 2)
    walk.call("stat", 100)
    walk.call("read", 100, "data")
    assert leading(walk)["data"] == {"names"}


def test_what_was_known_before_depends_on_no_later_lookup() -> None:
    walk = Walk()
    walk.call("read", 7, "data")
    walk.call("lookup", 2, "inodes")
    walk.call("read", 7, "more data")
    assert leading(walk)["more data"] == set()


def test_lookups_of_another_process_find_nothing_for_this_one() -> None:
    walk = Walk()
    walk.call("lookup", 2, "inodes", pid=200)
    walk.call("open", 7)
    walk.call("read", 7, "data")
    assert leading(walk)["data"] == set()


def test_an_inode_that_one_process_found_is_found_for_all() -> None:
    walk = Walk()
    walk.call("lookup", 2, "inodes")
    walk.call("open", 7, "attributes")
    walk.call("read", 7, "data", pid=200)
    assert leading(walk)["data"] == {"inodes", "attributes"}


def test_requests_outside_of_calls_depend_on_nothing() -> None:
    walk = Walk()
    walk.call("lookup", 2, "inodes")
    walk.begin("raw")
    walk.end("raw")
    walk.enter("read", 7)
    walk.begin("of another process", pid=200)
    walk.end("of another process")
    walk.leave("read", 7)
    assert leading(walk) == {"inodes": set(), "raw": set(), "of another process": set()}


def test_a_request_belongs_to_the_innermost_call() -> None:
    walk = Walk()
    walk.call("readdir", 2, "names")
    walk.enter("write", 7)
    walk.call("lookup", 2, "inodes")
    walk.begin("data")
    walk.end("data")
    walk.leave("write", 7)
    assert leading(walk) == {"names": set(), "inodes": {"names"}, "data": set()}


def test_requests_of_io_uring_contain_nothing() -> None:
    walk = Walk()
    walk.enter("lookup", 2)
    walk.note("enter uring_read req 3 ino 7")
    walk.begin("directory")
    walk.end("directory")
    walk.begin("inode")
    walk.end("inode")
    walk.leave("lookup", 2)
    walk.note("leave uring_read req 3 ino 7 ret 4096")
    walk.call("read", 7, "data")
    assert leading(walk) == {"directory": set(), "inode": {"directory"}, "data": {"directory", "inode"}}


@pytest.mark.parametrize("lost", ["enter", "leave"])
def test_a_call_of_which_an_end_is_lost_counts_as_far_as_it_is_known(lost: str) -> None:
    walk = Walk()
    walk.call("readdir", 2, "names")
    if lost == "leave":
        walk.enter("lookup", 2)
    walk.begin("inodes")
    walk.end("inodes")
    if lost == "enter":
        walk.leave("lookup", 2)
    walk.call("read", 7, "data")
    # entered before the trace began, it knew no names; not left, it led to nothing
    assert leading(walk) == {"names": set(), "inodes": {"names"} if lost == "leave" else set(),
                             "data": {"inodes"} if lost == "enter" else set()}


def test_what_was_in_the_drive_at_the_end_leads_to_nothing() -> None:
    walk = Walk()
    walk.enter("lookup", 2)
    walk.begin("directory")
    walk.begin("inode")
    walk.end("inode")
    walk.leave("lookup", 2)
    assert leading(walk) == {"directory": set(), "inode": set()}
