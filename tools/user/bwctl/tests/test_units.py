# SPDX-License-Identifier: GPL-2.0
"""Rates and times: a table of valid ones, a table of invalid ones, and random ones compared with Python's fractions."""

from __future__ import annotations

import random
import re
from fractions import Fraction

import pytest

from tools.user.bwctl.tests.conftest import Builds

BINARY = {"K": 2**10, "M": 2**20, "G": 2**30}
DECIMAL = {"k": 10**3, "M": 10**6, "G": 10**9}

GOOD_RATES = {  # bits a second
    "3145728": 3145728 * 8, "1B": 8, "3M": 3 * 2**20 * 8, "3MiB": 3 * 2**20 * 8, "3MB": 3 * 10**6 * 8,
    "3m": 3 * 2**20 * 8, "3mib": None, "3miB": 3 * 2**20 * 8, "24Mbit": 24 * 10**6, "24mbit": 24 * 10**6,
    "24Mbit/s": 24 * 10**6, "3MiB/s": 3 * 2**20 * 8, "128K": 2**20, "128k": 2**20, "128KiB": 2**20,
    "128kiB": 2**20, "128kB": 128000 * 8, "128KB": 128000 * 8, "0.1G": Fraction(2**33, 10), "1bit": 1,
    "1kbit": 1000, "1Gbit": 10**9, "0.125M": 2**20, "1.000000000000M": 2**23, "0000003M": 3 * 2**23, "0": 0,
    "0.0M": 0, "1.5": 12, "0.000000001B": Fraction(8, 10**9), "3/s": 24, "18446744073709551615bit": 2**64 - 1,
}

BAD_RATES = [
    "", " ", " 3M", "3M ", "3 M", "+3M", "-3M", "-0", "--3", "M", ".5M", "3.M", "3.", "3..5M", "3.5.1M", "3,5M",
    "NaN", "nan", "inf", "Infinity", "1e6", "0x10", "0x10M", "3T", "3TiB", "3Mi", "3Mb", "3MBit", "3Mbits", "3mb",
    "3kb", "3b", "3BM", "3MM", "3M/", "3M/S", "3M/s/s", "3M/sec", "3Mbps", "3 MiB/s", "3%", "3M;", "3M\t", "\t3M",
    "3\x01M", "٣M", "３M", "3Ｍ", "3µ", "99999999999999999999", "18446744073709551616bit", "2305843009213693952B",
    "18446744073709551615M", "999999999999999999999999999999999999G", "0.0000000001M", "1.1234567891M",
    "3\xffM", "M3", "three", "'3M'", "3M\\n", "$3", "3K3K",
]

GOOD_TIMES = {  # ns
    "200ms": 200 * 10**6, "0.2s": 200 * 10**6, "1s": 10**9, "25000us": 25 * 10**6, "0ms": 0, "0.5us": 500,
    "1.0000000000s": 10**9, "2000.000001ms": 2000000001, "0.0001us": Fraction(1, 10),
}

BAD_TIMES = [
    "", "200", "ms", "s", "-200ms", "+1s", "200 ms", "200ms ", "200MS", "200Ms", "200msec", "1m", "1min", "1h", "1ns",
    "200ms/s", "1e3ms", "0x10ms", "NaN", "infs", "1.s", ".2s", "1..2s", "1,5s", "18446744074s",
    "99999999999999999999ms", "0.0000000001s", "200µs", "１s", "1s1s", "2s\x7f",
]


def ask(builds: Builds, kind: str, texts: list[str]) -> list[str]:
    lines = [f"{kind} {text}".encode("utf-8", "surrogateescape") for text in texts]
    return builds.ask(lines)


def amount(answer: str) -> tuple[int, bool]:
    assert not answer.startswith("!"), answer
    whole, more = answer.split()
    return int(whole), more == "1"


def floor_and_more(exact: Fraction | int) -> tuple[int, bool]:
    whole = int(exact)
    return whole, exact != whole


