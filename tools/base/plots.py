# SPDX-License-Identifier: GPL-2.0
"""matplotlib for pictures that are files: the same figures give the same file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from .cli import EXIT_USAGE, ToolError

FORMATS = ("svg", "png")


def check_name(path: Path) -> None:
    """Raises ToolError for a name that says no format."""
    if path.suffix[1:] not in FORMATS:
        raise ToolError(f"--plot {path}: name a file that ends in .svg or .png", EXIT_USAGE)


def load(salt: str, settings: Any) -> Any:
    """matplotlib.pyplot without a display. @salt: of names within an SVG; @settings: more of rcParams."""
    try:
        import matplotlib
    except ImportError:
        raise ToolError("plots need matplotlib: make venv", EXIT_USAGE) from None
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": salt, "svg.fonttype": "none", "axes.grid": True, "grid.alpha": 0.3})
    matplotlib.rcParams.update(settings)
    from matplotlib import pyplot

    return pyplot


def drawn(pyplot: Any, figure: Any, path: Path, **more: Any) -> bytes:
    """What the file of that name is to hold; closes the figure. @more: for savefig()."""
    metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    data = io.BytesIO()
    figure.savefig(data, format=path.suffix[1:], metadata=metadata, dpi=110, **more)
    pyplot.close(figure)
    return data.getvalue()
