"""
Types of level 2: tensors without named dimensions, integers without sign; both facts move to attributes.
"""

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
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from stepwell.dialects import graph
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.graph.host import signature_before
from stepwell.dialects.graph.symbols import SIGNATURE
from stepwell.dialects.linalg_builder.plain_types import plain_tensor, plain_type
from stepwell.dialects.linalg_builder.scalars import signless
from stepwell.dialects.types import DIMS, ELEMENT, DimsAttr, Tensor, WeightAttr


def drop_names_and_signs(module: ModuleOp) -> None:
    """
    Replace the type of every value by its level-2 type; functions record dimension names as `graph.dims`.
    """
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
    """Change a value's type to its level-2 type, in place."""
    plain = plain_type(value.type)
    if plain != value.type:
        set_type(value, plain)


def _plain_constant(value: Attribute) -> Attribute:
    """A constant's value, a weight or dense elements, with a level-2 type."""
    if isinstance(value, WeightAttr):
        return WeightAttr(value.weight_name.data, value.hash.data, plain_tensor(value.type))
    dense = cast("DenseIntOrFPElementsAttr", value)
    type = cast("TensorType[IntegerType]", plain_tensor(cast(Tensor, dense.type)))
    return DenseIntOrFPElementsAttr(type, dense.data)


def _retype_function(function: FuncOp) -> None:
    """Update a function's type and the attributes of its arguments and results."""
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
    """
    The attributes of arguments or results, plus the facts of level-1 types that level-2 types cannot express.
    """
    old = list(attributes) if attributes is not None else [DictionaryAttr({})] * len(types)
    new = [
        DictionaryAttr({**dictionary.data, **_lost(type, is_main)})
        for dictionary, type in zip(old, types, strict=True)
    ]
    return ArrayAttr(new) if new != old else attributes


def _lost(type: Attribute, is_main: bool) -> Mapping[str, Attribute]:
    """The facts of a type that level 2 loses: named dimensions and, for `@main`, the element type."""
    if not isinstance(type, TensorType):
        return {}
    tensor = cast(Tensor, type)
    dims = {DIMS: tensor.encoding} if isinstance(tensor.encoding, DimsAttr) else {}
    element = {ELEMENT: tensor.element_type} if signless(tensor.element_type) != tensor.element_type else {}
    return dims | element if is_main else dims
