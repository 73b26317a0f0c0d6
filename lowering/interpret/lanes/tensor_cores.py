"""TF32 tensor-core products (`gpu.mma_sync`, `mma.sync`) computed for all warps, for the interpreters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stepwell.dialects import gpu
from stepwell.dialects.gpu.tensor_cores import MATRIX_COLUMNS, MATRIX_ROWS
from stepwell.lowering.interpret.lanes.compiler import LaneCompiler, for_lanes
from stepwell.lowering.interpret.lanes.memory import Buffer, expect_aligned, loaded
from stepwell.lowering.interpret.lanes.state import Group, LaneFrame, Lanes, as_lanes, expect_whole_warps
from stepwell.runtime.errors import StepwellError

_WARP = 32
_HALF_TF32, _TF32_BITS = np.uint32(0x1000), np.uint32(0xFFFFE000)
_TF32_NAN = np.uint32(0x7FFFFFFF)
_LANES = np.arange(_WARP)
_G, _T = _LANES // 4, _LANES % 4
_LEFT = [(_G, _T), (_G + 8, _T), (_G, _T + 4), (_G + 8, _T + 4)]
"""The row and the column of each lane for each element of a fragment, from the manual of PTX."""
_RIGHT = [(_T, _G), (_T + 4, _G)]
_RESULT = [(_G, 2 * _T), (_G, 2 * _T + 1), (_G + 8, 2 * _T), (_G + 8, 2 * _T + 1)]

_where: Callable[[Any, Any, Any], Any] = np.where


def to_tf32(value: Any) -> Any:
    """f32 numbers rounded to TF32: 10 bits of fraction, ties away from 0."""
    value = np.asarray(value, np.float32)
    bits: Any = value.view(np.uint32)
    rounded: Any = _where(np.isfinite(value), (bits + _HALF_TF32) & _TF32_BITS, bits)
    return _where(np.isnan(value), _TF32_NAN, rounded).astype(np.uint32).view(np.float32)[()]


def multiply(a: Sequence[Lanes], b: Sequence[Lanes], c: Sequence[Lanes]) -> list[Lanes]:
    """
    `c + a b` of each warp from the elements of its lanes.

    As on tensor cores, products are exact and sums are truncated, with a larger error than by rounding.
    """
    left, right = _matrices(a, _LEFT, (16, 8)), _matrices(b, _RIGHT, (8, 8))
    left, right = (_cut_to_tf32(each).astype(np.float64) for each in (left, right))
    exact = _matrices(c, _RESULT, (16, 8)).astype(np.float64) + left @ right
    totals = _cut_to_f32(exact)
    return [totals[:, rows, columns].reshape(-1) for rows, columns in _RESULT]


def _matrices(lanes: Sequence[Lanes], places: Sequence[Any], shape: tuple[int, int]) -> Any:
    """The matrices, a warp each, whose elements are at `places` of the lanes."""
    found = np.zeros((lanes[0].size // _WARP, *shape), np.float32)
    for values, (rows, columns) in zip(lanes, places, strict=True):
        found[:, rows, columns] = values.reshape(-1, _WARP)
    return found


def _cut_to_tf32(values: Any) -> Any:
    return (values.view(np.uint32) & _TF32_BITS).view(np.float32)


def _cut_to_f32(exact: Any) -> Any:
    """Numbers of f64 as f32, rounded towards 0."""
    found = exact.astype(np.float32)
    is_above = np.isfinite(found) & (np.abs(found.astype(np.float64)) > np.abs(exact))
    return _where(is_above, np.nextafter(found, np.float32(0)), found)


def expect_warps(group: Group, mask: Any, what: object) -> None:
    """Require whole, fully active warps. Raises: StepwellError `bad-launch`, `divergent-barrier`."""
    if group.threads % _WARP:
        message = f"{what} needs blocks of whole warps, and they have {group.threads} threads"
        raise group.in_kernel(StepwellError("bad-launch", None, message))
    expect_whole_warps(group, mask, what)


@for_lanes("gpu.to_tf32")
def prepare_rounding(op: gpu.ToTf32Op, compiler: LaneCompiler) -> Callable[..., Any]:
    """`gpu.to_tf32`: rounds f32 to TF32."""

    def run(frame: LaneFrame, value: Any) -> Any:
        return to_tf32(value)

    return run


@for_lanes("gpu.mma_sync")
def prepare_multiply(op: gpu.MmaSyncOp, compiler: LaneCompiler) -> Callable[..., Any]:
    """`gpu.mma_sync`: multiplies the fragments of each warp and adds the product to its accumulator."""
    left, right = len(op.a), len(op.b)

    def run(frame: LaneFrame, *values: Any) -> Any:
        group: Group = frame.group
        expect_warps(group, frame.mask, op.name)
        lanes = [as_lanes(value, group) for value in values]
        with np.errstate(all="ignore"):
            return tuple(multiply(lanes[:left], lanes[left : left + right], lanes[left + right :]))

    return run


def matrix_places(lanes: int, matrix: int) -> tuple[Any, Any]:
    """For each lane: the lane that has the address of its matrix row, and its column in this row."""
    lane: Any = np.arange(lanes) % _WARP
    return np.arange(lanes) - lane + MATRIX_ROWS * matrix + lane // MATRIX_COLUMNS, lane % MATRIX_COLUMNS


@for_lanes("gpu.ldmatrix")
def prepare_matrices(op: gpu.LdmatrixOp, compiler: LaneCompiler) -> Callable[..., Any]:
    """`gpu.ldmatrix`: each lane loads its elements of matrices, whose rows other lanes name."""
    count = len(op.parts)

    def run(frame: LaneFrame, buffer: Buffer, *indices: Any) -> Any:
        group: Group = frame.group
        expect_warps(group, frame.mask, op.name)
        rows = [as_lanes(index, group) for index in indices]
        found: list[Lanes] = []
        for matrix in range(count):
            source, column = matrix_places(group.lanes, matrix)
            first = tuple(each[source] for each in rows)
            expect_aligned(op, frame, buffer, first, MATRIX_COLUMNS)
            found.append(as_lanes(loaded(op, frame, buffer, (*first[:-1], first[-1] + column)), group))
        return found[0] if count == 1 else tuple(found)

    return run
