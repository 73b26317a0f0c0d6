"""Sampling by a seed, against the same written as loops over tokens, and the worked cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import StepwellError
from stepwell.runtime.sessions.sampling import Sampler, Sampling
from tests.support.samples import examples


def by_loops(logits: Any, so_far: list[int], options: Sampling, draw: float) -> int:
    """The token that the definition chooses, in f32 but for the draw."""
    x = [np.float32(each) for each in logits]
    for token in set(so_far):
        penalty = np.float32(options.repetition_penalty)
        x[token] = x[token] / penalty if x[token] > 0 else x[token] * penalty
    if options.temperature == 0:
        return min(range(len(x)), key=lambda token: (-x[token], token))
    x = [each / np.float32(options.temperature) for each in x]
    kept = sorted(range(len(x)), key=lambda token: (-x[token], token))[: options.top_k or len(x)]
    powers = np.array([np.exp(x[token] - x[kept[0]]) for token in kept], np.float32)
    chances = dict(zip(kept, powers / np.sum(powers, dtype=np.float32), strict=True))
    total, nucleus = np.float32(0), list[int]()
    for token in kept:
        nucleus.append(token)
        total += chances[token]
        if total >= options.top_p:
            break
    if options.top_p == 1:
        nucleus = kept
    left = [token for token in nucleus if chances[token] >= np.float32(options.min_p) * chances[kept[0]]]
    share = np.sum(np.array([chances[token] for token in left], np.float32), dtype=np.float32)
    end = 0.0
    for token in left:
        end += float(chances[token] / share)
        if draw < end:
            return token
    return left[-1]


@examples(120)
@given(
    logits=st.lists(st.integers(-8, 8), min_size=1, max_size=12),
    temperature=st.sampled_from([0.0, 0.5, 1.0, 5.0]),
    top_k=st.integers(0, 14),
    top_p=st.sampled_from([0.1, 0.5, 0.9, 1.0]),
    min_p=st.sampled_from([0.0, 0.2, 1.0]),
    penalty=st.sampled_from([1.0, 1.3, 0.5]),
    seed=st.integers(0, 1 << 40),
)
def test_each_draw_is_that_of_the_definition(
    logits: list[int], temperature: float, top_k: int, top_p: float, min_p: float, penalty: float, seed: int
):
    options = Sampling(temperature, top_k, top_p, min_p, penalty, seed)
    sampler, draws = Sampler(options), np.random.Generator(np.random.Philox(key=seed))
    so_far = [0]
    for _ in range(4):
        draw = draws.random() if temperature else 0.0
        wanted = by_loops(logits, so_far, options, draw)
        assert sampler.choose(logits, so_far) == wanted
        so_far.append(wanted)


def kept(options: Sampling, logits: Any) -> tuple[list[int], list[float]]:
    """The tokens that are left and their probabilities."""
    x = np.asarray(logits, np.float32)
    order, chances = Sampler(options)._chances(x)  # pyright: ignore[reportPrivateUsage]
    return order.tolist(), chances.tolist()


def test_of_equal_logits_the_lower_id_is_the_first():
    assert Sampler(Sampling()).choose([1, 3, 3], []) == 1
    assert kept(Sampling(1.0, top_k=2), [3, 1, 3, 3])[0] == [0, 2]


def test_one_token_is_left_of_top_k_one():
    logits = np.random.default_rng(1).standard_normal(50)
    for seed in range(20):
        assert Sampler(Sampling(5.0, top_k=1, seed=seed)).choose(logits, []) == np.argmax(logits)


def test_the_token_that_crosses_top_p_is_kept():
    logits = np.log([0.5, 0.3, 0.2])
    order, chances = kept(Sampling(1.0, top_p=0.6), logits)
    assert order == [0, 1]
    np.testing.assert_allclose(chances, [0.625, 0.375], rtol=1e-6)
    assert kept(Sampling(1.0, top_p=0.49), logits) == ([0], [1.0])
    assert kept(Sampling(1.0, top_p=0.5), np.log([0.5, 0.25, 0.25])) == ([0], [1.0])  # the sum reaches it
    assert kept(Sampling(1.0, min_p=0.5), logits)[0] == [0, 1]


def test_draws_have_the_probabilities():
    chances = np.array([0.1, 0.6, 0.3])
    sampler = Sampler(Sampling(1.0, seed=3))
    found = np.bincount([sampler.choose(np.log(chances), []) for _ in range(3000)], minlength=3) / 3000
    np.testing.assert_allclose(found, chances, atol=0.03)


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": -1.0},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.5},
        {"min_p": -0.1},
        {"repetition_penalty": 0.0},
        {"seed": -1},
        {"temperature": float("nan")},
    ],
)
def test_options_out_of_range(options: dict[str, Any]):
    (name,) = options
    with pytest.raises(StepwellError, match=rf"error\[bad-option\]: {name} must be"):
        Sampling(**options)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_no_numbers(temperature: float):
    with pytest.raises(StepwellError, match=r"error\[bad-data\]: the logits hold NaN, first for the token 1"):
        Sampler(Sampling(temperature)).choose([1.0, float("nan"), 3.0], [])
