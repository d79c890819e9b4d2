# SPDX-License-Identifier: GPL-2.0
"""Each commit's kselftests have of the library what they call."""

from __future__ import annotations

import pytest

from tools.dev.queue.kselftests import KSELFTESTS, shell_problems
from tools.dev.queue.tests.trial import Queue

FOLDER = "tools/testing/selftests/cfq"
COMMON = "cfq_fail()\n{\n\texit 1\n}\n"
TEST = """. "$(dirname "$0")/cfq_common.sh"
# cfq_later() comes later
"$(dirname "$0")/cfq_aio" || cfq_fail "no cfq_aio"
"""


def problems(queue: Queue, **changes: str) -> list[str]:
    """Of a commit with a library, a program and a test, some of them changed."""
    files = {"common": COMMON, "aio": "int main;\n", "test": TEST, **changes}
    names = {"common": "cfq_common.sh", "aio": "cfq_aio.c", "test": "test_one.sh"}
    queue.works("tree")
    queue.commit("selftests: cfq: one", {f"{FOLDER}/{names[key]}": text for key, text in files.items()})
    return shell_problems(queue.linux, "HEAD")


def test_all_that_is_called_is_there(queue: Queue) -> None:
    assert problems(queue) == []


def test_a_tree_without_kselftests_has_no_problem(queue: Queue) -> None:
    queue.works("tree")
    assert shell_problems(queue.linux, "base") == []


def test_a_function_of_its_own_is_there(queue: Queue) -> None:
    assert problems(queue, test=TEST + "cfq_own()\n{\n\ttrue\n}\ncfq_own\n") == []


@pytest.mark.parametrize("call", ["cfq_wait_for true", "x=$(cfq_wait_for)", "true || cfq_wait_for",
                                  "if cfq_wait_for; then :; fi"])
def test_a_function_of_a_later_commit_is_found(queue: Queue, call: str) -> None:
    assert problems(queue, test=f"{TEST}{call}\n") == ["test_one.sh: cfq_wait_for() is not defined"]
    queue.commit("selftests: cfq: two", {f"{FOLDER}/cfq_common.sh": COMMON + "cfq_wait_for()\n{\n\t:\n}\n"})
    assert shell_problems(queue.linux, "HEAD") == []
    assert shell_problems(queue.linux, "HEAD~") != []


def test_a_call_within_the_library_counts(queue: Queue) -> None:
    assert problems(queue, common=COMMON + "cfq_x()\n{\n\tcfq_y\n}\n") == [
        "cfq_common.sh: cfq_y() is not defined"]


@pytest.mark.parametrize("name", KSELFTESTS)
def test_each_folder_has_functions_of_its_own(queue: Queue, name: str) -> None:
    queue.works("tree")
    queue.commit("selftests: one", {f"tools/testing/selftests/{name}/test_one.sh": f"{name}_x\n"})
    assert shell_problems(queue.linux, "HEAD") == [f"test_one.sh: {name}_x() is not defined"]


def test_a_script_that_bash_cannot_read_is_found(queue: Queue) -> None:
    found = problems(queue, test=TEST + "if true; then\n")
    assert len(found) == 1
    assert found[0].startswith("test_one.sh: line ")


def test_bisect_check_tells_it(queue: Queue) -> None:
    assert problems(queue, test=TEST + "cfq_x\n") != []
    queue.commit("block: two", {"block/elevator.c": "EXPORT_SYMBOL_GPL(elevator);\n"})
    queue.works("export")
    told = queue("bisect-check").stdout
    assert "FAIL kselftests: 0001-selftests-cfq-one.patch\n     test_one.sh: cfq_x() is not defined" in told
