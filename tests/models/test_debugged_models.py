"""The debugger on whole networks: all values that it shows are the reference's."""

from __future__ import annotations

import pytest

import stepwell
from benchmarks.zoo import F32_MODELS, Model, model_path
from tests.support.samples import whole

_QUICK = ("gru_seq",)
_MODELS = [
    pytest.param(model, id=name, marks=[] if name in _QUICK else [pytest.mark.slow])
    for name, model in F32_MODELS.items()
]
_LEAST_SHARE = 0.3
"""Of the nodes' values that have a reference; exporters write most of the others of constants."""


@pytest.mark.parametrize("model", _MODELS)
def test_no_value_of_a_right_model_departs(model: Model) -> None:
    """A value that a pass has changed must be gone, not shown with the numbers of another one."""
    path = model_path(model.name)
    if path is None:
        pytest.skip(f"{model.name}: STEPWELL_MODELS names no folder that has it")
    session = stepwell.debug(path, input_shapes=model.input_shapes())
    session.run(model.feeds(seed=1, shapes={}))
    comparison = session.compare()
    assert comparison.first is None or comparison.first.is_rounding, str(comparison.first)
    assert all(kernel.is_right for kernel in comparison.kernels)
    made = [value for value in session.values() if value.node]
    assert len(comparison.values) >= _LEAST_SHARE * sum(value.how != "gone" for value in made)


@whole
@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("gru_seq", 26),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [("silero_seq", 50), ("bert_mini_dynq", 276), ("greedy_loop", 10)]
        ),
    ],
)
def test_three_passes_remove_values_at_level_0(name: str, weights: int) -> None:
    """
    Padding, common subexpressions and dead code; not conversion, which takes what repeats a value, nor
    `fold-constant`, whose results are weights.
    """
    path = model_path(name)
    if path is None:
        pytest.skip(f"{name}: STEPWELL_MODELS names no folder that has it")
    values = stepwell.debug(path, opt_level=0).values()
    passes = "fold-explicit-padding", "eliminate-common-subexpr", "dead-code-elimination"
    assert all(value.note.endswith(passes) for value in values if value.how == "gone")
    assert sum(value.how == "weight" for value in values) == weights
