"""`te.library` against numpy, on level 2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import erf
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest

import stepwell
from stepwell import StepwellError, te

Array = npt.NDArray[Any]
L = te.library
DRAW = np.random.default_rng(2)


def drawn(*shape: int) -> Array:
    return DRAW.standard_normal(shape, dtype=np.float32)


X, Y, Z = drawn(3, 4, 5), drawn(4, 1), np.abs(drawn(3, 4, 5)) + np.float32(0.1)
IMAGE, FILTER = drawn(2, 3, 7, 8), drawn(4, 3, 3, 2)
AT = np.array([[2, 0], [1, 9]])
FLAGS = X > 0


def softmax(x: Array, axis: int = -1) -> Array:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def normalized(x: Array, axes: tuple[int, ...]) -> Array:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def windows(x: Array, size: tuple[int, int], strides: Sequence[int]) -> Array:
    return np.lib.stride_tricks.sliding_window_view(x, size, (2, 3))[:, :, :: strides[0], :: strides[1]]


def convolved(x: Array, strides: Sequence[int]) -> Array:
    return np.einsum("nchwpq,ocpq->nohw", windows(x, (3, 2), strides), FILTER)


PADDED = np.pad(IMAGE, ((0, 0), (0, 0), (1, 0), (2, 1)))
ROWS = ((0, 0), (0, 0), (1, 1), (0, 0))
Case = tuple[Callable[..., Any], Sequence[Array], Array]
CASES: dict[str, Case] = {
    "add": (L.add, [X, Y], X + Y),
    "subtract": (L.subtract, [X, Y], X - Y),
    "multiply": (L.multiply, [Y, X], X * Y),
    "divide": (L.divide, [X, Z], X / Z),
    "maximum": (L.maximum, [X, Y], np.maximum(X, Y)),
    "minimum": (L.minimum, [X, Y], np.minimum(X, Y)),
    "power": (L.power, [Z, X], Z**X),
    "binary": (lambda a, b: L.binary(a, b, lambda x, y: x - 2 * y), [X, Y], X - 2 * Y),
    "unary": (lambda a: L.unary(a, "tanh"), [X], np.tanh(X)),
    "where": (L.where, [FLAGS, X, Y], np.where(FLAGS, X, Y)),
    "clip": (lambda a: L.clip(a, -0.5, 1), [X], np.clip(X, -0.5, 1)),
    "relu": (L.relu, [X], np.maximum(X, 0)),
    "leaky_relu": (L.leaky_relu, [X], np.where(X < 0, 0.01 * X, X)),
    "elu": (L.elu, [X], np.where(X < 0, np.expm1(X), X)),
    "sigmoid": (L.sigmoid, [X], 1 / (1 + np.exp(-X))),
    "silu": (L.silu, [X], X / (1 + np.exp(-X))),
    "gelu": (L.gelu, [X], X / 2 * (1 + np.vectorize(erf)(X / np.sqrt(2)))),
    "gelu_tanh": (
        lambda a: L.gelu(a, "tanh"),
        [X],
        X / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3))),
    ),
    "softplus": (L.softplus, [X * 50], np.logaddexp(X * 50, 0)),
    "broadcast_to": (lambda a: L.broadcast_to(a, (3, 4, 5)), [Y], np.broadcast_to(Y, (3, 4, 5))),
    "transpose": (lambda a: L.transpose(a, (1, 2, 0)), [X], X.transpose(1, 2, 0)),
    "reverse": (L.transpose, [X], X.T),
    "expand_dims": (lambda a: L.expand_dims(a, 1), [X], X[:, None]),
    "squeeze": (lambda a: L.squeeze(a, -1), [Y], Y[:, 0]),
    "flip": (lambda a: L.flip(a, 1), [X], X[:, ::-1]),
    "repeat": (lambda a: L.repeat(a, 3, 1), [X], X.repeat(3, 1)),
    "tile": (lambda a: L.tile(a, (1, 2, 3)), [X], np.tile(X, (1, 2, 3))),
    "pad": (
        lambda a: L.pad(a, (0, 1, 0), (2, 0, 0), 7),
        [X],
        np.pad(X, ((0, 2), (1, 0), (0, 0)), constant_values=7),
    ),
    "concat": (lambda a, b: L.concat([a, b, a], 1), [X, X[:, :2]], np.concatenate([X, X[:, :2], X], 1)),
    "stack": (lambda a, b: L.stack([a, b], 2), [X, Z], np.stack([X, Z], 2)),
    "take": (lambda a, at: L.take(a, at, 1), [X, AT], X.take(np.clip(AT, 0, 3), 1)),
    "one_hot": (lambda at: L.one_hot(at, 4), [AT], np.eye(11, 4, dtype=np.float32)[AT]),
    "reshape": (lambda a: L.reshape(a, (6, 10)), [X], X.reshape(6, 10)),
    "tril": (lambda a: L.tril(a, 1), [X], np.tril(X, 1)),
    "sum": (lambda a: L.reduce(a, "sum", (0, 2)), [X], X.sum((0, 2))),
    "prod": (lambda a: L.reduce(a, "prod", 1, keep_dims=True), [X], X.prod(1, keepdims=True)),
    "max": (lambda a: L.reduce(a, "max"), [X], X.max()),
    "min": (lambda a: L.reduce(a, "min", -1), [X], X.min(-1)),
    "mean": (lambda a: L.mean(a, (1, 2)), [X], X.mean((1, 2))),
    "argmax": (lambda a: L.argmax(a, 1), [X], X.argmax(1)),
    "argmin": (lambda a: L.argmin(a, -1), [X], X.argmin(-1)),
    "softmax": (L.softmax, [X], softmax(X)),
    "softmax_columns": (lambda a: L.softmax(a, 1), [X], softmax(X, 1)),
    "log_softmax": (L.log_softmax, [X], np.log(softmax(X))),
    "layer_norm": (
        lambda a, s, b: L.layer_norm(a, s, b, 1),
        [X, Z[0], X[0]],
        normalized(X, (1, 2)) * Z[0] + X[0],
    ),
    "rms_norm": (L.rms_norm, [X, Z[0, 0]], X / np.sqrt((X * X).mean(-1, keepdims=True) + 1e-5) * Z[0, 0]),
    "batch_norm": (
        L.batch_norm,
        [X, Z[0, :, 0], X[0, :, 0], X[1, :, 0], Z[1, :, 0]],
        (
            (X.transpose(0, 2, 1) - X[1, :, 0]) / np.sqrt(Z[1, :, 0] + 1e-5) * Z[0, :, 0] + X[0, :, 0]
        ).transpose(0, 2, 1),
    ),
    "matmul": (L.matmul, [X, Z.transpose(0, 2, 1)], X @ Z.transpose(0, 2, 1)),
    "matmul_broadcast": (L.matmul, [X, Z[0].T], X @ Z[0].T),
    "outer": (L.outer, [X[0, 0], X[0, :, 0]], np.outer(X[0, 0], X[0, :, 0])),
    "conv": (L.conv, [IMAGE, FILTER], convolved(IMAGE, (1, 1))),
    "conv_padded": (
        lambda x, w: L.conv(x, w, (2, 1), (1, 2, 0, 1)),
        [IMAGE, FILTER],
        convolved(PADDED, (2, 1)),
    ),
    "max_pool": (
        lambda x: L.pool(x, (3, 2), (2, 2), (1, 0, 1, 0)),
        [IMAGE],
        windows(np.pad(IMAGE, ((0, 0), (0, 0), (1, 1), (0, 0)), constant_values=-9), (3, 2), (2, 2)).max(
            (4, 5)
        ),
    ),
    "mean_pool": (
        lambda x: L.pool(x, (2, 2), kind="mean"),
        [IMAGE],
        windows(IMAGE, (2, 2), (1, 1)).mean((4, 5)),
    ),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CASES)
def test_operator_has_the_meaning_of_numpy(name: str) -> None:
    make, arrays, expected = CASES[name]
    inputs = [te.placeholder(a.shape, a.dtype, name=f"x{k}") for k, a in enumerate(arrays)]
    (found,) = te.interpret(inputs, make(*inputs), *arrays)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_made_tensors() -> None:
    made = [L.full((2, 3), 7), L.iota(4), L.eye(3)]
    found = te.interpret([], made)
    for array, expected in zip(found, [np.full((2, 3), 7), np.arange(4), np.eye(3)], strict=True):
        np.testing.assert_array_equal(array, expected)


def test_softmax_and_layer_norm_of_open_rows_are_a_kernel_each() -> None:
    n = te.var("n")
    x, s = te.placeholder((n, 33), name="x"), te.placeholder((33,), name="s")
    a, scale = drawn(5, 33), drawn(33)
    for made, expected in (
        (L.softmax(x), softmax(a)),
        (L.layer_norm(x, s, s), normalized(a, (1,)) * scale + scale),
    ):
        compiled = te.build([x, s], made)
        found: Any = compiled(a, scale)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        assert len(compiled.kernels) == 1


def test_product_is_the_kernel_of_onnx() -> None:
    a, b = te.placeholder((17, 19), name="a"), te.placeholder((19, 23), name="b")
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> '
        "g (float[17, 19] a, float[19, 23] b) => (float[17, 23] matmul) { matmul = MatMul(a, b) }"
    )
    ours, theirs = te.lower([a, b], L.matmul(a, b)), stepwell.import_onnx(model).to("linalg")
    assert str(ours["k0"]) == str(theirs["k0"])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda a: L.add(a, te.placeholder((3,), name="b")), "shapes do not broadcast"),
        (lambda a: L.matmul(a, a), "matmul of shapes"),
        (lambda a: L.transpose(a, (0, 0)), "perm has each of 2 dimensions once"),
        (lambda a: L.squeeze(a, 0), "expected 1"),
        (lambda a: L.reshape(a, (3, 3)), "cannot have the shape"),
        (lambda a: L.reduce(a, "median"), "kind is one of"),
        (lambda a: L.reduce(a, "sum", 2), "axis 2 is none of 2"),
        (lambda a: L.unary(a, "cube"), "no function is named 'cube'"),
    ],
)
def test_operands_that_do_not_fit(make: Callable[[te.Tensor], object], text: str) -> None:
    with pytest.raises(StepwellError, match="te-") as caught:
        make(te.placeholder((4, 5), name="a"))
    assert text in caught.value.message
    assert caught.value.where.startswith(__file__)
