"""Shared kernels: the same bits as unshared ones, and what becomes one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import stepwell as sw
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.passes import PassContext, run_pipeline
from stepwell.passes.tensor.sharing.families import Member, Opening
from tests.support.samples import examples

_Kernel = tuple[list[str], str, str]
"""The types of a kernel's arguments %a0, %a1, …, of its result, and its body."""
_INTERFACE = "attributes {sched.kernel = #sched.kernel<inputs = %d, outputs = 1>}"


def _product(blocks: int, rows: int, columns: int) -> _Kernel:
    """A product with a blocked sum: argument types, result type, and the body of its kernel."""
    a, b, y = (
        f"tensor<{blocks}x{rows}x8xf32>",
        f"tensor<{blocks}x8x{columns}xf32>",
        f"tensor<{rows}x{columns}xf32>",
    )
    return (
        [a, b],
        y,
        f"""
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {y}
  %f = linalg.fill ins(%zero : f32) outs(%e : {y}) -> {y}
  %r = linalg.generic {{indexing_maps = [affine_map<(m, n, o, i) -> (o, m, i)>,
      affine_map<(m, n, o, i) -> (o, i, n)>, affine_map<(m, n, o, i) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}}
      ins(%a0, %a1 : {a}, {b}) outs(%f : {y}) {{
  ^bb0(%x: f32, %w: f32, %sum: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  }} -> {y}
  func.return %r : {y}
""",
    )


def _bias(blocks: int, rows: int, lanes: int) -> _Kernel:
    """A bias by channel, then a maximum with 0, on blocks of channels."""
    x, b = f"tensor<{blocks}x{rows}x{lanes}xf32>", f"tensor<{blocks}x{lanes}xf32>"
    return (
        [x, b],
        x,
        f"""
  %e = tensor.empty() : {x}
  %r = linalg.generic {{indexing_maps = [affine_map<(c, w, l) -> (c, w, l)>, affine_map<(c, w, l) -> (c, l)>,
      affine_map<(c, w, l) -> (c, w, l)>], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%a0, %a1 : {x}, {b}) outs(%e : {x}) {{
  ^bb0(%v: f32, %n: f32, %o: f32):
    %zero = arith.constant 0.0 : f32
    %s = arith.addf %v, %n : f32
    %m = arith.maximumf %s, %zero : f32
    linalg.yield %m : f32
  }} -> {x}
  func.return %r : {x}
""",
    )


def _append(blocks: int, rows: int, lanes: int) -> _Kernel:
    """Two blocks of channels after others."""
    x, z, y = (f"tensor<{n}x{rows}x{lanes}xf32>" for n in (blocks, 2, blocks + 2))
    return (
        [x, z],
        y,
        f"""
  %e = tensor.empty() : {y}
  %0 = tensor.insert_slice %a0 into %e[0, 0, 0] [{blocks}, {rows}, {lanes}] [1, 1, 1] : {x} into {y}
  %1 = tensor.insert_slice %a1 into %0[{blocks}, 0, 0] [2, {rows}, {lanes}] [1, 1, 1] : {z} into {y}
  func.return %1 : {y}
""",
    )


def _program(kernels: Sequence[_Kernel]) -> str:
    """A program that calls each kernel once, on arguments of its own."""
    arguments: list[str] = []
    calls: list[str] = []
    functions: list[str] = []
    for number, (types, result, body) in enumerate(kernels):
        names = [f"%x{len(arguments) + i}" for i in range(len(types))]
        arguments += [f"{name}: {type}" for name, type in zip(names, types, strict=True)]
        joined = ", ".join(names)
        calls.append(f"%y{number} = func.call @k{number}({joined}) : ({', '.join(types)}) -> {result}")
        own = ", ".join(f"%a{i}: {type}" for i, type in enumerate(types))
        interface = _INTERFACE % len(types)
        functions.append(f"func.func private @k{number}({own}) -> {result} {interface} {{{body}}}")
    results, types = ", ".join(f"%y{i}" for i in range(len(kernels))), ", ".join(k[1] for k in kernels)
    main = f"func.func @main({', '.join(arguments)}) -> ({types}) {{\n"
    return main + "\n".join([*calls, f"func.return {results} : {types}\n}}", *functions])


