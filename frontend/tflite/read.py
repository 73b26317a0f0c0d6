"""TFLite files as modules of level 0, without any package: mapped, bounded, nothing run."""

from __future__ import annotations

import mmap
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnrankedTensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects import tflite as dialect
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.constants import constant_attr
from stepwell.dialects.foreign import ForeignOp
from stepwell.dialects.graph_ir.state import named
from stepwell.dialects.types import int_attr, tensor_type
from stepwell.frontend.tflite.model import Model, OperatorRecord, Quantization, Subgraph, TensorRecord
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.file_state import FileState

_NOT_A_NAME = re.compile(r"\W")


def read_tflite(path: Path, ctx: StepwellContext) -> ModuleOp:
    """
    A file as a module of level 0.

    Raises: StepwellError `no-file`, `invalid-model`, `unsupported`, `undefined-value`, `too-large`.
    """
    try:
        with path.open("rb") as file:
            state = FileState(path, file.fileno())
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise StepwellError("no-file", str(path), f"cannot read the model: {error.strerror}") from None
    except ValueError:
        raise StepwellError("invalid-model", path.name, "the file is empty") from None
    ctx.weights.rest_on([state])
    model = Model(data, path.name)
    module = ModuleOp([_Function(model.subgraphs[0], ctx).function()])
    module.location = FileLineColLoc(StringAttr(path.name), IntAttr(0), IntAttr(0))
    return module


class _Function:
    """Builds the function of a subgraph."""

    def __init__(self, subgraph: Subgraph, ctx: StepwellContext):
        self._graph, self._weights = subgraph, ctx.weights
        self._file = subgraph.model.buffer.name
        self._block = Block()
        self._values: dict[int, SSAValue] = {}
        self._quantized: dict[int, Attribute] = {}
        self._records: dict[int, TensorRecord] = {}

    def function(self) -> FuncOp:
        """The function `@main`."""
        inputs = self._labels("inputs", self._graph.inputs)
        outputs = self._labels("outputs", self._graph.outputs)
        for index, label in zip(self._graph.inputs, inputs, strict=True):
            self._add_input(index, label)
        for operator in self._graph.operators:
            self._add_operator(operator)
        results = [self._value(index) for index in self._graph.outputs]
        self._block.add_op(ReturnOp(*results))
        return FuncOp(
            "main",
            ([arg.type for arg in self._block.args], [result.type for result in results]),
            Region(self._block),
            arg_attrs=ArrayAttr(map(named, inputs)),
            res_attrs=ArrayAttr(map(named, outputs)),
        )

    def _labels(self, kind: str, tensors: Sequence[int]) -> list[str]:
        """The names of inputs or outputs: those of the signature, else the tensors' own; all different."""
        names, labels = self._graph.model.signature_names(kind), list[str]()
        for position, index in enumerate(tensors):
            label = names.get(index) or self._record(index).name or f"{kind[:-1]}{position}"
            labels.append(label if label not in labels else f"{label}_{position}")
        return labels

    def _record(self, index: int) -> TensorRecord:
        if index not in self._records:
            self._records[index] = self._graph.tensor(index)
        return self._records[index]

    def _add_input(self, index: int, label: str) -> None:
        """An argument; its open sizes are named after it."""
        record, prefix = self._record(index), _NOT_A_NAME.sub("_", label)
        dims = [
            Dim.symbol(f"{prefix}_{axis}") if dim.is_unknown else dim
            for axis, dim in enumerate(record.dims or ())
        ]
        argument = self._block.insert_arg(tensor_type(record.element, dims), len(self._block.args))
        self._define(index, argument)

    def _define(self, index: int, value: SSAValue) -> None:
        name = _NOT_A_NAME.sub("_", self._record(index).name)
        value.name_hint = name if SSAValue.is_valid_name(name) else None
        self._values[index] = value

    def _value(self, index: int) -> SSAValue:
        """The value of a tensor, which may be a constant. Raises: StepwellError `undefined-value`."""
        if (found := self._values.get(index)) is not None:
            return found
        record = self._record(index)
        array = self._graph.elements(record)
        if array is None:
            if record.is_variable:
                message = f"{record.name!r} is a variable, which is not supported"
                raise StepwellError("unsupported", self._file, message)
            raise StepwellError("undefined-value", self._file, f"nothing defines the tensor {record.name!r}")
        op = dialect.WeightOp(constant_attr(array, record.name, self._weights))
        op.attributes[dialect.NAME] = StringAttr(record.name)
        op.location = NameLoc(StringAttr(record.name), NoneAttr())
        self._block.add_op(op)
        self._define(index, op.result)
        return op.result

    def _add_operator(self, record: OperatorRecord) -> None:
        name = self._record(record.outputs[0]).name if record.outputs else record.target
        operands = [None if index == -1 else self._value(index) for index in record.inputs]
        types = [self._type(index) for index in record.outputs]
        op = self._op(record, operands, types, name)
        op.attributes[dialect.NAME] = StringAttr(name)
        op.location = NameLoc(StringAttr(name), NoneAttr())
        quantized = [self._quantization(index) for index in (*record.inputs, *record.outputs) if index != -1]
        if not all(isinstance(each, NoneAttr) for each in quantized):
            op.attributes[dialect.QUANTIZED] = ArrayAttr(quantized)
        self._block.add_op(op)
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as error:
            raise self._invalid(name, str(error)) from None
        for index, result in zip(record.outputs, op.results, strict=True):
            self._define(index, result)

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
            raise self._invalid(name, str(error)) from None

    def _type(self, index: int) -> Attribute:
        record = self._record(index)
        if record.dims is None:
            return UnrankedTensorType(record.element)
        return tensor_type(record.element, record.dims)

    def _quantization(self, index: int) -> Attribute:
        """The quantization of a tensor as an attribute; `none` where there is none."""
        if index not in self._quantized:
            found = self._record(index).quantization
            self._quantized[index] = NoneAttr() if found is None else self._dictionary(found)
        return self._quantized[index]

    def _dictionary(self, found: Quantization) -> Attribute:
        entries: dict[str, Attribute] = {"scale": constant_attr(found.scale, "scale", self._weights)}
        if found.zero_point is not None:
            entries["zero_point"] = constant_attr(found.zero_point, "zero_point", self._weights)
        if found.axis:
            entries["axis"] = int_attr(found.axis)
        return DictionaryAttr(entries)

    def _invalid(self, name: str, message: str) -> StepwellError:
        return StepwellError("invalid-model", f'{self._file}: node "{name}"', message)


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
