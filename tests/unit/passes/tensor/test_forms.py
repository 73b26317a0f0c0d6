"""Forms of ops of `linalg_ext`: each legal choice of a random sample computes what the op means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import stepwell as sw
from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.linalg_ext import FormsOp
from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched import SCHEDULE, Schedule
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.lowering.interpret import interpret
from stepwell.lowering.kernels.kernel import canonical_text
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import SCHEDULE_PIPELINE, schedule_steps, text_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.target import target_from
from stepwell.runtime.meaning import Array
from stepwell.runtime.meaning.packed_codes import pack_codes
from tests.kernels import Build, kernel
from tests.support.samples import examples

MOST_DRAWN = 80
"""Larger sizes than this are legal, and the same code with another number."""


@dataclass(frozen=True)
class Case:
    """An op with inputs, and the names of their dimensions."""

    build: Build
    arrays: Sequence[Array]
    dims: Sequence[Any] | None = None
    tolerance: float = 2e-5

    def module(self) -> ModuleOp:
        """The op at level 2, before its form is chosen."""
        module, ctx = kernel(self.build, self.arrays, self.dims), StepwellContext()
        run_pipeline(module, "convert-graph-to-linalg", ctx)
        return module

    @property
    def plain(self) -> Sequence[Array]:
        """The inputs as level 2 has them: without signs of integers."""
        return [array.view(np.int8) if array.dtype == np.uint8 else array for array in self.arrays]

    def expect(self, found: Sequence[Any]) -> None:
        """Require results to be those of the op's meaning."""
        meaning = kernel(self.build, self.arrays, self.dims)
        wanted: Any = interpret(meaning, StepwellContext(), "main", self.arrays)
        for want, got in zip(wanted, found, strict=True):
            np.testing.assert_allclose(got, want, rtol=self.tolerance, atol=self.tolerance)


def op_of(module: ModuleOp) -> FormsOp:
    """The op that has forms."""
    (op,) = (op for op in module.walk() if isinstance(op, FormsOp))
    return op


def normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def attention(draw: Callable[..., Any]) -> Case:
    """Attention of small sizes, open or known, with a mask of some shape."""
    number = partial(draw, st.integers(1, 40))
    batch = draw(st.sampled_from([(), (3,), (2, 2)]))
    queries, keys, depth, columns = (number() for _ in range(4))
    arrays = [normal(*batch, *shape) for shape in ((queries, depth), (keys, depth), (keys, columns))]
    dims: list[Any] = [[*batch, "Q", depth], [*batch, "K", depth], [*batch, "K", columns]]
    if (mask := draw(st.sampled_from([None, ("Q", "K"), (1, "K"), ("Q", 1), ("K",)]))) is not None:
        sizes = [{"Q": queries, "K": keys}.get(name, name) for name in mask]
        dims.append(list(mask))
        arrays.append(np.where(normal(*sizes, seed=3) < -0.5, np.float32(-np.inf), normal(*sizes, seed=4)))
    options = {"scale": 0.5, "zero_masked": draw(st.booleans())}
    return Case(partial(graph.AttentionOp, **options), arrays, dims if draw(st.booleans()) else None)


def winograd(draw: Callable[..., Any]) -> Case:
    """A convolution of small feature maps, open or known, with padding on some sides."""
    tile, pads = draw(st.sampled_from([2, 4])), draw(st.lists(st.integers(0, 2), min_size=4, max_size=4))
    samples, blocks, panels, height, width = (draw(st.integers(*ends)) for ends in _WINOGRAD_SIZES)
    x, u = normal(samples, blocks, height, width, 8), normal((tile + 2) ** 2, panels, blocks * 8, 16, seed=1)
    dims: list[Any] | None = [["N", blocks, "H", "W", 8], None] if draw(st.booleans()) else None
    build = partial(graph.WinogradConvOp, tile=tile, pads=pads)
    return Case(build, [x, u], dims, tolerance=1e-3)


