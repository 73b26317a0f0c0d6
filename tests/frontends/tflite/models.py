"""TFLite models built in memory by the object classes of LiteRT's schema, and LiteRT's results for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_TYPES = {
    "float32": "FLOAT32",
    "float16": "FLOAT16",
    "int8": "INT8",
    "uint8": "UINT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "bool": "BOOL",
    "resource": "RESOURCE",
}


_VERSIONS = {"BROADCAST_TO": 2}
"""The first versions of operators, where LiteRT has no version 1."""


def schema() -> Any:
    """The module of the schema."""
    return import_module("ai_edge_litert.schema_py_generated")


@dataclass(frozen=True)
class Quantized:
    """The scale and zero point of a tensor, or of each index of an axis."""

    scale: float | Sequence[float]
    zero_point: int = 0
    axis: int = 0


@dataclass
class ModelBuilder:
    """A graph of a model: the main one, or one that operators of others call."""

    tensors: list[Any] = field(default_factory=list)
    buffers: list[Any] = field(default_factory=list)
    operators: list[Any] = field(default_factory=list)
    codes: list[Any] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: Sequence[int] = ()
    graphs: list[ModelBuilder] = field(default_factory=list)

    def graph(self) -> tuple[int, ModelBuilder]:
        """Another graph of the model: its number and its builder, whose `outputs` are to be set."""
        made = ModelBuilder(buffers=self.buffers, codes=self.codes, graphs=self.graphs)
        self.graphs.append(made)
        return len(self.graphs), made

    def variable(self, name: str, shape: Sequence[int], dtype: str = "float32", **more: Any) -> int:
        """A tensor of zeros that lives between calls."""
        number = self.tensor(name, shape, dtype, **more)
        self.tensors[number].isVariable = True
        return number

    def resource(self, name: str) -> int:
        """The handle of a variable, as an operator `VAR_HANDLE` gives it."""
        handle = self.tensor(name, [], "resource")
        self.operator("VAR_HANDLE", [], [handle], "VarHandle", container="", sharedName=name)
        return handle

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str = "float32",
        *,
        data: Array | None = None,
        quantized: Quantized | None = None,
    ) -> int:
        """A tensor; sizes of -1 are open. Returns its number."""
        tensor = schema().TensorT()
        tensor.name, tensor.type = name, getattr(schema().TensorType, _TYPES[dtype])
        tensor.shape = [1 if size < 0 else size for size in shape]
        if min(shape, default=0) < 0:
            tensor.shapeSignature = list(shape)
        tensor.hasRank = True
        buffer = schema().BufferT()
        if data is not None:
            buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
        self.buffers.append(buffer)
        tensor.buffer = len(self.buffers)  # buffer 0 is empty
        if quantized is not None:
            tensor.quantization = schema().QuantizationParametersT()
            scales = np.atleast_1d(np.asarray(quantized.scale, np.float32))
            tensor.quantization.scale = scales
            tensor.quantization.zeroPoint = [quantized.zero_point] * len(scales)
            tensor.quantization.quantizedDimension = quantized.axis
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def input(self, name: str, shape: Sequence[int], dtype: str = "float32", **more: Any) -> int:
        """An input of the model."""
        self.inputs.append(self.tensor(name, shape, dtype, **more))
        return self.inputs[-1]

    def constant(self, name: str, data: Array, quantized: Quantized | None = None) -> int:
        """A tensor with elements."""
        return self.tensor(name, data.shape, str(data.dtype), data=data, quantized=quantized)

    def operator(
        self, name: str, inputs: Sequence[int], outputs: Sequence[int], table: str = "", **options: Any
    ) -> None:
        """A call of a builtin operator (`CONV_2D`), or of a custom one; `table` names that of its options."""
        made = schema().OperatorT()
        made.inputs, made.outputs, made.opcodeIndex = list(inputs), list(outputs), self._code(name)
        if table:
            kind = f"{table}Options"
            made.builtinOptions = getattr(schema(), f"{kind}T")()
            is_second = hasattr(schema().BuiltinOptions2, kind)
            union = schema().BuiltinOptions2 if is_second else schema().BuiltinOptions
            if is_second:
                made.builtinOptions2, made.builtinOptions = made.builtinOptions, None
                made.builtinOptions2Type = getattr(union, kind)
            else:
                made.builtinOptionsType = getattr(union, kind)
            for key, value in options.items():
                target = made.builtinOptions2 if is_second else made.builtinOptions
                if not hasattr(target, key):
                    raise AttributeError(f"{kind} has no {key}")
                setattr(target, key, value)
        self.operators.append(made)

    def _code(self, name: str) -> int:
        code = schema().OperatorCodeT()
        number = getattr(schema().BuiltinOperator, name, None)
        if number is None:
            number, code.customCode = schema().BuiltinOperator.CUSTOM, name
        code.builtinCode, code.deprecatedBuiltinCode, code.version = (
            number,
            min(number, 127),
            _VERSIONS.get(name, 1),
        )
        self.codes.append(code)
        return len(self.codes) - 1

    def made(self, number: int) -> Any:
        """The graph as a table of the file."""
        graph = schema().SubGraphT()
        graph.tensors, graph.operators = self.tensors, self.operators
        graph.inputs, graph.outputs = self.inputs, list(self.outputs)
        graph.name = f"graph{number}" if number else "main"
        return graph

    def finish(
        self, outputs: Sequence[int], signature: Mapping[str, Mapping[str, int]] | None = None
    ) -> bytes:
        """The bytes of the file. `signature` maps names to tensors, of `inputs` and of `outputs`."""
        flatbuffers = import_module("flatbuffers")
        self.outputs, model = outputs, schema().ModelT()
        model.subgraphs = [each.made(number) for number, each in enumerate([self, *self.graphs])]
        model.version, model.operatorCodes = 3, self.codes
        model.buffers = [schema().BufferT(), *self.buffers]
        if signature is not None:
            made = schema().SignatureDefT()
            made.signatureKey, made.subgraphIndex = "serving_default", 0
            made.inputs = [_named(*each) for each in signature["inputs"].items()]
            made.outputs = [_named(*each) for each in signature["outputs"].items()]
            model.signatureDefs = [made]
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def _named(name: str, tensor: int) -> Any:
    made = schema().TensorMapT()
    made.name, made.tensorIndex = name, tensor
    return made


def reference(model: bytes, inputs: Sequence[Array]) -> list[Array]:
    """The results of LiteRT's reference kernels; of the others where these lack an operator."""
    kinds = import_module("ai_edge_litert.interpreter").OpResolverType
    try:
        return _run(model, inputs, kinds.BUILTIN_REF)
    except (RuntimeError, ValueError) as error:
        if "Didn't find op" not in str(error):
            raise
        return _run(model, inputs, kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES)


def _run(model: bytes, inputs: Sequence[Array], kind: Any) -> list[Array]:
    interpreter = import_module("ai_edge_litert.interpreter")
    made = interpreter.Interpreter(model_content=model, experimental_op_resolver_type=kind)
    details = made.get_input_details()
    for each, array in zip(details, inputs, strict=True):
        if tuple(each["shape"]) != array.shape:
            made.resize_tensor_input(each["index"], array.shape)
    made.allocate_tensors()
    for each, array in zip(details, inputs, strict=True):
        made.set_tensor(each["index"], array)
    made.invoke()
    return [made.get_tensor(each["index"]) for each in made.get_output_details()]
