"""Intrinsics of users: formulas with code, which are compared on samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from stepwell.dialects.parser import parse_module
from stepwell.dialects.schedule_script import IntrinsicOp
from stepwell.dialects.types import dtype_of
from stepwell.dialects.verify import verify_module
from stepwell.frontend.te.places import FormulaError
from stepwell.tools.api.formulas import lower
from stepwell.tools.api.loop_scripts import Script
from stepwell.tools.api.module import Module
from stepwell.tools.api.schedule_stages import Intrinsic

if TYPE_CHECKING:
    from stepwell.frontend.te.tensors import Tensor

SAMPLES = 3
"""The sets of random tensors on which code and meaning are compared."""


def intrinsic(name: str, inputs: Sequence[Tensor], output: Tensor, code: Script | str) -> Intrinsic:
    """
    An intrinsic of a formula, for `tensorize`.

    Args: `code` takes the inputs and the tensor that the result starts from, and returns the result: a loop
    script, or the text of a function of level 2.
    Raises: StepwellError `te-intrinsic` where the code computes something else, or is no such function.
    """
    meaning = _meaning(inputs, output)
    module = Module(ModuleOp([]))
    function = _function_of_script(code) if isinstance(code, Script) else _function_of_text(code, module)
    function.sym_name = StringAttr("code")
    if meaning.function_type != function.function_type:
        wanted = ", ".join([*(tensor.name for tensor in inputs), f"what {output.name} starts from"])
        message = f"the code of {name} is {function.function_type}, and the formula {meaning.function_type}"
        raise FormulaError("te-intrinsic", message, help=f"its parameters are {wanted}")
    op = IntrinsicOp(name, [meaning, function])
    verify_module(ModuleOp([op]))
    _expect_same(op, module)
    return Intrinsic(name, str(op) + "\n")


def _meaning(inputs: Sequence[Tensor], output: Tensor) -> FuncOp:
    """The formula as a function of the inputs and the tensor that the result starts from."""
    kernels = [f for f in lower(inputs, output).op.ops if isinstance(f, FuncOp) and f.sym_name.data != "main"]
    found = [op for kernel in kernels for op in kernel.walk() if isinstance(op, linalg.GenericOp)]
    if len(kernels) != 1 or len(found) != 1 or len(found[0].results) != 1:
        raise FormulaError(
            "te-intrinsic", f"{output.name} is {len(found)} formulas, and an intrinsic is one te.compute"
        )
    (kernel,), (op,) = kernels, found
    arguments: list[SSAValue] = [*kernel.body.block.args, *op.outputs]
    if wrong := [value for value in op.operands if value not in arguments]:
        raise FormulaError("te-intrinsic", f"the formula reads a part of a tensor: {wrong[0].type}")
    block = Block(arg_types=[value.type for value in arguments])
    mapper = dict(zip(arguments, block.args, strict=True))
    for value, argument in mapper.items():
        argument.name_hint = value.name_hint
    made = op.clone(value_mapper=cast("dict[SSAValue, SSAValue]", mapper))
    _with_constants_inside(made)
    block.add_ops([made, ReturnOp(*made.results)])
    return FuncOp("meaning", (list(block.arg_types), list(made.result_types)), Region(block))


def _with_constants_inside(op: linalg.GenericOp) -> None:
    """Move constants from outside of a body to its start: nothing else is outside."""
    body = op.body.block
    for inner in list(body.ops):
        for at, value in enumerate(inner.operands):
            owner = value.owner
            if isinstance(owner, Operation) and owner.parent is not body:
                copy = owner.clone()
                assert body.first_op is not None
                body.insert_op_before(copy, body.first_op)
                inner.operands[at] = copy.results[0]


def _function_of_script(code: Script) -> FuncOp:
    functions = [op for op in code.lower().op.ops if isinstance(op, FuncOp) and op.sym_name.data != "main"]
    return _plain(functions[0].clone())


def _function_of_text(text: str, module: Module) -> FuncOp:
    parsed = parse_module(module.context, text, "code")
    functions = [op for op in parsed.ops if isinstance(op, FuncOp)]
    if len(functions) != 1:
        raise FormulaError("te-intrinsic", f"the code is one func.func, found {len(functions)} of them")
    return _plain(functions[0].clone())


def _plain(function: FuncOp) -> FuncOp:
    """A function without the interface of a kernel."""
    return FuncOp("code", function.function_type, function.detach_region(function.body))


def _expect_same(op: IntrinsicOp, module: Module) -> None:
    """Require code and formula to compute the same. Raises: StepwellError `te-intrinsic`."""
    draw = np.random.default_rng(0)
    inputs = op.function("meaning").function_type.inputs
    functions = [_main(op.function(part)) for part in ("meaning", "code")]
    programs = [Module(ModuleOp([function]), context=module.context) for function in functions]
    for _ in range(SAMPLES):
        arrays = [_drawn(type, draw) for type in inputs]
        wanted, found = (np.asarray(_first(program.interpret(*arrays))) for program in programs)
        same = np.isclose(found, wanted, rtol=1e-4, atol=1e-4, equal_nan=True)
        if not same.all():
            at = tuple(int(i) for i in np.argwhere(~same)[0])
            values = f"{found[at]} at {list(at)}, the formula {wanted[at]}"
            message = f"the code of {op.sym_name.data} computes {values}"
            raise FormulaError("te-intrinsic", message)


def _main(function: FuncOp) -> FuncOp:
    return FuncOp("main", function.function_type, function.body.clone())


def _drawn(type: Attribute, draw: np.random.Generator) -> np.ndarray[Any, Any]:
    """A random array of a type; integers take all values of 16 bits that they can have."""
    shape = type.get_shape() if isinstance(type, TensorType) else ()
    element = cast("TensorType[Attribute]", type).element_type if isinstance(type, TensorType) else type
    dtype = dtype_of(element)
    if dtype.kind in "iu":
        bound = min(1 << 15, int(np.iinfo(str(dtype)).max) + 1)
        return draw.integers(-bound, bound, shape).astype(dtype)
    return (4 * draw.standard_normal(shape)).astype(dtype)


def _first(results: object) -> object:
    return cast("Sequence[object]", results)[0] if isinstance(results, list | tuple) else results
