# SPDX-License-Identifier: GPL-2.0
"""The command: files out, errors in one line, recording, live."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.user.blkviz import capture, live, model, parse, perfetto, synth
from tools.user.blkviz.errors import NoTraceError
from tools.user.blkviz.parse import Source

TOOL = Path(__file__).resolve().parents[1] / "blkviz"


def blkviz(*words: object, data: bytes | None = None, env: dict[str, str] | None = None,
           cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([TOOL, *map(str, words)], input=data, capture_output=True, check=False,
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


@pytest.mark.parametrize(("words", "text"), [
    ((), "no TRACE given"),
    (("nowhere",), "nowhere: no such file"),
    (("TRACE", "--svg", "x.svg", "--from", "100"), "empty range"),
    (("TRACE", "--svg", "x.svg", "--process", "nobody"), "no such process"),
    (("TRACE", "--device", "sda"), "give MAJOR:MINOR"),
    (("TRACE", "--device", "1:1"), "1:1"),
    (("TRACE", "--reserved", "fast"), "give NAME=RATE"),
    (("record", "sda"), "give a command after --"),
])
def test_senseless_wishes_are_one_line_and_exit_2(
    trace: Path, tmp_path: Path, words: tuple[str, ...], text: str
) -> None:
    done = blkviz(*(trace if word == "TRACE" else word for word in words), cwd=tmp_path)
    assert done.returncode == 2
    lines = done.stderr.decode().strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("blkviz: ") and text in lines[0]
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


def test_perfetto_knows_every_process_by_a_number_that_it_takes() -> None:
    found = model.build(parse.parse([Source("test", synth.make(4000).together())]))
    # Who asked is not known of some requests: pid 0, or none.
    found.requests.pid[:40:2] = 0
    found.requests.pid[1:40:2] = -1
    events = json.loads(perfetto.document(found))["traceEvents"]
    assert all(0 < event["pid"] < 2**32 for event in events)
    assert all(0 < event["tid"] < 2**32 for event in events if "tid" in event)
    named = {event["pid"] for event in events if event["name"] == "process_name"}
    assert {event["pid"] for event in events} - named <= {perfetto.NOBODY}
    assert sum(event["ph"] == "b" and event["pid"] == perfetto.NOBODY for event in events) == \
        int((found.requests.finished() & (found.requests.pid <= 0)).sum()) > 0


# --- record -----------------------------------------------------------------------

FAKE = r"""#!/bin/sh
# writes what it is given when it is interrupted, as blktrace does
while [ $# -gt 0 ]; do
	case $1 in -D) folder=$2; shift ;; -o) name=$2; shift ;; -d) device=$2; shift ;; esac
	shift
done
[ "$device" = /dev/none ] && { echo "Invalid path $device specified" >&2; exit 1; }
cat "$FAKE_SYSFS/class/block/sdx/trace/vfs" > "$FAKE_SYSFS/during"
[ -s "$FAKE_TRACE" ] || echo "setup_mmap: mmap: Invalid argument" >&2
end() {
	: > "$FAKE_SYSFS/ending"
	# until a second signal has come, where one is to come
	while [ -e "$FAKE_SYSFS/hold" ]; do sleep 0.05; done
	if [ "$name" = - ]; then cat "$FAKE_TRACE"; else cp "$FAKE_TRACE" "$folder/$name.blktrace.0"; fi
	kill $!
	echo "$device" > "$FAKE_SYSFS/ended"
	[ "$name" = - ] || echo "  Total:                   530 events (dropped 30),       25 KiB data"
	echo "You have 30 (  5.4%) dropped events" >&2
	exit 0
}
trap end INT
if [ "$name" = - ]; then cat "$FAKE_TRACE"; else : > "$folder/$name.blktrace.0"; fi
sleep 100 > /dev/null 2>&1 &
wait
"""


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A blktrace and a sysfs of our own."""
    folder = tmp_path / "sys/class/block/sdx/trace"
    folder.mkdir(parents=True)
    (folder / "vfs").write_text("0\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/blktrace").write_text(FAKE)
    (tmp_path / "bin/blktrace").chmod(0o755)
    (tmp_path / "trace").write_bytes(synth.make(500).together())
    yield {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "BLKVIZ_SYSFS": str(tmp_path / "sys"),
           "BLKVIZ_TRACEFS": str(tmp_path / "no-tracefs"), "FAKE_SYSFS": str(tmp_path / "sys"),
           "FAKE_TRACE": str(tmp_path / "trace")}


def switch(tmp_path: Path) -> str:
    return (tmp_path / "sys/class/block/sdx/trace/vfs").read_text().strip()


def test_record_switches_the_messages_on_and_off_again(machine: dict[str, str], tmp_path: Path) -> None:
    done = blkviz("record", "-o", tmp_path / "base", "--mask", "read", "sdx", "--", "sh", "-c", "exit 7", env=machine)
    assert done.returncode == 7, done.stderr
    assert (tmp_path / "sys/during").read_text().strip() == "read"
    assert switch(tmp_path) == "0"
    assert json.loads((tmp_path / "base.blkviz.json").read_text())["command"] == "sh -c exit 7"
    assert json.loads(blkviz(tmp_path / "base", "--json").stdout)["events"] > 400


