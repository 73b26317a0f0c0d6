"""The race check against an enumeration of pairs of accesses: random kernels, one barrier taken out."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.interpret import interpret
from stepwell.runtime.errors import StepwellError
from tests.support.samples import examples

THREADS = 32
SPACE = "#gpu.address_space<workgroup>"


class Access(NamedTuple):
    """An access of shared memory by each thread: of element (factor * thread + shift) mod 32."""

    is_store: bool
    buffer: int
    factor: int
    """Odd, so that threads access different elements."""
    shift: int

    def cells(self) -> list[int]:
        """The element of each thread."""
        return [(self.factor * t + self.shift) % THREADS for t in range(THREADS)]


BARRIER = "gpu.barrier"
Event = Access | str


def races(events: Sequence[Event]) -> bool:
    """Whether two threads access an element, one of them writing, with no barrier between."""
    since: list[Access] = []
    for event in events:
        if not isinstance(event, Access):
            since = []
            continue
        for other in since:
            conflict = other.buffer == event.buffer and (other.is_store or event.is_store)
            if conflict and any(
                a == b and i != j for i, a in enumerate(event.cells()) for j, b in enumerate(other.cells())
            ):
                return True
        since.append(event)
    return False


def module_of(events: Sequence[Event]) -> ModuleOp:
    """A program with a kernel that does these accesses, after both buffers are written."""
    lines: list[str] = []
    value = "%v"
    for number, event in enumerate(events):
        if not isinstance(event, Access):
            lines.append(BARRIER)
            continue
        lines += [
            f"%f{number} = arith.constant {event.factor} : index",
            f"%k{number} = arith.constant {event.shift} : index",
            f"%p{number} = arith.muli %t, %f{number} : index",
            f"%q{number} = arith.addi %p{number}, %k{number} : index",
            f"%i{number} = arith.remui %q{number}, %n : index",
        ]
        place = f"%s{event.buffer}[%i{number}] : memref<{THREADS}xf32, {SPACE}>"
        if event.is_store:
            lines.append(f"memref.store {value}, {place}")
        else:
            lines.append(f"%v{number} = memref.load {place}")
            value = f"%v{number}"
    body = "\n    ".join(lines)
    memory = ", ".join(f"%s{b}: memref<{THREADS}xf32, {SPACE}>" for b in range(2))
    first = "\n    ".join(f"memref.store %v, %s{b}[%t] : memref<{THREADS}xf32, {SPACE}>" for b in range(2))
    return parse_module(
        StepwellContext(),
        f"""
gpu.module @m {{
  gpu.func @k(%x: memref<{THREADS}xf32>) workgroup({memory}) kernel {{
    %t = gpu.thread_id x
    %n = arith.constant {THREADS} : index
    %v = memref.load %x[%t] : memref<{THREADS}xf32>
    {first}
    gpu.barrier
    {body}
    memref.store {value}, %x[%t] : memref<{THREADS}xf32>
    gpu.return
  }}
}}
func.func @main(%x: memref<{THREADS}xf32>) {{
  %one = arith.constant 1 : index
  %n = arith.constant {THREADS} : index
  gpu.launch_func @m::@k blocks in (%one, %one, %one) threads in (%n, %one, %one)
      args(%x : memref<{THREADS}xf32>)
  func.return
}}""",
    )


def is_reported(events: Sequence[Event]) -> bool:
    """Whether the interpreter reports a race."""
    try:
        interpret(module_of(events), StepwellContext(), "main", [np.zeros(THREADS, np.float32)])
    except StepwellError as error:
        assert error.code == "data-race"
        return True
    return False


ACCESSES = st.builds(
    Access, st.booleans(), st.integers(0, 1), st.sampled_from([1, 3, 31]), st.sampled_from([0, 0, 1, 16])
)


@examples(200)
@given(st.lists(ACCESSES, min_size=2, max_size=6), st.data())
def test_each_needed_barrier_that_is_taken_out_is_reported(
    accesses: list[Access], data: st.DataObject
) -> None:
    events: list[Event] = []
    for access in accesses:
        if races([*events, access]):
            events.append(BARRIER)
        events.append(access)
    assert not is_reported(events)
    barriers = [position for position, event in enumerate(events) if event == BARRIER]
    if barriers:
        position = data.draw(st.sampled_from(barriers))
        mutant = events[:position] + events[position + 1 :]
        assert races(mutant) and is_reported(mutant)


@examples(100)
@given(st.lists(ACCESSES | st.just(BARRIER), max_size=8))
def test_any_kernel_is_reported_when_two_accesses_race(events: list[Event]) -> None:
    assert is_reported(events) == races(events)
