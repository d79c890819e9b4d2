# SPDX-License-Identifier: GPL-2.0
"""Each invariant holds in a good sample, and is reported for one that breaks it."""

import pytest

from tools.testbed.soak import load
from tools.testbed.soak.invariants import Checker, Violation, rate_of
from tools.testbed.soak.load import Bounds
from tools.testbed.soak.samples import BadSample, Event, Reader, Sample
from tools.testbed.soak.tests.conftest import GOOD, events

BOUNDS = Bounds.uniform(100_000_000)


def check_text(text: str, bounds: Bounds = BOUNDS) -> tuple[Checker, Violation | None]:
    """Check all of a text; the last violation, if any."""
    checker, found = Checker(bounds), None
    for item in Reader().feed(text):
        violation = checker.event(item) if isinstance(item, Event) else checker.sample(item)
        found = violation or found
    return checker, found


def changed(*pairs: tuple[str, str]) -> str:
    """GOOD with pieces replaced; each must occur."""
    text = GOOD
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


def at_rest(*lines: str) -> str:
    """A sample of an idle disk; the lines are queues and reservations."""
    queues = [line for line in lines if "class" in line]
    reservations = [line for line in lines if "rate" in line]
    return "\n".join(
        [
            "@sample 700000000000 rot1 rest whole 1 completed 172 flushes 2 2 tag_waiters 0 schedulers none [cfq]",
            "@counters",
            "dispatched_BE 71",
            "slices 1",
            "expired_time 1",
            "@state",
            "queued 0 in_drive 0 drive_depth 4 head 1",
            "busy BE 0",
            "@queues",
            *queues,
            "@service_tree",
            "@sort_tree",
            "@reservations",
            *reservations,
            "@operations",
            "@end",
            "",
        ]
    )


def test_good_sample_has_nothing_wrong() -> None:
    checker, violation = check_text(events() + GOOD)
    assert violation is None
    assert checker.samples == 1 and checker.requests == 171
    assert checker.worst_ns["be"] == 71731456