def test_what_blktrace_dropped_is_noted_and_told(machine: dict[str, str], tmp_path: Path) -> None:
    done = blkviz("record", "-o", tmp_path / "base", "-w", "0.1", "sdx", env=machine)
    assert b"30 events were dropped" in done.stderr
    assert json.loads((tmp_path / "base.blkviz.json").read_text())["dropped"] == 30
    problems = json.loads(blkviz(tmp_path / "base", "--json").stdout)["problems"]
    assert any("30 events were dropped" in problem for problem in problems)


def test_recording_that_cannot_be_written_is_an_error(machine: dict[str, str], tmp_path: Path) -> None:
    """As on 9p, where blktrace goes on and has nothing."""
    (tmp_path / "trace").write_bytes(b"")
    done = blkviz("record", "-o", tmp_path / "base", "-w", "0.1", "sdx", env=machine)
    assert done.returncode == 1
    assert b"blktrace cannot write there (setup_mmap: mmap: Invalid argument)" in done.stderr


def test_notes_of_an_older_recording_do_not_stay(machine: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "none.blkviz.json").write_text('{"dropped": 7}')
    assert blkviz("record", "-o", tmp_path / "none", "-w", "0.1", "none", env=machine).returncode == 1
    assert not (tmp_path / "none.blkviz.json").exists()


def test_record_follows_a_link_to_the_device(machine: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "by-id").mkdir()
    (tmp_path / "by-id/disk-4711").symlink_to("/dev/sdx")
    done = blkviz("record", "-w", "0.1", tmp_path / "by-id/disk-4711", env=machine, cwd=tmp_path)
    assert (done.returncode, b"no messages" in done.stderr) == (0, False), done.stderr
    assert (tmp_path / "sys/during").read_text().strip() == "1"
    assert (tmp_path / "sys/ended").read_text().strip() == "/dev/sdx"
    assert (tmp_path / "sdx.blktrace.0").exists()


def test_another_node_of_a_device_is_known_by_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As /dev/mapper/home is where no udev makes links."""
    (tmp_path / "devices/dm-0").mkdir(parents=True)
    (tmp_path / "dev/block").mkdir(parents=True)
    (tmp_path / "dev/block/1:3").symlink_to(tmp_path / "devices/dm-0")
    monkeypatch.setattr(capture, "SYSFS", tmp_path)
    monkeypatch.setattr(Path, "is_block_device", lambda path: path.name == "null")
    assert capture.device_of("/dev/null") == (Path("/dev/null"), "dm-0")
    assert capture.device_of("sdx") == (Path("/dev/sdx"), "sdx")


def test_a_refused_mask_is_named(machine: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel returns only EINVAL, without a file name."""
    write = Path.write_text

    def refuse(path: Path, text: str) -> int:
        if path.name == "vfs" and text == "read,fly":
            raise OSError(22, "Invalid argument")
        return write(path, text)

    monkeypatch.setattr(Path, "write_text", refuse)
    monkeypatch.setattr(capture, "SYSFS", tmp_path / "sys")
    with pytest.raises(NoTraceError, match="^--mask read,fly: [^\n]*$"), capture.vfs_messages("sdx", "read,fly"):
        raise AssertionError("not refused")
    assert switch(tmp_path) == "0"


def test_record_for_some_seconds(machine: dict[str, str], tmp_path: Path) -> None:
    assert blkviz("record", "-o", tmp_path / "base", "-w", "0.1", "sdx", env=machine).returncode == 0
    assert (tmp_path / "base.blktrace.0").stat().st_size > 1000


ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]


def heed_all() -> None:
    """In a new process: nohup, and a shell's background, ignore some."""
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)


def wait_for(there: Callable[[], bool]) -> None:
    for _ in range(400):
        if there():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come")


@pytest.mark.parametrize(("number", "times"), [*((number, 1) for number in ENDING), (signal.SIGHUP, 2)])
def test_interrupted_record_switches_off_and_keeps_the_trace(
    machine: dict[str, str], tmp_path: Path, number: signal.Signals, times: int
) -> None:
    began, hold = tmp_path / "began", tmp_path / "sys/hold"
    command = ["sh", "-c", f": > {began}; exec sleep 100"]
    if times == 2:
        hold.touch()
    running = subprocess.Popen(
        [TOOL, "record", "-o", tmp_path / "base", "sdx", "--", *command],
        env={**os.environ, **machine}, stderr=subprocess.PIPE, preexec_fn=heed_all)
    try:
        wait_for(began.exists)
        running.send_signal(number)
        if times == 2:
            wait_for((tmp_path / "sys/ending").exists)
            running.send_signal(number)
            hold.unlink()
        _, said = running.communicate(timeout=30)
    finally:
        hold.unlink(missing_ok=True)
        running.kill()
    assert running.returncode == 130, said
    assert switch(tmp_path) == "0"
    assert (tmp_path / "base.blktrace.0").stat().st_size > 1000
    assert json.loads((tmp_path / "base.blkviz.json").read_text())["command"] == " ".join(command)


