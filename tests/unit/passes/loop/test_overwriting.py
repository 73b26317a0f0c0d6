"""Results over operands: random loops against all orders of their reads and writes, and whole models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import onnx
from hypothesis import given
from hypothesis import strategies as st
from onnx import numpy_helper
from xdsl.dialects.func import FuncOp

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.passes.analysis.overwriting import overwritable
from tests.onnx_models import onnx_model
from tests.support import c_programs
from tests.support.samples import examples, whole


class Touch(NamedTuple):
    """A read of `x`, or a write of `y`, of `count` elements of a row: index = constant + factors * loops."""

    is_write: bool
    lanes: int
    row: tuple[int, ...]
    column: tuple[int, ...]


class Loop(NamedTuple):
    """A loop of `steps` iterations; its index begins at that of another loop, where `begin` names one."""

    is_parallel: bool
    steps: int
    step: int
    body: tuple[Touch | Loop, ...]


Item: TypeAlias = "Touch | Loop"
_factors = st.tuples(st.integers(0, 3), *[st.integers(-1, 2)] * 3)
_touches = st.builds(Touch, st.booleans(), st.sampled_from([1, 1, 2, 4]), _factors, _factors)


def _loops(depth: int) -> st.SearchStrategy[Item]:
    inner = _touches if depth == 0 else st.one_of(_touches, _loops(depth - 1))
    body = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.builds(Loop, st.booleans(), st.integers(1, 3), st.sampled_from([1, 1, 2, 4]), body)


PROGRAMS = st.lists(st.one_of(_touches, _loops(2)), min_size=1, max_size=3)


class Instance(NamedTuple):
    """A read or write of one element, with its place in the order: positions in the text and iterations."""

    is_write: bool
    path: tuple[tuple[int, int, bool], ...]
    """Of each loop: the position in its block, the iteration, and whether the loop is parallel."""
    position: int
    element: tuple[int, int]


def instances(
    items: Sequence[Item], path: tuple[tuple[int, int, bool], ...] = (), at: tuple[int, ...] = ()
) -> Iterator[Instance]:
    """All reads and writes of a program."""
    for position, item in enumerate(items):
        if isinstance(item, Loop):
            for step in range(item.steps):
                inner = (*path, (position, step, item.is_parallel))
                yield from instances(item.body, inner, (*at, step * item.step))
            continue
        row, column = (
            factors[0] + sum(f * i for f, i in zip(factors[1:], at, strict=False))
            for factors in (item.row, item.column)
        )
        for lane in range(item.lanes):
            yield Instance(item.is_write, path, position, (row, column + lane))


def is_before(a: Instance, b: Instance) -> bool:
    """Whether one always comes before the other, in whatever order iterations of parallel loops run."""
    for (at, step, is_parallel), (other, later, _) in zip(a.path, b.path, strict=False):
        if at != other:
            return at < other
        if step != later:
            return step < later and not is_parallel
    positions = [
        each.path[len(other.path)][0] if len(each.path) > len(other.path) else each.position
        for each, other in ((a, b), (b, a))
    ]
    for (at, _, _), (other, _, _) in zip(a.path, b.path, strict=False):
        assert at == other
    return positions[0] < positions[1]


def may_overwrite(program: Sequence[Item]) -> bool:
    """Whether each element is read before it is written."""
    every = list(instances(program))
    reads, writes = ([e for e in every if e.is_write == kind] for kind in (False, True))
    return all(r.element != w.element or is_before(r, w) for r, w in product(reads, writes))


def text_of(program: Sequence[Item]) -> str:
    """The program on level 3, shifted so that no index is negative."""
    touched = [each.element for each in instances(program)] or [(0, 0)]
    low = [min(element[d] for element in touched) for d in (0, 1)]
    shape = [max(element[d] for element in touched) - low[d] + 1 for d in (0, 1)]
    memory = f"memref<{shape[0]}x{shape[1]}xf32>"
    lines: list[str] = []
    numbers = {n: f"%n{n + 9}" for n in range(-9, 40)}
    lines += [f"{name} = arith.constant {n} : index" for n, name in numbers.items()]
    lines += ["%zero = arith.constant 0.0 : f32"]
    lines += [f"%v{n} = arith.constant dense<0.0> : vector<{n}xf32>" for n in (2, 4)]
    fresh = iter(range(10**6))

    def index(factors: Sequence[int], loops: Sequence[str], shift: int) -> str:
        total = numbers[factors[0] - shift]
        for factor, loop in zip(factors[1:], loops, strict=False):
            scaled, sum = f"%s{next(fresh)}", f"%s{next(fresh)}"
            lines.append(f"{scaled} = arith.muli {loop}, {numbers[factor]} : index")
            lines.append(f"{sum} = arith.addi {total}, {scaled} : index")
            total = sum
        return total

    def write(items: Sequence[Item], loops: tuple[str, ...]) -> None:
        for item in items:
            if isinstance(item, Touch):
                at = ", ".join(
                    index(factors, loops, low[d]) for d, factors in enumerate((item.row, item.column))
                )
                vector = f"vector<{item.lanes}xf32>"
                if item.lanes > 1 and item.is_write:
                    lines.append(
                        f"vector.transfer_write %v{item.lanes}, %y[{at}] {{in_bounds = [true]}}"
                        f" : {vector}, {memory}"
                    )
                elif item.lanes > 1:
                    lines.append(
                        f"%r{next(fresh)} = vector.transfer_read %x[{at}], %zero {{in_bounds = [true]}}"
                        f" : {memory}, {vector}"
                    )
                elif item.is_write:
                    lines.append(f"memref.store %zero, %y[{at}] : {memory}")
                else:
                    lines.append(f"%r{next(fresh)} = memref.load %x[{at}] : {memory}")
                continue
            counter, end = f"%i{next(fresh)}", numbers[item.steps * item.step - item.step + 1]
            begin, step = numbers[0], numbers[item.step]
            if item.is_parallel:
                segments = "operandSegmentSizes = array<i32: 1, 1, 1, 0>"
                lines.append(f'"scf.parallel"({begin}, {end}, {step}) <{{{segments}}}> ({{')
                lines.append(f"^bb0({counter}: index):")
                write(item.body, (*loops, counter))
                lines.append("scf.reduce\n}) : (index, index, index) -> ()")
            else:
                lines.append(f"scf.for {counter} = {begin} to {end} step {step} {{")
                write(item.body, (*loops, counter))
                lines.append("}")

    write(program, ())
    kernel = "sched.kernel = #sched.kernel<inputs = 1, outputs = 1>"
    body = "\n".join(lines)
    return f"func.func @k(%x: {memory}, %y: {memory}) attributes {{{kernel}}} {{\n{body}\nfunc.return\n}}\n"


def is_marked(program: Sequence[Item]) -> bool:
    """Whether the analysis finds that the result may be over the operand."""
    module = parse_module(StepwellContext(), text_of(program))
    (function,) = [op for op in module.ops if isinstance(op, FuncOp)]
    return list(overwritable(function, 1, 1)) == [(0, 0)]


@examples(120)
@given(PROGRAMS)
def test_what_is_marked_reads_each_element_before_it_is_written(program: list[Item]) -> None:
    if is_marked(program):
        assert may_overwrite(program)


def test_most_of_what_loops_in_rows_may_overwrite_is_marked() -> None:
    """Tiles along a dimension, with reads before writes in each: the shapes that schedules have."""
    read, write = (Touch(kind, 4, (0, 1, 0, 0), (0, 0, 1, 0)) for kind in (False, True))
    for outer, inner in product((False, True), repeat=2):
        assert is_marked([Loop(outer, 3, 1, (Loop(inner, 3, 4, (read, write)),))])
        assert is_marked([Loop(outer, 3, 1, (Loop(inner, 3, 4, (read,)), Loop(inner, 3, 4, (write,))))])
        assert not is_marked([Loop(outer, 3, 1, (Loop(inner, 3, 4, (write, read)),))])
        assert is_marked([Loop(outer, 3, 1, (Loop(inner, 3, 2, (read, write)),))]) is False


MODEL = """
g (float[1,16,12,12] x) => (float[1,16,12,12] y) {
  a = Conv<pads=[1,1,1,1], group=16>(x, w) b = Relu(a) c = Conv(b, v) d = Sigmoid(c)
  e = Conv<pads=[1,1,1,1], group=16>(d, w) f = Exp(e) h = Conv(f, v) y = Tanh(h)
}
"""


def model_in_place() -> onnx.ModelProto:
    """Convolutions of each channel alone and of single pixels, and elementwise ops, of one shape."""
    rng, model = np.random.default_rng(0), onnx_model(MODEL)
    for name, shape in {"w": (16, 1, 3, 3), "v": (16, 16, 1, 1)}.items():
        array = (rng.standard_normal(shape) / 4).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    return model


def test_results_over_operands_have_the_same_bits_in_less_memory() -> None:
    shared = stepwell.compile(model_in_place())
    with stepwell.PassContext(disabled_pass=["mark-in-place"]):
        apart = stepwell.compile(model_in_place())
    assert shared.interface.arena_bytes.value < apart.interface.arena_bytes.value
    x = np.random.default_rng(1).standard_normal((1, 16, 12, 12)).astype(np.float32)
    assert np.array_equal(shared(x), apart(x))


_PROGRAM = """
#include "m.c"
#include <stdio.h>
int main(void) {
  static float x[2304], y[2304];
  static unsigned char memory[M_WORKSPACE_BYTES + 64];
  m_inputs in = {x};
  m_outputs out = {y};
  m_call call = {0};
  for (int i = 0; i < 2304; i++) x[i] = (float)((i * 7919) % 2003) / 1000.0f - 1.0f;
  call.workspace = memory + (64 - (uintptr_t)memory % 64) % 64;
  call.workspace_bytes = M_WORKSPACE_BYTES;
  if (m_run(&in, &out, &call)) return 1;
  printf("bytes %d\\nvalues ", (int)M_WORKSPACE_BYTES);
  for (int i = 0; i < 2304; i++) printf("%a,", (double)y[i]);
  printf("\\n");
  return 0;
}
"""


def test_scalars_are_read_before_they_are_written() -> None:
    """A kernel of scalars that reads an operand again, after results of the operand's size are written."""
    model = onnx_model("""
        g (int32 x, int32 w) => (int32 c, int32 y, bool is_large, float[1,5] hot)
        <int32 two = {-2}, int32 four = {4}, int64[1] zero = {0}, int64 five = {5}, float[2] of = {0, 1}> {
          a = Add(x, two) b = Mul(a, a) c = Div(a, x) d = Add(x, c) e = Sub(four, b) y = Min(d, e)
          f = Max(a, w) is_large = GreaterOrEqual(f, four)
          g = Unsqueeze(e, zero) hot = OneHot<axis=-1>(g, five, of)
        }
    """)
    found = stepwell.compile(model)(np.array(6, np.int32), np.array(4, np.int32))
    assert [np.asarray(each).tolist() for each in found] == [0, -12, True, [[0.0] * 5]]


@whole
def test_c_has_one_feature_map_less_and_the_same_bits(tmp_path: Path) -> None:
    """Convolutions of single pixels copy their columns, so that each layer is in place."""
    found: list[dict[str, str]] = []
    for name, disabled in (("on", []), ("off", ["stage-overwritten", "mark-in-place"])):
        (folder := tmp_path / name).mkdir()
        with stepwell.PassContext(disabled_pass=disabled):
            stepwell.export(model_in_place(), folder / "m.c")
        found.append(c_programs.run(c_programs.build(folder, _PROGRAM, [])))
    assert found[0]["values"] == found[1]["values"]
    assert int(found[0]["bytes"]) + 16 * 12 * 12 * 4 == int(found[1]["bytes"])
