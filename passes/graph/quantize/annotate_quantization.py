"""`annotate-quantization`: observers on what a scheme quantizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypedDict

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, Signedness, StringAttr, i8
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.observers import LAYER
from stepwell.dialects.locations import adopt_location
from stepwell.passes.base import FunctionPass
from stepwell.passes.graph.quantize.candidates import (
    Candidate,
    candidates_of,
    chosen,
    end_of,
    is_returned,
    names_of_ops,
    residual_adds,
)
from stepwell.runtime.errors import StepwellError

_UI8 = IntegerType(8, Signedness.UNSIGNED)
_ACTIVATIONS: Mapping[str, Attribute] = {"u8": _UI8, "s8": i8}
_SCHEMES = ("int8", "w8", "w4")


class _Weights(TypedDict):
    """The type, axis and block of an observer."""

    to: Attribute
    axis: int
    block: int


@dataclass(frozen=True)
class AnnotateQuantizationPass(FunctionPass):
    """
    Put an observer on each value that a scheme quantizes, under the key `node:operand`.

    ```mlir
    %y = graph.matmul %x, %w : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
    // ->
    %0 = graph.observe %x key "matmul_0:0" role "activation" to ui8 : tensor<8x64xf32> -> tensor<8x64xf32>
    %1 = graph.observe %w key "matmul_0:1" role "weight" to i8 axis 1 : tensor<64x32xf32> -> tensor<64x32xf32>
    %y = graph.matmul %0, %1 : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
    ```
    `int8` observes both operands of convolutions and products with constant weights, of products of two
    activations that such an op depends on, and of additions whose sum is quantized; and the result of a
    convolution or such a sum that is read in floats too. `w8` observes weights alone, `w4` those of
    products, in blocks.

    Class: exact.
    """

    name = "annotate-quantization"

    scheme: str = "int8"
    keep: tuple[str, ...] = ()
    """Names and patterns of nodes that stay in floats."""
    only: tuple[str, ...] = ()
    """Names and patterns of the only nodes to quantize."""
    activation_type: str = "u8"
    block: int = 32
    """The number of elements of `w4` with one scale."""
    symmetric: bool = False
    """Whether codes of `w4` have no zero point."""
    all_results: bool = False
    """Whether results of convolutions are observed that no op reads in floats, as of a calibration."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if self.scheme not in _SCHEMES or self.activation_type not in _ACTIVATIONS:
            message = f"there is no scheme {self.scheme!r} of activations {self.activation_type!r}"
            help = f"schemes are {', '.join(_SCHEMES)}, activations {', '.join(_ACTIVATIONS)}"
            raise StepwellError("bad-option", self.name, message, help=help)
        names = names_of_ops(func)
        known = candidates_of(func, names)
        if self.scheme == "w4":
            known = [
                each for each in known if isinstance(each.op, graph.MatmulOp) and each.weight is not None
            ]
        found = chosen(known, self.keep, self.only)
        adds = residual_adds(func, found) if self.scheme == "int8" else []
        for each in found:
            self._observe_operands(each)
        for add, layer in adds:
            self._observe_operands(Candidate(names[add], add, [0, 1], None), layer)
        if self.scheme == "int8":
            ends: list[tuple[Operation, str]] = [(op, layer) for op, layer in adds]
            ends += [(each.op, each.name) for each in found if isinstance(each.op, graph.ConvOp)]
            self._observe_results(ends, names)

    def _observe_operands(self, candidate: Candidate, layer: str | None = None) -> None:
        """Let an op read its operands through observers."""
        op = candidate.op
        for index in candidate.activations if self.scheme == "int8" else ():
            to = _ACTIVATIONS[self.activation_type]
            made = graph.ObserveOp(op.operands[index], f"{candidate.name}:{index}", "activation", to=to)
            _set_layer(made, layer)
            op.operands[index] = _inserted(made, op)
        if (weight := candidate.weight) is not None:
            key = f"{candidate.name}:{weight}"
            made = graph.ObserveOp(op.operands[weight], key, "weight", **self._weights(candidate))
            op.operands[weight] = _inserted(made, op)

    def _weights(self, candidate: Candidate) -> _Weights:
        """The type, axis and block of the codes of a weight."""
        if self.scheme != "w4":
            return {"to": i8, "axis": candidate.axis, "block": 0}
        sign = Signedness.SIGNLESS if self.symmetric else Signedness.UNSIGNED
        return {"to": IntegerType(4, sign), "axis": candidate.sum_axis, "block": self.block}

    def _observe_results(self, ends: Iterable[tuple[Operation, str]], names: Mapping[Operation, str]) -> None:
        """Observe results of convolutions and sums that are read in floats: engines want integers there."""
        for op, layer in ends:
            value = end_of(op)
            floats = [use for use in value.uses if not isinstance(use.operation, graph.ObserveOp | ReturnOp)]
            is_read = self.all_results or floats
            if not is_read or is_returned(value):
                continue
            owner = value.owner
            assert isinstance(owner, Operation)
            to = _ACTIVATIONS[self.activation_type]
            made = graph.ObserveOp(value, f"{names[owner]}:result", "result", to=to)
            _set_layer(made, layer)
            adopt_location(made, owner.location)
            Rewriter.insert_op(made, InsertPoint.after(owner))
            for use in floats:
                use.operation.operands[use.index] = made.result


def _set_layer(made: graph.ObserveOp, layer: str | None) -> None:
    """Note the layer of an observer whose key names another node."""
    if layer is not None and layer != made.layer:
        made.attributes[LAYER] = StringAttr(layer)


def _inserted(made: graph.ObserveOp, before: Operation) -> SSAValue:
    adopt_location(made, before.location)
    Rewriter.insert_op(made, InsertPoint.before(before))
    return made.result
