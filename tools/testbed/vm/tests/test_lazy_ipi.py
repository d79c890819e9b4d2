# SPDX-License-Identifier: GPL-2.0
"""lazy_ipi.c: what the host's mask of signals would do is done, by a program that asks as the kernel does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.testbed.vm.programs import lazy_ipi

PROGRAM = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile int enabled = 1, taken, too_early;

static void ipi(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(how, &set, NULL);
}

static void on_ipi(int signal, siginfo_t *info, void *context)
{
	taken++;
	if (!enabled)
		too_early++;
	if (NESTED)
		ipi(SIG_BLOCK);
}

static void on_alarm(int signal, siginfo_t *info, void *context)
{
	ipi(SIG_BLOCK);
	ipi(SIG_UNBLOCK);
}

static void handle(int signal, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	sigaction(signal, &action, NULL);
}

static void send(void)
{
	union sigval value = { 0 };

	sigqueue(getpid(), SIGRTMIN, value);
}

int main(void)
{
	handle(SIGALRM, on_alarm);
	handle(SIGRTMIN, on_ipi);
	ipi(SIG_UNBLOCK);
	BODY
	printf("%d %d\n", taken, too_early);
	return 0;
}
"""

CASES = {
    "one that comes while it is masked waits": ("ipi(SIG_BLOCK); enabled = 0; send(); enabled = 1;", "0 0"),
    "one that waited is taken": ("ipi(SIG_BLOCK); enabled = 0; send(); enabled = 1; ipi(SIG_UNBLOCK);", "1 0"),
    # between the mask and the word that says so, the timer's handler takes the mask off
    "a handler in between leaves it masked": ("ipi(SIG_BLOCK); raise(SIGALRM); enabled = 0; send();", "0 0"),
    "and what came then is taken": (
        "ipi(SIG_BLOCK); raise(SIGALRM); enabled = 0; send(); enabled = 1; ipi(SIG_UNBLOCK);", "1 0"),
    "a handler in between does not lose one that waits": (
        "ipi(SIG_BLOCK); enabled = 0; send(); enabled = 1; raise(SIGALRM); ipi(SIG_UNBLOCK); send();", "2 0"),
}


def answer(tmp_path: Path, body: str, *, nested: bool = False) -> str:
    """What the program prints with lazy_ipi; the same without it, or this asks what the host would not do."""
    source = tmp_path / "program.c"
    source.write_text(PROGRAM.replace("BODY", body).replace("NESTED", str(int(nested))))
    program = tmp_path / "program"
    subprocess.run(["gcc", "-o", program, source], check=True)
    printed = [subprocess.run([program], check=True, capture_output=True, text=True, timeout=10, env=env).stdout.strip()
               for env in ({}, {"LD_PRELOAD": str(lazy_ipi())})]
    assert printed[0] == printed[1], f"by the host's mask {printed[0]}, with lazy_ipi {printed[1]}"
    return printed[1]


@pytest.mark.parametrize("case", CASES)
def test_masked_interrupt(tmp_path: Path, case: str) -> None:
    body, expected = CASES[case]
    assert answer(tmp_path, body) == expected


def test_its_own_handler_that_masks_it_keeps_no_later_one_away(tmp_path: Path) -> None:
    assert answer(tmp_path, "send(); send(); send();", nested=True) == "3 0"
