"""Forms of ops of `linalg_ext`: each legal choice of a random sample computes what the op means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import stepwell as sw
from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.graph.recurrent import DIRECTIONS, FUNCTIONS, GATES
from stepwell.dialects.graph.resize import COORDINATES
from stepwell.dialects.linalg_ext import FormsOp, LinalgExt, WinogradConvOp
from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched import SCHEDULE, Schedule
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.lowering.interpret import interpret
from stepwell.lowering.kernels.kernel_object import canonical_text
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import SCHEDULE_PIPELINE, schedule_steps, text_of
from stepwell.passes.tensor.forms.expand_forms import EXPANSIONS, expansion_of
from stepwell.passes.tensor.schedule.form_cycles import CHOICES
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
    def stored(self) -> list[Array]:
        """The inputs as level 2 has them, whose integers have no sign."""
        return [
            array.view(f"i{array.itemsize}") if array.dtype.kind == "u" else array for array in self.arrays
        ]

    def expect(self, found: Sequence[Any]) -> None:
        """Require results to be those of the op's meaning."""
        meaning = kernel(self.build, self.arrays, self.dims)
        wanted: Any = interpret(meaning, StepwellContext(), "main", self.arrays)
        for want, got in zip(wanted, found, strict=True):
            got = got.view(want.dtype) if want.dtype.kind == "u" else got
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
    pairs = draw(st.booleans())
    depth += depth % 2 if pairs else 0
    arrays = [normal(*batch, *shape) for shape in ((queries, depth), (keys, depth), (keys, columns))]
    dims: list[Any] = [[*batch, "Q", depth], [*batch, "K", depth], [*batch, "K", columns]]
    if (mask := draw(st.sampled_from([None, ("Q", "K"), (1, "K"), ("Q", 1), ("K",)]))) is not None:
        sizes = [{"Q": queries, "K": keys}.get(name, name) for name in mask]
        dims.append(list(mask))
        arrays.append(np.where(normal(*sizes, seed=3) < -0.5, np.float32(-np.inf), normal(*sizes, seed=4)))
    options = {"scale": 0.5, "zero_masked": draw(st.booleans()), "pairs": pairs}
    tolerance = 1e-2 if pairs else 2e-5  # exponentials are rounded as those of the greatest score so far
    known = dims if draw(st.booleans()) else None
    return Case(partial(graph.AttentionOp, **options), arrays, known, tolerance)


def winograd(draw: Callable[..., Any]) -> Case:
    """A convolution of small feature maps, open or known, with padding on some sides."""
    tile, pads = draw(st.sampled_from([2, 4])), draw(st.lists(st.integers(0, 2), min_size=4, max_size=4))
    samples, blocks, panels, height, width = (draw(st.integers(*ends)) for ends in _WINOGRAD_SIZES)
    x, u = normal(samples, blocks, height, width, 8), normal((tile + 2) ** 2, panels, blocks * 8, 16, seed=1)
    dims: list[Any] | None = [["N", blocks, "H", "W", 8], None] if draw(st.booleans()) else None
    build = partial(graph.WinogradConvOp, tile=tile, pads=pads)
    if draw(st.booleans()):
        pairs = np.ascontiguousarray(u.astype(ml_dtypes.bfloat16).swapaxes(2, 3)).view(np.int32)
        return Case(build, [x, np.ascontiguousarray(pairs.swapaxes(2, 3))], dims, tolerance=5e-2)
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


