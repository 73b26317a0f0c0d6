"""Operators of frameworks on infinities, signed zeros and indices outside, against numpy; level-0 text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.parser import Parser

from stepwell.dialects._xdsl import StepwellContext
from stepwell.lowering.interpret import Program
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import FROM_MODELS
from stepwell.runtime.interface import Array

INF = float("inf")
NUMBERS = np.array([-INF, -2.5, -1.5, -0.5, -0.0, 0.0, 0.25, 0.5, 1.5, INF, np.nan], np.float32)
ROUNDED = np.array([-INF, -3, -2, -1, -0.0, 0.0, 0, 1, 2, INF, np.nan], np.float32)
MASKED = np.array([[0, -INF, INF], [1, 2, -INF], [3, np.nan, 4]], np.float32)
EMBEDDED = np.array([[3, -INF], [0, 0], [0, 1]], np.float32)
TABLE = np.array([[0, 1], [INF, 2], [3, -INF]], np.float32)
SQUARE = np.arange(9, dtype=np.float32).reshape(3, 3)
STACK = np.arange(12, dtype=np.float32).reshape(2, 2, 3) / 4
SOFTMAX = np.exp(STACK) / np.exp(STACK).sum((1, 2), keepdims=True)
INTERPOLATION = "operandSegmentSizes = array<i32: 1, 0, 0, 0>, scale = [1.0, 1.5], align_corners = false"
LINE = np.arange(5, dtype=np.float32).reshape(1, 1, 1, 5)
LINE_BY_STEPS = (np.arange(7, dtype=np.float32) / 1.5).reshape(1, 1, 1, 7)
ALL = np.array([0], np.int64)
ELEMENTS = {"float32": "f32", "int64": "i64"}


def type_of(x: Array) -> str:
    return f"tensor<{'x'.join([*map(str, x.shape), ELEMENTS[str(x.dtype)]])}>"


def result(operator: str, arguments: str, operands: Sequence[Array], like: Array) -> Array:
    """The result of one operator, whose operands are `%a0`, `%a1` …; its type is that of an array."""
    dialect, types = operator.partition(".")[0], list(map(type_of, operands))
    inputs = ", ".join(f"%a{i}: {type}" for i, type in enumerate(types))
    names = ", ".join(f"%a{i}" for i in range(len(types)))
    line = f'%y = "{operator}"({names}) {{{arguments}}} : ({", ".join(types)}) -> {type_of(like)}'
    text = f"func.func @main({inputs}) -> {type_of(like)} {{\n{line}\nfunc.return %y : {type_of(like)}\n}}"
    context = StepwellContext()
    module = Parser(context, text).parse_module()
    run_pipeline(module, FROM_MODELS[dialect], context)
    return np.asarray(Program(module, context, quick=True)(operands)[0])


@pytest.mark.parametrize("operator", ["stablehlo.atan2", "tflite.atan2", "torch.aten.atan2.default"])
def test_the_angle_of_any_point(operator: str) -> None:
    y, x = (each.reshape(-1) for each in np.meshgrid(NUMBERS, NUMBERS))
    wanted = np.arctan2(y, x)
    found = result(operator, "", [y, x], wanted)
    assert np.allclose(found, wanted, atol=1e-6, equal_nan=True)
    assert np.array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize(
    ("operator", "arguments", "operands", "wanted"),
    [
        ("stablehlo.round_nearest_afz", "", [NUMBERS], ROUNDED),
        ("paddle.triu", "diagonal = 1", [MASKED], np.triu(MASKED, 1)),
        ("paddle.tril", "diagonal = 0", [MASKED], np.tril(MASKED)),
        ("paddle.embedding", "padding_idx = 1", [np.array([2, 1, 0]), TABLE], EMBEDDED),
        ("paddle.argmax", "flatten = true", [STACK, ALL], np.array(11)),
        ("paddle.argmin", "flatten = true, keepdims = true", [STACK, ALL], np.array([[[0]]])),
        ("paddle.bilinear_interp", INTERPOLATION, [LINE], LINE_BY_STEPS),
        ("coreml.band_part", "lower = 0, upper = -1", [MASKED], np.triu(MASKED)),
        ("coreml.thresholded_relu", "alpha = 0.5", [NUMBERS], np.where(NUMBERS < 0.5, 0, NUMBERS)),
        ("mxnet.SoftmaxOutput", "", [STACK], SOFTMAX),
        ("mxnet.take", 'mode = "clip"', [TABLE, np.array([-1, 5, 1])], TABLE[[0, 2, 1]]),
        ("mxnet.Embedding", "input_dim = 3, output_dim = 2", [np.array([-1, 5, 1]), TABLE], TABLE[[0, 2, 1]]),
        (
            "mxnet.where",
            "",
            [np.array([1, 0, 2]), MASKED, SQUARE],
            np.stack([MASKED[0], SQUARE[1], MASKED[2]]),
        ),
    ],
)
def test_results_are_those_of_numpy(
    operator: str, arguments: str, operands: Sequence[Array], wanted: Array
) -> None:
    with np.errstate(invalid="ignore"):
        found = result(operator, arguments, operands, wanted)
    assert found.shape == wanted.shape and np.allclose(found, wanted, equal_nan=True)
