# SPDX-License-Identifier: GPL-2.0
"""The command: files out, errors in one line, recording, live."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from blkviz import model, parse, perfetto, synth
from blkviz.parse import Source

TOOL = Path(__file__).resolve().parents[1] / "blkviz"


def blkviz(*words: object, data: bytes | None = None, env: dict[str, str] | None = None,
           cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, TOOL, *map(str, words)], input=data, capture_output=True, check=False,
                          env={**os.environ, **(env or {})}, cwd=cwd)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synth.make(4000).save(tmp_path_factory.mktemp("trace"))


def test_page_is_written_beside_the_trace(trace: Path) -> None:
    done = blkviz(trace)
    assert done.returncode == 0
    assert trace.with_name("sdx.html").read_text().startswith("<!DOCTYPE html>")
    assert b"4," in done.stderr and b"events" in done.stderr


def test_pictures_are_written_and_the_same_every_time(trace: Path, tmp_path: Path) -> None:
    wished = ["--from", "0.2", "--to", "0.9", "--process", "S"]
    assert blkviz(trace, "--svg", tmp_path / "a.svg", "--png", tmp_path / "a.png", *wished).returncode == 0
    assert blkviz(trace, "--svg", tmp_path / "b.svg", *wished).returncode == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    text = "".join(ET.parse(tmp_path / "a.svg").getroot().itertext())
    assert "S0 8590" in text and "R0" not in text and "head, GiB" in text
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "a.svg", "b.svg"]


@pytest.mark.parametrize(("words", "says"), [
    ((), "name a TRACE"),
    (("nowhere",), "nowhere: no such file"),
    (("TRACE", "--svg", "x.svg", "--from", "100"), "nothing between them"),
    (("TRACE", "--svg", "x.svg", "--process", "nobody"), "no such process"),
    (("TRACE", "--device", "sda"), "write MAJOR:MINOR"),
    (("TRACE", "--device", "1:1"), "1:1"),
    (("TRACE", "--reserved", "fast"), "write NAME=RATE"),
    (("record", "sda"), "name a command"),
])
def test_senseless_wishes_are_one_line_and_exit_2(
    trace: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    done = blkviz(*(trace if word == "TRACE" else word for word in words), cwd=tmp_path)
    assert done.returncode == 2
    lines = done.stderr.decode().strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("blkviz: ") and says in lines[0]
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_trace_is_one_line_and_exit_2(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a trace\n" * 100)
    done = blkviz(tmp_path / "text")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert b"not a block trace" in done.stderr


def test_truncated_pipe_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    data = synth.make(2000).together()
    done = blkviz("-", "--json", data=data[:len(data) - 13], cwd=tmp_path)
    assert done.returncode == 0
    figures = json.loads(done.stdout)
    assert figures["requests"] > 100 and any("the pipe" in problem for problem in figures["problems"])


def test_reservations_can_be_given(trace: Path) -> None:
    figures = json.loads(blkviz(trace, "--json", "--reserved", "S2=1.5MiB/s").stdout)
    by_name = {process["name"]: process for process in figures["processes"]}
    assert by_name["S2"]["reserved"] == 1.5 * 2**20


def test_perfetto_has_every_call_and_request() -> None:
    found = model.build(parse.parse([Source("test", synth.make(4000).together())]))
    events = json.loads(perfetto.document(found))["traceEvents"]
    assert all({"ph", "pid", "name"} <= set(event) for event in events)
    assert all("ts" in event for event in events if event["ph"] != "M")
    begun = {event["id"]: event["ts"] for event in events if event["ph"] == "b"}
    ended = {event["id"]: event["ts"] for event in events if event["ph"] == "e"}
    assert set(begun) == set(ended) and len(begun) == int(found.requests.finished().sum())
    assert all(ended[key] >= begun[key] for key in begun)
    assert sum(event.get("cat") == "vfs" for event in events) == int((found.calls.flags == 0).sum())
    assert sum(event.get("cat") == "cfq" for event in events) == len(found.slices)


# --- record -----------------------------------------------------------------------

FAKE = r"""#!/bin/sh
# writes what it is given when it is interrupted, as blktrace does
while [ $# -gt 0 ]; do
	case $1 in -D) folder=$2; shift ;; -o) name=$2; shift ;; -d) device=$2; shift ;; esac
	shift
done
[ "$device" = /dev/none ] && { echo "Invalid path $device specified" >&2; exit 1; }
cat "$FAKE_SYSFS/class/block/sdx/trace/vfs" > "$FAKE_SYSFS/during"
end() { cp "$FAKE_TRACE" "$folder/$name.blktrace.0"; kill $!; exit 0; }
trap end INT
: > "$folder/$name.blktrace.0"
sleep 100 &
while :; do wait; done
"""


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A blktrace and a sysfs of our own."""
    folder = tmp_path / "sys/class/block/sdx/trace"
    folder.mkdir(parents=True)
    (folder / "vfs").write_text("0\n")
    (folder / "vfs_mask").write_text("read,write\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/blktrace").write_text(FAKE)
    (tmp_path / "bin/blktrace").chmod(0o755)
    (tmp_path / "trace").write_bytes(synth.make(500).together())
    yield {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "BLKVIZ_SYSFS": str(tmp_path / "sys"),
           "FAKE_SYSFS": str(tmp_path / "sys"), "FAKE_TRACE": str(tmp_path / "trace")}