@pytest.mark.parametrize("kind, table", [("rate", GOOD_RATES), ("time", GOOD_TIMES)])
def test_good_texts_have_their_exact_amount(builds: Builds, kind: str,
                                            table: dict[str, Fraction | int | None]) -> None:
    for text, answer in zip(table, ask(builds, kind, list(table)), strict=True):
        expected = table[text]
        if expected is None:
            assert answer.startswith("!"), text
        else:
            assert amount(answer) == floor_and_more(expected), text


@pytest.mark.parametrize("kind, texts", [("rate", BAD_RATES), ("time", BAD_TIMES)])
def test_bad_texts_are_refused(builds: Builds, kind: str, texts: list[str]) -> None:
    accepted = [text for text, answer in zip(texts, ask(builds, kind, texts), strict=True)
                if not answer.startswith("! ")]
    assert accepted == []


def expected_rate(text: str) -> Fraction | None:
    """The documented grammar, in another form."""
    found = re.fullmatch(r"(\d+)(?:\.(\d+))?(?:([kmgKMG]?)(iB|B|bit)?)(/s)?", text, re.ASCII)
    if not found:
        return None
    integer, decimals, prefix, base, _ = found.groups()
    if base == "iB" and not prefix:
        return None
    if base in ("B", "bit"):
        scale = DECIMAL[{"k": "k", "m": "M", "g": "G"}[prefix.lower()]] if prefix else 1
    else:
        scale = BINARY[prefix.upper()] if prefix else 1
    return expected(integer, decimals, scale * (1 if base == "bit" else 8))


def expected_time(text: str) -> Fraction | None:
    found = re.fullmatch(r"(\d+)(?:\.(\d+))?(us|ms|s)", text, re.ASCII)
    return expected(found[1], found[2], {"us": 10**3, "ms": 10**6, "s": 10**9}[found[3]]) if found else None


def expected(integer: str, decimals: str | None, scale: int) -> Fraction | None:
    decimals = (decimals or "").rstrip("0")
    if len(decimals) > 9:
        return None
    result = (Fraction(int(integer)) + Fraction(int(decimals or "0"), 10 ** len(decimals))) * scale
    return result if result < 2**64 else None


UNITS = {"rate": ["", "B", "bit", "s", *(p + b for p in "kmgKMG" for b in ("", "B", "iB", "bit"))],
         "time": ["s", "ms", "us", "s", "ms", "us", "", "M"]}


def drawn(kind: str, seed: int, count: int) -> list[str]:
    """Texts that are good, nearly good, or anything."""
    draw = random.Random(seed)
    texts = []
    for _ in range(count):
        number = str(draw.choice([0, 1, draw.randrange(1024), draw.randrange(2**33), draw.randrange(2**66)]))
        if draw.random() < 0.5:
            number += "." + "".join(draw.choice("0123456789") for _ in range(draw.randrange(1, 12)))
        text = number + draw.choice(UNITS[kind]) + draw.choice(["", "", "", "/s"])
        for _ in range(draw.choice([0, 0, 0, 1, 2])):
            at = draw.randrange(len(text) + 1)
            text = draw.choice([text[:at] + draw.choice("0159.-+ eEKMGkmgiBbtus/\t\x01%") + text[at:],
                                text[:at] + text[at + 1:], text[:at]])
        texts.append(text)
    alphabet = "0123456789.kMGiBbts/u"
    texts += ["".join(draw.choice(alphabet) for _ in range(draw.randrange(9))) for _ in range(count)]
    return texts


@pytest.mark.parametrize("kind", ["rate", "time"])
@pytest.mark.parametrize("seed", range(3))
def test_drawn_texts_are_judged_as_by_fractions(builds: Builds, kind: str, seed: int) -> None:
    texts = drawn(kind, seed, 4000)
    reference = expected_rate if kind == "rate" else expected_time
    judged = {True: 0, False: 0}
    for text, answer in zip(texts, ask(builds, kind, texts), strict=True):
        exact = reference(text)
        judged[exact is not None] += 1
        if exact is None:
            assert answer.startswith("! "), text
        else:
            assert amount(answer) == floor_and_more(exact), text
    assert min(judged.values()) > 300, "the drawn texts try both sides"
