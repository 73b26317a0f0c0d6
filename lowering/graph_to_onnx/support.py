"""
The base class of the patterns of `convert-graph-to-onnx`, with constants, casts and mixed shape parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.constants import array_of, constant_attr
from stepwell.dialects.types import DimsAttr, dims_of, dtype_of, tensor_of, tensor_type
from stepwell.lowering.graph_to_onnx.extents import dims_vector
from stepwell.lowering.graph_to_onnx.nodes import insert_node
from stepwell.lowering.onnx_to_graph import ELEMENT_NUMBERS
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore


@dataclass
class OnnxExport(RewritePattern):
    """
    A pattern of the conversion, from a graph op to nodes of ONNX; leaves an op without counterpart as it is.
    """

    takes: ClassVar[tuple[type[Operation], ...]] = ()
    """The ops of a table-driven pattern, whose method is typed for any op."""

    weights: WeightStore

    def constant(self, array: npt.NDArray[np.generic], rewriter: PatternRewriter) -> SSAValue:
        """An array as a node `Constant`."""
        value = constant_attr(array, "", self.weights)
        made = onnx.ConstantOp.build(result_types=[value.type], properties={"value": value})
        return rewriter.insert(made).results[0]

    def scalar(self, number: float, like: SSAValue, rewriter: PatternRewriter) -> SSAValue:
        """A constant number of rank 0, of a value's element type."""
        return self.constant(np.array(number).astype(dtype_of(element_of(like))), rewriter)

    def filled(
        self,
        given: SSAValue | None,
        dims: Sequence[Dim],
        number: float,
        like: SSAValue,
        rewriter: PatternRewriter,
    ) -> SSAValue:
        """An operand that ONNX requires: the given one, or else a tensor filled with `number`."""
        if given is not None:
            return given
        type = tensor_type(element_of(like), dims)
        operands = [self.scalar(number, like, rewriter), dims_vector(dims, rewriter)]
        return insert_node(rewriter, onnx.ExpandOp, operands, type)


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    return tensor_of(value).element_type


def constant_array(value: SSAValue, weights: WeightStore) -> npt.NDArray[np.generic] | None:
    """The elements of a constant; None for a computed value."""
    owner = value.owner
    if not isinstance(owner, onnx.ConstantOp | graph.ConstantOp) or owner.value is None:
        return None
    return array_of(owner.value, weights)


def is_known(attribute: DimsAttr | None) -> bool:
    """Whether a mixed shape parameter can be data: an operand, or dimensions without unknown ones."""
    return attribute is None or not any(dim.is_unknown for dim in attribute.get())


def mixed_vector(attribute: DimsAttr | None, value: SSAValue | None, rewriter: PatternRewriter) -> SSAValue:
    """A mixed shape parameter as a vector of i64."""
    if value is not None:
        return value
    assert attribute is not None
    return dims_vector(attribute.get(), rewriter)


def cast_to(value: SSAValue, element: Attribute, rewriter: PatternRewriter) -> SSAValue:
    """A value converted to an element type; the value itself if it has that type."""
    if element_of(value) == element:
        return value
    type = tensor_type(element, dims_of(value.type))
    return insert_node(rewriter, onnx.CastOp, [value], type, to=ELEMENT_NUMBERS[element])
