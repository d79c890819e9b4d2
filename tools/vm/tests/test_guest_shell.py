# SPDX-License-Identifier: GPL-2.0
"""The shell that the scenarios share, where no kernel is needed to try it."""

from __future__ import annotations

import subprocess
from pathlib import Path

GUEST = Path(__file__).resolve().parents[3] / "selftests/vm/guest"


def run_scenario(body: str) -> subprocess.CompletedProcess[str]:
    """What a scenario with this body prints, and its exit code."""
    script = f'HERE={GUEST}; . "$HERE/lib.sh"; scenario_tried() {{ {body}; }}; scenario tried'
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