def switches(tmp_path: Path) -> tuple[str, str]:
    folder = tmp_path / "sys/class/block/sdx/trace"
    return (folder / "vfs").read_text().strip(), (folder / "vfs_mask").read_text().strip()


def test_record_switches_the_messages_on_and_off_again(machine: dict[str, str], tmp_path: Path) -> None:
    done = blkviz("record", "-o", tmp_path / "base", "--mask", "read", "sdx", "--", "sh", "-c", "exit 7", env=machine)
    assert done.returncode == 7, done.stderr
    assert (tmp_path / "sys/during").read_text().strip() == "1"
    assert switches(tmp_path) == ("0", "read,write")
    assert json.loads((tmp_path / "base.blkviz.json").read_text())["command"] == "sh -c exit 7"
    assert json.loads(blkviz(tmp_path / "base", "--json").stdout)["events"] > 400


def test_record_for_some_seconds(machine: dict[str, str], tmp_path: Path) -> None:
    assert blkviz("record", "-o", tmp_path / "base", "-w", "0.1", "sdx", env=machine).returncode == 0
    assert (tmp_path / "base.blktrace.0").stat().st_size > 1000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_record_switches_off_and_keeps_the_trace(
    machine: dict[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    running = subprocess.Popen(
        [sys.executable, TOOL, "record", "-o", tmp_path / "base", "sdx", "--", "sleep", "100"],
        env={**os.environ, **machine}, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        for _ in range(200):
            if (tmp_path / "sys/during").exists():
                break
            time.sleep(0.05)
        time.sleep(0.8)
        running.send_signal(number)
        _, said = running.communicate(timeout=30)
    finally:
        running.kill()
    assert running.returncode == 130, said
    assert switches(tmp_path) == ("0", "read,write")
    assert (tmp_path / "base.blktrace.0").stat().st_size > 1000


def test_record_on_a_kernel_without_messages_says_so(machine: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "sys/class/block/sdx/trace/vfs").rename(tmp_path / "away")
    (tmp_path / "sys/class/block/sdx/trace/vfs_mask").unlink()
    # the tracer of these tests looks at it
    machine["FAKE_SYSFS"] = str(tmp_path / "other")
    (tmp_path / "other/class/block/sdx/trace").mkdir(parents=True)
    (tmp_path / "other/class/block/sdx/trace/vfs").write_text("")
    done = blkviz("record", "-o", tmp_path / "base", "-w", "0.1", "sdx", env=machine)
    assert done.returncode == 0 and b"the trace has requests only" in done.stderr


def test_record_tells_what_blktrace_says(machine: dict[str, str], tmp_path: Path) -> None:
    done = blkviz("record", "-o", tmp_path / "base", "-w", "0.1", "none", env=machine)
    assert done.returncode == 1
    assert b"blktrace: Invalid path /dev/none" in done.stderr.splitlines()[-1]


# --- live -----------------------------------------------------------------------------


def test_live_serves_what_has_come_so_far(tmp_path: Path) -> None:
    data = synth.make(4000).together()
    serving = subprocess.Popen([sys.executable, TOOL, "--live", "-", "--port", "0"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=False,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert serving.stdin and serving.stdout
    try:
        address = re.search(rb"http://127\.0\.0\.1:\d+/", serving.stdout.readline())
        assert address
        url = address[0].decode()
        assert "no event yet" in urllib.request.urlopen(url).read().decode()
        # a record that is cut off at the end of what has come is no damage
        serving.stdin.write(data[:len(data) // 2 + 11])
        serving.stdin.flush()
        first = until(url + "data?after=0", lambda head: head["events"] > 1000)
        assert first["live"] and first["problems"] == []
        assert "connect-src 'self'" in urllib.request.urlopen(url).read().decode()
        serving.stdin.write(data[len(data) // 2 + 11:])
        serving.stdin.close()
        later = until(f"{url}data?after={first['version']}", lambda head: head["events"] > first["events"])
        assert later["version"] > first["version"]
        serving.send_signal(signal.SIGINT)
        assert serving.wait(20) == 0
    finally:
        serving.kill()


def until(url: str, enough) -> dict:
    for _ in range(100):
        with urllib.request.urlopen(url) as answer:
            if answer.status == 200:
                head = json.load(answer)["head"]
                if enough(head):
                    return head
        time.sleep(0.2)
    raise AssertionError("nothing new came")


def test_recording_needs_no_packages(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('no numpy here')\n")
    env = {"PYTHONPATH": str(tmp_path), "BLKVIZ_AGAIN": "1"}
    assert blkviz("record", "--help", env=env).returncode == 0
    viewer = blkviz("--help", env=env)
    assert viewer.returncode == 1 and b"needs numpy" in viewer.stderr
