# SPDX-License-Identifier: GPL-2.0
"""matplotlib for plots in files: the same data makes the same file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from .cli import EXIT_USAGE, ToolError

FORMATS = ("svg", "png")
COLOURS = 48


def check_name(path: Path) -> None:
    """Raises ToolError for a file name without a known format."""
    if path.suffix[1:] not in FORMATS:
        raise ToolError(f"--plot {path}: use a name that ends in .svg or .png", EXIT_USAGE)


def load(salt: str, settings: Any) -> Any:
    """Load matplotlib.pyplot without a display. @salt: for IDs in an SVG; @settings: additional rcParams."""
    try:
        import matplotlib
    except ImportError:
        raise ToolError("plots require matplotlib: run `make venv`", EXIT_USAGE) from None
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": salt, "svg.fonttype": "none", "axes.grid": True, "grid.alpha": 0.3})
    matplotlib.rcParams.update(settings)
    from matplotlib import pyplot

    return pyplot


def drawn(pyplot: Any, figure: Any, path: Path, **more: Any) -> bytes:
    """Render a figure in the format of the path, and close it; returns the bytes. @more: for savefig()."""
    metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    data = io.BytesIO()
    figure.savefig(data, format=path.suffix[1:], metadata=metadata, dpi=110, **more)
    pyplot.close(figure)
    return few_colours(data.getvalue()) if path.suffix == ".png" else data.getvalue()


def few_colours(png: bytes) -> bytes:
    """The same picture with at most COLOURS colours, which make a small file."""
    from PIL import Image

    small = io.BytesIO()
    with Image.open(io.BytesIO(png)) as image:
        image.convert("RGB").quantize(COLOURS).save(small, format="PNG", optimize=True)
    return small.getvalue()