def _shared(text: str, pipeline: str = "share-kernels{mcpu=x86-64-v3}") -> ModuleOp:
    ctx = StepwellContext()
    module = parse_module(ctx, text)
    run_pipeline(module, pipeline, ctx)
    module.verify()
    return module


def _names(module: ModuleOp) -> list[str]:
    return [op.sym_name.data for op in module.ops if isinstance(op, FuncOp)]


@examples(10)
@given(
    kind=st.sampled_from([_product, _bias, _append]),
    blocks=st.lists(st.integers(2, 20), min_size=3, max_size=4, unique=True),
    rows=st.integers(1, 30),
    columns=st.sampled_from([1, 5, 8, 16, 33]),
    threads=st.integers(1, 2),
)
def test_shared_kernels_compute_the_same_bits(
    kind: Callable[[int, int, int], _Kernel], blocks: list[int], rows: int, columns: int, threads: int
) -> None:
    program = sw.parse(_program([kind(n, rows, columns) for n in blocks]))
    alone = program.compile(use_cache=False, processes=1, disabled_passes=["share-kernels"])
    together = program.compile(use_cache=False, processes=1, threads=threads)
    rng = np.random.default_rng(rows)
    shapes = [[dim.value for dim in spec.dims] for spec in alone.interface.inputs]
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    for found, expected in zip(together(*inputs), alone(*inputs), strict=True):
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("kind", [_product, _bias, _append])
def test_three_kernels_become_one_and_two_do_not(kind: Callable[[int, int, int], _Kernel]) -> None:
    kernels = [kind(n, 4, 16) for n in (3, 5, 6)]
    assert _names(_shared(_program(kernels))) == ["main", "k0_shared"]
    assert _names(_shared(_program(kernels[:2]))) == ["main", "k0", "k1"]
    assert _names(_shared(_program([kernels[0], *kernels[:2]]))) == ["main", "k0", "k1", "k2"]  # two sizes


def test_compiled_models_have_fewer_kernels_and_call_them_by_their_own_names() -> None:
    program = sw.parse(_program([_product(n, 14, 32) for n in (4, 6, 9)]))
    model = program.compile(use_cache=False, processes=1, profile=True)
    assert model.image.summary["kernels"] == 1
    calls = model.image.main.timed
    assert [call.name for call in calls] == ["k0", "k1", "k2"]
    assert len({call.symbol for call in calls}) == 1
    alone = program.compile(use_cache=False, processes=1, disabled_passes=["share-kernels"])
    assert alone.image.summary["kernels"] == 3


def test_a_disabled_pass_leaves_kernels_alone() -> None:
    with PassContext(disabled_pass=["share-kernels"]):
        assert len(_names(_shared(_program([_product(n, 14, 32) for n in (4, 6, 9)])))) == 4


def test_results_that_pass_the_caches_need_their_sizes() -> None:
    assert len(_names(_shared(_program([_bias(n, 1 << 12, 16) for n in (3, 5, 8)])))) == 2
    assert len(_names(_shared(_program([_bias(n, 1 << 20, 16) for n in (3, 5, 8)])))) == 4


@pytest.mark.parametrize("level", ["vector", "loops", "llvm"])
def test_text_with_shared_kernels_compiles_again(level: str) -> None:
    program = sw.parse(_program([_append(n, 4, 16) for n in (3, 5, 6)]))
    text = str(program.to(level))
    assert "k0_shared" in text and "@k1" not in text
    model = program.compile(use_cache=False, processes=1)
    inputs = [np.full([dim.value for dim in spec.dims], 2, np.float32) for spec in model.interface.inputs]
    again = sw.parse(text).compile(use_cache=False, processes=1)
    for found, expected in zip(again(*inputs), model(*inputs), strict=True):
        assert found.tobytes() == expected.tobytes()


def test_a_symbol_stands_for_sizes_that_differ_by_a_factor_and_a_summand() -> None:
    kernel = FuncOp("k", ([], []))
    sizes = [(4, 6, 16, 7, 1), (5, 7, 20, 7, 9), (8, 10, 32, 7, 5)]
    opening = Opening.of([Member(kernel, each) for each in sizes])
    assert [str(dim) for dim in opening.dims] == ["C", "C + 2", "4 * C", "7", "C1"]
    assert opening.values == {"C": (4, 5, 8), "C1": (1, 9, 5)}
    assert opening.bounds == {"C": (4, 8), "C1": (1, 9)}
