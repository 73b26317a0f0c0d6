"""Level 2's types: tensors without named dimensions and integers without sign; names move into attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FunctionType,
    IntegerType,
    ModuleOp,
    NoneAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.host import SIGNATURE, signature_before
from stepwell.dialects.types import DimsAttr, Tensor, WeightAttr
from stepwell.lowering.graph_to_linalg.scalars import signless

DIMS = "graph.dims"
"""Key of an argument's or result's dimensions, where its type no longer names them."""
ELEMENT = "graph.element"
"""Key of the element type of an input or output of `@main`, where its type is that of the bytes only."""


def drop_names_and_signs(module: ModuleOp) -> None:
    """Give every value of a module its type at level 2; functions keep dimension names as `graph.dims`."""
    for op in module.walk():
        if isinstance(op, graph.HostCallOp | graph.ControlFlowOp) and SIGNATURE not in op.attributes:
            op.attributes[SIGNATURE] = signature_before(op)
        for result in op.results:
            _retype(result)
        for region in op.regions:
            for block in region.blocks:
                for arg in block.args:
                    _retype(arg)
        if isinstance(op, FuncOp):
            _retype_function(op)
        elif isinstance(op, graph.ConstantOp):
            op.properties["value"] = _plain_constant(op.value)


def _retype(value: SSAValue) -> None:
    plain = plain_type(value.type)
    if plain != value.type:
        value._type = plain  # pyright: ignore[reportPrivateUsage]  # as xDSL's rewriter does


def plain_type(type: Attribute) -> Attribute:
    """The type at level 2 of a type at level 1."""
    return _plain_tensor(cast(Tensor, type)) if isinstance(type, TensorType) else signless(type)


def type_before(type: Attribute, attributes: Mapping[str, Attribute]) -> Attribute:
    """The type at level 1 of an input or output of `@main` at level 2."""
    return _named_tensor(cast(Tensor, type), attributes) if isinstance(type, TensorType) else type


def _named_tensor(type: Tensor, attributes: Mapping[str, Attribute]) -> Tensor:
    element = attributes.get(ELEMENT, type.element_type)
    return TensorType(element, type.get_shape(), attributes.get(DIMS, type.encoding))


def _plain_tensor(type: Tensor) -> Tensor:
    element = signless(type.element_type)
    if element == type.element_type and isinstance(type.encoding, NoneAttr):
        return type
    return TensorType(element, type.get_shape())


def _plain_constant(value: Attribute) -> Attribute:
    if isinstance(value, WeightAttr):
        return WeightAttr(value.weight_name.data, value.hash.data, _plain_tensor(value.type))
    dense = cast("DenseIntOrFPElementsAttr", value)
    type = cast("TensorType[IntegerType]", _plain_tensor(cast(Tensor, dense.type)))
    return DenseIntOrFPElementsAttr(type, dense.data)


def _retype_function(function: FuncOp) -> None:
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    function.properties["function_type"] = FunctionType.from_lists(
        [plain_type(type) for type in inputs], [plain_type(type) for type in outputs]
    )
    for key, types in (("arg_attrs", inputs), ("res_attrs", outputs)):
        old = cast("ArrayAttr[DictionaryAttr] | None", function.properties.get(key))
        attributes = _with_types(old, types, is_main=function.sym_name.data == "main")
        if attributes is not None:
            function.properties[key] = attributes


def _with_types(
    attributes: ArrayAttr[DictionaryAttr] | None, types: Sequence[Attribute], *, is_main: bool
) -> ArrayAttr[DictionaryAttr] | None:
    """The attributes of arguments or results, with what their types say and those of level 2 do not."""
    old = list(attributes) if attributes is not None else [DictionaryAttr({})] * len(types)
    new = [
        DictionaryAttr({**dictionary.data, **_lost(type, is_main)})
        for dictionary, type in zip(old, types, strict=True)
    ]
    return ArrayAttr(new) if new != old else attributes


def _lost(type: Attribute, is_main: bool) -> Mapping[str, Attribute]:
    """What level 2's type of a value does not say: named dimensions; for the caller what elements mean."""
    if not isinstance(type, TensorType):
        return {}
    tensor = cast(Tensor, type)
    dims = {DIMS: tensor.encoding} if isinstance(tensor.encoding, DimsAttr) else {}
    element = {ELEMENT: tensor.element_type} if signless(tensor.element_type) != tensor.element_type else {}
    return dims | element if is_main else dims
