"""Non-maximum suppression of boxes in images."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stepwell.runtime.meaning import Array, meaning

F32 = npt.NDArray[np.float32]


@meaning("host.non_max_suppression")
def non_max_suppression(
    boxes: Array,
    scores: Array,
    most: Array | None = None,
    overlap: Array | None = None,
    least_score: Array | None = None,
    *,
    center: bool,
) -> Array:
    """
    The selected boxes as (batch, class, box), best first for each class of each batch.

    A box is dropped when its overlap with a better selected one, intersection over union, is above `overlap`,
    or its score is not above `least_score`. At most `most` are selected for each class; without it none is.
    """
    limit = 0 if most is None else int(most.reshape(-1)[0])
    threshold = np.float32(0.0 if overlap is None else overlap.reshape(-1)[0])
    chosen: list[tuple[int, int, int]] = []
    for batch in range(scores.shape[0]):
        corners = _corners(boxes[batch].astype(np.float32), center)
        for kind in range(scores.shape[1]):
            row = scores[batch, kind]
            order = np.argsort(-row.astype(np.float64), kind="stable")
            if least_score is not None:
                order = order[row[order] > least_score.reshape(-1)[0]]
            chosen += [(batch, kind, int(box)) for box in _survivors(corners, order, limit, threshold)]
    return np.array(chosen, np.int64).reshape(-1, 3)


def _corners(boxes: F32, center: bool) -> F32:
    """Boxes as (low y, low x, high y, high x)."""
    if center:
        x, y, width, height = boxes.T
        return np.stack([y - height / 2, x - width / 2, y + height / 2, x + width / 2], 1)
    first, second = boxes[:, :2], boxes[:, 2:]
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], 1)


def _survivors(corners: F32, order: npt.NDArray[np.intp], limit: int, threshold: np.float32) -> list[int]:
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
            order = order[~((shared > 0) & (union > 0) & (shared / union > threshold))]
    return kept
