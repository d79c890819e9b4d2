# SPDX-License-Identifier: GPL-2.0
"""The check of words: what of a file is prose, what is found in it, and the list of files that may fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.base.cli import ToolError
from tools.base.paths import ROOT
from tools.dev.check import prose
from tools.dev.check.texts import long_sentences, phrases

PAGE = """\
# Title

One `anew in code` and [a link](anew.md).

    anew in a block

```
anew in a fence
```
Last.
"""
PATCH = """\
From 0000 Mon Sep 17 00:00:00 2001
From: Anew <anew@example.org>
Subject: [PATCH] cfq: limit tags

The message.

    anew, quoted

Fixes: 0123456789ab ("made anew")
---
 anew.c | 1 +
"""
SCENARIO = '''\
# Head.
title = "Title."
source = "anew"
about = """
First.
Last."""
disk = "anew"

[[group]]
name = "anew"

[[expect]]
says = "Says."
left = { metric = "anew" }
'''


def lines(text: str) -> list[str]:
    return [line.strip(' "') for line in text.splitlines()]


def test_prose_of_a_page_keeps_its_lines() -> None:
    assert lines(prose.of_markdown(PAGE)) == [
        "# Title", "", "One - and [a link].", "", "", "", "", "", "", "Last."]


def test_prose_of_a_patch_is_its_subject_and_message() -> None:
    assert lines(prose.of_message(PATCH)) == ["", "", "cfq: limit tags", "", "The message.", "", "", ""]


ADDED = """\
diff --git a/x.c b/x.c
--- a/x.c
+++ b/x.c
@@ -1 +1,7 @@
 /* not added */
+int anew; /* first
+ * second */ int b;
+int c;
+/* third */
@@ -9 +9,5 @@
  * inside
+ * sixth
  */
+int anew;
 /* begun
+ * seventh
diff --git a/x.sh b/x.sh
+++ b/x.sh
+# fourth
+anew
diff --git a/Documentation/x.rst b/Documentation/x.rst
+++ b/Documentation/x.rst
+fifth ``anew``
"""


def test_prose_that_a_patch_adds_is_its_comments_and_documents() -> None:
    assert [line.strip() for line in prose.of_added(ADDED).splitlines()] == [
        *[""] * 5, "first", "* second", "", "third", "", "", "* sixth", "", "", "", "* seventh", "", "", "# fourth",
        "", "", "", "fifth -"]


def test_prose_of_a_makefile_is_its_help() -> None:
    assert prose.of_help("a: b ## text\n\tanew\n") == " text\n"


def test_words_beside_the_counted_prose_are_checked(monkeypatch: pytest.MonkeyPatch,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(prose, "texts", lambda _root: {"a.md": "Plain."})
    monkeypatch.setattr(prose, "listed", list)
    monkeypatch.setattr(prose, "beside", lambda _root, _patches: {"Makefile": "made anew"})
    assert prose.main([]) == 1
    assert "Makefile:1: 'anew'" in capsys.readouterr().out


def test_prose_of_the_evaluation_has_no_tables() -> None:
    assert prose.without_tables("Text.\n\n| anew |\n|---|\n").split() == ["Text."]


def test_prose_of_a_scenario_is_its_comments_and_texts() -> None:
    assert lines(prose.of_scenario(SCENARIO)) == [
        "# Head.", "Title.", "", "", "First.", "Last.", "", "", "", "", "", "", "Says."]


@pytest.mark.parametrize(("text", "line", "what"), [
    ("The pages are made\nanew.", 2, "'anew': use again, regenerated"),
    ("A tool Wants it.", 1, "'Wants': use Requires"),
    ("one greedy reader", 1, "'greedy': use sequential, closed-loop"),
    ("the pristine kernel", 1, "'pristine': use base"),
    ("it is judged by that", 1, "'judged': use checked, validated, evaluated"),
    ("a noop in place\nof cfq", 2, "'in place of': use instead of"),
    ("Who reads has to wait.", 1, "'Who reads': use the submitter, reader, writer, reservation holder"),
    ("a tag for who reads", 1, "'for who reads': use the submitter, reader, writer, reservation holder"),
    ("a read that is late", 1, "'is late': use misses its deadline"),
    ("a queue in the drive", 1, "'queue in the drive': use command queueing (NCQ), queue depth 31"),
])
def test_word_or_phrase_is_found_with_its_line(text: str, line: int, what: str) -> None:
    assert prose.findings({"a": "Plain.", "b": text}) == [prose.Finding("b", line, what)]


@pytest.mark.parametrize("text", [
    "People who read the code.", "recorder-peers and apex-greedy", "The latest request is served later.",
    "Regenerate the page instead of fixing it.", "The program requires a disk.",
])
def test_plain_text_passes(text: str) -> None:
    assert prose.findings({"a": text}) == []


def test_names_are_left_out_and_lines_stay() -> None:
    text = prose.without("taken from\nthe wire, and\nanew", ["from the wire"])
    assert [(finding.line, finding.what[:6]) for finding in prose.findings({"a": text})] == [(3, "'anew'")]


def test_exception_has_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("# comment\nfrom the wire: a network\n")
    assert prose.exceptions(path) == ["from the wire"]
    path.write_text("from the wire\n")
    with pytest.raises(ToolError, match="list:1: needs a phrase"):
        prose.exceptions(path)


def test_file_of_the_list_may_fail_until_it_passes() -> None:
    texts = {"new.md": "made anew", "old.md": "made anew", "done.md": "Plain."}
    assert prose.report(texts, ["old.md", "done.md", "gone.md"]) == [
        "new.md:1: 'anew': use again, regenerated",
        "prose-todo: gone.md is not one of the files that are checked: remove its line",
        "prose-todo: done.md passes: remove its line",
    ]
    assert len(prose.report(texts, ["old.md"], everything=True)) == 2
    assert not prose.report({"a.md": "Plain."}, [])


def test_long_sentences_are_found_with_their_line() -> None:
    most = "word " * 24 + "word."
    assert list(long_sentences(f"{most} {most}\n\n- {most[:-1]}\n- {most[:-1]}\n| {most[:-1]} | {most[:-1]} |")) == []
    assert list(long_sentences(f"Short.\nThen {most}")) == [(2, 26)]


def test_phrase_is_one_of_whole_words() -> None:
    assert list(phrases("a marketplace of ideas, the wires, plate")) == []


def test_files_that_are_checked_are_ours() -> None:
    texts = prose.texts(ROOT)
    assert {"README.md", "Documentation/queue/administrators.md", "tools/testbed/lab/README.md",
            "patches/cover/null_blk.txt", "tools/testbed/lab/scenarios/players.toml"} <= texts.keys()
    later = {f"patches/cover/{name}.txt" for name in prose.LATER}
    assert not {"Documentation/queue/apex.md", *later} & texts.keys()
    assert sum(name.startswith("patches/0") for name in texts) >= 10
    for name, text in texts.items():
        assert len(text.splitlines()) <= len((ROOT / name).read_text().splitlines()), name
