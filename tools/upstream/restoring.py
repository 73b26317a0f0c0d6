"""Attributes and ops of ours, restored from the text of upstream MLIR in which they were kept."""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, cf, tensor
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, IntegerType, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.sched_kernel import program_of
from stepwell.dialects.tensor_ir.upstream_marks import ASSERT, CONSTANT, INFO, MODULE_INFO, VIEW, VIEW_OF
from stepwell.dialects.types import DimsAttr, WeightAttr, tensor_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


def restore_info(module: ModuleOp, ctx: StepwellContext) -> None:
    """
    Make our attributes from the text of `stepwell_info`, and the ops of `@main` that they describe.

    Raises: StepwellError `syntax` for text that was changed; `unsupported` for ops of `@main` that cannot be
    made again.
    """
    for op in list(module.walk()):
        if isinstance(text := op.attributes.pop(MODULE_INFO, None), StringAttr):
            module.attributes.update(_parsed(text, ctx))
        if isinstance(text := op.attributes.pop(INFO, None), StringAttr):
            for name, value in _parsed(text, ctx).items():
                (op.properties if name in ("arg_attrs", "res_attrs") else op.attributes)[name] = value
    for function in module.ops:
        if isinstance(function, FuncOp) and program_of(function) is not None:
            _restore_main(function)


def _parsed(text: StringAttr, ctx: Context) -> dict[str, Attribute]:
    """The attributes in a text. Raises: StepwellError `syntax`."""
    try:
        found = Parser(ctx, text.data).parse_attribute()
    except Exception as error:  # of several classes, for text that somebody has changed
        reason = str(error).strip().splitlines()[-1]
        raise StepwellError("syntax", None, f"{INFO} cannot be read: {reason}") from None
    if not isinstance(found, DictionaryAttr):
        raise StepwellError("syntax", None, f"{INFO} is no dictionary of attributes")
    return dict(found.data)


def _restore_main(main: FuncOp) -> None:
    """Replace the ops that described themselves, then erase what computed their sizes."""
    if any(op.name.startswith("memref.") for op in main.walk()):
        return  # level 3 has none
    for op in list(main.body.block.ops):
        if (made := _restored(op)) is not None:
            made.location = op.location
            Rewriter.replace_op(op, made, list(made.results) if op.results else [])
    for op in reversed(list(main.body.block.ops)):
        if op.results and not any(result.uses for result in op.results) and not isinstance(op, CallOp):
            Rewriter.erase_op(op)
    legal = (CallOp, ReturnOp)
    left = [op for op in main.body.block.ops if not isinstance(op, legal) and op.dialect_name() != "graph"]
    if left:
        names = ", ".join(sorted({op.name for op in left}))
        raise StepwellError("unsupported", left[0], f"@main has ops that are not read back: {names}")


def _restored(op: Operation) -> Operation | None:
    """The op of ours that an op of upstream was; None for another op."""
    match op:
        case arith.ConstantOp() if CONSTANT in op.attributes:
            kept = op.attributes[CONSTANT]
            value: Attribute = op.value
            if isinstance(kept, WeightAttr) and isinstance(value, WeightAttr):
                value = WeightAttr(kept.weight_name.data, value.hash.data, tensor_of(op.result))
            return graph.ConstantOp.create(result_types=[tensor_of(op.result)], properties={"value": value})
        case tensor.ReshapeOp() if VIEW in op.attributes:
            return _view(op)
        case cf.AssertOp() if ASSERT in op.attributes:
            sides = cast("ArrayAttr[StringAttr]", op.attributes[ASSERT])
            left, right, message = (side.data for side in sides)
            return graph.AssertOp(Dim.of(left), Dim.of(right), message)
        case _:
            return None


def _view(op: tensor.ReshapeOp) -> Operation:
    name, shape = cast(StringAttr, op.attributes[VIEW]).data, op.attributes[VIEW_OF]
    kind = {each.name: each for each in (graph.ReshapeOp, graph.ExpandDimsOp, graph.SqueezeOp)}[name]
    if isinstance(shape, DimsAttr):
        made: Operation = graph.ReshapeOp.build(
            operands=[op.source, []], properties={"shape": shape}, result_types=[op.result.type]
        )
        return made
    axes = cast("DenseArrayBase[IntegerType]", shape)
    return kind.create(operands=[op.source], properties={"axes": axes}, result_types=[op.result.type])
