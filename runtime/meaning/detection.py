"""Non-maximum suppression of boxes in images."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stepwell.runtime.meaning import Array, meaning

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]


@meaning("graph.non_max_suppression")
def non_max_suppression(
    boxes: F32, scores: F32, overlap: F32, least_score: F32 | None, *, most: tuple[int], center: bool
) -> tuple[Array, Array]:
    """
    The indices of the selected boxes of each class, best first and then zeros, and how many they are.

    A box is dropped when its overlap with a better selected one, intersection over union, is above `overlap`,
    or its score is not above `least_score`.
    """
    chosen = np.zeros((*scores.shape[:2], most[0]), np.int64)
    counts = np.zeros(scores.shape[:2], np.int64)
    for batch in range(scores.shape[0]):
        with np.errstate(invalid="ignore"):
            corners = _corners(boxes[batch], center)
        for kind in range(scores.shape[1]):
            row = scores[batch, kind]
            order = np.argsort(-row, kind="stable")
            if least_score is not None:
                order = order[row[order] > least_score]
            kept = _survivors(corners, order, most[0], overlap)
            chosen[batch, kind, : len(kept)] = kept
            counts[batch, kind] = len(kept)
    return chosen, counts


@meaning("graph.join_parts")
def join_parts(parts: I64, counts: I64, *, size: tuple[int]) -> Array:
    """The first `counts` elements of each part as rows of its indices and an element."""
    if counts.sum() != size[0]:
        raise ValueError(f"size is {size[0]}, but the counts have a sum of {counts.sum()}")
    taken = np.arange(parts.shape[-1], dtype=np.int64) < counts[..., None]
    indices = np.stack(np.nonzero(taken)[:-1], 1)
    return np.concatenate([indices, parts[taken][:, None]], 1)


def _corners(boxes: F32, center: bool) -> F32:
    """Boxes as (low y, low x, high y, high x)."""
    if center:
        x, y, width, height = boxes.T
        return np.stack([y - height / 2, x - width / 2, y + height / 2, x + width / 2], 1)
    first, second = boxes[:, :2], boxes[:, 2:]
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], 1)


def _survivors(corners: F32, order: npt.NDArray[np.intp], limit: int, threshold: F32) -> list[int]:
    with np.errstate(all="ignore"):
        area = np.prod(corners[:, 2:] - corners[:, :2], axis=1)
    kept: list[int] = []
    while len(order) and len(kept) < limit:
        best, order = int(order[0]), order[1:]
        kept.append(best)
        low = np.maximum(corners[best, :2], corners[order, :2])
        high = np.minimum(corners[best, 2:], corners[order, 2:])
        with np.errstate(all="ignore"):
            shared = np.prod(np.maximum(high - low, 0), axis=1)
            union = area[best] + area[order] - shared
            # The overlap of infinite boxes is undefined: they are not dropped.
            order = order[~((shared > 0) & (shared / union > threshold))]
    return kept
