# SPDX-License-Identifier: GPL-2.0
"""The completions that bash offers, requested as bash does it."""

from __future__ import annotations

import os
import shlex
import subprocess

import pytest

from tools.user.bwctl.tests.conftest import TOOL, World

COMMANDS = {"run", "set", "group", "model", "show", "check", "encode", "decode"}

# COMP_WORDS as readline splits the line; what bash would then offer.
ASK = """
source {file}
complete -p bwctl > /dev/null || exit 9
COMP_WORDS=({words}) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
$(complete -p bwctl | sed -E 's/.*-F ([^ ]+) .*/\\1/') bwctl
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def offered(world: World, *words: str) -> set[str]:
    """What completes the last of the words."""
    script = ASK.format(file=shlex.quote(str(TOOL / "bwctl.bash")),
                        words=" ".join(shlex.quote(word) for word in ("bwctl", *words)))
    done = subprocess.run(["bash", "--norc", "--noprofile", "-c", script], capture_output=True, text=True,
                          env={**os.environ, **world.env}, cwd=world.root)
    assert (done.returncode, done.stderr) == (0, "")
    return {word for word in done.stdout.splitlines() if word}


@pytest.fixture
def busy(world: World) -> World:
    world.disk("sda")
    world.partition("sda", "sda1")
    world.disk("nvme0n1")
    world.process(100, {100: 0})
    world.process(1234, {1234: 0})
    (world.root / "films").mkdir()
    (world.root / "films/one.mkv").write_text("")
    return world


def test_commands_are_offered(busy: World) -> None:
    assert offered(busy, "") == COMMANDS | {"--help", "--version"}
    assert offered(busy, "s") == {"set", "show"}
    assert offered(busy, "x") == set()


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_options_offered_are_those_of_the_help(busy: World, command: str) -> None:
    listed = {line.split()[0] for line in busy.run(command, "--help").out.splitlines() if line.startswith("  --")}
    assert offered(busy, command, "-") == listed
    assert offered(busy, command, "--h") == {"--help"}


def test_devices_are_offered(busy: World) -> None:
    assert offered(busy, "check", "") == {"sda", "sda1", "nvme0n1"}
    assert offered(busy, "check", "sd") == {"sda", "sda1"}
    assert offered(busy, "run", "--device", "n") == {"nvme0n1"}
    assert offered(busy, "run", "--device", "=") == {"sda", "sda1", "nvme0n1"}
    assert offered(busy, "run", "--device", "=", "n") == {"nvme0n1"}


def test_paths_are_offered_for_devices(busy: World) -> None:
    assert offered(busy, "check", "./f") == {"./films"}
    assert offered(busy, "check", "films/") == {"films/one.mkv"}


def test_processes_are_offered(busy: World) -> None:
    assert offered(busy, "set", "--none", "") == {"100", "1234"}
    assert offered(busy, "set", "100", "12") == {"1234"}
    assert offered(busy, "show", "") == {"100", "1234", "sda", "sda1", "nvme0n1"}


def test_rates_and_delays_offered_are_good_ones(busy: World) -> None:
    rates, delays = offered(busy, "run", "--rate", ""), offered(busy, "run", "--delay", "")
    assert "3M" in rates and "200ms" in delays
    assert offered(busy, "set", "--rate", "=", "24") == {"24Mbit"}
    assert offered(busy, "set", "--delay", "=") == delays
    for rate in rates:
        assert busy.run("encode", "--rate", rate, "--delay", "1s").code == 0
    for delay in delays:
        assert busy.run("encode", "--rate", "3M", "--delay", delay).err == ""


def test_run_completes_the_command_and_then_its_files(busy: World) -> None:
    reserve = ["--rate", "3M", "--delay", "200ms"]
    for words in ([*reserve, "--"], reserve, ["--rate", "=", "3M", "--quiet", "--delay", "1s"]):
        assert "sleep" in offered(busy, "run", *words, "slee")
        assert offered(busy, "run", *words, "cat", "f") == {"films"}
        assert offered(busy, "run", *words, "cat", "--r") == set()
