"""Replaces an op by the body of an `onnx.Function`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, NameLoc, StringAttr, i64
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import onnx
from stepwell.dialects.onnx.marks import VALUES
from stepwell.frontend.attributes import int_attr
from stepwell.frontend.functions import opsets_of
from stepwell.frontend.graphs import set_hint
from stepwell.frontend.info import string_array
from stepwell.frontend.layout import layout_of, segment_sizes
from stepwell.frontend.names import strings
from stepwell.runtime.errors import StepwellError


def inline(
    op: Operation,
    function: onnx.FunctionOp,
    operands: Sequence[SSAValue | None],
    arguments: Mapping[str, Attribute],
    results: Sequence[SSAValue | None],
) -> None:
    """
    Replace an op by a copy of a function's body.

    Args: `operands` and `results` by position in the function, None for those that the op does not have;
    `arguments` are the values of the function's attributes. An op of the body whose opset differs from the
    caller's keeps its own as `onnx.opset`.
    Raises: StepwellError `invalid-model` when the body needs an input that is not given.
    """
    body = function.body.clone()
    block = body.block
    opsets = opsets_of(function.attributes)
    for inner in body.walk():
        _settle(inner, op, opsets, arguments)
    given = [*operands, *[None] * (len(block.args) - len(operands))]
    for arg, value in zip(tuple(block.args), given, strict=True):
        if value is None:
            _drop_uses(arg, op)
        else:
            arg.replace_all_uses_with(value)
    _move(block, op, results)


def _settle(
    inner: Operation, op: Operation, opsets: Mapping[str, int], arguments: Mapping[str, Attribute]
) -> None:
    """Set the location and opset of an op of the body, and the attributes that refer to the function's."""
    caller = op.location.desc.data if isinstance(op.location, NameLoc) else op.name
    own = inner.location.desc.data if isinstance(inner.location, NameLoc) else inner.name
    file = op.location.location if isinstance(op.location, NameLoc) else op.location
    inner.location = NameLoc(StringAttr(f"{caller}/{own}"), file)
    if isinstance(inner, onnx.OnnxOp) and onnx.OPSET not in inner.attributes:
        opset = opsets.get(domain := onnx.domain_of(inner.name), onnx.LATEST[domain])
        if opset != onnx.opset_of(op, domain):
            inner.attributes[onnx.OPSET] = int_attr(opset)
    refs = inner.attributes.pop(onnx.REFS, None)
    if not isinstance(refs, DictionaryAttr):
        return
    for name, ref in refs.data.items():
        parameter, kind = strings(ref)
        if kind == "graph":
            raise StepwellError(
                "unsupported", inner, f"attribute `{name}`: a graph as argument of a function"
            )
        if (value := arguments.get(parameter)) is None:
            continue
        if isinstance(inner, onnx.CallOp):
            inner.properties["arguments"] = DictionaryAttr({**inner.arguments.data, name: value})
        else:
            inner.properties[name] = value


def _move(block: Block, op: Operation, results: Sequence[SSAValue | None]) -> None:
    """Move a body's ops before `op`, replace `op`'s results by the yielded values, and erase it."""
    terminator = block.last_op
    assert isinstance(terminator, onnx.YieldOp)
    values = list(terminator.values)
    terminator.detach()
    terminator.erase()
    names: dict[SSAValue, str] = dict(zip(op.results, strings(op.attributes.get(VALUES)), strict=False))
    for result, value in zip(results, values, strict=False):
        if result is None:
            continue
        if isinstance(value.type, onnx.AnyType) and not isinstance(result.type, onnx.AnyType):
            value = Rewriter.replace_value_with_new_type(value, result.type)
        _rename(value, names.get(result))
        result.replace_all_uses_with(value)
    for inner in tuple(block.ops):
        inner.detach()
        Rewriter.insert_op(inner, InsertPoint.before(op))
    op.detach()
    op.erase()


def _rename(value: SSAValue, name: str | None) -> None:
    """Give a value of the body the name of the replaced result in the model."""
    if name is None or not isinstance(value, OpResult):
        return
    names = list(strings(value.op.attributes.get(VALUES)))
    if value.index < len(names):
        names[value.index] = name
        value.op.attributes[VALUES] = string_array(names)
    set_hint(value, name)


def _drop_uses(arg: SSAValue, op: Operation) -> None:
    """Make an argument without operand absent at each of its uses."""
    for use in tuple(arg.uses):
        user, index = use.operation, use.index
        match user:
            case onnx.OnnxOp():
                _drop_operand(user, index, op)
            case onnx.CallOp():
                _drop_argument(user, index)
            case _:
                raise StepwellError("invalid-model", op, "the function returns an input that is not given")


def _drop_operand(user: onnx.OnnxOp, index: int, op: Operation) -> None:
    """
    Remove an optional operand of an operator. Raises: StepwellError `invalid-model` if it is not optional.
    """
    operands, _ = onnx.parameter_names(type(user))
    sizes = [onnx.group_size(user, name) for name in operands]
    group = next(g for g in range(len(sizes)) if sum(sizes[: g + 1]) > index)
    own = onnx.OPSET in user.attributes
    layout = layout_of(user.name, onnx.opset_of(user if own else op, onnx.domain_of(user.name)))
    formal = {p.name: p for p in layout.signature.inputs} if layout is not None else {}
    if operands[group] not in formal or not formal[operands[group]].optional:
        raise StepwellError(
            "invalid-model",
            op,
            f"input `{operands[group]}` of {user.op_type} is not optional, but the call does not give it",
        )
    user.operands = [value for at, value in enumerate(user.operands) if at != index]
    sizes[group] -= 1
    if "operandSegmentSizes" in user.properties:
        user.properties["operandSegmentSizes"] = segment_sizes(tuple(sizes))


def _drop_argument(user: onnx.CallOp, index: int) -> None:
    """Remove an operand of a call, and record its position as absent."""
    absent = set(user.absent.get_values()) if user.absent is not None else set[int]()
    given = [at for at in range(len(user.inputs) + len(absent)) if at not in absent]
    user.operands = [value for at, value in enumerate(user.operands) if at != index]
    user.properties["absent"] = DenseArrayBase.from_list(i64, sorted({*absent, given[index]}))
