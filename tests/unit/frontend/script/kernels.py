# ruff: noqa: F821, UP037
# pyright: reportUndefinedVariable=false, reportInvalidTypeForm=false, reportInvalidTypeArguments=false
"""Loop scripts for the tests: products, rows, stencils, gathers, recurrences, blocks, calls."""

from __future__ import annotations

from stepwell.script import (
    Buffer,
    Out,
    alloc,
    block,
    cast,
    exp,
    grid,
    parallel,
    reduce,
    script,
    select,
    spatial,
    unrolled,
    vectorized,
)

SIZE = 7
OFFSETS = (-1, 0, 1)


@script
def product(A: Buffer[5, 7, "f32"], B: Buffer[7, 6, "f32"], C: Out[5, 6, "f32"]):
    for i, j in grid(5, 6):
        C[i, j] = 0.0
        for k in range(SIZE):
            C[i, j] += A[i, k] * B[k, j]


@script
def product_by_block(A: Buffer[5, 7, "f32"], B: Buffer[7, 6, "f32"], C: Out[5, 6, "f32"]):
    for i, j, k in grid(5, 6, 7):
        with block("C") as b:
            vi, vj, vk = b.axes(spatial(i), spatial(j), reduce(k))
            if b.init():
                C[vi, vj] = 0.0
            C[vi, vj] += A[vi, vk] * B[vk, vj]


@script
def product_by_words(A: Buffer[5, 7, "f32"], B: Buffer[7, 8, "f32"], C: Out[5, 8, "f32"]):
    for i in parallel(5):
        for k in range(7):
            for j in vectorized(8):
                C[i, j] += A[i, k] * B[k, j]


@script
def softmax(x: Buffer["N", 9, "f32"], y: Out["N", 9, "f32"]):
    for i in parallel(x.shape[0]):
        top = x[i, 0]
        for j in range(1, 9):
            top = max(top, x[i, j])
        total = 0.0
        for j in range(9):
            y[i, j] = exp(x[i, j] - top)
            total += y[i, j]
        for j in range(9):
            y[i, j] /= total


@script
def outer(x: Buffer["N", "f32"], y: Buffer["M", "f32"], z: Out["N", "M", "f32"]):
    for i, j in grid(x.shape[0], y.shape[0]):
        z[i, j] = x[i] * y[j]


@script
def fan(x: Buffer["N", "f32"], y: Out["N", "f32"]):
    for i in range(x.shape[0]):
        s = 0.0
        for d in unrolled(OFFSETS):
            if i + d >= 0 and i + d < x.shape[0]:
                s += x[i + d]
        y[i] = s if i % 2 == 0 else -s


@script
def collatz(x: Buffer[9, "i64"], y: Out[9, "i64"]):
    for i in range(9):
        n = x[i]
        steps = 0
        while n > 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        y[i] = steps


@script
def prefix(x: Buffer[6, 3, "f32"], y: Out[6, 3, "f32"]):
    for j in range(3):
        y[0, j] = x[0, j]
    for t in range(1, 6):
        for j in range(3):
            y[t, j] = y[t - 1, j] + x[t, j]


@script
def stencil(x: Buffer[6, 8, "f32"], y: Out[6, 8, "f32"]):
    for i, j in grid(4, 6):
        s = 0.0
        for r, q in grid(3, 3):
            s += x[i + r, j + q]
        y[i + 1, j + 1] = s / 9.0


@script
def gathered(x: Buffer[6, "f32"], at: Buffer[4, "i32"], y: Out[4, "f32"]):
    for i in range(4):
        if at[i] >= 0 and at[i] < 6:
            y[i] = x[at[i]]
        else:
            y[i] = -1.0


@script
def counts(x: Buffer[12, "i64"], y: Out[4, "i64"]):
    for i in range(12):
        y[x[i] % 4] += 1


@script
def best(A: Buffer[4, 8, "f32"], value: Out[4, "f32"], at: Out[4, "i64"]):
    for i in range(4):
        value[i] = A[i, 0]
    for i, k in grid(4, 8):
        with block("best") as b:
            vi, vk = b.axes(spatial(i), reduce(k))
            at[vi] = select(A[vi, vk] > value[vi], vk, at[vi])
            value[vi] = max(value[vi], A[vi, vk])


@script
def doubled(x: Buffer[6, "f32"], y: Out[6, "f32"]):
    for i in range(6):
        y[i] = x[i] + x[i]


@script
def twice(x: Buffer[6, "f32"], y: Out[6, "f32"]):
    t = alloc(6, "f32")
    doubled(x, t)
    doubled(t, y)


@script
def backwards(x: Buffer[7, "f64"]):
    y = alloc(7, "f64")
    for i in range(6, -1, -2):
        y[6 - i] = x[i] * 2.0 if i > 2 else cast(i, "f64")
    return y


@script
def triangle(x: Buffer[5, 5, "f32"], y: Out[5, "f32"]):
    for i in range(5):
        for j in range(i + 1):
            y[i] += x[i, j]