def pool(draw: Callable[..., Any]) -> Case:
    """A pool whose rows are read as vectors, with NaN and infinities for a maximum."""
    kind, mean_of_pads = draw(st.sampled_from([("max", False), ("avg", False), ("avg", True)]))
    kernel, strides = ([draw(st.integers(1, 4)), draw(st.integers(1, most))] for most in (5, 3))
    pads = [draw(st.integers(0, kernel[axis] // 2)) for axis in (0, 1, 0, 1)]
    x = normal(2, 4, draw(st.integers(8, 40)), draw(st.integers(16, 70)))
    if kind == "max":
        x[0, 1, 2:6, :5], x[1, 0] = np.nan, -np.inf
    options: dict[str, Any] = {"strides": strides, "pads": pads, "count_include_pad": mean_of_pads}
    options["ceil"] = draw(st.booleans())
    dims = [["N", 4, *x.shape[2:]]] if draw(st.booleans()) else None
    return Case(lambda v: graph.PoolOp(v, kind, kernel, **options), [x], dims)


def nbits(draw: Callable[..., Any]) -> Case:
    """A product with codes of a few bits, of rows of floats or of bytes."""
    return nbits_of_bytes(draw) if draw(st.booleans()) else nbits_of_floats(draw)


def nbits_of_floats(draw: Callable[..., Any]) -> Case:
    """A product with codes of a few bits, whose last block and last panel may not be full."""
    bits, block, panel = (draw(st.sampled_from(n)) for n in ([2, 4, 8], [16, 32], [4, 8, 12]))
    rows, steps, columns = (draw(st.integers(1, most)) for most in (4, 60, 20))
    rng, blocks = np.random.default_rng(2), -(-steps // block)
    codes = pack_codes(rng.integers(0, 1 << bits, (columns, steps)), bits, panel, blocks * block)
    shape = -(-columns // panel), blocks, panel
    arrays: list[Any] = [normal(rows, steps), codes, rng.uniform(0.01, 0.1, shape).astype(np.float32)]
    if draw(st.booleans()):
        arrays.append(rng.integers(0, 1 << bits, shape).astype(np.uint8))
    dims: list[Any] | None = [["M", steps], *[None] * (len(arrays) - 1)] if draw(st.booleans()) else None
    build = partial(graph.MatmulNbitsOp, columns=columns, bits=bits, block=block)
    return Case(build, arrays, dims, tolerance=1e-3 if bits == 8 else 1e-4)


def nbits_of_bytes(draw: Callable[..., Any]) -> Case:
    """The same product with rows of bytes, some of them the least and the greatest."""
    floats = nbits_of_floats(draw)
    build = cast("partial[graph.MatmulNbitsOp]", floats.build)
    (rows, steps), block, rng = floats.arrays[0].shape, build.keywords["block"], np.random.default_rng(5)
    blocks = -(-steps // block)
    numbers = rng.integers(-128, 128, (rows, blocks * block)).astype(np.int8)
    numbers[0, : block // 2] = -128
    x, x_scales = numbers.view(np.int32), rng.uniform(0.01, 0.1, (rows, blocks)).astype(np.float32)
    others = [*floats.arrays[1:], *[None] * (4 - len(floats.arrays))]
    has_points = others[2] is not None

    def made(x: Any, codes: Any, scales: Any, *rest: Any) -> graph.MatmulNbitsOp:
        points, x_scales = rest if has_points else (None, *rest)
        return graph.MatmulNbitsOp(x, codes, scales, points, x_scales, **build.keywords)

    arrays = [x, *(other for other in others if other is not None), x_scales]
    dims = [["M", x.shape[1]], *[None] * (len(arrays) - 2), ["M", blocks]] if floats.dims else None
    return Case(made, arrays, dims, tolerance=1e-3)


_WINOGRAD_SIZES = (1, 2), (1, 2), (1, 2), (3, 17), (3, 11)
FAMILIES: Mapping[str, Callable[..., Case]] = {
    "attention": attention,
    "nbits": nbits,
    "pool": pool,
    "winograd": winograd,
}


def draw_schedule(draw: Callable[..., Any], op: FormsOp) -> Schedule:
    """A legal schedule: a form, and some of its sizes."""
    forms = {name: form for name, form in op.forms().items() if form.refusal is None}
    name = draw(st.sampled_from(list(forms)))
    sizes: dict[str, int] = {}
    for key, size in forms[name].sizes.items():
        if draw(st.booleans()):
            most = max(1, min(MOST_DRAWN, size.most) // size.step)
            number = draw(st.sampled_from([n for n in range(1, most + 1) if n * size.step in size]))
            sizes[key] = number * size.step
    if forms[name].misfit({**forms[name].defaults(), **sizes}) is not None:
        sizes = {}
    return Schedule(form=name, sizes=tuple(sizes.items()))


@pytest.mark.parametrize("family", FAMILIES)
@examples(30)
@given(data=st.data())
def test_legal_choices_compute_what_the_op_means(family: str, data: st.DataObject) -> None:
    case = FAMILIES[family](data.draw)
    module, ctx = case.module(), StepwellContext()
    case.expect(interpret(module, ctx, "main", case.plain))
    op_of(module).attributes[SCHEDULE] = draw_schedule(data.draw, op_of(module)).attr()
    read = sw.parse(str(module))  # as an editor has it
    case.expect(read.run("expand-forms").interpret(*case.plain))


@pytest.mark.parametrize("family", FAMILIES)
@examples(12)
@given(data=st.data())
def test_legal_choices_compile(family: str, data: st.DataObject) -> None:
    case = FAMILIES[family](data.draw)
    module = case.module()
    op_of(module).attributes[SCHEDULE] = draw_schedule(data.draw, op_of(module)).attr()
    found = sw.parse(str(module)).compile(target=data.draw(st.sampled_from(["host", "x86-64-v3"])), threads=2)
    results: Any = found(*case.arrays)
    case.expect(results if isinstance(results, tuple) else [results])


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_sizes_out_of_range_are_refused(family: str, data: st.DataObject) -> None:
    module = FAMILIES[family](data.draw).module()
    op = op_of(module)
    name = data.draw(st.sampled_from([n for n, form in op.forms().items() if form.refusal is None]))
    sizes = op.forms()[name].sizes
    key = data.draw(st.sampled_from(list(sizes)))
    number = data.draw(st.sampled_from([sizes[key].most + 1, 1 << 40, sizes[key].most + sizes[key].step]))
    op.attributes[SCHEDULE] = Schedule(form=name, sizes=((key, number),)).attr()
    with pytest.raises(StepwellError) as refused:
        run_pipeline(module, "expand-forms", StepwellContext())
    assert f"{op.name}: {key} of form {name} must be {sizes[key]}, found {number}" in str(refused.value)
    assert refused.value.code == "bad-schedule"


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_text_with_schedules_goes_through_all_passes_of_level_2(family: str, data: st.DataObject) -> None:
    """After `choose-forms` and after `choose-schedules`: the result is that of one run."""
    module, ctx = FAMILIES[family](data.draw).module(), StepwellContext()
    ctx.target = target_from("x86-64-v3")
    whole = module.clone()
    run_pipeline(whole, SCHEDULE_PIPELINE, ctx)
    for chooser in ("choose-forms", "choose-schedules"):
        until = module.clone()
        run_pipeline(until, text_of(schedule_steps(until=chooser)), ctx)
        again = parse_module(ctx, str(until), f"{chooser}.mlir")
        run_pipeline(again, SCHEDULE_PIPELINE, ctx)
        assert _kernel_text(again) == _kernel_text(whole)


def _kernel_text(module: ModuleOp) -> str:
    (text,) = (canonical_text(op) for op in module.ops if isinstance(op, FuncOp) and is_kernel(op))
    return text
