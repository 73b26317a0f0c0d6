"""Linear algebra that the host computes, of matrices in the last two dimensions."""

from __future__ import annotations

import numpy as np

from stepwell.runtime.meaning import meaning
from stepwell.runtime.meaning.floats import Numbers


@meaning("host.inverse")
def inverse(x: Numbers) -> Numbers:
    """The inverses of square matrices, computed in f32 or wider. Raises: ValueError for a singular one."""
    try:
        return np.linalg.inv(x.astype(np.result_type(x.dtype, np.float32))).astype(x.dtype)
    except np.linalg.LinAlgError as error:
        raise ValueError(f"Inverse: {error}") from None


@meaning("host.lu")
def lu(x: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """
    LU decompositions with partial pivoting, as LAPACK's `getrf` returns them.

    Returns: L below the diagonal and U from it on; the row that each row was exchanged with, from 1; the
    number, from 1, of the first column whose pivot is 0, and 0 where there is none.
    """
    packed, steps = x.copy(), min(x.shape[-2:])
    pivots = np.zeros((*x.shape[:-2], steps), np.int32)
    info = np.zeros(x.shape[:-2], np.int32)
    for at in np.ndindex(info.shape):
        matrix, row = packed[at], pivots[at]
        for k in range(steps):
            best = k + int(np.argmax(np.abs(matrix[k:, k])))
            row[k] = best + 1
            matrix[[k, best]] = matrix[[best, k]]
            if matrix[k, k] == 0:
                info[at] = info[at] or k + 1
                continue
            matrix[k + 1 :, k] /= matrix[k, k]
            matrix[k + 1 :, k + 1 :] -= np.outer(matrix[k + 1 :, k], matrix[k, k + 1 :])
    return packed, pivots, info


@meaning("host.triangular_solve")
def triangular_solve(
    a: Numbers, b: Numbers, *, left: bool, lower: bool, transposed: bool, unit: bool
) -> Numbers:
    """
    The solutions of `a x = b`, or of `x a = b`, for triangular matrices.

    Args: `lower` says which triangle of `a` is read; with `unit`, the diagonal is not read but counts as
    ones; with `transposed` the triangle is transposed before it is solved.
    """
    part = np.tril(a, -int(unit)) if lower else np.triu(a, int(unit))
    if unit:
        part = part + np.eye(a.shape[-1], dtype=a.dtype)
    if transposed:
        part = np.swapaxes(part, -1, -2)
    is_lower = lower != transposed
    if left:
        return _substituted(part, b, is_lower)
    turned = np.swapaxes(part, -1, -2), np.swapaxes(b, -1, -2)
    return np.ascontiguousarray(np.swapaxes(_substituted(*turned, not is_lower), -1, -2))


@meaning("host.cholesky")
def cholesky(x: Numbers, *, lower: bool) -> tuple[Numbers, Numbers]:
    """
    Cholesky factors of symmetric matrices, of which one triangle is read, as LAPACK's `potrf` returns them.

    Returns: the factors, with the other triangle as it was; 1 for matrices that have none, else 0.
    """
    read = x if lower else np.swapaxes(x, -1, -2)
    made, info = read.copy(), np.zeros(x.shape[:-2], np.int32)
    for at in np.ndindex(info.shape):
        matrix = made[at]
        try:
            factor = np.linalg.cholesky(matrix)  # which reads the lower triangle
            matrix[...] = factor + np.triu(matrix, 1)
        except np.linalg.LinAlgError:
            info[at] = 1
    return np.ascontiguousarray(made if lower else np.swapaxes(made, -1, -2)), info


@meaning("host.qr")
def qr(x: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """
    QR decompositions, as LAPACK's `geqrf` returns them.

    Returns: R from the diagonal on, and the Householder vectors below it; their factors; zeros.
    """
    packed, factors = np.linalg.qr(x, mode="raw")
    packed = np.ascontiguousarray(np.swapaxes(packed, -1, -2), x.dtype)
    return packed, factors.astype(x.dtype), np.zeros(x.shape[:-2], np.int32)


@meaning("host.householder_product")
def householder_product(x: Numbers, factors: Numbers) -> tuple[Numbers, Numbers]:
    """The first columns of products of Householder reflections, as LAPACK's `orgqr` returns them; zeros."""
    rows, columns = x.shape[-2:]
    made = np.zeros_like(x)
    made[..., range(columns), range(columns)] = 1
    for at in np.ndindex(x.shape[:-2]):
        matrix, vectors, scales = made[at], x[at], factors[at]
        for k in reversed(range(len(scales))):
            vector = np.concatenate([np.zeros(k, x.dtype), np.ones(1, x.dtype), vectors[k + 1 : rows, k]])
            matrix -= scales[k] * np.outer(vector, vector @ matrix)
    return made, np.zeros(x.shape[:-2], np.int32)


@meaning("host.svd")
def svd(x: Numbers, *, full: bool, vectors: bool) -> tuple[Numbers, ...]:
    """
    Singular value decompositions, as LAPACK's `gesdd` returns them.

    Returns: the matrix, the values, both sets of vectors (zeros unless they are wanted), and 0, or 1 where
    the iteration does not converge.
    """
    rows, columns = x.shape[-2:]
    short = min(rows, columns)
    wide = (rows, columns) if full else (short, short)
    batch = x.shape[:-2]
    info = np.zeros(batch, np.int32)
    left = np.zeros((*batch, rows, wide[0]), x.dtype)
    right = np.zeros((*batch, wide[1], columns), x.dtype)
    values = np.zeros((*batch, short), x.dtype)
    for at in np.ndindex(batch):
        try:
            if vectors:
                left[at], values[at], right[at] = np.linalg.svd(x[at], full_matrices=full)
            else:
                values[at] = np.linalg.svd(x[at], compute_uv=False)
        except np.linalg.LinAlgError:
            info[at] = 1
    return x, values, left, right, info


@meaning("host.eigh")
def eigh(x: Numbers, *, lower: bool) -> tuple[Numbers, Numbers, Numbers]:
    """
    Eigenvectors, as columns, and eigenvalues of symmetric matrices, of which one triangle is read.

    As LAPACK's `syevd` returns them, with 0, or 1 where the iteration does not converge.
    """
    vectors, values = np.zeros_like(x), np.zeros(x.shape[:-1], x.dtype)
    info = np.zeros(x.shape[:-2], np.int32)
    for at in np.ndindex(info.shape):
        try:
            values[at], vectors[at] = np.linalg.eigh(x[at], "L" if lower else "U")
        except np.linalg.LinAlgError:
            info[at] = 1
    return vectors, values, info


def _substituted(a: Numbers, b: Numbers, lower: bool) -> Numbers:
    """The solutions for triangular matrices, row by row; a zero on a diagonal gives infinities and NaN."""
    x, rows = b.copy(), range(a.shape[-1])
    with np.errstate(all="ignore"):
        for i in rows if lower else reversed(rows):
            known = slice(0, i) if lower else slice(i + 1, None)
            sums = (a[..., i : i + 1, known] @ x[..., known, :])[..., 0, :]
            x[..., i, :] = (x[..., i, :] - sums) / a[..., i, i, None]
    return x
