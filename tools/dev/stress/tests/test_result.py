# SPDX-License-Identifier: GPL-2.0
"""The result from the files of a guest."""

from __future__ import annotations

from pathlib import Path

from tools.dev.stress.result import Action, Outcome, failures, parse_progress, read_outcome, split_reports, table


def left(tmp_path: Path, end: str | None = "good\n", **counts: str) -> Outcome:
    (tmp_path / "counts").mkdir()
    for name, text in counts.items():
        (tmp_path / "counts" / name).write_text(text)
    if end is not None:
        (tmp_path / "end").write_text(end)
    (tmp_path / "progress").write_text("verify 61 1234\n")
    outcome = Outcome(1, "plain", 70.0)
    read_outcome(tmp_path, outcome)
    return outcome


def test_good_run(tmp_path: Path) -> None:
    outcome = left(tmp_path, readers="read clean\tdone\t12\nread faulty\texpected exit code 1\t3\n")
    assert outcome.ok and outcome.requests == 1234
    assert outcome.actions == [Action("readers", "read clean", "done", 12),
                               Action("readers", "read faulty", "expected exit code 1", 3)]
    text = "\n".join(table(outcome))
    assert "read clean 12, read faulty (exit code 1) 3" in text
    assert "12 actions, 0 kernel reports: all checks passed" in text


def test_guest_without_an_end_failed(tmp_path: Path) -> None:
    outcome = left(tmp_path, None, readers="read\tdone\t1\n")
    assert not outcome.ok
    assert outcome.wrong == ["the guest did not finish"]


def test_what_the_guest_finds_wrong_fails(tmp_path: Path) -> None:
    outcome = left(tmp_path, "clean: 3 requests in flight, none completed for 40 s\n", r="a\tdone\t1\n")
    assert not outcome.ok
    assert "wrong: clean: 3 requests" in "\n".join(table(outcome))


def test_what_an_actor_finds_wrong_fails(tmp_path: Path) -> None:
    outcome = left(tmp_path, worker="WRONG: byte 4096 is not generation 3\n", r="a\tdone\t1\n")
    assert outcome.wrong == ["worker: WRONG: byte 4096 is not generation 3"]


def test_run_that_did_nothing_failed(tmp_path: Path) -> None:
    assert left(tmp_path).wrong == ["no actor did anything"]


def test_kernel_report_fails() -> None:
    outcome = Outcome(1, "debug", 1.0, reports=["[ 1.0] BUG: KASAN: slab-use-after-free in cfq_insert"])
    assert not outcome.ok
    assert "FAILED" in table(outcome)[-1]
    assert failures(outcome) == ["kernel: [ 1.0] BUG: KASAN: slab-use-after-free in cfq_insert"]


def test_races_of_others_are_counted_apart() -> None:
    own = "[ 1.0] BUG: KCSAN: data-race in blk_mq_run_hw_queue / cfq_has_work"
    other = "[ 1.0] BUG: KCSAN: data-race in dput / lookup_fast"
    worse = "[ 1.0] BUG: kernel NULL pointer dereference, address: 0"
    assert split_reports([own, other, worse]) == ([own, worse], 1)


def test_progress_that_is_half_written_is_none(tmp_path: Path) -> None:
    assert parse_progress(tmp_path / "none") is None
    (tmp_path / "p").write_text("run 5")
    assert parse_progress(tmp_path / "p") is None
