"""The programs of `examples/` on lists, against numpy."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

import stepwell
from stepwell.tools import cli
from tests.commands import Capture
from tests.support.imports import ROOT

EXECUTORS: tuple[Literal["native", "vm"], ...] = ("native", "vm")


def example(name: str, executor: Literal["native", "vm"]) -> Any:
    return stepwell.compile(ROOT / "examples" / name, executor=executor)


def drawn(rng: np.random.Generator, *shape: int) -> Any:
    return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_recurrent_cell_over_a_list(executor: Literal["native", "vm"]) -> None:
    model, rng = example("list_rnn.mlir", executor), np.random.default_rng(0)
    w, u, b = drawn(rng, 16, 32), drawn(rng, 32, 32), drawn(rng, 32)
    for count in (0, 1, 9):
        xs = [drawn(rng, 1, 16) for _ in range(count)]
        h = np.zeros((1, 32), np.float32)
        for x in xs:
            h = np.tanh(x @ w + h @ u + b)
        np.testing.assert_allclose(model(xs, w, u, b), h, rtol=1e-5, atol=1e-6)


def test_the_loss_over_a_list_has_right_gradients(capsys: Capture) -> None:
    assert cli.main(["check-gradients", str(ROOT / "examples" / "list_rnn.mlir"), "--function", "loss"]) == 0
    assert "agrees" in capsys.readouterr().out


def searched(first: int, width: int, steps: int, e: Any, u: Any, o: Any) -> list[tuple[Any, list[int]]]:
    """Beam search in numpy: scores and tokens of the best hypotheses, from the best one."""
    beam = [(np.float32(0), [first], np.zeros((1, 32), np.float32))]
    for _ in range(steps):
        longer: list[tuple[Any, list[int], Any]] = []
        for score, tokens, h in beam:
            if tokens[-1] == 0:
                longer.append((score, [*tokens, 0], h))
                continue
            h = np.tanh(h @ u + e[tokens[-1]])
            logits = (h @ o)[0]
            logs = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
            longer += [(score + log, [*tokens, token], h) for token, log in enumerate(logs)]
        beam = sorted(longer, key=lambda each: -each[0])[:width]
    return [(score, tokens) for score, tokens, _ in beam]


@pytest.mark.sample(9)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_beam_search(executor: Literal["native", "vm"]) -> None:
    model, rng = example("beam_search.mlir", executor), np.random.default_rng(1)
    weights = drawn(rng, 64, 32) * 8, drawn(rng, 32, 32), drawn(rng, 32, 64)
    weights[2][:, 0] *= 3  # so that some hypotheses end early
    ended = 0
    for first, width, steps in ((1, 4, 8), (5, 1, 3), (2, 7, 5), (3, 3, 0)):
        found = model(*map(np.int64, (first, width, steps)), *weights)
        expected = searched(first, width, steps, *weights)
        assert [[int(token) for token in tokens] for _, tokens in found] == [each[1] for each in expected]
        np.testing.assert_allclose([each[0] for each in found], [each[0] for each in expected], rtol=1e-5)
        ended += sum(0 in tokens for _, tokens in expected)
    assert 0 < ended < 13
