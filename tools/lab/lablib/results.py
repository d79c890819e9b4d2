# SPDX-License-Identifier: GPL-2.0-only
"""Reading result files back."""

import json
from pathlib import Path
from typing import Any

from . import scenario as sc
from .errors import EXIT_USAGE, LabError
from .run import SCHEMA


def load_result(path: Path) -> dict[str, Any]:
    try:
        result = json.loads(path.read_text())
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}", EXIT_USAGE) from None
    except ValueError:
        raise LabError(f"{path}: not a result of `lab run` (no JSON)", EXIT_USAGE) from None
    if not isinstance(result, dict) or result.get("schema") != SCHEMA:
        raise LabError(f"{path}: not a result of this version of the laboratory", EXIT_USAGE)
    return result


def scenario_of(result: dict[str, Any], folder: Path) -> sc.Scenario:
    path = folder / f"{result['scenario']}.toml"
    if not path.exists():
        raise LabError(f"no scenario '{result['scenario']}' here; name its folder with --scenarios", EXIT_USAGE)
    return sc.load(path)