def resize(draw: Callable[..., Any]) -> Case:
    """A resize of two axes by each mode, larger or smaller, of floats or of bytes without sign."""
    mode = draw(st.sampled_from(["nearest", "linear"]))
    (height, width), factor = (draw(st.integers(4, 9)) for _ in range(2)), draw(st.sampled_from([1, 2, 3]))
    out = [height * factor, width * factor] if factor > 1 else [draw(st.integers(4, 12)) for _ in range(2)]
    out[0] += out == [height, width]  # a resize that keeps its sizes is a copy
    options: dict[str, Any] = {
        "coordinate": draw(st.sampled_from(COORDINATES)),
        "nearest": "round_prefer_floor",
    }
    if options["coordinate"] == "asymmetric":
        options["nearest"] = draw(st.sampled_from(["floor", "ceil"]))
    if options["coordinate"] == "tf_crop_and_resize":
        options |= {"roi": [0, 0.1, 0.2, 1, 0.8, 0.9], "extrapolation": 2.0}
    x = normal(2, height, width)
    if draw(st.booleans()):
        x = (x * 50 + 100).astype(np.uint8)
    options["antialias"] = mode != "nearest" and draw(st.booleans())
    return Case(lambda v: graph.ResizeOp(v, [2, *out], mode=mode, **options), [x])


def rnn(draw: Callable[..., Any]) -> Case:
    """A recurrent layer of each cell, in one direction or both, with the operands that it may have."""
    cell = draw(st.sampled_from(list(GATES)))
    direction = draw(st.sampled_from(list(DIRECTIONS)))
    rows, count = GATES[cell] * 4, DIRECTIONS[direction]
    steps, batch = draw(st.sampled_from([1, 6, 12])), draw(st.integers(1, 3))
    optional: dict[str, Any] = {
        "bias": normal(count, 2 * rows, seed=3),
        "lengths": draw(st.sampled_from(_LENGTHS))[:batch] + steps,
        "h0": normal(count, batch, 4, seed=4),
    }
    names = draw(st.lists(st.sampled_from(list(optional)), unique=True))
    arrays = [normal(steps, batch, 5), normal(count, rows, 5, seed=1), normal(count, rows, 4, seed=2)]
    functions = FUNCTIONS[cell] * count
    activations = ["sigmoid" if n % FUNCTIONS[cell] == 0 else "tanh" for n in range(functions)]
    options = {"cell": cell, "direction": direction, "activations": activations}
    options |= dict.fromkeys(("alphas", "betas"), [0.0] * functions)

    def build(x: Any, w: Any, r: Any, *rest: Any) -> graph.RnnOp:
        return graph.RnnOp(x, w, r, **options, **dict(zip(names, rest, strict=True)))

    dims = [["T", batch, 5], *[None] * (2 + len(names))] if draw(st.booleans()) else None
    return Case(build, [*arrays, *(optional[name] for name in names)], dims)


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


def numbers_of(draw: Callable[..., Any], shape: Sequence[int]) -> Any:
    """Numbers with equal ones among them, of a type with or without sign; of floats some are NaN."""
    dtype = np.dtype(draw(st.sampled_from(["f4", "f2", "f8", "i1", "u1", "u2", "u4", "i8"])))
    found = (normal(*shape) * 3).round()
    if dtype.kind == "f":
        found.reshape(-1)[::7] = np.nan
    return found.astype(dtype) if dtype.kind == "f" else found.astype(np.int8).astype(dtype)


def top_k(draw: Callable[..., Any]) -> Case:
    """The first elements of rows along some axis, of a known or an open number of rows."""
    shape, axis = (
        [draw(st.integers(1, 60)), draw(st.integers(1, 60)), draw(st.sampled_from([1, 3]))],
        draw(_AXES),
    )
    x, k = numbers_of(draw, shape), draw(st.integers(1, shape[axis]))
    dims: list[Any] = [*shape]
    dims[1 - axis] = draw(st.sampled_from(["N", shape[1 - axis]]))
    largest = draw(st.booleans())
    return Case(lambda v: graph.TopKOp(v, k, axis, largest), [x], [dims])


