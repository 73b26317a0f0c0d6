"""The parts of a TFLite model: operators by name, tensors with their elements in the file, signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from xdsl.ir import Attribute

from stepwell.dialects.types import element_of
from stepwell.frontend.flatbuffer.reader import FlatBuffer, Table
from stepwell.frontend.packed import packed_elements
from stepwell.frontend.tflite.schema import schema
from stepwell.runtime.dims import UNKNOWN, Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import MAX_TENSOR_BYTES, Array, dtype_from_name

IDENTIFIER = b"TFL3"
MAX_SUBGRAPHS = 1000
_MAX_RANK = 64
_ELEMENTS: Mapping[str, str] = {
    "FLOAT32": "float32",
    "FLOAT16": "float16",
    "FLOAT64": "float64",
    "BFLOAT16": "bfloat16",
    "INT2": "int2",
    "INT4": "int4",
    "INT8": "int8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "UINT4": "uint4",
    "UINT8": "uint8",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "BOOL": "bool",
    "COMPLEX64": "complex64",
    "COMPLEX128": "complex128",
}
"""numpy's names of element types by the schema's."""
CARRIERS = ("BuiltinOptions", "BuiltinOptions2")
"""The unions of options."""


@dataclass(frozen=True)
class Quantization:
    """The scale and the zero point of a tensor, or of each index of an axis."""

    scale: Array
    zero_point: Array | None
    axis: int


@dataclass(frozen=True)
class TensorRecord:
    """A tensor of a subgraph."""

    name: str
    element: Attribute
    dims: tuple[Dim, ...] | None
    """None where the rank is not known."""
    quantization: Quantization | None
    is_variable: bool
    table: Table


@dataclass(frozen=True)
class OperatorRecord:
    """A call of an operator."""

    target: str
    """The name of a builtin operator (`conv_2d`), or of a custom one."""
    is_custom: bool
    inputs: Sequence[int]
    """The tensors; -1 for one that is absent."""
    outputs: Sequence[int]
    options: Mapping[str, object]


class Model:
    """A model in the bytes of a file. Raises: StepwellError `invalid-model`, `unsupported`."""

    def __init__(self, data: memoryview, name: str):
        self.buffer = FlatBuffer(data, name, schema())
        if bytes(data[4:8]) != IDENTIFIER:
            raise self.buffer.invalid("the file is no TFLite model: bytes 4 to 7 are not TFL3")
        self._root = self.buffer.root("Model")
        self.subgraphs = [Subgraph(self, table) for table in self._root.tables("subgraphs")]
        if not 1 <= len(self.subgraphs) <= MAX_SUBGRAPHS:
            message = f"expected 1 to {MAX_SUBGRAPHS} subgraphs, found {len(self.subgraphs)}"
            raise self.buffer.invalid(message)

    @cached_property
    def targets(self) -> list[tuple[str, bool]]:
        """The operators that the model uses: their names, and whether they are custom."""
        return [self._target(code) for code in self._root.tables("operator_codes")]

    def _target(self, code: Table) -> tuple[str, bool]:
        number = max(code.integer("deprecated_builtin_code"), code.integer("builtin_code"))
        name = schema().enum_names("BuiltinOperator").get(number, f"BUILTIN_{number}")
        return (code.text("custom_code"), True) if name == "CUSTOM" else (name.lower(), False)

    @cached_property
    def buffers(self) -> list[Table]:
        """The buffers of elements."""
        return self._root.tables("buffers")

    def signature_names(self, kind: str) -> dict[int, str]:
        """The names of the first signature for tensors of the main subgraph (`inputs`, `outputs`)."""
        for signature in self._root.tables("signature_defs"):
            if signature.integer("subgraph_index") == 0:
                maps = signature.tables(kind)
                return {each.integer("tensor_index"): each.text("name") for each in maps}
        return {}

    def bytes_of(self, index: int) -> memoryview | None:
        """The bytes of a buffer; None for an empty one."""
        if not 0 <= index < len(self.buffers):
            raise self.buffer.invalid(f"buffer {index} does not exist: there are {len(self.buffers)}")
        table = self.buffers[index]
        if (offset := table.integer("offset")) > 1:  # 0 and 1 are written for absent
            return self.buffer.bytes(offset, table.integer("size"), "Buffer.offset")
        found = table.array("data")
        return None if found is None or not found.size else memoryview(found.data).cast("B")


class Subgraph:
    """A graph of a model."""

    def __init__(self, model: Model, table: Table):
        self.model, self._table = model, table
        self.inputs, self.outputs = table.integers("inputs"), table.integers("outputs")

    @cached_property
    def tensors(self) -> list[Table]:
        """The tables of the tensors."""
        return self._table.tables("tensors")

    @cached_property
    def operators(self) -> list[OperatorRecord]:
        """The operators, in the order in which they run."""
        return [self._operator(table) for table in self._table.tables("operators")]

    def tensor(self, index: int) -> TensorRecord:
        """A tensor."""
        if not 0 <= index < len(self.tensors):
            message = f"tensor {index} does not exist: the subgraph has {len(self.tensors)}"
            raise self.model.buffer.invalid(message)
        table = self.tensors[index]
        element = element_type(table)
        dims = _dims(table)
        return TensorRecord(
            table.text("name"),
            element,
            dims,
            _quantization(table, element, dims),
            bool(table.number("is_variable")),
            table,
        )

    def elements(self, record: TensorRecord) -> Array | None:
        """The elements of a constant tensor, a view of the file; None for others."""
        data = self.model.bytes_of(record.table.integer("buffer"))
        if data is None:
            return None
        invalid = self.model.buffer.invalid
        if record.table.has("sparsity"):
            raise StepwellError("unsupported", self.model.buffer.name, f"{record.name!r} is a sparse tensor")
        shape = record.table.integers("shape")
        if min(shape, default=0) < 0 or len(shape) > _MAX_RANK:
            raise invalid(f"{record.name!r} has the shape {shape}")
        name = _ELEMENTS[type_name(record.table)]
        if name in ("int2", "int4", "uint4"):
            return packed_elements(data, name, shape, record.name, invalid)
        dtype = np.dtype(dtype_from_name(name))
        if prod(shape) * dtype.itemsize != len(data):
            raise invalid(f"{record.name!r} has {len(data)} bytes, and {shape} elements of {dtype}")
        return np.frombuffer(data, dtype).reshape(shape)

    def _operator(self, table: Table) -> OperatorRecord:
        targets, index = self.model.targets, table.integer("opcode_index")
        if not 0 <= index < len(targets):
            raise self.model.buffer.invalid(f"operator code {index} does not exist: there are {len(targets)}")
        target, is_custom = targets[index]
        inputs, outputs = table.integers("inputs"), table.integers("outputs")
        return OperatorRecord(target, is_custom, inputs, outputs, {} if is_custom else _options(table))


def type_name(table: Table) -> str:
    """The schema's name of a tensor's element type."""
    number = table.integer("type")
    return schema().enum_names("TensorType").get(number, f"type {number}")


def element_type(table: Table) -> Attribute:
    """The element type of a tensor. Raises: StepwellError `unsupported`."""
    if (name := type_name(table)) not in _ELEMENTS:
        message = f"{table.text('name')!r} has elements of {name}, which are not supported"
        raise StepwellError("unsupported", table.buffer.name, message)
    return named_element(name)


def named_element(name: str) -> Attribute:
    """The element type of a name of the schema."""
    return element_of(dtype_from_name(_ELEMENTS[name]))


def _dims(table: Table) -> tuple[Dim, ...] | None:
    """The dimensions of a tensor; None where the file records no rank."""
    shape, signature = table.integers("shape"), table.integers("shape_signature")
    sizes = signature if len(signature) == len(shape) else shape
    if len(sizes) > _MAX_RANK or min(sizes, default=0) < -1:
        raise table.buffer.invalid(f"{table.text('name')!r} has the shape {sizes}")
    known = prod(size for size in sizes if size > 0)
    if known > MAX_TENSOR_BYTES:
        raise StepwellError("too-large", table.buffer.name, f"{table.text('name')!r} has {known} elements")
    if not sizes and not table.number("has_rank"):
        return None
    return tuple(Dim.of(UNKNOWN if size < 0 else size) for size in sizes)


def _quantization(table: Table, element: Attribute, dims: Sequence[Dim] | None) -> Quantization | None:
    """The quantization of a tensor. Raises: StepwellError `invalid-model`, `unsupported`."""
    found = table.table("quantization")
    if found is None:
        return None
    if found.integer("details_type"):
        message = f"{table.text('name')!r} has a quantization of its own kind"
        raise StepwellError("unsupported", table.buffer.name, message)
    scale, zeros = found.array("scale"), found.integers("zero_point")
    if scale is None or not scale.size or not type_name(table).removeprefix("U").startswith("INT"):
        return None
    axis = found.integer("quantized_dimension")
    if scale.size > 1 and (dims is None or not 0 <= axis < len(dims) or dims[axis] != scale.size):
        message = f"{table.text('name')!r} has {scale.size} scales for axis {axis}"
        raise table.buffer.invalid(message)
    return Quantization(
        scale.reshape(()) if scale.size == 1 else scale,
        _zero_points(table, zeros, scale.size, dtype_from_name(_ELEMENTS[type_name(table)])),
        axis if scale.size > 1 else 0,
    )


def _zero_points(table: Table, zeros: Sequence[int], count: int, dtype: np.dtype[np.generic]) -> Array | None:
    """The zero points in the tensor's own type; None where all are 0."""
    if not any(zeros):
        return None
    if len(zeros) != count or not np.array_equal(np.array(zeros).astype(dtype).astype(np.int64), zeros):
        message = f"{table.text('name')!r} has zero points that are not {count} numbers of {dtype}"
        raise table.buffer.invalid(message)
    return np.array(zeros).astype(dtype).reshape(() if count == 1 else count)


def _options(table: Table) -> dict[str, object]:
    """The options of a builtin operator, by name; enumerations as text, element types as attributes."""
    for union, field in zip(CARRIERS, ("builtin_options", "builtin_options2"), strict=True):
        kind = schema().enum_names(union).get(table.integer(f"{field}_type"), "")
        if kind == "NONE" or not schema().has_table(kind):
            continue
        options = table.table(field, kind)
        if options is not None:
            return {
                name: named_element(str(value)) if each.type == "TensorType" else value
                for name, each in options.fields.items()
                if (value := options.value(each)) is not None
            }
    return {}
