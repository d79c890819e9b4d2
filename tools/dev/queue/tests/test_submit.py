# SPDX-License-Identifier: GPL-2.0
"""submit-check finds problems of each series, and ignores reports that the base has, too."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tools.base.cli import ToolError
from tools.dev.queue import analyse, common, findings, groups, sparse, submit
from tools.dev.queue.analyse import Report, new_reports
from tools.dev.queue.tests.trial import Fake, Queue
from tools.dev.queue.tree import queue_patches

LETTER = """Subject: [PATCH 0/2] Two lines

Patches 1 and 2 change a line each, and one of them adds a document.
"""
MORE = """Subject: [PATCH RFC 0/1] More lines

Patch 1 ("block: three") changes block/elevator.c. It stands on "Two
lines".
"""
SUBJECTS = ["block: one", "block: two"]
GROUPS = "lines:\n block-one\n block-two\n"
SHORTLOG = "A U Thor (2):\n  block: one\n  block: two"
DIFFSTAT = (" block/elevator.c | 4 ++--\n"
            " 1 file changed, 2 insertions(+), 2 deletions(-)")


@pytest.fixture
def letter(two_patches: Queue) -> Queue:
    """The queue of two patches, one series, with its cover letter."""
    write(two_patches, GROUPS, lines=LETTER)
    return two_patches


def write(queue: Queue, groups: str, **letters: str) -> None:
    """How the queue is cut into series, and cover letters."""
    (queue.root / "tools/dev/queue").mkdir(parents=True, exist_ok=True)
    (queue.root / "tools/dev/queue/groups").write_text(groups)
    (queue.root / "patches/cover").mkdir(exist_ok=True)
    for name, text in letters.items():
        (queue.root / f"patches/cover/{name}.txt").write_text(text)


@pytest.fixture
def stacked(letter: Queue) -> Queue:
    """A second series, of one patch, on the first."""
    old = (letter.linux / "block/elevator.c").read_text()
    letter.commit("block: three", {"block/elevator.c": old.replace("thirty;", "more;")})
    letter.works("export")
    write(letter, GROUPS + "more on lines:\n block-three\n", more=MORE)
    return letter


def site_of(queue: Queue) -> submit.Site:
    """The site of a queue after submit-check has made the series."""
    project = common.Project(queue.root, queue.root / "build", queue.cache)
    patches = queue_patches(project)
    return submit.Site(project, queue.root / "build/verify/linux", tuple(patches),
                       tuple(groups.read_groups(project, patches).values()))


def check(queue: Queue, *only: str, path: str | None = None) -> list[str]:
    """Run some of submit-check; FAIL and skip lines with what stands below them."""
    done = queue("submit-check", "--only", ",".join(only), path=path)
    lines = done.stdout.splitlines()
    assert "Traceback" not in done.stderr, done.stderr
    failed = any(line.startswith("FAIL") for line in lines)
    assert done.returncode == (1 if failed else 0), done.stdout + done.stderr
    found, take = [], False
    for line in lines[:-1]:
        if not line.startswith("     "):
            take = not line.startswith("ok  ")
        if take:
            found.append(line)
    return found


# --- the files -----------------------------------------------------------------------


def test_what_export_wrote_can_be_sent(letter: Queue) -> None:
    assert check(letter, "export", "am", "message", "checkpatch", "cover", "size",
                 "maintainers") == []


def test_an_unknown_check_is_an_error(letter: Queue) -> None:
    assert "--only: no check nothing; known: export, am, " in \
        letter.fails("submit-check", "--only", "nothing")


def test_json_has_each_finding(letter: Queue) -> None:
    done = letter("--json", "submit-check", "--only", "am,size")
    findings = json.loads(done.stdout)["findings"]
    assert [(each["check"], each["subject"], each["problems"]) for each in findings] == [
        ("am", "git am patches/*.patch, 2 patches", []), ("am", "lines, 2 patches, on the base", []),
        ("size", "lines, 2 patches, on the base", [])]


def test_commits_that_are_not_exported_are_found(letter: Queue) -> None:
    letter.commit("block: three", {"block/three.c": "int three;\n"})
    said = check(letter, "export", "am")
    assert any("0003-block-three.patch: make export writes it differently" in line
               for line in said)
    assert "     the tree that git am makes differs from build/linux" in said


def test_extra_missing_and_invalid_mails_are_found(letter: Queue) -> None:
    letter.works("submit-check", "--only", "am")
    site = site_of(letter)
    one, two = site.patches
    tree = letter.git("rev-parse", "HEAD^{tree}")

    def problems(*paths: Path) -> list[str]:
        return groups.am_problems(site.linux, paths, "base", submit.BRANCH) or submit.other_tree(
            site.linux, tree, "build/linux")

    assert problems(one, two) == []
    assert problems(one) == ["the tree that git am makes differs from build/linux"]
    assert problems(two, two) == ["git am: block: two: Documentation/block/cfq.rst: already exists in index"]
    assert problems(letter.root / "patches/cover/lines.txt", one, two) != []
    both = letter.root / "build/both"
    both.write_text(one.read_text() + two.read_text())
    assert problems(both) == ["git am made 2 commits of 1 patches"]
    assert common.git_out(site.linux, "rev-parse", "--abbrev-ref", "HEAD") == "queue"


def test_the_length_of_a_patch(letter: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    patch = ("Subject: x\n\n- a list\n+ in the text\n---\n a | 2 +-\n\ndiff --git a/a b/a\n"
             "--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n-old\n+new\n+more\n same\n")
    assert submit.changed_lines(patch) == 3
    site = site_of(letter)
    finding = submit.check_size(site, site.groups[0])
    assert finding.ok and finding.notes == ()
    monkeypatch.setattr(submit, "LONG", 3)
    finding = submit.check_size(site, site.groups[0])
    assert finding.ok and "0002-block-two.patch" in finding.notes[0]
    monkeypatch.setattr(submit, "LIMIT", 1000)
    finding = submit.check_size(site, site.groups[0])
    assert not finding.ok and "mailing lists accept" in finding.problems[0]


# --- the series --------------------------------------------------------------------------


def test_each_check_has_a_line_for_each_series(stacked: Queue) -> None:
    said = stacked.works("submit-check", "--only", "am,cover,size,maintainers").splitlines()
    for name in ("am", "cover", "size", "maintainers"):
        for series in ("lines", "more"):
            assert sum(line.startswith(f"ok   {name}: {series}, ") for line in said) == 1, said


def test_a_series_is_made_on_the_one_that_it_stands_on(stacked: Queue) -> None:
    assert check(stacked, "am") == []
    linux = stacked.root / "build/verify/linux"
    assert common.git_out(linux, "log", "--format=%s", "base..series/more").splitlines() == [
        "block: three", "block: two", "block: one"]
    write(stacked, GROUPS + "more:\n block-three\n")
    said = check(stacked, "am")
    assert said[0] == "FAIL am: more, 1 patches, on the base"
    assert said[1] == "     git am: block: three: block/elevator.c:28"


def test_a_series_that_cannot_be_made_is_told_by_every_check_of_it(stacked: Queue) -> None:
    write(stacked, GROUPS + "more:\n block-three\n")
    done = stacked("submit-check", "--only", "size")
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if not line.startswith(" ")] == [
        "FAIL am: more, 1 patches, on the base", "ok   size: lines, 2 patches, on the base", "1 passed, 1 failed"]


def test_what_stands_on_a_series_that_does_not_apply_says_so(stacked: Queue) -> None:
    write(stacked, "more:\n block-three\nlines on more:\n block-one\n block-two\n")
    assert "     more does not apply" in check(stacked, "am")


def test_verify_makes_the_series_too(stacked: Queue) -> None:
    done = stacked("verify")
    assert "ok   groups: more, 1 patches, on lines" in done.stdout
    write(stacked, GROUPS + "more:\n block-three\n")
    assert "FAIL groups: more, 1 patches, on the base" in stacked("verify").stdout


def test_a_patch_that_is_inserted_needs_one_line(letter: Queue) -> None:
    letter.commit("block: zero", {"block/zero.c": "int zero;\n"})
    one, two, zero = letter.git("rev-list", "--reverse", "base..HEAD").split()
    letter.git("reset", "-q", "--hard", "base")
    letter.git("cherry-pick", zero, one, two)
    letter.works("export")
    assert "groups: block-zero is in no group" in check(letter, "am")[1]
    write(letter, GROUPS + "two:\n block-zero\n")
    assert check(letter, "am") == []


def test_patches_of_a_series_are_in_the_order_of_the_queue(stacked: Queue) -> None:
    write(stacked, "all:\n block-three\n block-one\n\tblock-two # b\n")
    for name in ("lines", "more"):
        (stacked.root / f"patches/cover/{name}.txt").unlink()
    said = stacked.works("series", "all").splitlines()
    assert said == [str(stacked.root / f"patches/{name}") for name in (
        "0001-block-one.patch", "0002-block-two.patch", "0003-block-three.patch")]
    assert stacked.fails("series", "lines").endswith("no series 'lines' in tools/dev/queue/groups; it has all")


def test_a_kernel_without_a_series_has_the_others(stacked: Queue) -> None:
    stacked.fails("uml", "--without", "more")  # the tree of the test has nothing to build
    built = stacked.root / "build/verify/linux/block/elevator.c"
    assert "thirty;" in built.read_text()
    stacked.fails("uml", "--without", "lines")  # the other stands on it
    assert built.read_text() == stacked.git("show", "base:block/elevator.c") + "\n"
    assert "no series 'none' in tools/dev/queue/groups; it has lines, more" in stacked.fails("uml", "--without", "none")


def test_a_queue_that_is_not_cut_cannot_be_sent(two_patches: Queue) -> None:
    assert "tools/dev/queue/groups has no series" in two_patches.fails("submit-check")


@pytest.mark.parametrize(("text", "told"), [
    ("lines:\n block-one\n", "groups: block-two is in no group"),
    ("lines:\n block-one\n block-two\ntwo:\n block-two\n", "groups:5: block-two is in lines already"),
    ("lines:\n block-other\n", "groups:2: no patch of series is named NNNN-block-other.patch"),
    ("lines 1-2\n", "groups:1: 'lines 1-2' is neither"),
    (" block-one\n", "groups:1: 'block-one' is neither"),
    ("lines:\n block-one block-two\n", "groups:2: 'block-one block-two' is neither"),
    ("lines:\n block-one\nlines:\n block-two\n", "groups:3: there is a group lines above it"),
    ("lines on two:\n block-one\ntwo:\n block-two\n", "groups:1: lines is on two, which is not named above"),
    ("one:\n block-one\n block-two\n", "patches/cover/lines.txt: tools/dev/queue/groups names no lines"),
])
def test_wrong_groups_are_told(letter: Queue, text: str, told: str) -> None:
    write(letter, text)
    assert any(told in line for line in check(letter, "am"))


def test_the_document_has_the_series_that_there_are() -> None:
    """Which stands on which is said to people too, in submitting.md, in the order in which they are sent."""
    root = Path(__file__).parents[4]
    project = common.Project(root, root / "build", root / "build")
    cut = groups.read_groups(project, queue_patches(project))
    page = (root / "Documentation/queue/submitting.md").read_text()
    table = re.findall(r"^\| `(\w+)` \| (?:mainline|`(\w+)`) \|", page, re.M)
    assert table == [(group.name, group.on) for group in cut.values()]
    assert all(groups.letter(project, name).is_file() for name in cut)


# --- the cover letter --------------------------------------------------------------------


def test_a_missing_letter_is_an_error(letter: Queue) -> None:
    (letter.root / "patches/cover/lines.txt").unlink()
    assert check(letter, "cover") == ["FAIL cover: lines, patches/cover/lines.txt", "     does not exist"]


def test_the_letter_that_there_was_of_all_is_no_letter(letter: Queue) -> None:
    (letter.root / "patches/cover-letter.txt").write_text(LETTER)
    wanted = "     patches/cover-letter.txt: neither a patch, nor the folder of cover letters, nor patches/oldsched"
    assert wanted in check(letter, "cover")


def test_the_whole_letter_is_written(stacked: Queue) -> None:
    stacked.works("submit-check", "--only", "cover")
    text = (stacked.root / "build/submit/lines/0000-cover-letter.patch").read_text()
    assert "\nSubject: [PATCH 0/2] Two lines\n" in text
    assert "Patches 1 and 2 change a line each" in text
    assert "T Ester (2):\n  block: one\n  block: two\n" in text
    assert " files changed, " in text
    assert "HERE ***" not in text
    text = (stacked.root / "build/submit/more/0000-cover-letter.patch").read_text()
    assert "\nSubject: [PATCH RFC 0/1] More lines\n" in text
    assert "T Ester (1):\n  block: three\n" in text


def test_a_letter_is_sent_without_the_marks_of_results(letter: Queue) -> None:
    table = '<!--{{table players "missed deadlines"}}-->\n\n  N  cfq\n  8    0\n\n<!---->\n\n'
    write(letter, GROUPS, lines=LETTER.replace("Patches 1", f"{table}<!--{{{{a: b}}}}-->7<!----> ms. Patches 1"))
    letter.works("submit-check", "--only", "cover")
    text = (letter.root / "build/submit/lines/0000-cover-letter.patch").read_text()
    assert "\n\n  N  cfq\n  8    0\n\n7 ms. Patches 1 and 2 change" in text
    assert "<!--" not in text


@pytest.mark.parametrize(("old", "new", "told"), [
    ("stands on", "needs nothing but", ""),
    ('"Two\nlines"', "another", 'does not mention the series that it depends on, "Two lines"'),
    ('"block: three"', '"block: tree"', 'patch 1 is not "block: tree" but "block: three"'),
    ("block/elevator.c", "block/elevators.c", "mentions block/elevators.c, which does not exist after the series"),
    ("0/1", "0/3", "has no [PATCH 0/1] or [PATCH RFC 0/1]"),
    ("Patch 1 ", "Patch 3 ", "mentions patch 3 of 1"),
])
def test_what_a_letter_names_is_that_of_its_series(stacked: Queue, old: str, new: str, told: str) -> None:
    assert old in MORE
    write(stacked, GROUPS + "more on lines:\n block-three\n", more=MORE.replace(old, new))
    said = check(stacked, "cover")
    assert any(told in line for line in said) if told else said == []
    assert not any("lines, patches" in line for line in said)


@pytest.mark.parametrize(("old", "new", "told"), [
    ("0/2", "0/3", "has no [PATCH 0/2]"),
    ("[PATCH 0/2] ", "", "has no [PATCH 0/2]"),
    ("[PATCH 0/2] Two", "[PATCH 0/20] Two", "has no [PATCH 0/2]"),
    ("[PATCH 0/2] Two", "[RFC PATCH 0/2] Two", "has no [PATCH 0/2]"),
    ("Two lines", "*** SUBJECT HERE ***", "is not finished: *** SUBJECT HERE ***"),
    ("Patches 1 and 2", "EDITME 1 and 2", "is not finished: EDITME"),
    ("Patches 1 and 2", "Patches 2 and 3", "mentions patch 3 of 2"),
    ("Patches 1 and 2", "Patches 1, 2 and 4", "mentions patch 4 of 2"),
    ("Patches 1 and 2", "Patches 0 to 2", "mentions patch 0 of 2"),
    ("Patches 1 and 2", "Patch 2", 'does not mention patch 1 ("block: one")'),
    ("Patches 1 and 2", "Patch 2 (\"block:\nother\")", 'patch 2 is not "block: other" but "block: two"'),
    ("Patches 1 and 2", "Patch 4", "mentions patch 4 of 2"),
    ("Subject: ", "", "does not begin with a Subject: line"),
    ("lines\n\n", "lines\n", "does not begin with a Subject: line"),
])
def test_what_is_wrong_with_a_letter(old: str, new: str, told: str) -> None:
    assert submit.cover_problems(LETTER, SUBJECTS, SHORTLOG, DIFFSTAT) == ([], [])
    wrong, _ = submit.cover_problems(LETTER.replace(old, new), SUBJECTS, SHORTLOG, DIFFSTAT)
    assert any(told in line for line in wrong), wrong


def test_the_number_has_as_many_digits_as_git_gives_it() -> None:
    letter = LETTER.replace("0/2", "00/18").replace("1 and 2", "1 to 18")
    assert submit.cover_problems(letter, SUBJECTS * 9, SHORTLOG, DIFFSTAT) == ([], [])
    assert submit.cover_problems(letter.replace("00/", "0/"), SUBJECTS * 9, SHORTLOG, DIFFSTAT)[0]


@pytest.mark.parametrize("said", ["Patches 1-2, 3 and 4", "Patches 1 to 3 do. Patch 4", "patch 1, 2,\n3 and 4"])
def test_a_letter_may_count_in_many_ways(said: str) -> None:
    assert submit.reference_problems(said, SUBJECTS * 2) == []


def test_a_letter_may_be_that_of_an_rfc() -> None:
    letter = LETTER.replace("[PATCH 0/2]", "[PATCH RFC 0/2]")
    assert submit.cover_problems(letter, SUBJECTS, SHORTLOG, DIFFSTAT) == ([], [])
    assert (submit.prefix(letter), submit.prefix(LETTER)) == ("PATCH RFC", "PATCH")
    assert submit.title(letter) == submit.title(LETTER) == "Two lines"


def test_a_shortlog_and_a_diffstat_must_be_those_of_the_series() -> None:
    whole = f"{LETTER}\n{SHORTLOG}\n\n{DIFFSTAT}\n"
    assert submit.cover_problems(whole, SUBJECTS, SHORTLOG, DIFFSTAT) == ([], [])
    for part, old, new in (("shortlog", "block: two", "block: too"),
                           ("diffstat", "4 ++--", "5 +++--")):
        wrong, _ = submit.cover_problems(whole.replace(old, new), SUBJECTS, SHORTLOG, DIFFSTAT)
        assert [line for line in wrong if f"the {part} is not" in line] == wrong != []


def test_wide_lines_are_no_more_than_told() -> None:
    wrong, notes = submit.cover_problems(LETTER + "x" * 76 + "\n", SUBJECTS, SHORTLOG, DIFFSTAT)
    assert wrong == [] and notes == ["more than 75 columns in line 4"]


# --- recipients ----------------------------------------------------------------------------


def test_recipients_are_read_with_their_roles() -> None:
    said = ('"Matthew Wilcox (Oracle)" <willy@infradead.org> (maintainer:PAGE CACHE)\n'
            "Jan Kara <jack@suse.cz> (reviewer:FILESYSTEMS (VFS and infrastructure))\n"
            "linux-mm@kvack.org (open list:PAGE CACHE)\n")
    assert submit.recipients(said) == {
        "willy@infradead.org": "maintainer:PAGE CACHE",
        "jack@suse.cz": "reviewer:FILESYSTEMS (VFS and infrastructure)",
        "linux-mm@kvack.org": "open list:PAGE CACHE"}


def test_a_series_must_reach_the_lists_of_what_it_changes(letter: Queue) -> None:
    letter.commit("mm: three", {"mm/three.c": "int three;\n"})
    letter.works("export")
    write(letter, GROUPS + "more:\n mm-three\n")
    assert check(letter, "maintainers")[:2] == ["FAIL maintainers: more, 1 patches, on the base",
                                                "     get_maintainer.pl does not name linux-mm@kvack.org"]
    assert {"tj@kernel.org", "axboe@kernel.dk"} <= submit.wanted(["block/cfq-cgroup.c"])


def test_each_series_must_reach_the_maintainer(letter: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(letter, "maintainers") == []
    site = site_of(letter)
    monkeypatch.setattr(submit, "EVERYBODY", {"nobody@example.org"})
    assert submit.check_maintainers(site, site.groups[0]).problems == (
        "get_maintainer.pl does not name nobody@example.org",)


def test_recipients_have_the_numbers_that_patches_have_in_their_series(stacked: Queue) -> None:
    said = stacked.works("submit-check", "--only", "maintainers").splitlines()
    assert [line.split()[1] for line in said if "linux-block@" in line] == ["1-2", "1"]
    assert groups.spans([1, 2, 3, 7, 9, 10]) == "1-3,7,9-10"


def test_a_check_that_cannot_be_made_for_a_series_is_made_for_the_others(
        stacked: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    def check_it(_site: submit.Site, group: groups.Group) -> findings.Finding:
        if group.name == "lines":
            raise ToolError("no it")
        return findings.Finding("it", group.name)
    assert [(each.check, each.subject, each.problems) for each in submit.each(check_it)(site_of(stacked))] == [
        ("it", "lines", ("no it",)), ("it", "more", ())]


# --- spelling --------------------------------------------------------------------------------


CODESPELL = r"""
grep -rn BADWORD . | sed -E 's/^([^:]*:[0-9]+):.*/\1: BADWORD ==> GOODWORD/'
! grep -rq BADWORD .
"""


def test_only_added_lines_and_the_message_are_spelt(letter: Queue, fake: Fake) -> None:
    path = fake("codespell", CODESPELL)
    letter.commit("block: three", {"block/three.c": "BADWORD\n"})
    letter.works("export")
    write(letter, GROUPS + " block-three\n")
    said = check(letter, "spelling", path=path)
    patch = (letter.root / "patches/0003-block-three.patch").read_text().splitlines()
    line = patch.index("+BADWORD") + 1
    assert said[0] == "FAIL spelling: 0003-block-three.patch"
    assert said[1:] == [f"     {line}: BADWORD ==> GOODWORD"]
    two = submit.only_added((letter.root / "patches/0002-block-two.patch").read_text())
    assert "int thirty;" in two and "int line30;" not in two and "int line29;" not in two


def test_the_cover_letters_are_spelt(letter: Queue, fake: Fake) -> None:
    path = fake("codespell", CODESPELL)
    assert check(letter, "spelling", path=path) == []
    write(letter, GROUPS, lines=LETTER + "BADWORD\n")
    assert check(letter, "spelling", path=path)[0] == "FAIL spelling: patches/cover/lines.txt"


def test_a_missing_program_skips_and_says_so(letter: Queue, tmp_path: Path) -> None:
    folder = tmp_path / "few"
    folder.mkdir()
    for name in ("git", "sh", "python3", "readlink"):
        (folder / name).symlink_to(f"/usr/bin/{name}")
    said = check(letter, "spelling", "b4", "smatch", path=str(folder))
    assert [line.split(":")[0] for line in said] == ["skip spelling", "skip b4", "skip smatch"]
    assert "is not installed" in said[0]


def test_words_need_their_reason(letter: Queue) -> None:
    folder = letter.root / "tools/dev/queue"
    project = common.Project(letter.root, letter.root / "build", letter.cache)
    (folder / "codespell-exceptions").write_text("# a\nnd a struct\n")
    assert submit.read_words(project) == ["nd"]
    (folder / "codespell-exceptions").write_text("# a\nnd\n")
    with pytest.raises(ToolError, match="codespell-exceptions:2: needs"):
        submit.read_words(project)


# --- b4 ----------------------------------------------------------------------------------------


def test_the_mails_are_counted_and_have_the_prefix_of_the_letter(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"000{number}-x.eml").write_text(f"Subject: [PATCH RFC {number}/2] x\n\ntext\n")
    assert submit.mail_problems(tmp_path, 2, "PATCH RFC") == []
    assert submit.mail_problems(tmp_path, 3, "PATCH RFC") == [
        "b4 send wrote 3 mails for 3 patches and a cover letter"]
    assert len(submit.mail_problems(tmp_path, 2, "PATCH")) == 3
    (tmp_path / "0001-x.eml").write_text("Subject: [PATCH RFC 1/3]\n x\n\n")
    assert submit.mail_problems(tmp_path, 2, "PATCH RFC") == [
        "0001-x.eml: the subject has no PATCH RFC 1 of 2"]


# What submit-check asks of b4: it notes where the branch begins and what is before the number, and writes the mails.
B4 = r"""
echo "$@" >> "$HOME_OF_B4/said"
case "$*" in
*--enroll*) echo "${@: -1}" > "$HOME_OF_B4/base"; echo PATCH > "$HOME_OF_B4/prefix" ;;
*--set-prefixes*) echo "PATCH ${@: -1}" > "$HOME_OF_B4/prefix" ;;
*--edit-cover*) $EDITOR "$HOME_OF_B4/cover" ;;
*send*)
	git format-patch -q -o "${@: -1}" --suffix=.eml --cover-letter \
		--subject-prefix="$(cat "$HOME_OF_B4/prefix")" "$(cat "$HOME_OF_B4/base").."
	cd "${@: -1}" || exit
	[ ! -e "$HOME_OF_B4/lose" ] || sed -i 's/^+int thirty;/+int thirsty;/' *.eml ;;
