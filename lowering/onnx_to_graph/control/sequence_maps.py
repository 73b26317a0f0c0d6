"""`SequenceMap` → `graph.for` over lists of the host."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.host import numpy_call
from stepwell.dialects.graph.loops import INDEX_TYPE
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.types import Tensor, dims_of, tensor_type
from stepwell.lowering.onnx_to_graph.builder import builder
from stepwell.lowering.onnx_to_graph.control.loop_bodies import ConvertedBody, converted_body
from stepwell.lowering.onnx_to_graph.control.regions import RegionLowering
from stepwell.lowering.onnx_to_graph.host_calls import any_shape, element_of_list


class SequenceMapLowering(RegionLowering):
    """
    A loop over the lists' elements in parallel; tensors are passed whole, results are appended to new lists.

    The sizes of an element are symbols that each iteration defines again.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SequenceMapOp, rewriter: PatternRewriter) -> None:
        """
        Convert the body on elements with symbolic sizes, and carry a list per result through a `graph.for`.
        """
        inputs = [op.input_sequence, *op.additional_inputs]
        names: list[list[str]] = []
        types: list[Attribute] = []
        for value in inputs:
            listed = isinstance(value.type, onnx.SequenceType)
            type, own = _named(element_of_list(value, op), op) if listed else (value.type, [])
            types.append(type)
            names.append(own)
        # Body: on the elements at the iteration's number
        body = converted_body(self, op, types, [], carried_at=(0, 0))
        if body is None:
            return
        self._take_elements(body, inputs, types, names)
        number = numpy_call("host.sequence_length", {}, [op.input_sequence], [INDEX_TYPE])
        rewriter.insert(number)
        # Results: lists that the loop carries and each iteration appends to
        collected: list[SSAValue] = []
        following: list[SSAValue] = []
        for index, value in enumerate(body.yields):
            type = onnx.SequenceType(any_shape(value.type))
            empty = rewriter.insert(numpy_call("host.sequence_construct", {}, [], [type]))
            collected.append(empty.values[0])
            carried = body.block.insert_arg(type, 1 + index)
            longer = numpy_call("host.sequence_insert", {}, [carried, value, None], [type])
            following.append(body.emit(longer))
        body.finish(following)
        loop = graph.ForOp(number.values[0], collected, body.region)
        rewriter.replace(op, loop, loop.values)

    def _take_elements(
        self, body: ConvertedBody, inputs: list[SSAValue], types: list[Attribute], names: list[list[str]]
    ) -> None:
        """Let the body read its elements of the lists itself."""
        first = cast(Operation, body.block.first_op)
        number = body.block.insert_arg(INDEX_TYPE, 0)
        arguments = list(body.block.args[1:])
        for arg, source, type, own in zip(arguments, inputs, types, names, strict=True):
            element = source
            if isinstance(source.type, onnx.SequenceType):
                call = numpy_call("host.sequence_at", {}, [source, number], [type], own)
                builder(InsertPoint.before(first), body.location).insert(call)
                element = call.values[0]
            arg.replace_all_uses_with(element)
            body.block.erase_arg(arg)


def _named(type: Attribute, op: Operation) -> tuple[Attribute, list[str]]:
    """The type of an element with new symbols for its sizes, and these symbols."""
    if not isinstance(type, TensorType):
        return type, []
    tensor = cast(Tensor, type)
    names = fresh_symbols(op, len(dims_of(tensor)))
    return tensor_type(tensor.element_type, names), names
