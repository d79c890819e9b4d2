# SPDX-License-Identifier: GPL-2.0
"""The shell that the scenarios share, where no kernel is needed to try it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from selftests.vm import guests
from selftests.vm.test_kselftests import finished
from tools.base.paths import ROOT
from tools.dev.check.steps import steps

GUEST = ROOT / "selftests/vm/guest"


def run_scenario(body: str) -> subprocess.CompletedProcess[str]:
    """What a scenario with this body prints, and its exit code."""
    script = f'HERE={GUEST}; FLAVOUR=plain; . "$HERE/lib.sh"; scenario_tried() {{ {body}; }}; scenario tried'
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30)


def test_only_the_scenarios_own_shell_cleans_up() -> None:
    # A child that is signalled before it is another program runs the trap as well.
    ended = run_scenario('echo "$TMP"; (clean_up); [ -d "$TMP" ]; echo "child: $?"')
    folder, child = ended.stdout.split("\n", 1)
    assert child == "child: 0\n" and ended.returncode == 0, ended
    assert folder.startswith("/dev/shm/vm.") and not Path(folder).exists()


def test_a_scenario_that_fails_cleans_up() -> None:
    ended = run_scenario('echo "$TMP"; fail "for a reason"')
    folder, said = ended.stdout.split("\n", 1)
    assert said == "FAIL: for a reason\n" and ended.returncode == 1, ended
    assert folder.startswith("/dev/shm/vm.") and not Path(folder).exists()


def test_a_scenario_for_another_kernel_is_skipped_before_it_does_anything() -> None:
    ended = run_scenario('kernels debug smp; echo "$TMP"')
    assert (ended.returncode, ended.stdout) == (4, "SKIP: for the kernels debug smp\n")
    assert run_scenario("kernels plain").returncode == 0


def test_the_kernels_that_a_scenario_is_for_are_listed() -> None:
    listed = guests.scenarios()
    assert listed["failing_slab"] == ("debug", "smp")  # on one line with what it does
    assert listed["bwctl"] == ("plain", "smp")
    assert listed["flush_and_fua"] == guests.FLAVOURS
    assert {flavour for wanted in listed.values() for flavour in wanted} == set(guests.FLAVOURS)


KSELFTESTS = """\
0 TAP version 13
11 # 3 names
11 ok 1 selftests: cfq: test_names.sh
11 not ok 2 selftests: cfq: test_tree.sh # exit=1
14 ok 3 selftests: null_blk: test_zeros.sh # SKIP no device
HUNG: no end
"""


def test_each_kselftest_has_its_time() -> None:
    outcomes = {outcome.name: outcome for outcome in guests.kselftest_outcomes(KSELFTESTS)}
    assert {name: outcome.seconds for name, outcome in outcomes.items()} == {
        "test_names.sh": 11, "test_tree.sh": 0, "test_zeros.sh": 3}
    assert [outcome.ok for outcome in outcomes.values()] == [True, False, False]
    assert outcomes["test_zeros.sh"].skipped
    assert outcomes["test_names.sh"].log == "TAP version 13\n# 3 names\nok 1 selftests: cfq: test_names.sh"


# As the runner writes what a test of null_blk says, one of cfq, and one that finds nothing to do.
SKIPPING = """\
# TAP version 13
# 1..4
# ok 1 data_is_kept
# # SKIP: no blkdiscard
# ok 2 discards_are_kept # SKIP
# # SKIP: this machine is slower than the disk
# not ok 3 powered_off_while_destaging
# ok 4 removed_while_destaging # SKIP
ok 1 selftests: null_blk: test_write_back.sh
# 3 reads
# SKIP: slower than the disk: shares are not judged
ok 2 selftests: cfq: test_shares.sh # SKIP
# TAP version 13
# 1..0 # SKIP no null_blk with configfs
ok 3 selftests: null_blk: test_zeros.sh # SKIP
"""


def test_what_a_kselftest_skips_is_found_with_its_reason() -> None:
    shares = ("selftests: cfq: test_shares.sh", "slower than the disk: shares are not judged")
    assert guests.skips(SKIPPING) == [
        ("discards_are_kept", "no blkdiscard"), ("removed_while_destaging", "for no reason"),
        shares, ("selftests: null_blk: test_zeros.sh", "no null_blk with configfs")]
    assert guests.unlisted([shares, ("discards_are_kept", "no blkdiscard")]) == ["discards_are_kept: no blkdiscard"]


def judged(why: str, *, whole: bool = False) -> list[tuple[str, object]]:
    """What is noted of a kselftest that passed, but for a case that it skipped, or that skipped all."""
    inner, outer = ("", " # SKIP") if whole else ("# ok 1 case # SKIP\n", "")
    log = f"# # SKIP: {why}\n{inner}ok 1 selftests: null_blk: test_a.sh{outer}"
    noted: list[tuple[str, object]] = []
    (outcome,) = guests.kselftest_outcomes(log)
    finished(outcome, lambda name, value: noted.append((name, value)))
    return noted


def test_a_kselftest_that_skips_a_case_has_failed_unless_it_may() -> None:
    assert judged("this machine is slower than the disk") == [("skipped", "case: this machine is slower than the disk")]
    for whole in (False, True):
        with pytest.raises(AssertionError, match="no BLK_DEV_ZONED"):
            judged("no BLK_DEV_ZONED", whole=whole)
    with pytest.raises(pytest.skip.Exception, match="^this machine is slower than the disk$"):
        judged("this machine is slower than the disk", whole=True)


def test_log_of_kselftests_is_stamped_with_the_seconds() -> None:
    said = "echo; sleep 1; echo '  a  \\b *'; sleep 1; echo ok"
    log = subprocess.run(["bash", "-c", f"({said}) | {guests.STAMPED}"], capture_output=True, text=True, check=True)
    stamps, lines = zip(*(line.split(" ", 1) for line in log.stdout.splitlines()), strict=True)
    assert lines == ("", "  a  \\b *", "ok")
    assert sorted(stamps) == list(stamps) and int(stamps[-1]) - int(stamps[0]) in (2, 3)


def test_each_scenario_runs_in_a_kernel_that_make_check_boots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guests, "FULL", False)
    booted = [step.kernels[0] for step in steps() if step.name.startswith("scenarios-") and not step.extra]
    for name in guests.scenarios():
        assert any(guests.suits(name, flavour) for flavour in booted), name


def test_each_scenario_runs_in_one_kernel_and_in_full_in_all_that_it_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for full in (False, True):
        monkeypatch.setattr(guests, "FULL", full)
        for name, wanted in guests.scenarios().items():
            runs = {flavour for flavour in guests.FLAVOURS if guests.suits(name, flavour)}
            assert runs == set(wanted) if full else len(runs) == 1 and runs <= set(wanted), name


def test_each_kselftest_runs_in_one_kernel_and_in_full_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    booted = {step.kernels[0] for step in steps() if step.name.startswith("kselftests-") and not step.extra}
    for full, number in ((False, 1), (True, len(guests.FLAVOURS))):
        monkeypatch.setattr(guests, "FULL", full)
        for name in guests.kselftests():
            runs = {flavour for flavour in guests.FLAVOURS if guests.suits_kselftest(name, flavour)}
            assert len(runs) == number and (full or runs <= booted), name


def test_kselftests_that_compare_processes_are_there() -> None:
    assert guests.kselftests().keys() > guests.COMPARING


def test_two_kselftests_of_one_name_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for target in ("blktrace", "cfq", "null_blk"):
        (tmp_path / target).mkdir()
        (tmp_path / target / "Makefile").write_text("TEST_PROGS := test_a.sh\n")
    monkeypatch.setattr(guests, "extract", lambda _folder: tmp_path)
    with pytest.raises(ValueError, match="test_a.sh is a test of blktrace and of cfq"):
        guests.kselftests()
