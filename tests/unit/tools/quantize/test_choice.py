"""Measures, budgets, and the choice of layers by them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import TensorSpec
from stepwell.tools.quantize.choice import kept_in_floats, ranking
from stepwell.tools.quantize.metrics import Budget, Metric, budget_of, metric_of
from tests.support.samples import examples


class Losses:
    """A simulation in which losses add up."""

    def __init__(self, **losses: float):
        self._losses = losses
        self.layers = list(losses)

    def value(self, quantized: Collection[str]) -> float:
        return 1 - sum(self._losses[layer] for layer in quantized)

    def alone(self, layer: str) -> tuple[float, float]:
        return self._losses[layer], 50.0


def _budget(least: float) -> Budget:
    return Budget(least, "")


def test_only_the_harmful_layer_is_kept() -> None:
    assert kept_in_floats(Losses(a=0.0, b=0.1), _budget(0.95)) == ["b"]
    assert kept_in_floats(Losses(a=0.02, b=0.02), _budget(0.95)) == []
    assert kept_in_floats(Losses(a=0.1, b=0.1), None) == []
    assert ranking(Losses(a=0.01, b=0.1, c=0.05)) == ["b", "c", "a"]


def test_layers_come_back_that_fit() -> None:
    """Bisection drops the two worst; the second of them fits the budget without the first."""
    assert kept_in_floats(Losses(a=0.3, b=0.2, c=0.0), _budget(0.8)) == ["a"]


def test_no_loss_keeps_every_layer_that_loses() -> None:
    assert set(kept_in_floats(Losses(a=0.1, b=0.0, c=0.01), _budget(1.0))) == {"a", "c"}


@given(st.lists(st.sampled_from([0.0, 0.01, 0.05, 0.2]), min_size=1, max_size=12), st.floats(0, 0.5))
@examples(100)
def test_a_budget_is_kept_and_no_layer_too_many(losses: list[float], drop: float) -> None:
    named = Losses(**{f"l{i}": loss for i, loss in enumerate(losses)})
    budget = _budget(1 - drop)
    off = kept_in_floats(named, budget)
    on = set(named.layers).difference(off)
    assert budget.holds(named.value(on))
    assert not any(budget.holds(named.value(on | {layer})) for layer in off)


def _metric(wanted: str | None, labels: np.ndarray | None, *rows: list[float]) -> Metric:
    outputs = [{"y": np.array([row], np.float32)} for row in rows]
    feeds = [{} for _ in rows]
    spec = TensorSpec("y", np.dtype(np.float32), (Dim.of(1), Dim.of(len(rows[0]))))
    return metric_of(wanted, labels, outputs, feeds, [spec])


def test_measures() -> None:
    labels = np.array([1, 0])
    top1 = _metric(None, labels, [0.0, 1.0], [0.0, 1.0])
    assert (top1.name, top1.reference) == ("top1", 0.5)
    agreement = _metric(None, None, [0.0, 1.0], [1.0, 0.0])
    assert agreement.name == "agreement"
    other = [{"y": np.array([[0.0, 2.0]], np.float32)}, {"y": np.array([[0.0, 2.0]], np.float32)}]
    assert agreement.function([0, 1], other) == 0.5
    assert agreement.function([1], other[1:]) == 0.0
    noise = _metric("sqnr", None, [3.0, 4.0])
    assert noise.function([0], [{"y": np.array([[3.0, 4.5]], np.float32)}]) == pytest.approx(20.0)
    assert _metric(None, None, [1.0]).name == "sqnr"
    with pytest.raises(StepwellError, match="labels are from 0 to 1, found 0 to 2") as caught:
        _metric(None, np.array([0, 2]), [0.0, 1.0], [0.0, 1.0])
    assert caught.value.code == "bad-data"
    with pytest.raises(StepwellError, match="does not fit"):
        _metric("top1", None, [0.0, 1.0])


def test_budgets() -> None:
    top1 = _metric(None, np.array([1, 1]), [0.0, 1.0], [0.0, 1.0])
    relative, absolute = budget_of("0.5%", top1), budget_of(0.25, top1)
    assert relative is not None and relative.least == pytest.approx(0.995)
    assert absolute is not None and absolute.least == 0.75
    assert budget_of(None, top1) is None
    ratio = budget_of("30dB", _metric("sqnr", None, [1.0]))
    assert ratio is not None and ratio.least == 30
    for bad in ("-1%", "x", "30dB", "nan"):
        with pytest.raises(StepwellError) as caught:
            budget_of(bad, top1)
        assert caught.value.code == "bad-option"
