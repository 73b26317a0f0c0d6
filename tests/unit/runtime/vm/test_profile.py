"""Observers: the profile's counts, and the lines of instructions."""

from __future__ import annotations

import numpy as np

from stepwell.runtime.vm.machine import Machine
from stepwell.runtime.vm.printer import InstructionPrinter
from stepwell.runtime.vm.profile import Profiler
from tests.support.vm import LENGTH, PACKED, parsed


def test_profile_counts_functions_instructions_and_segments() -> None:
    program = parsed(LENGTH)
    profiler = Profiler(program)
    machine = Machine(program, PACKED, hooks=lambda: [profiler])
    machine.call("length", machine.call("main", np.asarray(10)))
    profile = profiler.profile()
    counts = {(row.kind, row.name): row.runs for row in profile.rows}
    assert counts["function", "length"] == 11 and counts["function", "main"] == 1
    assert counts["function", "build"] == 11
    assert counts["instruction", "get_field"] == 10 and counts["instruction", "ret"] == 12
    assert counts["segment", "less"] == 11 and counts["segment", "add"] == 20
    assert profile.deepest == 11
    assert profile.allocated_bytes["alloc_adt"] > 10 * 40
    for kind in ("function", "instruction"):
        total = sum(row.share for row in profile.rows if row.kind == kind)
        assert abs(total - 100) < 1e-6, kind
    lines = str(profile).splitlines()
    assert (
        lines[0].split() == ["kind", "name", "runs", "us", "share"]
        and lines[-1] == "deepest stack: 11 frames"
    )


def test_instructions_are_printed_as_they_run() -> None:
    program = parsed(LENGTH)
    lines: list[str] = []
    machine = Machine(program, PACKED, hooks=lambda: [InstructionPrinter(program, lines.append, most=7)])
    made = machine.call("main", np.asarray(1))
    lines.clear()
    machine.call("length", made)
    assert lines == [
        "@length 0: get_tag r1, r0  ; reads r0 = Cons/2",
        "     ; writes r1 = 0",
        "@length 1: switch r1, [2, 7]  ; reads r1 = 0",
        "@length 2: get_field r2, r0 [1]  ; reads r0 = Cons/2",
        "     ; writes r2 = Nil/0",
        "@length 3: invoke r3, @length(r2)  ; reads r2 = Nil/0",
        "@length 0: get_tag r1, r0  ; reads r0 = Nil/0",
        "     ; writes r1 = 1",
        "@length 1: switch r1, [2, 7]  ; reads r1 = 1",
        "@length 7: load_const r1, #0",
        "     ; writes r1 = i64[]",
    ]
