# SPDX-License-Identifier: GPL-2.0
"""One boot for all scenarios of a flavour; each is a test of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from selftests.vm import guests
from tools.base.paths import BUILD

SCENARIO_TIMEOUT = {"plain": 2700.0, "debug": 4000.0, "smp": 2700.0}
KSELFTEST_TIMEOUT = {"plain": 1800.0, "debug": 3600.0, "smp": 1800.0}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--flavour", action="append", choices=guests.FLAVOURS,
                     help="kernels to test (default: both)")
    parser.addoption("--logs", type=Path, default=BUILD / "runs/selftests-vm",
                     help="where consoles and logs are left")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "flavour" in metafunc.fixturenames:
        flavours = metafunc.config.getoption("--flavour")
        if not flavours:
            flavours = os.environ.get("VM_FLAVOURS", " ".join(guests.FLAVOURS)).split()
        metafunc.parametrize("flavour", flavours, scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the scenarios and kselftests that are not for a flavour."""
    out = []
    for item in items:
        values = getattr(item, "callspec", None)
        # a test of another folder may have a parameter of the same name
        if not values or "flavour" not in values.params:
            continue
        for parameter, suits in (("scenario", guests.suits), ("kselftest", guests.suits_kselftest)):
            if parameter in values.params and not suits(values.params[parameter], values.params["flavour"]):
                out.append(item)
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in out]


@pytest.fixture(scope="session")
def logs(request: pytest.FixtureRequest) -> Path:
    path: Path = request.config.getoption("--logs")
    return path


def wanted(request: pytest.FixtureRequest, parameter: str, flavour: str) -> list[str]:
    """What the tests that were selected ask for, without repeats."""
    names: dict[str, None] = {}
    for item in request.session.items:
        values = getattr(item, "callspec", None)
        if values and values.params.get("flavour") == flavour and parameter in values.params:
            names[values.params[parameter]] = None
    return list(names)


@pytest.fixture(scope="session")
def scenarios(request: pytest.FixtureRequest, logs: Path) -> Callable[[str], guests.Campaign]:
    """The outcomes of the selected scenarios of a flavour; boots when first asked."""
    done: dict[str, guests.Campaign] = {}

    def campaign(flavour: str) -> guests.Campaign:
        if flavour not in done:
            names = wanted(request, "scenario", flavour)
            done[flavour] = guests.run_scenarios(names, flavour, logs / flavour,
                                                 SCENARIO_TIMEOUT[flavour])
        return done[flavour]

    return campaign


@pytest.fixture(scope="session")
def kselftests(request: pytest.FixtureRequest, logs: Path) -> Callable[[str], guests.Campaign]:
    """The outcomes of the selected kselftests of a flavour; boots when first asked."""
    done: dict[str, guests.Campaign] = {}

    def campaign(flavour: str) -> guests.Campaign:
        if flavour not in done:
            names = wanted(request, "kselftest", flavour)
            done[flavour] = guests.run_kselftests(names, flavour, logs / f"kselftest-{flavour}",
                                                  KSELFTEST_TIMEOUT[flavour])
        return done[flavour]

    return campaign