def scan(draw: Callable[..., Any]) -> Case:
    """A scan along some axis, in both directions, with or without the element itself."""
    shape, axis = (
        [draw(st.integers(1, 9)), draw(st.integers(1, 40)), draw(st.sampled_from([1, 50]))],
        draw(_AXES),
    )
    options = {"exclusive": draw(st.booleans()), "reverse": draw(st.booleans())}
    kind = draw(st.sampled_from(["sum", "max", "min"]))
    dims: list[Any] = [draw(st.sampled_from(["N", shape[0]])), *shape[1:]]
    return Case(lambda v: graph.ScanOp(v, kind, axis, **options), [numbers_of(draw, shape)], [dims])


_LENGTHS = [np.arange(-1, 2, dtype=np.int32), np.array([200, 0, 200], np.uint8)]
_AXES = st.sampled_from([0, 1])
_WINOGRAD_SIZES = (1, 2), (1, 2), (1, 2), (3, 17), (3, 11)
FAMILIES: Mapping[str, Callable[..., Case]] = {
    "attention": attention,
    "nbits": nbits,
    "pool": pool,
    "resize": resize,
    "rnn": rnn,
    "scan": scan,
    "top-k": top_k,
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
@examples(24)
@given(data=st.data())
def test_legal_choices_compute_what_the_op_means(family: str, data: st.DataObject) -> None:
    case = FAMILIES[family](data.draw)
    module, ctx = case.module(), StepwellContext()
    case.expect(interpret(module, ctx, "main", case.stored))
    op_of(module).attributes[SCHEDULE] = draw_schedule(data.draw, op_of(module)).attr()
    read = sw.parse(str(module))  # as an editor has it
    case.expect(read.run("expand-forms").interpret(*case.stored))


@pytest.mark.sample(8)
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


@pytest.mark.sample(3)
@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "resize"])  # which has none
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_sizes_out_of_range_are_refused(family: str, data: st.DataObject) -> None:
    module = FAMILIES[family](data.draw).module()
    op = op_of(module)
    legal = [name for name, form in op.forms().items() if form.refusal is None and form.sizes]
    assume(legal)
    name = data.draw(st.sampled_from(legal))
    sizes = op.forms()[name].sizes
    key = data.draw(st.sampled_from(list(sizes)))
    number = data.draw(st.sampled_from([sizes[key].most + 1, 1 << 40, sizes[key].most + sizes[key].step]))
    op.attributes[SCHEDULE] = Schedule(form=name, sizes=((key, number),)).attr()
    with pytest.raises(StepwellError) as refused:
        run_pipeline(module, "expand-forms", StepwellContext())
    assert f"{op.name}: {key} of form {name} must be {sizes[key]}, found {number}" in str(refused.value)
    assert refused.value.code == "bad-schedule"


@pytest.mark.sample(4)
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=2, deadline=None)
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


@pytest.mark.parametrize(("size", "chosen"), [(14, "channels"), (56, "channels"), (224, "blocks")])
def test_the_form_of_winograd_takes_fewer_cycles_on_two_cores(size: int, chosen: str) -> None:
    """Few tiles are one block, whose channels threads share; many are blocks for threads of their own."""
    x, u = normal(1, 4, size, size, 8), normal(36, 2, 32, 16)
    case = Case(partial(graph.WinogradConvOp, tile=4, pads=[1, 1, 1, 1]), [x, u])
    target = replace(target_from("x86-64-v3"), cores=2)
    op = op_of(case.module())
    assert isinstance(op, WinogradConvOp)
    first, second = CHOICES["WinogradConvOp"](op, target)
    assert first.form == chosen
    assert first.cycles is not None and second.cycles is not None and first.cycles < second.cycles


@pytest.mark.parametrize(
    "op_class",
    [each for each in LinalgExt.operations if issubclass(each, FormsOp)],
    ids=lambda op_class: op_class.name,
)
def test_each_form_of_an_op_has_an_expansion(op_class: type[FormsOp]) -> None:
    """By the name of the class, which is that of its op of level 1 too."""
    assert op_class.GRAPH_OP.__name__ == op_class.__name__ and op_class.__name__ in CHOICES
    assert all(callable(expansion_of(op_class.__name__, form)) for form in EXPANSIONS[op_class.__name__])
