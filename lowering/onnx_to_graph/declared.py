"""A check of a model's declared outputs against the types computed by its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import AnyFloat, IntegerType, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from stepwell.dialects.graph.relations import shape_text
from stepwell.dialects.types import Tensor, dims_of, dtype_of, tensor_of
from stepwell.passes.context import remark
from stepwell.runtime.errors import StepwellError


def check_declared(function: FuncOp, declared: Sequence[Attribute]) -> None:
    """
    Check that a converted function's outputs have the element types that the model declared.

    A declared shape of another rank or size is a remark only: the nodes decide, as in other engines.
    Args: `declared` are the function's result types before the conversion.
    Raises: StepwellError `invalid-model` with both types.
    """
    last = function.body.block.last_op
    assert last is not None
    for index, (value, model_type) in enumerate(zip(last.operands, declared, strict=False)):
        if not isinstance(model_type, TensorType) or not isinstance(value.type, TensorType):
            continue
        name = _output_name(function, index)
        wanted, found = cast(Tensor, model_type), tensor_of(value)
        elements = wanted.element_type, found.element_type
        are_numbers = all(isinstance(element, IntegerType | AnyFloat) for element in elements)
        if are_numbers and elements[0] != elements[1]:
            wanted_name, found_name = (dtype_of(element).name for element in elements)
            raise StepwellError(
                "invalid-model",
                _maker(value, function),
                f"output {name!r} is declared as {wanted_name}, and its node makes {found_name}",
                help=f"declare it as {found_name}, or put a Cast before it",
            )
        sizes, made = dims_of(wanted), dims_of(found)
        differ = (a.is_static and b.is_static and a != b for a, b in zip(sizes, made, strict=False))
        if len(sizes) != len(made) or any(differ):
            message = f"output {name!r} is declared as {shape_text(sizes)}, its node makes {shape_text(made)}"
            remark(_maker(value, function), message)


def _maker(value: SSAValue, function: FuncOp) -> object:
    """The op that computes an output; the function for one of its arguments."""
    return function if value.owner is function.body.block else value.owner


def _output_name(function: FuncOp, index: int) -> str:
    """The name of an output in the model."""
    about = function.res_attrs
    name = about.data[index].data.get("graph.name") if about is not None else None
    return name.data if isinstance(name, StringAttr) else f"output{index}"
