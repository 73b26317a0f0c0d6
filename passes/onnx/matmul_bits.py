"""`MatMulNBits` of com.microsoft in place of a product with a weight of 4 bits."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects import onnx
from stepwell.dialects.quantization.codes import codes_of
from stepwell.dialects.quantization.plan import PlanEntry
from stepwell.passes.onnx.initializers import insert_initializer
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore

MICROSOFT = "com.microsoft"
Bytes = npt.NDArray[np.uint8]
Array = npt.NDArray[Any]


def replace_by_matmul_bits(
    node: Operation, weight: Array, name: str, entry: PlanEntry, main: FuncOp, weights: WeightStore
) -> None:
    """
    Replace a `MatMul` or `Gemm` by a `MatMulNBits` on the same activation, with packed codes.

    Raises: StepwellError `unsupported` for another node, and for a product that is scaled.
    """
    if not isinstance(node, onnx.MatMulOp | onnx.GemmOp) or weight.ndim != 2 or entry.axis is None:
        found = f"{node.name} with weights of rank {weight.ndim}"
        what = f"the plan wants MatMulNBits: expected MatMul or Gemm with a matrix of weights, found {found}"
        raise StepwellError("unsupported", node, what)
    if isinstance(node, onnx.GemmOp) and (
        node.integer("transA") or node.floating("alpha") != 1 or node.floating("beta") != 1
    ):
        raise StepwellError("unsupported", node, "MatMulNBits has no alpha, beta and transA")
    by_rows = weight if entry.axis == 1 else weight.T
    rows = _by_rows(entry, weight.shape)
    codes = codes_of(np.ascontiguousarray(by_rows).astype(np.float32), rows).astype(np.int64)
    zero = rows.zero_points(by_rows.shape)
    bits = packed_blocks(codes + (8 if zero is None else 0), entry.block)
    operands = [
        node.operands[0],
        insert_initializer(main, bits, f"{name}_bits", weights),
        insert_initializer(main, rows.scales(by_rows.shape), f"{name}_scales", weights),
    ]
    absent: list[int] = []
    if zero is None:
        absent.append(3)
    else:
        points = packed_rows(zero.astype(np.int64))
        operands.append(insert_initializer(main, points, f"{name}_zero_points", weights))
    if len(node.operands) == 3:
        absent.append(4)
        operands.append(node.operands[2])
    _replace(node, operands, absent if len(node.operands) == 3 else [], by_rows.shape, entry.block)
    _import_domain(main)


def _by_rows(entry: PlanEntry, shape: tuple[int, ...]) -> PlanEntry:
    """The entry for the weight with output channels first."""
    if entry.axis == 1:
        return entry
    scale, zero = entry.scales(shape), entry.zero_points(shape)
    points = () if zero is None else tuple(int(z) for z in zero.astype(np.int32).T.ravel())
    return PlanEntry(
        entry.node, entry.operand, entry.role, entry.to, scale.T.ravel().tolist(), points, 1, entry.block
    )


def packed_blocks(codes: Array, block: int) -> Bytes:
    """Codes [N, K] as bytes [N, blocks, block / 2], the first of two elements in the low bits."""
    padded: Bytes = np.pad(codes, [(0, 0), (0, -codes.shape[1] % block)]).astype(np.uint8)
    pairs: Bytes = padded.reshape(len(codes), -1, block // 2, 2)
    return pairs[..., 0] | (pairs[..., 1] << np.uint8(4))


def packed_rows(codes: Array) -> Bytes:
    """Codes [N, blocks] as bytes [N, ⌈blocks / 2⌉]."""
    padded: Bytes = np.pad(codes, [(0, 0), (0, codes.shape[1] % 2)]).astype(np.uint8)
    pairs: Bytes = padded.reshape(len(codes), -1, 2)
    return pairs[..., 0] | (pairs[..., 1] << np.uint8(4))


def _replace(
    node: Operation, operands: list[SSAValue], absent: list[int], shape: tuple[int, ...], block: int
) -> None:
    numbers = {"K": shape[1], "N": shape[0], "bits": 4, "block_size": block}
    properties: dict[str, Attribute] = {
        "domain": StringAttr(MICROSOFT),
        "op_type": StringAttr("MatMulNBits"),
        "arguments": DictionaryAttr({key: IntegerAttr(value, i64) for key, value in numbers.items()}),
    }
    if absent:
        properties["absent"] = DenseArrayBase.from_list(i64, absent)
    made = onnx.CallOp.create(
        operands=operands,
        result_types=[result.type for result in node.results],
        properties=properties,
        attributes=dict(node.attributes),
    )
    made.location = node.location
    Rewriter.replace_op(node, made)


def _import_domain(main: FuncOp) -> None:
    """Let the model import the domain of the operator."""
    module = cast(ModuleOp, main.parent_op())
    opsets = module.attributes.get(onnx.OPSETS)
    known = dict(opsets.data) if isinstance(opsets, DictionaryAttr) else {}
    module.attributes[onnx.OPSETS] = DictionaryAttr({MICROSOFT: IntegerAttr(1, i64)} | known)
