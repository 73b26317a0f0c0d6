"""Calls in a graph of torch.fx as records: operators, arguments, types, lines of the user's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from stepwell.dialects.types import element_of
from stepwell.frontend.torch.expressions import UnknownExpression, combined
from stepwell.frontend.torch.records import Node, Ref, TensorRecord
from stepwell.frontend.torch.stack import module_text, user_line
from stepwell.frontend.torch.targets import LEFT_OUT_ARGUMENTS, is_check, is_size
from stepwell.frontend.torch.tensors import dtype_name
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import dtype_from_name

NAME = "<torch program>"
_ROOT, _MODULES = re.compile(r"^L\['\w+'\]"), re.compile(r"(?:\._modules)?\['(\w+)'\]")
_ABSENT = TensorRecord(f32, (Dim.of(0),))
"""The type of a result that a call does not compute, such as a gradient that is not requested."""


def node_records(node: Any) -> Iterable[Node]:
    """The records of a call in a graph of torch.fx: one, or none for arithmetic of sizes and checks."""
    target = target_name(node.target)
    if target == "_operator.getitem" or is_size(target) or is_check(target):
        return
    if any(kind.__name__ == "HigherOrderOperator" for kind in type(node.target).__mro__):
        message = f"node {node.name!r} calls torch.{node.target.name()}, an operator on functions"
        help = "torch.where selects between values; torch.compile leaves such operators to torch"
        raise StepwellError("unsupported", NAME, message, help=help)
    value = node.meta.get("val")
    if not is_tensor(value) and not isinstance(value, list | tuple):
        if value is None:
            return
        raise _number_of_data(node, type(value).__name__)
    parts = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else None
    if parts is None:
        outputs = [(node.name, record_of(value))]
    else:
        names = _names_of_parts(node, len(parts))
        records = [record_of(part) if is_tensor(part) else _ABSENT for part in parts]
        outputs = list(zip(names, records, strict=True))
    names = [argument.name for argument in getattr(node.target, "_schema", _NoSchema).arguments]
    given = (
        dict(zip(names, node.args, strict=False)) if names else {f"a{i}": a for i, a in enumerate(node.args)}
    )
    given |= node.kwargs
    arguments = {k: _argument(v) for k, v in given.items() if k not in LEFT_OUT_ARGUMENTS}
    module = _module_of(node.meta.get("nn_module_stack"))
    file, line = user_line(node.meta.get("stack_trace") or "")
    yield Node(node.name, target, arguments, tuple(outputs), module, file, line)


def _number_of_data(node: Any, kind: str) -> StepwellError:
    """The error for a number that a program reads from a tensor."""
    file, line = user_line(node.meta.get("stack_trace") or "")
    message = f"node {node.name!r} makes a {kind}, a number that depends on data"
    help = "keep it a tensor, without .item(); give sizes and splits as numbers: x.tensor_split((2, 5))"
    return StepwellError("unsupported", f"{file}:{line}" if file else NAME, message, help=help)


def _module_of(stack: Any) -> str:
    """The innermost module of a stack (key: path and class), as text; empty for a node without one."""
    key, entry = next(reversed(stack.items())) if stack else ("", ("", ""))
    path, kind = entry
    if str(key).startswith("_empty"):
        return ""
    # TorchDynamo writes the expression of Python: L['self'].layer1._modules['0']
    path = _MODULES.sub(r".\1", _ROOT.sub("", path)).strip(".")
    return module_text(path, kind if isinstance(kind, str) else kind.__qualname__)


class _NoSchema:
    arguments: Sequence[Any] = ()


def target_name(target: Any) -> str:
    """The name of an operator: `aten.add.Tensor`, or that of a Python function."""
    if hasattr(target, "_schema"):
        return str(target)
    return f"{target.__module__}.{target.__name__}"


def _names_of_parts(node: Any, count: int) -> list[str]:
    """The names of several results of a call, from the nodes that take one each."""
    names = [f"{node.name}__{i}" for i in range(count)]
    for user in node.users:
        if user.op == "call_function" and target_name(user.target) == "_operator.getitem":
            names[user.args[1]] = user.name
    return names


def _argument(value: Any) -> object:
    """An argument as a record has it."""
    kind = type(value).__name__
    if kind == "Node":
        known = value.meta.get("val")
        return Ref(value.name) if is_tensor(known) else size_of(known)
    if isinstance(value, list | tuple):
        return [_argument(item) for item in cast("Sequence[Any]", value)]
    if kind == "dtype":
        return _element(value)
    if kind in ("device", "memory_format", "layout"):
        return str(value)
    return value


def is_tensor(value: object) -> bool:
    """Whether a value is a tensor, or a fake one."""
    return hasattr(value, "dtype") and hasattr(value, "shape")


def record_of(value: Any) -> TensorRecord:
    """The type of a tensor. Raises: StepwellError `unsupported` for sizes that are not."""
    return TensorRecord(_element(value.dtype), tuple(Dim.of(size_of(size)) for size in value.shape))


def _element(dtype: Any) -> Attribute:
    """The element type of a dtype. Raises: StepwellError `unsupported`."""
    try:
        return element_of(dtype_from_name(dtype_name(dtype)))
    except ValueError:
        raise StepwellError("unsupported", NAME, f"the element type {dtype} is not supported") from None


def size_of(size: Any) -> Any:
    """A size as a number or a dimension; a number of another kind as it is."""
    if isinstance(size, int | float | bool):
        return size
    try:
        return dim_of(size.node.expr)
    except (UnknownExpression, AttributeError) as error:
        raise StepwellError("unsupported", NAME, f"the size {size} is not supported: {error}") from None


def dim_of(expression: Any) -> Dim:
    """An expression of sympy as a dimension. Raises: UnknownExpression."""
    if expression.is_Symbol:
        return Dim.symbol(expression.name)
    if expression.is_Integer:
        return Dim.of(int(expression))
    return combined(type(expression).__name__, [dim_of(each) for each in expression.args])


def bound_of(bound: Any) -> int | None:
    """A bound of a range as a number; None for infinity."""
    return int(bound) if getattr(bound, "is_Integer", False) else None
