# SPDX-License-Identifier: GPL-2.0
"""The queue against a C-SCAN that looks at everything each time."""

from __future__ import annotations

import random

import pytest

from tools.dev.check.seed import seed
from tools.user.sweep.tests.conftest import Builds
from tools.user.sweep.tests.test_parts import ask

SEED = seed()


def model(commands: list[str]) -> list[str]:
    """What the harness answers, from the definition: the next at or above the head, else the lowest."""
    waiting: list[tuple[int, int, int]] = []
    head = (0, 0)
    answers = []
    number = 0
    for command in commands:
        if command == "rewind":
            head = (0, 0)
        elif command == "pop":
            if not waiting:
                answers.append("none")
                continue
            above = [item for item in waiting if item[:2] >= head]
            item = min(above or waiting)
            waiting.remove(item)
            head = item[:2]
            answers.append("{} {} {}".format(*item))
        else:
            device, key = map(int, command.split()[1:])
            waiting.append((device, key, number))
            number += 1
    return answers


@pytest.mark.parametrize("round", range(20))
def test_order_is_cscan_while_new_items_come(builds: Builds, round: int) -> None:
    chance = random.Random(f"{SEED} {round}")
    devices, keys = chance.choice([(1, 10), (1, 2**63), (3, 50)])
    pushes = chance.random()
    commands = [f"push {chance.randrange(devices)} {chance.randrange(keys)}" if chance.random() < pushes else "pop"
                for _ in range(600)]
    commands += ["pop"] * 600
    assert ask(builds, commands) == model(commands)


@pytest.mark.parametrize("round", range(20))
def test_order_is_cscan_where_most_comes_in_order(builds: Builds, round: int) -> None:
    """A list, until something comes that is out of it."""
    chance = random.Random(f"{SEED} in order {round}")
    exceptions = chance.choice([0, 0.002, 0.02, 0.2])
    pushes = chance.choice([0.5, 0.6, 0.9])
    commands = []
    for number in range(1500):
        key = chance.randrange(1500) if chance.random() < exceptions else number
        commands.append(f"push 0 {key}" if chance.random() < pushes else "pop")
    assert ask(builds, [*commands, *["pop"] * 1500]) == model([*commands, *["pop"] * 1500])


def test_what_is_found_below_the_head_waits_for_the_next_sweep(builds: Builds) -> None:
    commands = ["push 0 50", "push 0 70", "pop", "push 0 60", "push 0 10", "pop", "pop", "pop"]
    assert [line.split()[1] for line in ask(builds, commands)] == ["50", "60", "70", "10"]


def test_same_place_is_served_first_come_first_served(builds: Builds) -> None:
    commands = ["push 0 5"] * 9 + ["pop"] * 9
    assert [line.split()[2] for line in ask(builds, commands)] == [str(number) for number in range(9)]


def test_rewound_queue_begins_at_the_lowest(builds: Builds) -> None:
    commands = ["push 0 50", "pop", "rewind", "push 0 60", "push 0 10", "pop", "pop"]
    assert [line.split()[1] for line in ask(builds, commands)] == ["50", "10", "60"]
