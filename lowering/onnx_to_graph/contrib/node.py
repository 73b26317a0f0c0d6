"""
A node of ONNX Runtime's own domain, with inputs by position, attributes, and helpers to emit its meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    f32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.relations import differ
from stepwell.dialects.onnx.structure import with_absent
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, element_of, emit
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError, describe_location
from stepwell.runtime.meaning import Array


class ContribNode:
    """A call of an operator without an op class."""

    def __init__(self, op: onnx.CallOp, lowering: OnnxLowering, rewriter: PatternRewriter):
        self.op = op
        self.rewriter = rewriter
        self.lowering = lowering
        self.inputs: list[SSAValue | None] = with_absent(op.inputs, op.absent, None)

    @property
    def name(self) -> str:
        """ONNX Runtime's name of the operator."""
        return self.op.op_type.data

    def input(self, position: int) -> SSAValue:
        """A required input. Raises: StepwellError `invalid-model` when it is absent."""
        if (value := self.optional(position)) is None:
            raise self.invalid(f"input {position} must be given")
        return value

    def optional(self, position: int) -> SSAValue | None:
        """An input, or None when it is absent."""
        return self.inputs[position] if position < len(self.inputs) else None

    def refuse_inputs(self, *positions: int) -> None:
        """Raises: StepwellError `unsupported` if one of these inputs is given."""
        for position in positions:
            if self.optional(position) is not None:
                raise self.unsupported(f"input {position} is not supported yet")

    def wants(self, position: int) -> bool:
        """Whether the model uses an output."""
        return self.op.uses_output(position)

    def dims(self, value: SSAValue) -> tuple[Dim, ...]:
        """The dimensions of a value. Raises: StepwellError when its rank is unknown."""
        if not isinstance(value.type, TensorType):
            raise StepwellError(
                "unsupported-dynamic-rank",
                self.op,
                f"{self.name}: the rank of an input of type {value.type} is unknown",
                help="declare the shapes of the model's inputs, or that of this value in `value_info`",
            )
        return dims_of(tensor_of(value))

    def number(self, name: str, default: float) -> float:
        """A numeric attribute."""
        match self.op.arguments.data.get(name):
            case IntegerAttr(value=value):
                return value.data
            case FloatAttr(value=value):
                return value.data
            case _:
                return default

    def integer(self, name: str, default: int) -> int:
        """An integer attribute."""
        return int(self.number(name, default))

    def required(self, name: str) -> int:
        """A required integer attribute. Raises: StepwellError `invalid-model` when it is missing."""
        if name not in self.op.arguments.data:
            raise self.invalid(f"the attribute {name} must be given")
        return self.integer(name, 0)

    def text(self, name: str, default: str) -> str:
        """A string attribute."""
        value = self.op.arguments.data.get(name)
        return value.data if isinstance(value, StringAttr) else default

    def texts(self, name: str) -> list[str]:
        """An attribute that is a list of strings; empty when it is not given."""
        value = self.op.arguments.data.get(name)
        texts = cast("ArrayAttr[Attribute]", value) if isinstance(value, ArrayAttr) else ()
        return [onnx.string_bytes(text).decode() for text in texts]

    def list_of(self, name: str) -> list[float] | None:
        """An attribute that is a list of numbers; None when it is not given."""
        match self.op.arguments.data.get(name):
            case DenseArrayBase() as value:
                return [float(number) for number in cast("DenseArrayBase[AnyFloat]", value).get_values()]
            case ArrayAttr() as value:
                return [float(v.value.data) for v in value if isinstance(v, FloatAttr)]
            case _:
                return None

    def integers(self, name: str) -> list[int] | None:
        """An attribute that is a list of integers; None when it is not given."""
        numbers = self.list_of(name)
        return None if numbers is None else [int(number) for number in numbers]

    def axis(self, name: str, default: int, value: SSAValue) -> int:
        """An attribute that is an axis of a value, counted from the front."""
        return self.integer(name, default) % max(1, len(self.dims(value)))

    def array(self, value: SSAValue | None) -> Array | None:
        """The array of a constant; None for any other value, and for an absent one."""
        return self.lowering.array(value)

    def constant(self, number: float, element: Attribute = f32) -> SSAValue:
        """A number as a constant of rank 0."""
        return self.lowering.scalar(number, element, self.rewriter)

    def table(self, array: Array) -> SSAValue:
        """An array as a constant."""
        return self.lowering.constant(np.ascontiguousarray(array), self.rewriter)

    def emit(self, op: Operation) -> SSAValue:
        """Insert an op; returns its first result."""
        return emit(op, self.rewriter)

    def like(self, value: SSAValue, number: float) -> SSAValue:
        """A number in the element type of a value."""
        return self.constant(number, element_of(value))

    def cast(self, value: SSAValue, element: Attribute) -> SSAValue:
        """A value in an element type."""
        return value if element_of(value) == element else self.emit(graph.CastOp(value, element))

    def add(self, a: SSAValue, b: SSAValue | None) -> SSAValue:
        """The sum, or `a` if `b` is absent."""
        return a if b is None else self.emit(graph.AddOp(a, b))

    def scaled(self, value: SSAValue, factor: float) -> SSAValue:
        """A value times a number."""
        return value if factor == 1 else self.emit(graph.MultiplyOp(value, self.like(value, factor)))

    def shaped(self, value: SSAValue, dims: Sequence[Dim], what: str) -> SSAValue:
        """
        A value of the given dimensions, with run-time checks of what is not proved; a fixed 1 may remain, to
        broadcast.

        Raises: StepwellError `shape-mismatch` when it cannot have them.
        """
        found = self.dims(value)
        wanted = [old if old == 1 else new for old, new in zip(found, dims, strict=False)]
        if len(found) != len(dims) or any(differ(a, b) for a, b in zip(found, wanted, strict=True)):
            expected = "x".join(map(str, dims))
            raise StepwellError(
                "shape-mismatch", self.op, f"{self.name}: {what} must be {expected}, found {value.type}"
            )
        if list(found) == wanted:
            return value
        for old, new in zip(found, wanted, strict=True):
            self.check_equal(old, new, f"{what} has a dimension {old} that must be {new}")
        return self.emit(graph.ReshapeOp(value, wanted))

    def check_equal(self, a: Dim, b: Dim, message: str) -> None:
        """Insert a run-time check that two dimensions are equal, unless it is proved."""
        if not (a.proves_equal(b) or a.is_unknown or b.is_unknown):
            self.emit_check(graph.AssertOp(a, b, f"{self.name} at {describe_location(self.op)}: {message}"))

    def emit_check(self, op: Operation) -> None:
        """Insert an op without result."""
        self.rewriter.insert(op)

    def unsupported(self, what: str) -> StepwellError:
        """The error for an unsupported option."""
        return StepwellError("unsupported", self.op, f"{self.name}: {what}")

    def invalid(self, what: str) -> StepwellError:
        """The error for a node that violates its operator's specification."""
        return StepwellError("invalid-model", self.op, f"{self.name}: {what}")


Meaning: TypeAlias = Callable[[ContribNode], SSAValue | Sequence[SSAValue | None]]
"""Maps a node to the operator's result, or to its results by position, None for those without use."""
