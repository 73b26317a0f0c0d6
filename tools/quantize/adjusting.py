"""Arrays to encode in place of weights and biases, for less noise in results: `gptq`, bias correction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from stepwell.dialects.quantization.codes import Scales, dequantized
from stepwell.dialects.quantization.gptq import MAX_SUM, gptq_weight, product_error
from stepwell.dialects.quantization.plan import PlanEntry
from stepwell.runtime.errors import StepwellError
from stepwell.tools.quantize.channels import channels_of, in_parts, moments_of
from stepwell.tools.quantize.data import Samples
from stepwell.tools.quantize.options import QuantizeOptions
from stepwell.tools.quantize.planning import channel_axis, initializer, product_rows, sum_axis
from stepwell.tools.quantize.source import Source, operator_of

Floats: TypeAlias = npt.NDArray[np.float32]
Arrays: TypeAlias = dict[str, Floats]
"""Arrays by node and operand, as keys of observers are."""


def gptq_arrays(
    source: Source, how: QuantizeOptions, annotate: ModulePass, entries: Sequence[PlanEntry], samples: Samples
) -> Arrays:
    """
    Weights for the entries of a plan that change the products of samples least.

    A weight is left out if its error on the samples that do not calibrate is no less than that of rounding:
    the codes fit the other samples alone.
    Raises: StepwellError `too-large` for a product of too many terms.
    """
    nodes = source.nodes()
    by_key = {f"{each.node}:0": each for each in entries if each.block}
    arrays = {key: _array(nodes[entry.node], source) for key, entry in by_key.items()}
    rows = {
        key: product_rows(nodes[by_key[key].node], source.weights)
        for key, array in arrays.items()
        if array.ndim == 2
    }
    for key, weight in rows.items():
        if len(weight) > MAX_SUM:
            message = f'node "{by_key[key].node}" sums {len(weight)} products, and gptq takes {MAX_SUM}'
            raise StepwellError("too-large", source.name, message, help="--method mse, which needs no data")
    found: Arrays = {}
    for part in in_parts((key, len(weight)) for key, weight in rows.items()):
        moments, others = (
            moments_of(source, annotate, part, feeds, how.threads)
            for feeds in (samples.for_calibration, samples.others)
        )
        for key in part:
            entry = by_key[key]
            scales = _scales_of(entry, arrays[key].shape)
            made = gptq_weight(rows[key], moments[key], scales, entry.block, by_diagonal=how.act_order)
            rounded = dequantized(arrays[key], entry)
            rounded = rounded if entry.axis == 0 else rounded.T
            if product_error(made - rows[key], others[key]) < product_error(rounded - rows[key], others[key]):
                found[f"{entry.node}:1"] = np.ascontiguousarray(made if entry.axis == 0 else made.T)
    return found


def corrected_biases(
    source: Source, how: QuantizeOptions, annotate: ModulePass, entries: Sequence[PlanEntry], samples: Samples
) -> Arrays:
    """
    Biases without the mean error that the codes of weights cause, for the entries of a plan.

    Source: Nagel et al., Data-Free Quantization, 2019, section 4.2, with means of samples.
    """
    weights = {each.node: each for each in entries if each.role == "weight"}
    names = [each.node for each in entries if each.role == "bias" and each.node in weights]
    means = channels_of(
        source, annotate, [f"{name}:0" for name in names], samples.for_calibration, how.threads
    )
    nodes = source.nodes()
    found: Arrays = {}
    for name in names:
        error = _mean_error(
            nodes[name], _array(nodes[name], source), weights[name], means[f"{name}:0"].average
        )
        bias = initializer(nodes[name].operands[2], source.weights)
        if bias is not None and error.shape == bias.shape:  # not of transposed convolutions in groups
            found[f"{name}:2"] = (bias - error).astype(np.float32)
    return found


def _mean_error(
    node: Operation, weight: Floats, entry: PlanEntry, average: npt.NDArray[np.float64]
) -> Floats:
    """The mean error of each output channel: the sum of errors of weights times means of activations."""
    error = dequantized(weight, entry) - weight
    if operator_of(node) in ("Gemm", "MatMul"):
        return np.tensordot(error, average, axes=([sum_axis(node, weight.ndim)], [0])).astype(np.float32)
    taps = error.sum(axis=tuple(range(2, weight.ndim)))
    taps = taps if channel_axis(node, weight.ndim) == 0 else taps.T
    groups = max(len(average) // taps.shape[1], 1)
    means = np.repeat(average.reshape(groups, -1), len(taps) // groups, axis=0)
    return (taps * means).sum(axis=1).astype(np.float32)


def _array(node: Operation, source: Source) -> Floats:
    """The weight of a node."""
    array = initializer(node.operands[1], source.weights)
    assert array is not None
    return array


def _scales_of(entry: PlanEntry, shape: Sequence[int]) -> Scales:
    """The scales and zero points of an entry as [blocks of K, N]."""
    scale, zero = entry.scales(shape), entry.zero_points(shape)
    points = None if zero is None else zero.astype(np.int32)
    if entry.axis == 0:
        return Scales(scale, points)
    return Scales(scale.T, None if points is None else points.T)
