"""A detector that ends in boxes, and trees, against ONNX Runtime: compiled once for all sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stepwell
from benchmarks.zoo import model_path
from stepwell.runtime.interface import Array
from stepwell.tools.check.differences import allowed_of_model, relative_difference
from stepwell.tools.measure.peers import onnxruntime_session

Feeds = dict[str, Array]
Place = tuple[int, ...]


def path_of(name: str) -> Path:
    path = model_path(name)
    if path is None:
        pytest.skip(f"{name}: STEPWELL_MODELS names no folder that has it")
    return path


def expected(path: Path, feeds: Feeds, *, optimize: bool = False) -> Feeds:
    session = onnxruntime_session(path, threads=1, optimize=optimize)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, map(np.asarray, session.run(None, feeds)), strict=True))


@pytest.mark.slow
def test_the_same_boxes_in_any_order() -> None:
    """
    Of boxes whose scores differ in the last digit only, rounding decides which one is taken first.

    On the same scores and boxes the choice is the same.
    """
    path = path_of("yolo_nms")
    model = stepwell.compile(path)
    ours, others = 0.0, 0.0
    for seed in range(5):
        feeds: Feeds = {"x": np.random.default_rng(seed).random((1, 3, 320, 320), np.float32)}
        boxes, wanted = _by_place(model.run(feeds)), _by_place(expected(path, feeds))
        assert len(boxes) == len(wanted) > 0
        assert len(boxes.keys() & wanted.keys()) >= 0.99 * len(wanted)
        ours = max(ours, _worst(boxes, wanted))
        others = max(others, _worst(_by_place(expected(path, feeds, optimize=True)), wanted))
    # The sides of a box are powers of e, so that small differences grow: those of other engines as well, each
    # on other images (0.0005 to 0.006).
    assert ours <= max(1e-4, 2 * others)


def _worst(boxes: dict[Place, Array], wanted: dict[Place, Array]) -> float:
    """The largest relative difference of a side of a box that both have."""
    common = boxes.keys() & wanted.keys()
    ratios = [boxes[p].astype(np.float64) / wanted[p].astype(np.float64) for p in common]
    return max(float(np.max(np.abs(ratio - 1))) for ratio in ratios)


def _by_place(results: Feeds) -> dict[Place, Array]:
    """Each chosen box by batch, class and number."""
    return dict(zip(map(tuple, results["sel"].tolist()), results["boxes"], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["skl_rf", "skl_gbr"])
def test_trees(name: str) -> None:
    path = path_of(name)
    model = stepwell.compile(path)
    for rows in (64, 1, 7):
        feeds: Feeds = {"X": np.random.default_rng(rows).standard_normal((rows, 20)).astype(np.float32)}
        found = model.run(feeds)
        for output, wanted in expected(path, feeds).items():
            assert found[output].dtype == wanted.dtype and found[output].shape == wanted.shape
            if wanted.dtype.kind in "iu":
                assert np.array_equal(found[output], wanted), output
            else:
                assert relative_difference(found[output], wanted) <= allowed_of_model(wanted.dtype), output
