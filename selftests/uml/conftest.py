# SPDX-License-Identifier: GPL-2.0
"""The fixtures of the tests of lab, for every test here."""

from tools.testbed.lab.tests.conftest import disks, guests, kernel, scenario_file

__all__ = ["disks", "guests", "kernel", "scenario_file"]
