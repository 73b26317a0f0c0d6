"""The operators of a subgraph as ops of a block: of `@main`, or of a region of control flow."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, NameLoc, NoneAttr, StringAttr, UnrankedTensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects import tflite as dialect
from stepwell.dialects.constants import constant_attr
from stepwell.dialects.foreign import ForeignOp
from stepwell.dialects.types import int_attr, tensor_type
from stepwell.frontend.tflite.model import Model, OperatorRecord, Quantization, TensorRecord
from stepwell.frontend.tflite.variables import Variable, Variables
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore

_NOT_A_NAME = re.compile(r"\W")
MAX_DEPTH = 100
MAX_OPERATORS = 1 << 16
"""The most operators, counting a subgraph once for each call, which can double the number each time."""


@dataclass
class Program:
    """The model under reading, with the state of all its subgraphs."""

    model: Model
    weights: WeightStore
    main: Block
    add_control: Callable[[Body, OperatorRecord], None]
    """Adds an operator of control flow, or one of variables, to a body."""
    variables: Variables = field(init=False)
    count: int = 0

    def __post_init__(self) -> None:
        self.variables = Variables(self.main)

    @property
    def file(self) -> str:
        """The name of the file."""
        return self.model.buffer.name

    def count_operator(self) -> None:
        """Count an operator that is read. Raises: StepwellError `too-large`."""
        self.count += 1
        if self.count > MAX_OPERATORS:
            message = f"the model has more than {MAX_OPERATORS} operators where its subgraphs are called"
            raise StepwellError("too-large", self.file, message)


class Body:
    """A subgraph that is read into a block."""

    def __init__(
        self,
        program: Program,
        number: int,
        block: Block,
        variables: Mapping[str, SSAValue] | None = None,
        path: Sequence[int] = (),
    ):
        """Args: `variables` have the values that others have written; `path` are the subgraphs around."""
        if not 0 <= number < len(program.model.subgraphs):
            raise program.model.buffer.invalid(f"subgraph {number} does not exist")
        if number in path or len(path) > MAX_DEPTH:
            raise program.model.buffer.invalid(f"subgraph {number} calls itself, or {MAX_DEPTH} others")
        self.program, self.block, self.number = program, block, number
        self.graph = program.model.subgraphs[number]
        self.path = (*path, number)
        self.variables = dict(variables or {})
        """The present values of variables by name; those that nothing has written are absent."""
        self.resources: dict[int, Variable] = {}
        """The tensors that are handles of variables."""
        self._values: dict[int, SSAValue] = {}
        self._quantized: dict[int, Attribute] = {}
        self._records: dict[int, TensorRecord] = {}

    def results(self, inputs: Sequence[SSAValue | Variable]) -> list[SSAValue]:
        """Add the operators of the subgraph; returns its results that are no handles."""
        self.read(inputs)
        if any(index in self.resources for index in self.graph.outputs):
            message = f"subgraph {self.number} returns a variable, which is not supported"
            raise StepwellError("unsupported", self.program.file, message)
        return [self.value(index) for index in self.graph.outputs]

    def read(self, inputs: Sequence[SSAValue | Variable]) -> list[SSAValue | Variable]:
        """Add the operators of the subgraph; returns its results."""
        if len(inputs) != len(self.graph.inputs):
            message = f"subgraph {self.number} takes {len(self.graph.inputs)} tensors, found {len(inputs)}"
            raise self.program.model.buffer.invalid(message)
        for index, value in zip(self.graph.inputs, inputs, strict=True):
            self.define(index, value)
        for operator in self.graph.operators:
            self.program.count_operator()
            self._add_operator(operator)
        return [self.given(index) for index in self.graph.outputs]

    def record(self, index: int) -> TensorRecord:
        """The record of a tensor."""
        if index not in self._records:
            self._records[index] = self.graph.tensor(index)
        return self._records[index]

    def define(self, index: int, value: SSAValue | Variable) -> None:
        """Let a tensor be a value, or the handle of a variable."""
        if isinstance(value, Variable):
            self.resources[index] = value
            return
        name = _NOT_A_NAME.sub("_", self.record(index).name)
        if value.name_hint is None:
            value.name_hint = name if SSAValue.is_valid_name(name) else None
        self._values[index] = value

    def given(self, index: int) -> SSAValue | Variable:
        """A tensor's value, or the variable of which it is a handle."""
        return self.resources.get(index) or self.value(index)

    def value(self, index: int) -> SSAValue:
        """The value of a tensor, which may be a constant. Raises: StepwellError `undefined-value`."""
        if (found := self._values.get(index)) is not None:
            return found
        if index in self.resources:
            message = f"{self.resources[index].name!r} is a variable, and an operator takes a tensor"
            raise self.program.model.buffer.invalid(message)
        record = self.record(index)
        if record.is_variable:
            return self.load(self.variable(index), self.type(index))
        array = self.graph.elements(record)
        if array is None:
            message = f"nothing defines the tensor {record.name!r}"
            raise StepwellError("undefined-value", self.program.file, message)
        op = dialect.WeightOp(constant_attr(array, record.name, self.program.weights))
        self.add(op, record.name)
        self.define(index, op.result)
        return op.result

    def variable(self, index: int) -> Variable:
        """The variable that a tensor of the subgraph is."""
        record = self.record(index)
        made = self.program.variables.variable((self.number, index), record.name)
        if made.initial is None and (array := self.graph.elements(record)) is not None:
            made.initial = constant_attr(array, record.name, self.program.weights)
        return made

    def load(self, variable: Variable, type: Attribute) -> SSAValue:
        """The present value of a variable; `type` is the one that the reader of it records."""
        if (found := self.variables.get(variable.name)) is not None:
            return found
        known: Attribute | None = getattr(variable.initial, "type", None)
        return self.program.variables.argument(variable, type if known is None else known)

    def store(self, variable: Variable, value: SSAValue) -> None:
        """Give a variable a new value."""
        self.load(variable, value.type)  # so that the state exists
        self.variables[variable.name] = value

    def add(self, op: Operation, name: str) -> None:
        """Add an op under the name of a node. Raises: StepwellError `invalid-model`."""
        op.attributes[dialect.NAME] = StringAttr(name)
        op.location = NameLoc(StringAttr(name), NoneAttr())
        self.block.add_op(op)
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as error:
            raise self.invalid(name, str(error)) from None

    def title(self, record: OperatorRecord) -> str:
        """The name of an operator, which is the name of its first result."""
        return self.record(record.outputs[0]).name if record.outputs else record.target

    def _add_operator(self, record: OperatorRecord) -> None:
        if not record.is_custom and record.target in dialect.CONTROL:
            self.program.add_control(self, record)
            return
        written = self._written(record)
        operands = [None if index == -1 else self.value(index) for index in record.inputs]
        types = [self.type(index) for index in record.outputs]
        types += [value.type for index in written if (value := self.value(index))]
        name = self.title(record)
        op = self._op(record, operands, types, name)
        tensors = (*record.inputs, *record.outputs, *written)
        quantized = [self._quantization(index) for index in tensors if index != -1]
        if not all(isinstance(each, NoneAttr) for each in quantized):
            op.attributes[dialect.QUANTIZED] = ArrayAttr(quantized)
        self.add(op, name)
        for index, result in zip(record.outputs, op.results[: len(record.outputs)], strict=True):
            self.define(index, result)
        for index, result in zip(written, op.results[len(record.outputs) :], strict=True):
            self.store(self.variable(index), result)

    def _written(self, record: OperatorRecord) -> list[int]:
        """The variables among the operands of an operator that writes them."""
        if record.is_custom or record.target not in dialect.RECURRENT:
            return []
        return [index for index in record.inputs if index != -1 and self.record(index).is_variable]

    def _op(
        self,
        record: OperatorRecord,
        operands: Sequence[SSAValue | None],
        types: Sequence[Attribute],
        name: str,
    ) -> Operation:
        """The op of an operator. Raises: StepwellError `invalid-model`."""
        if record.is_custom or record.target not in dialect.TABLE:
            given = [operand for operand in operands if operand is not None]
            return dialect.OperatorOp(record.target or "custom", given, types)
        op_class = dialect.TABLE.op_class(record.target)
        try:
            return op_class.make({**_tensors(op_class, operands), **record.options}, types)
        except (TypeError, ValueError) as error:
            raise self.invalid(name, str(error)) from None

    def type(self, index: int) -> Attribute:
        """The recorded type of a tensor."""
        record = self.record(index)
        if record.dims is None:
            return UnrankedTensorType(record.element)
        return tensor_type(record.element, record.dims)

    def _quantization(self, index: int) -> Attribute:
        """The quantization of a tensor as an attribute; `none` where there is none."""
        if index not in self._quantized:
            found = self.record(index).quantization
            self._quantized[index] = NoneAttr() if found is None else self._dictionary(found)
        return self._quantized[index]

    def _dictionary(self, found: Quantization) -> Attribute:
        weights = self.program.weights
        entries: dict[str, Attribute] = {"scale": constant_attr(found.scale, "scale", weights)}
        if found.zero_point is not None:
            entries["zero_point"] = constant_attr(found.zero_point, "zero_point", weights)
        if found.axis:
            entries["axis"] = int_attr(found.axis)
        return DictionaryAttr(entries)

    def invalid(self, name: str, message: str) -> StepwellError:
        """The error for a node that is damaged."""
        return StepwellError("invalid-model", f'{self.program.file}: node "{name}"', message)

    def unsupported(self, name: str, message: str) -> StepwellError:
        """The error for a node that is not supported."""
        return StepwellError("unsupported", f'{self.program.file}: node "{name}"', message)


def _tensors(op_class: type[ForeignOp], operands: Sequence[SSAValue | None]) -> Mapping[str, object]:
    """The operands by the names of the signature's arguments. Raises: TypeError for too many."""
    rest, named_ones = list(operands), dict[str, object]()
    for argument in op_class.SIGNATURE.tensors:
        if argument.is_list:
            named_ones[argument.name], rest = rest, []
        elif rest and (given := rest.pop(0)) is not None:
            named_ones[argument.name] = given
    if rest:
        raise TypeError(f"{op_class.SIGNATURE.name} has {len(rest)} operands more than it takes")
    return named_ones
