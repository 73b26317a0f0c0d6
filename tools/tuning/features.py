"""Features of candidates, from which a cost model predicts the ratio to the chooser's kernel."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2, prod

import numpy as np
import numpy.typing as npt

from stepwell.dialects.sched import Schedule
from stepwell.runtime.machine.target import TargetDescription
from stepwell.tools.tuning.candidate import Candidate, TiledOp, register_level
from stepwell.tools.tuning.space import Space

Vector = npt.NDArray[np.float64]
_OF_OP = (
    "trip count", "tile elements", "registers of results", "registers over those of the machine",
    "share of the remainder of lanes", "share of the remainder of rows", "unrolled steps", "steps of the sum",
    "length of the body", "lanes over a register", "bytes of a tile over L1", "bytes of a tile over L2",
    "lines of a tile", "pages of a tile", "stride of the innermost loop", "reuse of the innermost loop",
    "position of the lanes in the order", "shared loops", "stride of lanes in the operands",
    "block of the sum",
)  # fmt: skip
FEATURES = tuple(f"{name} ({how})" for name in _OF_OP for how in ("heaviest op", "change")) + ("forms",)
"""The names of the features, in order; the change is that to the chooser's schedule."""
_LINE_BYTES, _PAGE_BYTES = 64, 4096


def features_of(space: Space, candidate: Candidate, target: TargetDescription) -> Vector:
    """The features of a candidate of a space."""
    tiles = candidate.tiles or ()
    known = len(tiles) == len(space.tiles)
    found = np.zeros(len(_OF_OP))
    base = np.zeros(len(_OF_OP))
    for index, op in enumerate(space.tiles):
        if op.chosen is None or not op.is_anchor:
            continue
        work = log2(1 + prod(n or 64 for n in op.extents))
        own = (tiles[index] if known else None) or op.chosen
        found += work * _of_op(op, own, target)
        base += work * _of_op(op, op.chosen, target)
    total = sum(log2(1 + prod(n or 64 for n in op.extents)) for op in space.tiles if op.is_anchor) or 1.0
    pairs = np.stack([found / total, (found - base) / total], axis=1).reshape(-1)
    return np.append(pairs, float(candidate.forms not in (None, space.default.forms)))


def _of_op(op: TiledOp, schedule: Schedule, target: TargetDescription) -> Vector:
    """The features of an op with a schedule."""
    if len(schedule.tile) != op.rank:
        return np.zeros(len(_OF_OP))
    block = schedule.tile[schedule.loops()[0]] if schedule.inner else 0
    schedule = register_level(schedule)
    extents = [n or 64 for n in op.extents]
    sizes = [min(step or n, n) for step, n in zip(schedule.tile, extents, strict=True)]
    lanes = schedule.vectorize
    results = [d for d, each in enumerate(op.parallel) if each]
    vectors = prod(ceil(sizes[d] / op.lanes) if d == lanes else sizes[d] for d in results)
    loops = schedule.loops()
    inner = loops[-1] if loops else op.rank - 1
    touched, lines, pages = _touched(op, sizes)
    strides = [abs(access.strides[inner]) for access in op.accesses if inner >= 0]
    along = [abs(access.strides[lanes]) for access in op.accesses if lanes is not None]
    rest = [extents[d] % sizes[d] / extents[d] for d in range(op.rank)]
    return np.array([
        _log(prod(ceil(n / s) for n, s in zip(extents, sizes, strict=True))),
        _log(prod(sizes[d] for d in results)),
        _log(vectors),
        vectors / op.registers,
        rest[lanes] if lanes is not None else 0.0,
        sum(rest[d] for d in results if d != lanes),
        _log(prod(sizes[d] for d, each in enumerate(op.parallel) if not each)),
        _log(prod(n for n, each in zip(extents, op.parallel, strict=True) if not each)),
        _log(op.body),
        _log((sizes[lanes] if lanes is not None else 1) / op.lanes + 0.01),
        _log(touched / target.l1_bytes + 1e-3),
        _log(touched / target.l2_bytes + 1e-3),
        _log(lines),
        _log(pages),
        _log(sum(strides) + 1),
        sum(stride == 0 for stride in strides) / max(1, len(strides)),
        loops.index(lanes) / max(1, len(loops)) if lanes in loops else -1.0,
        float(len(schedule.parallel)),
        _log(max(along, default=0) + 1),
        _log(block + 1),
    ])  # fmt: skip


def _touched(op: TiledOp, sizes: Sequence[int]) -> tuple[float, float, float]:
    """The bytes, cache lines and pages that a tile of some sizes touches."""
    touched, lines, pages = 0.0, 1.0, 1.0
    for access in op.accesses:
        spans = [(size, abs(stride)) for size, stride in zip(sizes, access.strides, strict=True) if stride]
        elements = prod(size for size, _ in spans)
        touched += elements * access.element_bytes
        near = prod(size for size, stride in spans if stride * access.element_bytes <= _LINE_BYTES)
        lines += elements / max(1.0, min(near, _LINE_BYTES / access.element_bytes))
        pages += prod(size for size, stride in spans if stride * access.element_bytes >= _PAGE_BYTES)
    return touched, lines, pages


def _log(number: float) -> float:
    return log2(max(number, 1e-6))


def estimate_us(space: Space, candidate: Candidate, target: TargetDescription) -> float:
    """
    A crude estimate of the time of a candidate in microseconds, without any measurement.

    The trips of each op, by the lines that a tile touches and the registers that it computes.
    """
    tiles = candidate.tiles or ()
    total = 1.0
    for index, op in enumerate(space.tiles):
        schedule = (tiles[index] if len(tiles) == len(space.tiles) else None) or op.chosen
        if schedule is None or len(schedule.tile) != op.rank:
            continue
        extents = [n or 64 for n in op.extents]
        own = register_level(schedule)
        sizes = [min(step or n, n) for step, n in zip(own.tile, extents, strict=True)]
        trips = prod(ceil(n / s) for n, s in zip(extents, sizes, strict=True))
        _, lines, pages = _touched(op, sizes)
        work = prod(sizes) * op.body / op.lanes
        total += trips * (2.0 + work + lines + 4 * pages) / 3000.0
    return total
