"""Programs of TFLite on level 0 computed by LiteRT's kernels: the reference for their conversion."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects import tflite as dialect
from stepwell.dialects.constants import array_of as elements_of
from stepwell.dialects.foreign import ForeignOp
from stepwell.dialects.types import dtype_of, tensor_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.interface import Array
from stepwell.runtime.packages import needed
from stepwell.tools.frameworks.level_0 import Run

_OPERANDS = Path(__file__).parents[1] / "generators" / "tflite_operands.txt"
_LETTER = re.compile(r"_(\w)")
_VERSIONS: Mapping[str, int] = {"broadcast_to": 2}
"""The first versions of operators, where LiteRT has no version 1."""


class LiteRTRun(Run):
    """A run whose values are arrays: each operator is a model of its own, which LiteRT runs."""

    TOOL: ClassVar[str] = "LiteRT"

    def __init__(self, function: FuncOp, weights: WeightStore):
        """Raises: StepwellError `missing-package`."""
        super().__init__(function, weights)
        with needed("LiteRT", install="ai-edge-litert"):
            self._schema: Any = import_module("ai_edge_litert.schema_py_generated")
            self._interpreter: Any = import_module("ai_edge_litert.interpreter")
            self._flatbuffers: Any = import_module("flatbuffers")

    def value(self, array: Array) -> Any:
        """The array itself."""
        return np.asarray(array)

    def array(self, value: Any) -> Array:
        """The array itself."""
        return cast(Array, value)

    def called(self, op: Operation, operands: Sequence[Any]) -> Sequence[Any]:
        """The results of an operator."""
        if not isinstance(op, ForeignOp) or op.SIGNATURE.name in dialect.RECURRENT:
            raise StepwellError("unsupported-op", op, f"LiteRT does not run {op.name} on its own")
        model = _OneCall(self._schema, op, operands, self._weights).packed(self._flatbuffers)
        given = [array for array, value in zip(operands, op.operands, strict=True) if not _is_constant(value)]
        kinds = self._interpreter.OpResolverType
        try:
            return self._run_model(model, given, kinds.BUILTIN_REF)
        except (RuntimeError, ValueError) as error:
            if "Didn't find op" not in str(error):
                raise
            return self._run_model(model, given, kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES)

    def _run_model(self, model: bytes, operands: Sequence[Array], kind: Any) -> Sequence[Array]:
        made = self._interpreter.Interpreter(model_content=model, experimental_op_resolver_type=kind)
        made.allocate_tensors()
        for each, array in zip(made.get_input_details(), operands, strict=True):
            made.set_tensor(each["index"], array)
        made.invoke()
        return [made.get_tensor(each["index"]) for each in made.get_output_details()]


def _is_constant(value: SSAValue) -> bool:
    """Whether a value is a tensor of the file, which some kernels ask for."""
    return isinstance(value.owner, dialect.WeightOp)


class _OneCall:
    """A model under construction that has a single operator."""

    def __init__(self, schema: Any, op: ForeignOp, operands: Sequence[Array], weights: WeightStore):
        self._schema, self._op, self._weights = schema, op, weights
        given, quantized = op.attributes.get(dialect.QUANTIZED), list[Attribute | None]()
        if isinstance(given, ArrayAttr):
            quantized += cast("ArrayAttr[Attribute]", given)
        else:
            quantized += [None] * (len(operands) + len(op.results))
        self._buffers = [schema.BufferT()]
        arrays = [*operands, *(None for _ in op.results)]
        values = [*op.operands, *op.results]
        self._tensors = [self._tensor(*each) for each in zip(values, arrays, quantized, strict=True)]

    def packed(self, flatbuffers: Any) -> bytes:
        """The bytes of the model."""
        schema, op = self._schema, self._op
        graph, model = schema.SubGraphT(), schema.ModelT()
        count = len(op.operands)
        graph.tensors, graph.operators = self._tensors, [self._operator()]
        graph.inputs = [number for number, value in enumerate(op.operands) if not _is_constant(value)]
        graph.outputs = list(range(count, len(self._tensors)))
        model.version, model.subgraphs = 3, [graph]
        model.operatorCodes, model.buffers = [self._code()], self._buffers
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())

    def _tensor(self, value: SSAValue, array: Array | None, quantized: Attribute | None) -> Any:
        """A tensor of a value's type; the sizes of a result are found by LiteRT."""
        made = self._schema.TensorT()
        name = np.dtype(dtype_of(tensor_of(value).element_type)).name.upper()
        made.type = getattr(self._schema.TensorType, name)
        made.shape, made.hasRank = list(() if array is None else array.shape), True
        if array is not None and _is_constant(value):
            buffer = self._schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
            self._buffers.append(buffer)
            made.buffer = len(self._buffers) - 1
        if isinstance(quantized, DictionaryAttr):
            made.quantization = self._quantization(quantized)
        return made

    def _quantization(self, given: DictionaryAttr) -> Any:
        entries, made = given.data, self._schema.QuantizationParametersT()
        made.scale = np.atleast_1d(elements_of(cast(Any, entries["scale"]), self._weights)).astype(np.float32)
        zero = entries.get("zero_point")
        zeros = 0 if zero is None else elements_of(cast(Any, zero), self._weights)
        made.zeroPoint = np.broadcast_to(np.asarray(zeros, np.int64).reshape(-1), made.scale.shape).tolist()
        axis = entries.get("axis")
        made.quantizedDimension = axis.value.data if isinstance(axis, IntegerAttr) else 0
        return made

    def _operator(self) -> Any:
        """The call, with its arguments as options."""
        op, schema, made = self._op, self._schema, self._schema.OperatorT()
        numbers, count = self._operand_numbers(), len(op.operands)
        made.inputs, made.outputs = numbers, list(range(count, count + len(op.results)))
        table = _tables().get(op.SIGNATURE.name, "")
        if not table:
            return made
        options = getattr(schema, f"{table}T")()
        for argument in op.SIGNATURE.arguments:
            if not argument.is_tensor and (value := op.value(argument.name)) is not None:
                name = _LETTER.sub(lambda match: match[1].upper(), argument.name)
                setattr(options, name, self._option(value))
        second = "2" if hasattr(schema.BuiltinOptions2, table) else ""
        setattr(made, f"builtinOptions{second}", options)
        union = getattr(schema, f"BuiltinOptions{second}")
        setattr(made, f"builtinOptions{second}Type", getattr(union, table))
        return made

    def _operand_numbers(self) -> list[int]:
        """The numbers of the operands, -1 for one that is absent."""
        numbers, found = iter(range(len(self._op.operands))), list[int]()
        for argument in self._op.SIGNATURE.tensors:
            values = self._op.tensors(argument.name) if argument.is_list else [self._op.tensor(argument.name)]
            found += [-1 if value is None else next(numbers) for value in values]
        while found and found[-1] == -1:
            found.pop()
        return found

    def _option(self, value: object) -> object:
        """An argument as the schema has it: names of enumerations and element types are numbers."""
        if isinstance(value, Attribute):
            return getattr(self._schema.TensorType, np.dtype(dtype_of(value)).name.upper())
        if not isinstance(value, str):
            return list(cast("Sequence[object]", value)) if isinstance(value, tuple) else value
        kinds = ("Padding", "ActivationFunctionType", "MirrorPadMode", "ReduceWindowFunction")
        kinds = (*kinds, "FullyConnectedOptionsWeightsFormat", "LSTMKernelType")
        found = (getattr(getattr(self._schema, kind), value, None) for kind in kinds)
        return next(number for number in found if number is not None)

    def _code(self) -> Any:
        """The operator's number."""
        code, name = self._schema.OperatorCodeT(), self._op.SIGNATURE.name
        number = getattr(self._schema.BuiltinOperator, name.upper())
        code.builtinCode, code.deprecatedBuiltinCode = number, min(number, 127)
        code.version = _VERSIONS.get(name, 1)
        return code


@cache
def _tables() -> Mapping[str, str]:
    """The tables of options by operator."""
    found: dict[str, str] = {}
    for line in _OPERANDS.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        head, _, table = line.partition(" :")
        name = head.split()[0]
        table = table.strip() or "".join(part.capitalize() for part in name.split("_"))
        if table != "-":
            found[name.lower()] = f"{table}Options"
    return found
