"""Attention: its meaning at the edges, its lowering on odd sizes, and spelled-out forms as native code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest

import stepwell
from stepwell.dialects import graph
from stepwell.dialects.types import DimLike
from stepwell.runtime.meaning import evaluate
from tests.graph_ops import run, value
from tests.kernels import expect_lowering
from tests.onnx_models import onnx_model

Array = npt.NDArray[np.float32]


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def mask_of(*shape: int) -> Array:
    """A mask with -inf in some places, and in all of its third row, if it has one."""
    mask = np.where(np.random.default_rng(5).random(shape) < 0.3, -np.inf, normal(*shape, seed=3))
    if len(shape) > 1 and shape[-2] > 2:
        mask[..., 2, :] = -np.inf
    return mask.astype(np.float32)


def meaning(arrays: Sequence[Array], scale: float, *, zero_masked: bool = False) -> Array:
    properties = {"scale": scale, "zero_masked": zero_masked}
    return cast(Array, evaluate("graph.attention", arrays, properties)[0])


@dataclass(frozen=True)
class Case:
    """Shapes of q, k, v and the mask, and the names of their dimensions."""

    q: tuple[int, ...]
    k: tuple[int, ...]
    v: tuple[int, ...]
    mask: tuple[int, ...] | None = None
    dims: Sequence[Sequence[DimLike]] | None = None

    def arrays(self) -> list[Array]:
        """Inputs of these shapes."""
        mask = [] if self.mask is None else [mask_of(*self.mask)]
        return [normal(*self.q), normal(*self.k, seed=1), normal(*self.v, seed=2), *mask]


HEADS = (2, 3, 37, 20), (2, 3, 45, 20), (2, 3, 45, 7)
OPEN = ["B", 3, "S", 20]
CASES = {
    "heads": Case(*HEADS),
    "no batch": Case((37, 20), (45, 20), (45, 7)),
    "grouped": Case((2, 4, 2, 17, 8), (2, 4, 1, 18, 8), (4, 1, 18, 24)),
    "several blocks": Case((3, 300, 8), (3, 9, 8), (3, 9, 8)),
    "one key": Case((3, 5, 8), (3, 1, 8), (3, 1, 8)),
    "mask of keys": Case(*HEADS, (45,)),
    "mask of batches": Case(*HEADS, (2, 1, 1, 45)),
    "mask of pairs": Case(*HEADS, (37, 45)),
    "mask of queries": Case(*HEADS, (1, 3, 37, 1)),
    "mask of nothing": Case(*HEADS, ()),
    "open": Case(
        (2, 3, 70, 20), (2, 3, 70, 20), (2, 3, 70, 8), (2, 1, 1, 70),
        [OPEN, OPEN, ["B", 3, "S", 8], ["B", 1, 1, "S"]],
    ),
    "open, mask of pairs": Case(
        (2, 3, 37, 20), (2, 3, 37, 20), (2, 3, 37, 8), (2, 1, 37, 37),
        [OPEN, OPEN, ["B", 3, "S", 8], ["B", 1, "S", "S"]],
    ),
    "open, fewer than a block": Case(
        (2, 3, 5, 20), (2, 3, 41, 20), (2, 3, 41, 8), None, [OPEN, ["B", 3, "T", 20], ["B", 3, "T", 8]]
    ),
}  # fmt: skip


@pytest.mark.sample(6)
@pytest.mark.parametrize("zero_masked", [False, True])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_lowering(case: Case, zero_masked: bool) -> None:
    build = partial(graph.AttentionOp, scale=0.3, zero_masked=zero_masked)
    arrays = case.arrays()
    run(build(*map(value, arrays)), *arrays)
    expect_lowering(build, arrays, case.dims, tolerance=2e-5)


def test_meaning_is_that_of_its_parts() -> None:
    q, k, v, mask = normal(3, 4), normal(5, 4, seed=1), normal(5, 2, seed=2), mask_of(3, 5)
    with np.errstate(invalid="ignore"):
        powers = np.exp(q @ k.T * np.float32(0.5) + mask)
        expected = powers / powers.sum(axis=1, keepdims=True) @ v
    plain = meaning([q, k, v, mask], 0.5)
    np.testing.assert_allclose(plain, expected, rtol=1e-5)
    assert np.isnan(plain).tolist() == [[False] * 2, [False] * 2, [True] * 2]
    zeros = meaning([q, k, v, mask], 0.5, zero_masked=True)
    np.testing.assert_array_equal(zeros, np.nan_to_num(plain))


NODES = "t = Transpose <perm = [0, 1, 3, 2]> (k) s = MatMul (q, t) a = Mul (s, c) {} y = MatMul (p, v)"
SCALE = "<float[1] c = {0.25}>"
HEADS_TEXT = "float[{0}, 3, {1}, 16] q, float[{0}, 3, {1}, 16] k, float[{0}, 3, {1}, 24] v"


NATIVE = [(24, "host", False), (50, "x86-64-v3", False), (50, "x86-64-v3", True), (130, "host", True)]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("size", "mcpu", "is_open"), NATIVE)
def test_spelled_out_form_as_native_code(size: int, mcpu: str, is_open: bool) -> None:
    names = ("B", "S") if is_open else (2, size)
    body = NODES.format("m1 = Add (a, m) p = Softmax <axis = -1> (m1)")
    inputs = f"{HEADS_TEXT.format(*names)}, float[{names[1]}, {names[1]}] m"
    model = onnx_model(f"g ({inputs}) => (float[{names[0]}, 3, {names[1]}, 24] y) {SCALE} {{ {body} }}")
    case = Case((2, 3, size, 16), (2, 3, size, 16), (2, 3, size, 24), (size, size))
    arrays = dict(zip("qkvm", case.arrays(), strict=True))
    expected = meaning(list(arrays.values()), 0.25)
    got = cast(Array, stepwell.compile(model, mcpu=mcpu, threads=2).run(arrays)["y"])
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.sample(4)
@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("zero_masked", [False, True])
def test_many_keys_come_in_blocks(zero_masked: bool, is_open: bool) -> None:
    """Rows whose greatest score comes last, whose first blocks are all masked, and that are masked whole."""
    q, k, v = normal(2, 40, 8), normal(2, 5000, 8, seed=1), normal(2, 5000, 16, seed=2)
    mask = mask_of(40, 5000)
    mask[0, -1], mask[1, :4500], mask[2] = 90, -np.inf, -np.inf
    batch, keys = ("B", "S") if is_open else (2, 5000)
    form = "y = Attention <scale = 0.5> (q4, k4, v4, m)" if zero_masked else (
        "t = Transpose <perm = [0, 1, 3, 2]> (k4) s = MatMul (q4, t) a = Mul (s, c) m1 = Add (a, m) "
        "p = Softmax <axis = -1> (m1) y = MatMul (p, v4)"
    )  # fmt: skip
    inputs = f"float[{batch}, 1, 40, 8] q4, float[{batch}, 1, {keys}, 8] k4, float[{batch}, 1, {keys}, 16] v4"
    text = f"g ({inputs}, float[40, {keys}] m) => (float[{batch}, 1, 40, 16] y) <float[1] c = {{0.5}}>"
    arrays = {"q4": q[:, None], "k4": k[:, None], "v4": v[:, None], "m": mask}
    compiled = stepwell.compile(onnx_model(f"{text} {{ {form} }}", 23, 10), threads=2)
    got = cast(Array, compiled.run(arrays)["y"])[:, 0]
    expected = meaning([q, k, v, mask], 0.5, zero_masked=zero_masked)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_operator_of_onnx_gives_zeros_where_all_is_masked() -> None:
    """Its function body, expanded, is raised again; keys of one head serve two."""
    arrays = dict(
        zip("qkvm", Case((2, 4, 30, 16), (2, 2, 30, 16), (2, 2, 30, 8), (30, 30)).arrays(), strict=True)
    )
    inputs = "float[2, 4, 30, 16] q, float[2, 2, 30, 16] k, float[2, 2, 30, 8] v, float[30, 30] m"
    model = onnx_model(f"g ({inputs}) => (float[2, 4, 30, 8] y) {{ y = Attention (q, k, v, m) }}", 23, 10)
    heads = [arrays["q"], *(np.repeat(arrays[name], 2, axis=1) for name in "kv"), arrays["m"]]
    got = cast(Array, stepwell.compile(model).run(arrays)["y"])
    np.testing.assert_allclose(got, meaning(heads, 0.25, zero_masked=True), rtol=1e-4, atol=1e-5)
    assert not got[..., 2, :].any()
