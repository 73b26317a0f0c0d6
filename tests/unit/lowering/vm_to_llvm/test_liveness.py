"""Last uses of registers: in a row, at branches, around loops, and of what nothing reads."""

from __future__ import annotations

from stepwell.lowering.vm_to_llvm.liveness import Liveness, liveness_of
from stepwell.lowering.vm_to_llvm.supported import kinds_before
from stepwell.runtime.vm.program import Function
from tests.support.vm import LIST, body, parsed


def function(*lines: str, parameters: int = 1) -> Function:
    """The function of some lines."""
    text = [line if line.startswith("^") else f"vm.{line}" for line in lines]
    return parsed(body(*text, parameters=parameters, head=LIST)).functions[0]


def of(*lines: str, parameters: int = 1) -> Liveness:
    """The last uses in a function of some lines."""
    return liveness_of(function(*lines, parameters=parameters))


def test_the_last_of_several_reads() -> None:
    found = of("alloc_adt r1, tuple(r0, r0)", "alloc_adt r2, tuple(r0, r1)", "ret r2")
    assert found.last_reads == [0b000, 0b011, 0b100]
    assert found.unread == [0, 0, 0]


def test_a_register_that_is_written_again() -> None:
    """The value before the write dies there, although the register is read later."""
    found = of("alloc_adt r0, tuple(r0)", "ret r0")
    assert found.last_reads == [0b1, 0b1]


def test_what_nothing_reads() -> None:
    found = of("move r2, r0", "ret r0", parameters=2)
    assert found.unused == 0b10
    assert found.unread == [0b100, 0]


def test_a_branch_drops_what_the_other_one_reads() -> None:
    found = of("if r0, ^bb1, ^bb2", "^bb1:", "ret r1", "^bb2:", "ret r2", parameters=3)
    assert found.last_reads[0] == 0b001
    assert found.entered == {(0, 1): 0b100, (0, 2): 0b010}


def test_a_loop_keeps_what_its_next_turn_reads() -> None:
    lines = ("goto ^bb1", "^bb1:", "alloc_adt r2, tuple(r1)", "if r0, ^bb1, ^bb2", "^bb2:", "ret r2")
    found = of(*lines, parameters=2)
    assert found.last_reads == [0, 0, 0, 0b100]
    # The next turn makes another r2; after the loop, nothing reads r0 and r1.
    assert found.entered == {(2, 1): 0b100, (2, 3): 0b011}


def test_registers_of_integers_and_of_values() -> None:
    lines = ("get_tag r1, r0", "switch r1, [^bb1, ^bb2]", "^bb1:", "move r1, r0", "ret r1", "^bb2:", "ret r0")
    integers, others = kinds_before(function(*lines))
    assert integers[:5] == [0, 0b10, 0b10, 0, 0b10]
    assert others[:5] == [0b01, 0b01, 0b01, 0b11, 0b01]