esac
"""


def test_b4_makes_the_mails_of_each_series_on_what_it_stands_on(
        stacked: Queue, fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fake("b4", B4)
    monkeypatch.setenv("HOME_OF_B4", str(tmp_path))
    assert check(stacked, "b4", path=path) == []
    said = (tmp_path / "said").read_text()
    assert said.index("prep --enroll base") < said.index("prep --enroll series/lines")
    assert said.count("--set-prefixes RFC") == 1
    assert (tmp_path / "cover").read_text().startswith("More lines\n\nPatch 1")
    mails = sorted(path.name for path in (stacked.root / "build/submit").glob("*/mails/*.eml"))
    assert mails == ["0000-cover-letter.eml", "0000-cover-letter.eml", "0001-block-one.eml", "0001-block-three.eml",
                     "0002-block-two.eml"]
    (tmp_path / "lose").touch()
    said = "\n".join(check(stacked, "b4", path=path))
    assert "FAIL b4: lines as mails, build/submit/lines/mails" in said
    assert "the tree that git am makes differs from the series" in said
    (stacked.root / "patches/cover/more.txt").unlink()
    assert "     patches/cover/more.txt does not exist" in check(stacked, "b4", path=path)


# --- reports ---------------------------------------------------------------------------------


LINUX = Path("/src/linux")


@pytest.mark.parametrize(("pattern", "line", "report"), [
    (analyse.COMPILER, "/src/linux/block/a.c:10:5: warning: unused variable 'x' [-Wunused]",
     Report("block/a.c", 10, "unused variable 'x' [-Wunused]")),
    (analyse.COMPILER, "../block/a.c:10:5: error: undefined",
     Report("block/a.c", 10, "undefined")),
    (analyse.COMPILER, "../block/a.h:3: fatal error: x.h: no such file",
     Report("block/a.h", 3, "x.h: no such file")),
    (analyse.SMATCH, "block/a.c:10 f() warn: inconsistent returns",
     Report("block/a.c", 10, "f() warn: inconsistent returns")),
    (analyse.COCCI, "/src/linux/block/a.c:10:4-9: WARNING: use min()",
     Report("block/a.c", 10, "WARNING: use min()")),
    (analyse.KERNEL_DOC, "Warning: block/a.c:10 No description found for return value of 'f'",
     Report("block/a.c", 10, "No description found for return value of 'f'")),
    (analyse.SPHINX, "/src/linux/Documentation/block/a.rst:10: WARNING: Title too short. [docutils]",
     Report("Documentation/block/a.rst", 10, "Title too short. [docutils]")),
    (analyse.SPHINX, "/src/linux/Documentation/block/a.rst: WARNING: not in any toctree",
     Report("Documentation/block/a.rst", 0, "not in any toctree")),
])
def test_reports_are_read(pattern: object, line: str, report: Report) -> None:
    text = f"  CC      block/warning.o\n{line}\n  note: this is none\n"
    assert analyse.reports(pattern, text, LINUX) == {report}  # type: ignore[arg-type]


def test_only_what_the_base_does_not_say_is_new() -> None:
    old = [Report("a.c", 10, "unused x"), Report("b.c", 3, "leak of y on line 3")]
    moved = [Report("a.c", 20, "unused x"), Report("b.c", 33, "leak of y on line 33")]
    assert new_reports(moved, old) == []
    assert new_reports([*moved, Report("a.c", 30, "unused x")], old) == [
        Report("a.c", 30, "unused x")]
    assert new_reports([Report("c.c", 10, "unused x")], old) == [Report("c.c", 10, "unused x")]
    assert new_reports([Report("a.c", 10, "unused z")], old) == [Report("a.c", 10, "unused z")]


@pytest.fixture
def word(monkeypatch: pytest.MonkeyPatch) -> None:
    """An analysis that reports each line with BAD in it."""
    def run(site: analyse.Site, files: list[str]) -> analyse.Reports:
        return {Report(name, number, line) for name in files
                for number, line in enumerate((site.linux / name).read_text().splitlines(), 1)
                if "BAD" in line}
    monkeypatch.setitem(analyse.ANALYSES, "word", analyse.Analysis("BAD", analyse.Site.units, run))


def analysed(queue: Queue) -> findings.Finding:
    queue.works("submit-check", "--only", "am")
    project = common.Project(queue.root, queue.root / "build", queue.cache)
    linux = queue.root / "build/verify/linux"
    (finding,) = analyse.analyse(project, linux, ["word"])
    head = common.git_out(linux, "rev-parse", "--abbrev-ref", "HEAD")
    assert head == "queue"
    return finding


@pytest.mark.usefixtures("word")
def test_an_analysis_looks_at_the_kernels_files_of_the_series(letter: Queue) -> None:
    letter.commit("block: three", {"block/three.c": "int x;\nint BAD;\n",
                                   "tools/testing/selftests/cfq/x.c": "BAD\n"})
    letter.works("export")
    write(letter, GROUPS + " block-three\n")
    finding = analysed(letter)
    assert finding.problems == ("block/three.c:2: int BAD;",)
    assert finding.subject == "BAD, 2 files"


@pytest.mark.usefixtures("word")
def test_what_the_base_says_too_is_no_problem(queue: Queue, tree: Path) -> None:
    name = "block/elevator.c"
    (tree / name).write_text("int BAD;\n" + (tree / name).read_text())
    write(queue, "lines:\n block-one\n")
    queue.works("tree", kernel=tree)
    queue.commit("block: one", {name: "int more;\n" + (tree / name).read_text()})
    queue.works("export", kernel=tree)
    queue.works("submit-check", "--only", "am", kernel=tree)
    project = common.Project(queue.root, queue.root / "build", queue.cache)
    (finding,) = analyse.analyse(project, queue.root / "build/verify/linux", ["word"])
    assert finding.ok and finding.notes == ("1 reports also exist on the base",)


@pytest.mark.usefixtures("word")
def test_an_exception_excuses_one_report_of_its_kind(letter: Queue) -> None:
    letter.commit("block: three", {"block/three.c": "int BAD;\nint BAD2;\nint x; /* BAD */\n"})
    letter.works("export")
    write(letter, GROUPS + " block-three\n")
    path = letter.root / analyse.EXCEPTIONS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("word block/three.c int it is needed\n"
                    "other block/three.c int says another check\n"
                    "word block/two.c int is in another file\n")
    finding = analysed(letter)
    assert finding.problems == ("block/three.c:2: int BAD2;", "block/three.c:3: int x; /* BAD */")
    assert finding.notes == (f"1 reports are excused in {analyse.EXCEPTIONS}",)


def test_every_exception_of_an_analysis_is_of_one_that_there_is(letter: Queue) -> None:
    root = Path(__file__).parents[4]
    project = common.Project(root, letter.root / "build", letter.cache)
    for check, _, _ in findings.reasoned(project, analyse.EXCEPTIONS, "a check", "a file", "a kind"):
        assert check in analyse.names()


def test_the_analyzer_gets_the_compilers_command_and_writes_nothing() -> None:
    words = analyse.analyzer_command(
        "ccache clang-19 -Wp,-MMD,block/.a.o.d -nostdinc -DX='\"a b\"' -c -o block/a.o ",
        "/src/linux/block/a.c")
    assert words[:3] == ["clang-19", "-nostdinc", '-DX="a b"']
    assert words[-1] == "/src/linux/block/a.c" and "--analyze" in words
    assert "-c" not in words and "-o" not in words and "block/a.o" not in words


def test_a_checker_that_make_would_leave_out_is_no_checker(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts/checker-valid.sh"
    for says, command in (("echo 1", sparse.SPARSES[0]), ("echo 0", ""),
                          ("[ $# = 2 ] && echo 1 || echo 0", sparse.SPARSES[1])):
        script.write_text(f"#!/bin/sh\n{says}\n")
        script.chmod(0o755)
        assert sparse.sparse_command(tmp_path) == command


def test_a_semantic_patch_that_fails_does_not_stop_the_others(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    linux = tmp_path / "linux"
    for name in ("a", "b", "c"):
        path = linux / f"scripts/coccinelle/api/{name}.cocci"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("virtual report\n" if name != "c" else "virtual patch\n")
    script = linux / "scripts/coccicheck"
    script.write_text('#!/bin/sh\ncase $COCCI in */a.cocci) exit 1 ;; esac\n'
                      'echo "$srcroot/block/x.c:3:4-5: WARNING: of $COCCI"\n')
    script.chmod(0o755)
    (linux / "block").mkdir()
    (linux / "block/x.c").write_text("int x;\n")
    project = common.Project(tmp_path, tmp_path / "build", tmp_path / "cache")
    site = analyse.Site(project, linux, ("block/x.c",), frozenset())
    assert analyse.run_cocci(site, ["block/x.c"]) == {
        Report("block/x.c", 3, f"WARNING: of {linux}/scripts/coccinelle/api/b.cocci")}
    assert "not run: a (" in capsys.readouterr().err


def test_versions_are_compared_as_numbers() -> None:
    assert analyse.version("Debian clang version 9.0.1") < analyse.version("17.0.1\n") \
        < analyse.version("Debian clang version 19.1.7 (3~deb12u1)")
    assert analyse.version("none") == ()


def test_folders_of_the_documents() -> None:
    assert analyse.sphinx_dirs(["Documentation/block/a.rst", "Documentation/ABI/testing/x",
                                "Documentation/admin-guide/b.rst", "Documentation/index.rst"]) \
        == ["admin-guide", "block"]


# --- for people --------------------------------------------------------------------------------


def test_a_skipped_check_is_not_counted_as_passed() -> None:
    lines: list[str] = []
    findings.report([findings.Finding("a", "one"), findings.Finding("b", "two", skipped="no c"),
                   findings.Finding("d", "three", ("wrong",), ("known",))], lines.append)
    assert lines == ["ok   a: one", "skip b: two: no c", "FAIL d: three", "     wrong",
                     "     known", "1 passed, 1 failed, 1 skipped"]
