"""The rows of a report: the nodes with weights, and the decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from stepwell.dialects.quantization.codes import dequantized
from stepwell.dialects.quantization.plan import STORED, PlanEntry
from stepwell.dialects.quantization.table import CalibrationTable
from stepwell.tools.quantize.metrics import decibels
from stepwell.tools.quantize.planning import WEIGHTED, initializer
from stepwell.tools.quantize.result import Layer
from stepwell.tools.quantize.source import Source, operator_of
from stepwell.tools.quantize.timing import Times

QUANTIZED, F32 = "quantized", "f32"
ACCURACY, NO_GAIN, ASKED = "kept: accuracy", "kept: no gain", "kept: asked"
COMPUTED = "not quantizable: its weights are computed"
FOREIGN = "not quantizable: the scheme has no form of it"


def layer_rows(
    source: Source,
    layers: Sequence[str],
    kept: Mapping[str, str],
    entries: Sequence[PlanEntry],
    alone: Mapping[str, tuple[float, float]],
    times: Sequence[Times],
    table: CalibrationTable,
    scheme: str,
) -> list[Layer]:
    """A row for each node with weights or factors, in the order of the model."""
    by_node: dict[str, list[PlanEntry]] = {}
    for entry in entries:
        by_node.setdefault(entry.node, []).append(entry)
    rows: list[Layer] = []
    for name, node in source.nodes().items():
        if operator_of(node) not in WEIGHTED:
            continue
        is_kept = name in kept or name not in layers
        has_weights = initializer(node.operands[1], source.weights) is not None
        reason = kept.get(name, (FOREIGN if has_weights else COMPUTED) if is_kept else QUANTIZED)
        row = Layer(name, operator_of(node), F32 if is_kept else scheme, reason)
        loss = alone.get(name)
        row.loss_alone, row.sqnr_alone = loss if loss is not None else (None, None)
        _add_weights(row, source, node, by_node.get(name, []))
        row.clipped = _clipped(by_node.get(name, []), table)
        seconds = [1e6 * each.layers[name] if name in each.layers else None for each in times]
        row.us_f32, row.us = seconds if seconds else (None, None)
        rows.append(row)
    return rows


def _add_weights(row: Layer, source: Source, node: Operation, entries: Sequence[PlanEntry]) -> None:
    """Add the bytes of weights, and the noise of their codes."""
    weights = source.weights
    for index, value in enumerate(node.operands):
        array = initializer(value, weights)
        if array is None:
            continue
        entry = next((each for each in entries if each.operand == str(index)), None)
        row.bytes_f32 += array.nbytes
        row.bytes += array.nbytes if entry is None else _bytes(array, entry)
        if entry is not None and entry.role == "weight":
            row.weight_sqnr = weight_ratio(array, entry)


def _bytes(array: npt.NDArray[np.float32], entry: PlanEntry) -> int:
    """The bytes of codes and their scales and zero points."""
    bits = 4 if entry.to.endswith("4") else 8 * entry.dtype.itemsize
    codes = array.size * bits // 8
    return codes + 4 * len(entry.scale) + len(entry.zero_point) * bits // 8


def weight_ratio(array: npt.NDArray[np.float32], entry: PlanEntry) -> float:
    """The ratio of a weight to the noise of its codes, in dB."""
    if entry.to in STORED:
        rounded = array.astype(entry.dtype).astype(np.float64)
        return _ratio(array, rounded)
    return _ratio(array, dequantized(array, entry))


def _ratio(array: npt.NDArray[np.float32], rounded: npt.NDArray[np.float64]) -> float:
    noise = float(np.sum((array - rounded) ** 2))
    return decibels(float(np.sum(array.astype(np.float64) ** 2)), noise)


def _clipped(entries: Sequence[PlanEntry], table: CalibrationTable) -> float | None:
    """The share of an activation's numbers beyond its codes; None where it is not known."""
    for entry in entries:
        found = table.statistics.get(f"{entry.node}:{entry.operand}")
        if entry.operand != "0" or found is None or not found.counts:
            continue
        zero = entry.zero_point[0] if entry.zero_point else 0
        low, high = (-zero, 255 - zero) if entry.to == "u8" else (-128, 127)
        centres, counts = found.centres(), np.asarray(found.counts, np.float64)
        inside = (centres >= low * entry.scale[0]) & (centres <= high * entry.scale[0])
        return float(1 - counts[inside].sum() / max(counts.sum(), 1))
    return None