def test_record_behind_nohup_goes_on(machine: dict[str, str], tmp_path: Path) -> None:
    began, go_on = tmp_path / "began", tmp_path / "go-on"
    running = subprocess.Popen(
        [TOOL, "record", "-o", tmp_path / "base", "sdx", "--",
         "sh", "-c", f": > {began}; until [ -e {go_on} ]; do sleep 0.05; done; exit 7"],
        env={**os.environ, **machine}, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    try:
        wait_for(began.exists)
        running.send_signal(signal.SIGHUP)
        go_on.touch()
        assert running.wait(30) == 7
    finally:
        go_on.touch()
        running.kill()


def test_record_on_a_kernel_without_messages_says_so(machine: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "sys/class/block/sdx/trace/vfs").rename(tmp_path / "away")
    # the tracer of these tests looks at it
    machine["FAKE_SYSFS"] = str(tmp_path / "other")
    (tmp_path / "other/class/block/sdx/trace").mkdir(parents=True)
    (tmp_path / "other/class/block/sdx/trace/vfs").write_text("")
    done = blkviz("record", "-o", tmp_path / "base", "-w", "0.1", "sdx", env=machine)
    assert done.returncode == 0 and b"the trace will have requests only" in done.stderr


def test_record_tells_what_blktrace_says(machine: dict[str, str], tmp_path: Path) -> None:
    done = blkviz("record", "-o", tmp_path / "base", "-w", "0.1", "none", env=machine)
    assert done.returncode == 1
    assert b"blktrace: Invalid path /dev/none" in done.stderr.splitlines()[-1]


# --- live -----------------------------------------------------------------------------


def test_live_serves_what_has_come_so_far(tmp_path: Path) -> None:
    data = synth.make(4000).together()
    serving = subprocess.Popen([TOOL, "--live", "-", "--port", "0"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=False,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert serving.stdin and serving.stdout
    try:
        address = re.search(rb"http://127\.0\.0\.1:\d+/", serving.stdout.readline())
        assert address
        url = address[0].decode()
        assert "No events recorded yet" in urllib.request.urlopen(url).read().decode()
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


@pytest.mark.parametrize("number", ENDING)
def test_interrupted_live_ends_blktrace_and_switches_off(
    machine: dict[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    serving = subprocess.Popen([TOOL, "--live", "sdx", "--port", "0"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env={**os.environ, **machine}, preexec_fn=heed_all)
    assert serving.stdout
    try:
        url = serving.stdout.readline().split()[0].decode()
        assert until(url + "data?after=0", lambda head: head["events"] > 400)["live"]
        assert switch(tmp_path) == "1"
        serving.send_signal(number)
        _, said = serving.communicate(timeout=30)
    finally:
        serving.kill()
    assert serving.returncode == 0, said
    assert said.decode().splitlines() == ["You have 30 (  5.4%) dropped events"]
    assert (tmp_path / "sys/ended").exists()
    assert switch(tmp_path) == "0"


def test_live_forgets_events_and_says_so_but_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LIMIT", 300_000)
    writer = synth.Writer()
    synth.Disk(writer, synth.default_players(), cpus=1).play(10000)
    data = writer.together()
    whole = model.build(parse.parse([Source("test", data)]))
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream, os.fdopen(writing, "wb") as pipe:
        source = live.Recording(stream, "test")
        pipe.write(data)
        pipe.close()
        wait_for(lambda: source.ended)
    made = source.payload()
    assert made and len(source.data) <= 300_000 and source.version == len(data)
    head = made["head"]
    assert head["problems"][0].startswith(f"the oldest {len(data) - len(source.data)} bytes were dropped")
    named = {process.pid: process.name for process in whole.processes}
    assert {one["name"] == named[one["pid"]] for one in head["processes"]} == {True}
    assert "?" not in named.values() and head["origin"] > whole.start
    assert whole.clock and head["clock"] == pytest.approx(whole.clock + (head["origin"] - whole.start) / 1e9, abs=1e-6)


def until(url: str, enough: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    for _ in range(100):
        with urllib.request.urlopen(url) as answer:
            if answer.status == 200:
                head: dict[str, Any] = json.load(answer)["head"]
                if enough(head):
                    return head
        time.sleep(0.2)
    raise AssertionError("nothing new came")


def test_recording_needs_no_packages(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('no numpy here')\n")
    env = {"PYTHONPATH": str(tmp_path)}
    assert blkviz("record", "--help", env=env).returncode == 0
    viewer = blkviz("--help", env=env)
    assert viewer.returncode == 2 and b"needs numpy" in viewer.stderr
