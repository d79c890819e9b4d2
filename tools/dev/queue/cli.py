# SPDX-License-Identifier: GPL-2.0
"""The command line: one subcommand for each target of the Makefile."""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict

from tools.base import cli
from tools.base.cli import ToolError

from . import bisect, deb, findings, groups, kernel, oldsched, scratch, series_tips, source, submit, tree, verify
from .common import NO_SPACE, Project, disk_full, say


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="queue", description=__doc__)
    top.add_argument("--kernel", default=os.environ.get("KERNEL") or None, metavar="PATH",
                     help="kernel source: a git tree, an unpacked tree or a tarball, never modified "
                          "(default: $KERNEL, else Debian's package)")
    top.add_argument("--json", action="store_true", help="print the result as JSON")
    sub = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    fetch = sub.add_parser("fetch", help="get the base source into the cache")
    fetch.add_argument("--package", default=source.PACKAGE, help="Debian package (default: %(default)s)")
    fetch.add_argument("--suite", default=source.SUITE, help="suite of Debian (default: %(default)s)")
    fetch.add_argument("--refresh", action="store_true", help="check for a newer package")
    sub.add_parser("tree", help="write build/linux: the base and one commit per patch")
    sub.add_parser("export", help="write patches/, series and the mirrored files from build/linux")
    for name, about in (("verify", "check that the queue can be sent"),
                        ("bisect-check", "build every prefix of the queue, without new warnings")):
        sub.add_parser(name, help=about).add_argument(
            "--again", action="store_true", help="also check what has passed before with the same contents")
    sub.add_parser("series-tips", help="build User-Mode Linux of the tip of each series, in build/series-tips")
    sub.add_parser("series", help="print the patches of a series, one per line").add_argument(
        "name", help=f"one of {groups.GROUPS}")
    check = sub.add_parser("submit-check", help="run all checks that precede sending the series")
    check.add_argument("--only", action="append", default=[], metavar="NAME[,NAME]",
                       help="only some checks of: " + ", ".join(submit.names()))
    build = sub.add_parser("kernel", help="build an x86-64 kernel")
    build.add_argument("--flavour", default="plain",
                       choices=[flavour.name for flavour in kernel.FLAVOURS.values() if flavour.arch == "x86_64"])
    build.add_argument("--base", action="store_true", help="without the patches, in a folder with suffix -base")
    uml = sub.add_parser("uml", help="build User-Mode Linux")
    uml.add_argument("--flavour", default="um", choices=["um", "um-smp", "um-gcov", oldsched.FLAVOUR, oldsched.KUNIT],
                     help="um: virtual time, in build/uml; um-smp: two CPUs, lockdep, KASAN, in build/uml-smp; "
                          "um-gcov: with coverage counters, in build/uml-gcov; um-oldsched: um with the "
                          "schedulers of patches/oldsched, in build/uml-oldsched; um-oldsched-kunit: this with KUnit "
                          "(default: um)")
    uml.add_argument("--without", metavar="SERIES",
                     help="without a series and those that stand on it, in build/uml-without-SERIES")
    packages = sub.add_parser("deb", help="build Debian packages of the patched kernel")
    packages.add_argument("--config", metavar="FILE",
                          help="configuration to start from (default: /boot/config-* of the running "
                               "kernel, else the project's plain one)")
    clean = sub.add_parser("clean", help="remove build/ (not the cache)")
    clean.add_argument("--force", action="store_true",
                       help="even if build/linux has unexported work")
    return top


def command(args: argparse.Namespace, project: Project) -> int:
    result: dict[str, object] = {}
    code = 0
    match args.command:
        case "fetch":
            base = source.fetch(project, args.kernel, package=args.package, suite=args.suite,
                                refresh=args.refresh)
            result = {"commit": base.commit, "version": base.version}
            say(f"linux {base.version} is in {project.cache}")
        case "tree":
            tree.make_tree(project, args.kernel)
            result = {"tree": str(project.linux)}
        case "export":
            tree.export(project)
            oldsched.export_oldsched(project)
            result = {"patches": tree.read_series(project)}
        case "series":
            cut = groups.read_groups(project, tree.queue_patches(project))
            paths = [str(path) for path in groups.group_of(cut, args.name).patches]
            result = {"patches": paths}
            if not args.json:
                print("\n".join(paths))
        case "series-tips":
            made = series_tips.build_tips(project, args.kernel)
            result = {"series-tips": [str(tip) for tip in made]}
        case "uml" if args.without:
            image = scratch.build_without(project, args.kernel, args.without)
            result = {"image": str(image)}
            say(f"{project.show(image)}")
        case "kernel" if args.base:
            image = scratch.build_base(project, args.kernel, args.flavour)
            result = {"image": str(image)}
            say(f"{project.show(image)}")
        case "uml" if args.flavour in (oldsched.FLAVOUR, oldsched.KUNIT):
            image = oldsched.build_oldsched(project, args.kernel, args.flavour)
            result = {"image": str(image)}
            say(f"{project.show(image)}")
        case "kernel" | "uml":
            tree.make_tree(project, args.kernel)
            image = kernel.build(project, args.flavour)
            result = {"image": str(image)}
            say(f"{project.show(image)}")
        case "deb":
            deb.check_tools()
            base_config = deb.configuration(args.config)
            tree.make_tree(project, args.kernel)
            packages = deb.build(project, base_config)
            result = {"packages": [str(package) for package in packages]}
            for package in packages:
                say(project.show(package))
        case "verify" | "bisect-check" | "submit-check":
            match args.command:
                case "verify":
                    found = verify.verify(project, args.kernel, args.again)
                case "bisect-check":
                    found = bisect.bisect_check(project, args.kernel, args.again)
                case _:
                    wanted = [name for part in args.only for name in part.split(",") if name]
                    found = submit.submit_check(project, args.kernel, wanted)
            findings.report(found, say if args.json else print)
            code = 0 if all(finding.ok for finding in found) else 1
            result = {"findings": [asdict(finding) for finding in found]}
        case "clean":
            clean(project, args.force)
    if args.json:
        print(json.dumps(result))
    return code


def clean(project: Project, force: bool) -> None:
    if project.linux.is_dir() and not force:
        tree.refuse_to_lose(project)
    if project.build.is_dir():
        shutil.rmtree(project.build)


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    return cli.run(f"queue {args.command}", lambda: run_command(args), "interrupted; run it again to continue")


def run_command(args: argparse.Namespace) -> int:
    """Run the command; the error for a full disk contains the free space."""
    project = Project.here()
    try:
        return command(args, project)
    except OSError as error:
        if error.strerror == NO_SPACE:
            raise ToolError(disk_full(project.build)) from None
        raise


if __name__ == "__main__":
    raise SystemExit(main())
