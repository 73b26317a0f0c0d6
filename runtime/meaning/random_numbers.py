"""Random numbers: equal at every call of a model with a seed, different without a seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepwell.runtime.meaning import Array, meaning


def _generator(seed: float | None) -> np.random.Generator:
    if seed is None:
        return np.random.default_rng()
    return np.random.default_rng(np.array(seed, np.float64).view(np.uint64).item())


@meaning("host.random_normal")
def random_normal(
    like: Array | None = None,
    *,
    shape: Sequence[int] = (),
    mean: float,
    scale: float,
    seed: float | None,
    to: np.dtype[np.generic],
) -> Array:
    """Normally distributed numbers, of a shape or of that of a tensor."""
    size = tuple(shape) if like is None else like.shape
    return _generator(seed).normal(mean, scale, size).astype(to)


@meaning("host.random_uniform")
def random_uniform(
    like: Array | None = None,
    *,
    shape: Sequence[int] = (),
    low: float,
    high: float,
    seed: float | None,
    to: np.dtype[np.generic],
) -> Array:
    """Uniformly distributed numbers, of a shape or of that of a tensor."""
    size = tuple(shape) if like is None else like.shape
    return _generator(seed).uniform(low, high, size).astype(to)


@meaning("host.bernoulli")
def bernoulli(probability: Array, *, seed: float | None, to: np.dtype[np.generic]) -> Array:
    """1 with a probability, else 0."""
    drawn = _generator(seed).random(probability.shape)
    return (drawn < probability.astype(np.float64)).astype(to)


@meaning("host.dropout_mask")
def dropout_mask(x: Array, ratio: Array, *, seed: int | None) -> Array:
    """
    The mask of elements that dropout preserves; each is dropped with the probability `ratio`.

    With a seed the numbers are those of numpy's legacy generator, which ONNX's reference uses.
    """
    drawn = np.random.RandomState(seed).uniform(0, 1, x.shape)
    return drawn >= ratio.astype(np.float64)


@meaning("host.multinomial")
def multinomial(
    log_weights: Array, *, sample_size: int, seed: float | None, to: np.dtype[np.generic]
) -> Array:
    """Random classes for each row, by unnormalized log probabilities."""
    generator = _generator(seed)
    # The argmax of logits plus Gumbel noise is distributed as the class probabilities.
    noise = generator.gumbel(size=(log_weights.shape[0], sample_size, log_weights.shape[1]))
    return np.argmax(log_weights.astype(np.float64)[:, np.newaxis] + noise, axis=2).astype(to)
