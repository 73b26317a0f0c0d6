"""The quick conversion of values agrees with the one that knows all cases, and leaves it the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError

TEXT = """
func.func @main(%t: !adt.data<@Tree, tensor<2xf32>>, %p: tuple<tensor<i64>, !adt.data<@List, tensor<i64>>>) -> (!adt.data<@Tree, tensor<2xf32>>, tuple<tensor<i64>, !adt.data<@List, tensor<i64>>>) {
  func.return %t, %p : !adt.data<@Tree, tensor<2xf32>>, tuple<tensor<i64>, !adt.data<@List, tensor<i64>>>
}
"""  # noqa: E501


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file: Path = tmp_path_factory.mktemp("quick") / "same.mlir"
    file.write_text(TEXT)
    return stepwell.compile(file)


def _tree(model: Any, depth: int) -> Any:
    leaf = np.array([depth, 1], np.float32)
    return model.data.Tree.Rose(leaf, [_tree(model, depth - 1)] if depth else [])


@pytest.mark.parametrize("depth", [0, 3, 150])
def test_quick_and_slow_values_are_equal(model: Any, depth: int) -> None:
    """Nested Python numbers, and trees that are too deep, take the slow way."""
    tree = _tree(model, depth)
    quick = model(tree, (np.asarray(np.int64(3)), [np.asarray(np.int64(4))]))
    slow = model(tree, (3, [4]))
    assert quick[0] == slow[0] == tree
    assert quick[1] == slow[1] == (3, [4])


@pytest.mark.parametrize(
    ("pair", "place"),
    [
        ((np.asarray(np.int64(3)), [np.zeros(2, np.int64)]), r"input 'p': \[1\]\[0\]"),
        ((np.asarray(np.int64(3)),), "input 'p'"),
        ((np.asarray(np.float32(3.5)), []), r"input 'p': \[0\]"),
    ],
)
def test_errors_have_positions(model: Any, pair: Any, place: str) -> None:
    with pytest.raises(StepwellError, match=place):
        model(_tree(model, 1), pair)
