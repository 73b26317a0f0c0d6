"""Factors of channels that let activations or weights be quantized with less noise: `smooth` and `awq`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.passes import ModulePass

from stepwell.dialects.locations import node_name
from stepwell.dialects.quantization.codes import dequantized, weight_entry
from stepwell.dialects.quantization.factors import write_factors
from stepwell.dialects.quantization.gptq import product_error
from stepwell.passes.analysis.channel_parts import scalable_products
from stepwell.tools.driver.compilation import main_of
from stepwell.tools.quantize.channels import channels_of, in_parts, moments_of
from stepwell.tools.quantize.data import Feed
from stepwell.tools.quantize.options import QuantizeOptions
from stepwell.tools.quantize.planning import product_rows
from stepwell.tools.quantize.source import Source

Doubles: TypeAlias = npt.NDArray[np.float64]
Floats: TypeAlias = npt.NDArray[np.float32]

_TRIALS = 21
"""The exponents from 0 to 1 that `awq` tries."""
_LEAST = 1e-5
"""The least statistic of a channel: those that are nearly always zero are left as they are."""


def rescaled(
    source: Source, how: QuantizeOptions, annotate: ModulePass, layers: Sequence[str], feeds: Sequence[Feed]
) -> Source:
    """
    The model with activations of products divided channel by channel, and weights multiplied.

    Products whose activation cannot be divided before stay as they are.
    """
    groups = [
        [node_name(node) for node in group]
        for group in scalable_products(main_of(source.level_0().module), source.weights)
        if all(node_name(node) in layers for node in group)
    ]
    factors = (
        _smooth(source, how, annotate, groups, feeds)
        if how.smooth is not None
        else _activation_aware(source, how, annotate, groups, feeds)
    )
    if not factors:
        return source
    with TemporaryDirectory() as folder:
        path = Path(folder) / "factors.json"
        write_factors(path, {name: each for names, each in factors for name in names})
        return source.with_factors(path)


Factors: TypeAlias = list[tuple[list[str], Doubles]]
"""The names of products of one activation, with its factors."""


def _smooth(
    source: Source, how: QuantizeOptions, annotate: ModulePass, groups: list[list[str]], feeds: Sequence[Feed]
) -> Factors:
    """
    Factors `max|x|^a / max|w|^(1 - a)`: the noise of activations moves to weights.

    Source: Xiao et al., SmoothQuant, 2022, equation 4.
    """
    assert how.smooth is not None
    nodes = source.nodes()
    keys = [f"{names[0]}:0" for names in groups]
    statistics = channels_of(source, annotate, keys, feeds, how.threads)
    found: Factors = []
    for names, key in zip(groups, keys, strict=True):
        weights = [product_rows(nodes[name], source.weights) for name in names]
        greatest = np.max([np.abs(each).max(axis=1) for each in weights], axis=0).astype(np.float64)
        activation = statistics[key].greatest
        is_used = (activation > _LEAST) & (greatest > _LEAST)
        with np.errstate(divide="ignore"):
            factor = activation**how.smooth / greatest ** (1 - how.smooth)
        found.append((names, np.where(is_used, factor, 1.0)))
    return found


def _activation_aware(
    source: Source, how: QuantizeOptions, annotate: ModulePass, groups: list[list[str]], feeds: Sequence[Feed]
) -> Factors:
    """
    Factors `mean|x|^a` with the a whose codes change the products least.

    Source: Lin et al., AWQ, 2023, section 3.2.
    """
    nodes = source.nodes()
    by_key = {f"{names[0]}:0": names for names in groups}
    statistics = channels_of(source, annotate, list(by_key), feeds, how.threads)
    found: Factors = []
    for part in in_parts((key, len(each.magnitude)) for key, each in statistics.items()):
        moments = moments_of(source, annotate, part, feeds, how.threads)
        for key in part:
            weights = [product_rows(nodes[name], source.weights) for name in by_key[key]]
            factor = _best_factor(weights, statistics[key].magnitude, moments[key], how)
            found.append((by_key[key], factor))
    return found


def _best_factor(
    weights: Sequence[Floats], magnitude: Doubles, moments: Doubles, how: QuantizeOptions
) -> Doubles:
    """The factors of channels with which codes of weights change their products least."""
    best, least = np.ones(len(magnitude)), np.inf
    for exponent in np.linspace(0, 1, _TRIALS):
        factor = np.maximum(magnitude, _LEAST) ** exponent
        factor = factor / np.sqrt(factor.max() * factor.min())
        error = sum(_error(each, factor, moments, how) for each in weights)
        if error < least:
            best, least = factor, error
    return best


def _error(weight: Floats, factor: Doubles, moments: Doubles, how: QuantizeOptions) -> float:
    """The squared error of a product whose weight is quantized after multiplication by factors."""
    scaled = (weight * factor[:, None]).astype(np.float32)
    rounded = dequantized(scaled, weight_entry("", scaled, how.weight_type, 0, block=how.block))
    return product_error(rounded / factor[:, None] - weight, moments)
