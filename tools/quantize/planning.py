"""The plan of a file: which operands of its nodes are quantized, by the observers of level 1 and a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import onnx
from stepwell.dialects.graph.observers import ObserveOp, observers_of
from stepwell.dialects.onnx.constants import constant_of
from stepwell.dialects.quantization.codes import weight_entry, weight_scales
from stepwell.dialects.quantization.plan import RESULT, STORED, PlanEntry
from stepwell.dialects.quantization.ranges import Calibration, Statistics
from stepwell.dialects.quantization.table import CalibrationTable
from stepwell.runtime.files.weights import WeightStore
from stepwell.tools.driver.compilation import main_of
from stepwell.tools.driver.program import Program
from stepwell.tools.quantize.source import Source, operator_of

Floats = npt.NDArray[np.float32]

WEIGHTED = ("Conv", "ConvTranspose", "Gemm", "MatMul")
"""The operators whose operands a plan of integers quantizes; sums beside them."""
_MAX_BIAS = 2.0**31 - 1


@dataclass(frozen=True)
class WeightCodes:
    """The codes of weights alone: `s8` of channels, `u4` or `s4` of blocks."""

    to: str
    method: str
    block: int = 0
    form: str = "qdq"


def weights_plan(source: Source, program: Program, how: WeightCodes) -> list[PlanEntry]:
    """The entries of a plan for the observed weights of a program that are of nodes of the file."""
    nodes = source.nodes()
    entries: list[PlanEntry] = []
    for key, observer in observers_by_key(program).items():
        name = key.rpartition(":")[0]
        array = initializer(nodes[name].operands[1], source.weights) if name in nodes else None
        if observer.role.data != "weight" or array is None or operator_of(nodes[name]) not in WEIGHTED:
            continue
        if how.form == "dynamic" and (operator_of(nodes[name]) != "MatMul" or array.ndim != 2):
            continue
        if how.to in STORED:
            entries.append(PlanEntry(name, "1", "weight", how.to, []))
            continue
        axis = sum_axis(nodes[name], array.ndim) if how.block else channel_axis(nodes[name], array.ndim)
        form = how.form if array.ndim == 2 else "qdq"
        made = weight_entry(name, array, how.to, axis, block=how.block, method=how.method, form=form)
        entries.append(made)
    return entries


@dataclass(frozen=True)
class Int8:
    """The numbers of a plan of 8-bit integers."""

    table: CalibrationTable
    calibration: Calibration
    activation_type: str = "u8"
    most: int = 127
    """The greatest code of a weight: 63 with a reduced range."""


def observers_by_key(program: Program) -> Mapping[str, ObserveOp]:
    """The observers of a program by key."""
    return {op.key.data: op for op in observers_of(main_of(program.module))}


def int8_plan(source: Source, program: Program, how: Int8) -> list[PlanEntry]:
    """The entries of a plan for the observers of a program that are of nodes of the file."""
    nodes = source.nodes()
    entries: list[PlanEntry] = []
    for key, observer in observers_by_key(program).items():
        name, _, operand = key.rpartition(":")
        node = nodes.get(name)
        if node is None or observer.role.data == "weight":
            continue
        if operand != RESULT and operator_of(node) not in (*WEIGHTED, "Add"):
            continue
        activation = _activation(name, operand, observer, how)
        entries.append(activation)
        if operand == "0" and operator_of(node) in WEIGHTED and f"{name}:1" in observers_by_key(program):
            entries += _weights(name, node, activation, how, program.ctx.weights)
    return entries


def _activation(name: str, operand: str, observer: ObserveOp, how: Int8) -> PlanEntry:
    statistics = (
        how.table.of(f"{name}:{operand}", observer) if how.calibration.needs_data else Statistics(0.0, 0.0)
    )
    is_unsigned = how.activation_type == "u8"
    scale, zero = how.calibration.scale_of(statistics, is_unsigned=is_unsigned)
    role = observer.role.data
    return PlanEntry(name, operand, role, how.activation_type, [float(scale)], [int(zero)])


def _weights(
    name: str, node: Operation, activation: PlanEntry, how: Int8, weights: WeightStore
) -> list[PlanEntry]:
    """The entries of a node's weight and bias; none for a weight that is a product of the model's."""
    array = initializer(node.operands[1], weights)
    if array is None:
        return []
    axis = channel_axis(node, array.ndim)
    scales = weight_scales(array, "s8", axis, most=how.most).scale
    bias = _bias(node, scales.size, weights)
    if bias is None:
        return [PlanEntry(name, "1", "weight", "s8", scales.tolist(), (), axis)]
    x_scale = np.float32(activation.scale[0])
    least = np.abs(bias).astype(np.float64) / (_MAX_BIAS * float(x_scale))
    scales = np.maximum(scales, np.nextafter(least.astype(np.float32), np.float32(np.inf)) * (least > 0))
    products = (x_scale * scales).astype(np.float32)
    return [
        PlanEntry(name, "1", "weight", "s8", scales.tolist(), (), axis),
        PlanEntry(name, "2", "bias", "s32", products.tolist(), (), 0),
    ]


def channel_axis(node: Operation, rank: int) -> int:
    """The dimension of a node's weight that is the output channel."""
    match operator_of(node):
        case "Conv":
            return 0
        case "ConvTranspose":
            return 1
        case "Gemm" if isinstance(node, onnx.OnnxOp) and node.integer("transB"):
            return 0
        case _:
            return rank - 1


def sum_axis(node: Operation, rank: int) -> int:
    """The dimension of a product's weight that is summed over."""
    return 2 * rank - 3 - channel_axis(node, rank)


def product_rows(node: Operation, weights: WeightStore) -> Floats:
    """The initializer of a product with a weight of two dimensions, as [K, N]."""
    array = initializer(node.operands[1], weights)
    assert array is not None
    return array if sum_axis(node, array.ndim) == 0 else array.T


def _bias(node: Operation, channels: int, weights: WeightStore) -> Floats | None:
    """The bias of a node that is a number a channel; None where there is none, or one to scale first."""
    if len(node.operands) < 3:
        return None
    if isinstance(node, onnx.GemmOp) and (node.floating("alpha") != 1 or node.floating("beta") != 1):
        return None
    bias = initializer(node.operands[2], weights)
    return bias if bias is not None and bias.shape == (channels,) else None


def initializer(value: SSAValue, weights: WeightStore) -> Floats | None:
    """The array of an initializer in f32; None for another value."""
    array = constant_of(value, weights)
    return None if array is None or array.dtype != np.float32 else array.astype(np.float32, copy=False)
