# SPDX-License-Identifier: GPL-2.0
"""Age a file system: lists of created and deleted files, their replay, and the resulting layout."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.base import cli
from tools.base.arguments import positive, words
from tools.base.files import write_whole
from tools.base.progress import Progress
from tools.base.text import table

from . import churn, generate, history, layout, plot
from .plan import Plan, Setup
from .replay import Replay, summary

EVERY_VERSION = 24


def natural(text: str) -> int:
    """A whole number of 0 or more."""
    value = int(text)
    if value < 0:
        raise ValueError
    return value


def levels(text: str) -> tuple[float, float, float]:
    """Three rising percentages: 69,80,93"""
    first, second, third = (float(word) for word in text.split(","))
    if not 0 <= first <= second <= third <= 99:
        raise ValueError
    return first, second, third


def _churn(args: argparse.Namespace) -> int:
    if args.git:
        revisions = args.revisions or (history.tagged(args.git, args.tags) if args.tags
                                       else history.spread(args.git, args.versions))
        versions = history.versions(args.git, revisions)
        source = "the regular files of a git history"
    else:
        versions = generate.generate(args.seed, args.scale)
        source = f"seed {args.seed}, scale {args.scale:g}"
    write_whole(args.list, churn.text(versions, [source]))
    _print_counts(churn.counts(versions), args.json)
    return 0


def _print_counts(counts: list[churn.Count], as_json: bool) -> None:
    created, deleted = (sum(numbers) for numbers in zip(*[count[1:3] for count in counts], strict=True))
    last = counts[-1]
    if as_json:
        print(json.dumps({"created": created, "deleted": deleted, "files": last.files, "bytes": last.bytes,
                          "directories": last.directories, "versions": [count._asdict() for count in counts]}))
        return
    print(table(["version", *churn.Count._fields[1:]],
                [[count.version, *(f"{number:,}" for number in count[1:])] for count in counts]))
    mean = last.bytes / last.files / 1024 if last.files else 0
    print(f"{created:,} files created, {deleted:,} deleted, {last.files:,} left, {mean:.2f} KiB each")


def _apply(args: argparse.Namespace) -> int:
    versions = churn.read(args.list)
    setup = Setup(args.trees, args.early, args.clean, args.media, args.levels, args.allocate, args.zeros)
    plan = Plan(versions, setup)
    last = plan.until(args.until)
    journal = args.journal or args.list.with_name(args.list.name + ".journal")
    replay = Replay(plan, args.directory, journal, hashlib.sha256(args.list.read_bytes()).hexdigest())
    progress = Progress(args.quiet)
    replay.run(last, progress.show)
    progress.clear()
    found = summary(replay)
    if args.json:
        print(json.dumps(found))
        return 0
    print(table(["stage", "% in use"], [[stage, f"{used:.2f}"] for stage, used in found["used_percent"].items()]))
    print(f"{found['done']:,} of {found['steps']:,} steps done, {found['operations']:,} operations on trees")
    return 0


def _layout(args: argparse.Namespace) -> int:
    if args.plot:
        plot.check(args.plot)
    progress = Progress(args.quiet)
    found = [layout.measure(folder, args.device, progress.show) for folder in args.directory]
    progress.clear()
    if args.plot:
        plot.write(found, args.plot)
    print(json.dumps([layout.as_json(one) for one in found]) if args.json else layout.as_text(found))
    return 0


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="ageing", description=__doc__,
        epilog="Exit codes: 0 done; 1 failed (no space, an error of the disk); 2 nothing was done; 130 interrupted.")
    sub = top.add_subparsers(required=True, metavar="ACTION")
    _churn_options(sub.add_parser("churn", help="write a churn list, and print the counts of each version"))
    _apply_options(sub.add_parser(
        "apply", help="replay a list on a new file system",
        description="Replay a list on a new, mounted file system: media files alone; checkouts of the last version; "
        "trees, version by version, with files that grow in between; large files until it is full; checkouts again. "
        "After an interruption the same command continues."))
    _layout_options(sub.add_parser(
        "layout", help="measure distances between inodes, data and directories", description="Measure the distances on "
        "the device between related blocks, on mounted ext4 (as root, to read the device) and XFS."))
    for one in sub.choices.values():
        one.add_argument("--json", action="store_true", help="print the result as JSON")
    return top


def _churn_options(one: argparse.ArgumentParser) -> None:
    source = one.add_mutually_exclusive_group(required=True)
    source.add_argument("--git", type=Path, metavar="REPO", help="make the list from a git repository")
    source.add_argument("--seed", type=natural, metavar="N",
    help="make the list from a seed, with the numbers of the paper")
    one.add_argument("--scale", type=float, default=1, metavar="F",
                     help="with --seed: factor for the number of files (default: 1)")
    which = one.add_mutually_exclusive_group()
    which.add_argument("--versions", type=positive, default=EVERY_VERSION, metavar="N",
                       help="with --git: N commits, evenly spread over HEAD's history (default: %(default)s)")
    which.add_argument("--tags", metavar="PATTERN", help="with --git: the matching tags, by date")
    which.add_argument("--revisions", type=words, metavar="A,B,...", help="with --git: these revisions, in this order")
    one.add_argument("list", type=Path, metavar="LIST", help="the file to write")
    one.set_defaults(action=_churn)


def _apply_options(one: argparse.ArgumentParser) -> None:
    usual = Setup()
    one.add_argument("list", type=Path, metavar="LIST", help="a churn list")
    one.add_argument("directory", type=Path, metavar="DIR", help="mount point of the new file system")
    one.add_argument("--trees", type=positive, default=usual.trees, metavar="N",
                     help="trees that go through all versions (default: %(default)s)")
    one.add_argument("--early", type=natural, default=usual.early, metavar="N",
                     help="trees of the last version, created before them (default: %(default)s)")
    one.add_argument("--clean", type=natural, default=usual.clean, metavar="N",
                     help="trees of the last version, created at the end (default: %(default)s)")
    one.add_argument("--media", type=natural, default=usual.media, metavar="N",
                     help="large files at the beginning, up to the first level (default: %(default)s)")
    one.add_argument("--levels", type=levels, default=usual.levels, metavar="A,B,C",
                     help="%% of the blocks in use after media, versions, large files (default: 69,80,93)")
    one.add_argument("--until", type=positive, metavar="N",
                     help="stop after the Nth version; without it the same command continues")
    one.add_argument("--allocate", action="store_true", help="allocate large files without writing them: much faster, "
                     "but reading them does not reach the disk")
    one.add_argument("--zeros", action="store_true", help="write only zeros: for a disk in memory that does not "
                     "store them (default: bytes that cannot be compressed or skipped)")
    one.add_argument("--journal", type=Path, metavar="FILE",
                     help="file that records finished steps, outside of DIR (default: LIST.journal)")
    one.add_argument("-q", "--quiet", action="store_true", help="do not show progress")
    one.set_defaults(action=_apply)


def _layout_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("directory", type=Path, nargs="+", metavar="DIR", help="trees on mounted file systems, to compare")
    one.add_argument("--device", type=Path, metavar="FILE",
                     help="ext4's device or image, instead of the mounted one")
    one.add_argument("--plot", type=Path, metavar="FILE", help="draw the distributions into a .svg or .png")
    one.add_argument("-q", "--quiet", action="store_true", help="do not show progress")
    one.set_defaults(action=_layout)


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)

    def action() -> int:
        code: int = args.action(args)
        return code

    more = "; the same command continues" if args.action is _apply else ""
    return cli.run("ageing", action, "interrupted" + more)


if __name__ == "__main__":
    sys.exit(main())