BROKEN = {
    "service tree in order: time": (
        "service tree in order",
        [("busy service_in_us 300411", "busy service_in_us 29000")],
    ),
    "service tree in order: class": (
        "service tree in order",
        [("pid 31 sync class BW", "pid 31 sync class idle")],
    ),
    "sort tree in order": ("sort tree in order", [("sector 1024 ", "sector 264956929 ")]),
    # a delay of 25 ms and a bucket of 3 s
    "deadline later than it can be": (
        "deadlines in range",
        [("tokens 373614 deadline_us 20411", "tokens 373614 deadline_us 3025001")],
    ),
    "sort tree has another": ("sort tree has waiting BW queues", [("sector 1024 pid 29", "sector 1024 pid 28")]),
    "busy too many": ("busy counts", [("busy BE 3", "busy BE 4")]),
    "busy too few": ("busy counts", [("busy BW 2", "busy BW 1")]),
    "busy without a queue": ("busy counts", [("busy idle 0", "busy idle 1")]),
    "in the tree without a request": (
        "trees have waiting queues",
        [
            ("BE level 5 queued 1 in_drive 0 refs 2", "BE level 5 queued 0 in_drive 0 refs 1"),
            ("queued 6 in_drive 1", "queued 5 in_drive 1"),
        ],
    ),
    "requests outside of the tree": (
        "trees have waiting queues",
        [
            ("BW level 4 queued 0 in_drive 0 refs 1", "BW level 4 queued 1 in_drive 0 refs 2"),
            ("queued 6 in_drive 1", "queued 7 in_drive 1"),
        ],
    ),
    "too many queued": ("requests counted once", [("queued 6 in_drive 1", "queued 7 in_drive 1")]),
    "too few queued": ("requests counted once", [("queued 6 in_drive 1", "queued 5 in_drive 1")]),
    "in the drive without a queue": (
        "requests counted once",
        [("queued 6 in_drive 1", "queued 6 in_drive 2"), ("dispatched_BE 67", "dispatched_BE 68")],
    ),
    "drive too full": ("drive no fuller than its depth", [("drive_depth 4", "drive_depth 0")]),
    "reference without a holder": (
        "references have holders",
        [("queued 0 in_drive 0 refs 1", "queued 0 in_drive 0 refs 2")],
    ),
    "holder without a reference": (
        "references have holders",
        [("queued 0 in_drive 1 refs 3", "queued 0 in_drive 1 refs 1")],
    ),
    "slice that never ended": ("slices end once", [("slices 9", "slices 10")]),
    "slice that ended twice": ("slices end once", [("expired_idle 3", "expired_idle 4")]),
    "deadline counted twice": ("events counted once", [("bw_deadlines_met 3", "bw_deadlines_met 300")]),
    "wait that ended twice": ("events counted once", [("idle_hits 61", "idle_hits 66")]),
    "more tokens than the bucket holds": ("tokens in range", [("tokens 1572864", "tokens 1572865")]),
    "more deadlines met than by slack": ("slack counted once", [("slack3 3", "slack3 2")]),
    # a bucket of 3 MiB, two requests that have grown to 512 KiB, and as much in the drive twice
    "more debt than may be": ("tokens in range", [("tokens -288790", "tokens -5242881")]),
    # one flush is on its way: one request more would be right as well
    "lost request": ("dispatched requests complete", [("dispatched_BE 67", "dispatched_BE 69")]),
    "request completed twice": ("dispatched requests complete", [("completed 171", "completed 173")]),
    "operation that does not end": ("no request too old", [("age_ns 84389888", "age_ns 100000001")]),
    "write that does not end": ("no request too old", [("age_ns 88833024", "age_ns 6400000001")]),
    "operation that took too long": ("no request too old", [("by_request_ns 71731456", "by_request_ns 100000001")]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_invariant_is_found(name: str) -> None:
    invariant, pairs = BROKEN[name]
    _, violation = check_text(events() + changed(*pairs))
    assert violation is not None
    assert violation.invariant == invariant


def test_queue_listed_twice_is_found() -> None:
    line = next(line for line in GOOD.split("@service_tree")[1].splitlines() if line.startswith("pid 30"))
    text = changed(("busy BE 3", "busy BE 4"), (f"{line}\npid 0 async", f"{line}\n{line}\npid 0 async"))
    # once in `queues`, where the same two lines follow in another order
    _, violation = check_text(events() + text)
    assert violation is not None
    assert violation.invariant == "trees have waiting queues"


def test_queue_beyond_its_reservation_need_not_be_in_the_sort_tree() -> None:
    _, violation = check_text(events() + changed(("sector 264956928 pid 31 tokens 4096 deadline_us 30000\n", "")))
    assert violation is None


def test_counter_that_shrinks_is_found_until_the_scheduler_is_switched() -> None:
    more = changed(("fallback 0", "fallback 0\nshared 5"))
    fewer = changed(("fallback 0", "fallback 0\nshared 4"))
    _, violation = check_text(events() + more + fewer)
    assert violation is not None and violation.invariant == "counters grow"
    _, violation = check_text(events() + more + events() + fewer)
    assert violation is None


def test_service_times_may_differ_by_a_look_at_the_clock() -> None:
    # two lines later the same time is up to 256 ns nearer
    _, violation = check_text(events() + changed(("service_in_us 300411", "service_in_us 29999")))
    assert violation is None


def test_torn_sample_is_not_compared_across_files() -> None:
    torn = ("whole 1", "whole 0")
    checker, violation = check_text(events() + changed(torn, ("busy BE 3", "busy BE 4")))
    assert violation is None and checker.torn == 1
    _, violation = check_text(events() + changed(torn, ("tokens 1572864", "tokens 1572865")))
    assert violation is not None


def test_debt_may_be_that_of_a_larger_bucket_or_rate_before() -> None:
    broken = changed(("tokens -288790", "tokens -5242881"))
    larger = "@event 30000000 rot1 set bw_bucket_ms 4000\n@event 30000001 rot1 set bw_bucket_ms 10\n"
    assert check_text(events() + larger + broken)[1] is None
    faster = "@event 30000000 rot1 ioprio pid 31 0x8081\n@event 30000001 rot1 ioprio pid 31 0x8041\n"
    assert check_text(events() + faster + broken)[1] is None
    dearer = "@event 30000000 rot1 set bw_seek_kb 1024\n@event 30000001 rot1 set bw_seek_kb 0\n"
    assert check_text(events() + dearer + broken)[1] is None
    # a new scheduler knows nothing of it
    assert check_text(events() + larger + events() + broken)[1] is not None


def test_debt_of_a_thread_may_be_that_of_any_process_with_io_uring() -> None:
    # 3 s of 16 MiB, and at 128 KiB/s a request and two more of 512 KiB
    most = changed(("pid 31 ", "pid 1850 "), ("tokens -288790", "tokens -251658240"))
    more = most.replace("tokens -251658240", "tokens -251658241")
    assert check_text(events() + most)[1] is None
    assert check_text(events() + more)[1] is not None
    uring = "@event 30000000 rot1 start pid 4 uring ioprio 0x6000 mixed 1 requests 8 size 1 depth 8 offset 0 length 9\n"
    assert check_text(events() + uring + more)[1] is None


def test_process_that_stops_may_write_the_pages_of_all() -> None:
    broken = changed(("tokens -288790", "tokens -5242881"))
    stop = "@event 22302640 rot1 stop pid 31\n"
    assert check_text(events() + broken)[1] is not None
    assert check_text(events() + stop + broken)[1] is None
    # a bucket of 3 s, all 256 tags, and two requests more, of 512 KiB each
    most = changed(("tokens -288790", "tokens -138412032"))
    assert check_text(events() + stop + most)[1] is None
    assert check_text(events() + stop + most.replace("tokens -138412032", "tokens -138412033"))[1] is not None


def of_group(cgroup: int, tokens: int, deadline_us: int = 30000) -> str:
    """Process 31 spends what a group reserves: 1 MiB/s, 50 ms, 256 KiB."""
    return changed(
        ("pid 31 rate 1048576 delay_ms 50 bucket 3145728 tokens -288790",
         f"pid 31 cgroup {cgroup} rate 1048576 delay_ms 50 bucket 262144 tokens {tokens}"),
        ("tokens 4096 deadline_us 30000", f"tokens 4096 deadline_us {deadline_us}"))


LINE = "@event 30000000 rot1 line 77 bps=1048576 delay=50000 burst=262144\n"


def test_debt_of_a_control_group_may_be_what_all_tags_hold() -> None:
    # 256 requests, one of them grown, and the burst
    least = -(257 * (512 << 10) + 262144)
    assert check_text(events() + LINE + of_group(77, least))[1] is None
    for text in (LINE + of_group(77, least - 1), LINE + of_group(78, -1), LINE + of_group(77, 262145)):
        _, violation = check_text(events() + text)
        assert violation is not None and violation.invariant == "tokens in range"
    # what was asked for at half the rate is twice as much at this one
    slower = LINE.replace("bps=1048576", "bps=524288")
    assert check_text(events() + slower + LINE + of_group(77, least - 1))[1] is None


def test_deadline_of_a_control_group_is_within_its_own_burst() -> None:
    assert check_text(events() + LINE + of_group(77, 0, 300_000))[1] is None
    _, violation = check_text(events() + LINE + of_group(77, 0, 300_001))
    assert violation is not None and violation.invariant == "deadlines in range"


def test_process_may_have_a_queue_of_its_own_and_one_that_spends_its_groups() -> None:
    line = next(line for line in GOOD.split("@queues")[1].splitlines() if line.startswith("pid 31"))
    idle = line.replace("queued 2 in_drive 0 refs 2 busy service_in_us 30000", "queued 0 in_drive 0 refs 1")
    assert idle != line
    text = changed((f"{line}\npid 0 async", f"{idle}\n{line}\npid 0 async"))
    # in `queues` and in `service_tree`, but only one of the first two waits
    tree = text.split("@service_tree")
    text = "@service_tree".join([tree[0], tree[1].replace(f"{idle}\n", "")])
    assert check_text(events() + text)[1] is None
    _, violation = check_text(events() + text.replace(idle, line).replace("queued 6", "queued 8"))
    assert violation is not None and violation.invariant == "trees have waiting queues"


def test_reservations_are_counted_by_who_spends_them() -> None:
    checker, violation = check_text(events() + LINE + of_group(77, 0))
    assert violation is None and checker.spenders == {"process": 2, "group": 1}
    unowned = of_group(77, 0).replace("sector 264956928 pid 31", "sector 264956928 pid 0")
    for kind in ("async", "sync"):
        text = unowned.replace("pid 31 sync", f"pid 0 {kind}").replace("pid 31 cgroup", "pid 0 cgroup")
        checker, violation = check_text(events() + LINE + text)
        assert violation is None and checker.spenders == {"process": 2, "group, no process": 1}


def test_debt_may_be_what_is_read_until_a_deadline_of_long_ago() -> None:
    broken = changed(("tokens -288790", "tokens -5242881"))
    for delays, holds in (("1 4000 1 1 1 1 1 1", True), ("4000 1 4000 1 1 1 1 4000", False)):
        set_before = f"@event 30000000 rot1 set bw_delays_ms {delays}\n"
        assert (check_text(events() + set_before + broken)[1] is None) == holds


def test_fallback_queue_may_have_requests_in_the_drive_that_are_not_shown() -> None:
    hidden = ("queued 6 in_drive 1", "queued 6 in_drive 2"), ("dispatched_BE 67", "dispatched_BE 68")
    _, violation = check_text(events() + changed(*hidden, ("fallback 0", "fallback 1")))
    assert violation is None


def test_nothing_is_compared_with_a_baseline_while_the_scheduler_is_switched() -> None:
    switching = "@event 30000000 rot1 switch none\n"
    _, violation = check_text(events() + switching + changed(("completed 171", "completed 999")))
    assert violation is None


STRICT = "@event 30000000 rot1 switch bfq\n@event 30000128 rot1 scheduler bfq completed 100 flushes 1 1\n"


def left_at(time_ns: int) -> str:
    return (
        f"@event {time_ns} rot1 switch cfq\n@event {time_ns} rot1 scheduler cfq completed 100 flushes 1 1\n"
    )


@pytest.mark.parametrize(
    ("before", "found"),
    [("", True), (STRICT, False), (STRICT + left_at(550_000_000), False), (STRICT + left_at(450_000_000), True)],
    ids=["cfq", "bfq", "bfq until just now", "bfq until long ago"],
)
@pytest.mark.parametrize("age", ["age_ns 84389888", "by_request_ns 71731456"])
def test_age_counts_since_a_scheduler_of_strict_classes_was_left(before: str, found: bool, age: str) -> None:
    _, violation = check_text(events() + before + changed((age, age.split()[0] + " 500000000")))
    assert (violation is not None and violation.invariant == "no request too old") == found


def waiting(pid: int, waiters: int, later_ns: int = 0, age_ns: int = 500_000_000) -> str:
    """GOOD @later_ns later, with an operation that has waited @age_ns longer than that. Of 28 no request is there."""
    line = f"pid {pid} paced class bw requests 1 age_ns {age_ns + later_ns}\n"
    return changed(
        ("@sample 602204160", f"@sample {602204160 + later_ns}"),
        ("tag_waiters 0", f"tag_waiters {waiters}"),
        ("@operations\n", "@operations\n" + line),
    )


@pytest.mark.parametrize(
    ("pid", "waiters", "found"),
    [(28, 1, False), (28, 0, True), (30, 1, True), (27, 1, True)],
    ids=["it waits for a tag", "no process waits for a tag", "its request is queued", "its request is in the drive"],
)
def test_wait_for_a_tag_is_no_age_of_a_request(pid: int, waiters: int, found: bool) -> None:
    checker, violation = check_text(events() + waiting(pid, waiters))
    assert (violation is not None and violation.invariant == "no request too old") == found
    assert checker.tag_wait_ns == (0 if found else 500_000_000)


@pytest.mark.parametrize(("later_ns", "found"), [(90_000_000, False), (110_000_000, True)])
def test_age_counts_since_the_wait_for_a_tag(later_ns: int, found: bool) -> None:
    _, violation = check_text(events() + waiting(28, 1) + waiting(28, 0, later_ns))
    assert (violation is not None) == found
    ended = GOOD.replace("@sample 602204160", f"@sample {602204160 + later_ns}")
    ended = ended.replace("worst be pid 30 by_request_ns 71731456", "worst bw pid 28 by_request_ns 500000000")
    checker, violation = check_text(events() + waiting(28, 1) + ended)
    assert (violation is not None) == found
    assert checker.worst_ns["bw"] == later_ns


def test_pid_that_is_used_again_has_waited_for_no_tag() -> None:
    _, violation = check_text(events() + waiting(28, 1) + events() + waiting(28, 0, 90_000_000))
    assert violation is not None and violation.invariant == "no request too old"


def test_sample_of_the_previous_scheduler_is_not_checked() -> None:
    late = GOOD.replace("@sample 602204160", "@sample 602204162")
    checker, violation = check_text(events() + GOOD + left_at(602204161) + GOOD + late)
    assert violation is None
    assert checker.torn == 1 and checker.samples == 3


def test_latency_without_a_bound_is_not_reported() -> None:
    checker, violation = check_text(events() + STRICT + GOOD)
    assert violation is None
    assert checker.worst_ns["be"] == 0


RESERVATION = (
    "pid 29 rate 1048576 delay_ms 25 bucket 1048576 tokens 0 bytes_in 0 bytes_over 0 met 3 missed 0"
    " slack0 0 slack1 0 slack2 0 slack3 3 slack4 0 slack5 0 slack6 0 slack7 0"
)
ASYNC = "pid 0 async class BE level 4 queued 0 in_drive 0 refs 1 residual_us 0 think_us 0 seek_sectors 0"


def test_rest_with_shared_queues_is_good() -> None:
    checker, violation = check_text(events() + at_rest(ASYNC, ASYNC.replace("pid 0 async", "pid 9 sync")))
    assert violation is None
    assert checker.rests == 1


def test_queue_that_ran_last_may_stay_active() -> None:
    active = ASYNC.replace("pid 0 async class BE", "pid 29 sync class BW").replace(
        " residual", " active slice_left_us 0 dispatched 1 residual"
    )
    text = at_rest(active, RESERVATION).replace("@state\n", f"@state\n{active}\n")
    text = text.replace("busy BE 0", "busy BE 0\nbusy BW 1").replace("slices 1", "slices 2")
    assert check_text(events() + text)[1] is None
    # with a second reference somebody else holds it
    _, violation = check_text(events() + text.replace("refs 1", "refs 2"))
    assert violation is not None and violation.invariant == "nothing left at rest"


LEFT = {
    "queue": at_rest(ASYNC.replace("pid 0 async", "pid 29 sync")),
    "reservation": at_rest(RESERVATION),
    "queue of a control group": at_rest(ASYNC.replace("async class BE", "async class BW")),
    "worker": at_rest().replace("@operations\n", "@operations\npid 29 random class be requests 1 age_ns 0\n"),
    "in_drive": at_rest(ASYNC.replace("in_drive 0 refs 1", "in_drive 1 refs 2"))
    .replace("queued 0 in_drive 0 drive", "queued 0 in_drive 1 drive")
    .replace("dispatched_BE 71", "dispatched_BE 72"),
    "queued and in the tree": at_rest(ASYNC.replace("queued 0 in_drive 0 refs 1", "queued 1 in_drive 0 refs 2"))
    .replace("queued 0 in_drive 0 drive", "queued 1 in_drive 0 drive")
    .replace("busy BE 0", "busy BE 1")
    .replace(
        "@service_tree\n",
        "@service_tree\n"
        + ASYNC.replace("queued 0 in_drive 0 refs 1", "queued 1 in_drive 0 refs 2 busy service_in_us 1")
        + "\n",
    ),
    "sort tree": at_rest()
    .replace("@sort_tree\n", "@sort_tree\nsector 1 pid 7 tokens 1 deadline_us 1\n")
    .replace("whole 1", "whole 0"),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_at_rest_is_found(name: str) -> None:
    _, violation = check_text(events() + LEFT[name])
    assert violation is not None
    assert violation.invariant == "nothing left at rest"


def test_object_without_a_scheduler_is_a_leak() -> None:
    checker, violation = check_text("@event 1 rot0 slab cfq_queue 0\n")
    assert violation is None and checker.slab == {"cfq_queue": 0}
    _, violation = check_text("@event 1 rot0 slab cfq_queue 3\n")
    assert violation is not None and violation.invariant == "no leak"


def test_age_is_bounded_by_class_and_by_requests() -> None:
    bounds = Bounds({**BOUNDS.by_category, "be": 84389887})
    _, violation = check_text(events() + GOOD, bounds)
    assert violation is not None and "pid 30 (random, be)" in violation.detail
    assert check_text(events() + changed(("be requests 1", "be requests 2")), bounds)[1] is None


def test_bounds_grow_with_queues_and_let_rt_wait_for_less() -> None:
    few, many = Bounds.of_load(2), Bounds.of_load(8)
    for category in load.CATEGORIES:
        assert few.by_category[category] < many.by_category[category]
    assert many.by_category["rt"] < many.by_category["be"] == many.by_category["idle"]


def test_rate_is_in_the_priority_of_class_bw_only() -> None:
    assert rate_of(4 << 13 | 8 << 3 | 5) == 1 << 20
    assert rate_of(2 << 13 | 7) == 0


def test_text_may_come_in_any_pieces() -> None:
    text = events() + GOOD
    whole = list(Reader().feed(text))
    reader = Reader()
    pieces = [item for i in range(0, len(text), 7) for item in reader.feed(text[i : i + 7])]
    assert pieces == whole
    assert sum(isinstance(item, Sample) for item in whole) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "neither event nor sample"),
        (changed(("pid 28 sync class BW", "pid 28 nosync class BW")), "unknown format: 'pid 28 nosync"),
        (changed(("@sort_tree", "@salt_tree")), "unknown section 'salt_tree'"),
        (changed(("slices 9", "slices nine")), "counters: 'slices nine'"),
    ],
)
def test_text_of_another_format_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadSample, match=message):
        check_text(text)
