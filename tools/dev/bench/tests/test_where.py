# SPDX-License-Identifier: GPL-2.0
"""`bench where` counts from a disassembled kernel and QEMU's log; no kernel is booted."""

from __future__ import annotations

from tools.dev.bench import where

DISASSEMBLED = """\
vmlinux:     file format elf64-x86-64

ffffffff81000000 <first>:
ffffffff81000000:\tpush   %rbp
ffffffff81000001:\tmov    %rsp,%rbp
ffffffff81000004:\tcall   ffffffff81000010 <second>
ffffffff81000009:\tpop    %rbp
ffffffff8100000a:\tret

ffffffff81000010 <second>:
ffffffff81000010:\txor    %eax,%eax
ffffffff81000012:\tjne    ffffffff81000014 <second+0x4>
ffffffff81000014:\tret
"""


def trace(address: int) -> str:
    return f"Trace 0: 0x7f54c25240c0 [0000000000000000/{address:016x}/0040c2b0/ff020200] \n"


def test_a_block_ends_with_its_branch() -> None:
    known = where.blocks(DISASSEMBLED.splitlines())
    assert known[0xFFFFFFFF81000000] == ("first", 3)
    assert known[0xFFFFFFFF81000001] == ("first", 2)  # a jump into its middle runs the rest
    assert known[0xFFFFFFFF81000009] == ("first", 2)
    assert known[0xFFFFFFFF81000010] == ("second", 2)
    assert known[0xFFFFFFFF81000014] == ("second", 1)


def test_instructions_are_counted_each_time_that_a_block_runs() -> None:
    known = where.blocks(DISASSEMBLED.splitlines())
    log = [trace(0xFFFFFFFF81000000), trace(0xFFFFFFFF81000010), trace(0xFFFFFFFF81000014),
           trace(0xFFFFFFFF81000009), trace(0xFFFFFFFF81000010), "Stopped execution of TB chain\n",
           trace(0x401000)]  # of the program, which is not counted
    assert where.instructions(log, known) == {"first": 5, "second": 5}


def test_rows_are_those_that_differ_the_greatest_difference_first() -> None:
    found = {"a": {"same": 10.0, "less": 5.0, "only": 7.0}, "b": {"same": 10.0, "less": 1.5}}
    assert list(where.rows(found, 3)) == [["only", "7.0", "0.0"], ["less", "5.0", "1.5"], ["all", "22", "12"]]
