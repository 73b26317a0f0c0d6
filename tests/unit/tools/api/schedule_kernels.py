"""Kernels of formulas for the tests of schedules: products, rows, stencils, moved axes, open sizes."""

from __future__ import annotations

from stepwell import te

Kernel = tuple[list[te.Tensor], te.Tensor]


def product(m: int, n: int, k: int) -> Kernel:
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="r")
    return [a, b], te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")


def softmax() -> Kernel:
    x, r, q = te.placeholder((6, 17), name="x"), te.reduce_axis((0, 17), "r"), te.reduce_axis((0, 17), "q")
    top = te.compute((6,), lambda i: te.max(x[i, r], axis=r), name="top")
    powers = te.compute((6, 17), lambda i, j: te.exp(x[i, j] - top[i]), name="powers")
    total = te.compute((6,), lambda i: te.sum(powers[i, q], axis=q), name="total")
    return [x], te.compute((6, 17), lambda i, j: powers[i, j] / total[i], name="y")


def stencil() -> Kernel:
    x = te.placeholder((9, 12), name="x")
    rows = te.compute((7, 12), lambda i, j: x[i, j] + x[i + 1, j] + x[i + 2, j], name="rows")
    return [x], te.compute((7, 10), lambda i, j: rows[i, j] + rows[i, j + 1] + rows[i, j + 2], name="blur")


def transpose() -> Kernel:
    x = te.placeholder((5, 7, 6), name="x")
    return [x], te.compute((6, 5, 7), lambda i, j, k: x[j, k, i] * 2.0, name="t")


def any_rows() -> Kernel:
    x, r = te.placeholder((te.var("n"), 8), name="x"), te.reduce_axis((0, 8), "r")
    return [x], te.compute((te.var("n"),), lambda i: te.sum(x[i, r], axis=r), name="s")


def window() -> Kernel:
    x, w = te.placeholder((2, 8, 9), name="x"), te.placeholder((3, 2, 3), name="w")
    c, r = te.reduce_axis((0, 2), "c"), te.reduce_axis((0, 3), "r")
    return [x, w], te.compute(
        (3, 8, 7), lambda o, i, j: te.sum(x[c, i, j + r] * w[o, c, r], axis=[c, r]), name="conv"
    )


def pool() -> Kernel:
    x, r = te.placeholder((4, 12), name="x"), te.reduce_axis((0, 3), "r")
    return [x], te.compute((4, 5), lambda i, j: te.max(x[i, 2 * j + r], axis=r), name="pool")


def epilogue() -> Kernel:
    inputs, c = product(6, 8, 5)
    b = te.placeholder((8,), name="b")
    return [*inputs, b], te.compute((6, 8), lambda i, j: te.maximum(c[i, j] + b[j], 0.0), name="y")


def column_sums() -> Kernel:
    x, r = te.placeholder((9, 10), name="x"), te.reduce_axis((0, 9), "r")
    return [x], te.compute((10,), lambda j: te.sum(x[r, j], axis=r), name="sums")


def norm() -> Kernel:
    x, r = te.placeholder((5, 12), name="x"), te.reduce_axis((0, 12), "r")
    squares = te.compute((5,), lambda i: te.sum(x[i, r] * x[i, r], axis=r), name="squares")
    return [x], te.compute((5, 12), lambda i, j: x[i, j] * te.rsqrt(squares[i] + 1.0), name="y")


def gelu() -> Kernel:
    x, b = te.placeholder((4, 24), name="x"), te.placeholder((24,), name="b")
    moved = te.compute((4, 24), lambda i, j: x[i, j] + b[j], name="moved")
    return [x, b], te.compute(
        (4, 24), lambda i, j: 0.5 * moved[i, j] * (1.0 + te.erf(moved[i, j] * 0.7071)), name="y"
    )


KERNELS = {
    "product": lambda: product(5, 6, 7),
    "row": lambda: product(1, 16, 5),
    "softmax": softmax,
    "stencil": stencil,
    "transpose": transpose,
    "any rows": any_rows,
    "window": window,
    "pool": pool,
    "epilogue": epilogue,
    "column sums": column_sums,
    "norm": norm,
    "gelu": gelu,
}
"""Twelve kernels, each as a function that makes the inputs and the result."""
