"""Properties of values for patterns: names and classes of ops, attributes by value, structural equality."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, TensorType, UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation, VarOperandDef
from xdsl.traits import Commutative, ConstantLike, IsolatedFromAbove, Pure

from stepwell.dialects.graph.base import GraphOp, Kind, plain
from stepwell.dialects.types import Tensor, WeightAttr, dtype_of, dtypes

TRAIT = "trait:"
CONSTANTS = frozenset({"graph.constant", "onnx.Constant"})

_COMMUTATIVE = frozenset(
    {f"arith.{name}" for name in ("addf", "mulf", "minimumf", "maximumf", "minnumf", "maxnumf")}
    | {f"arith.{name}" for name in ("minsi", "maxsi", "minui", "maxui")}
    | {f"llvm.{name}" for name in ("add", "mul", "and", "or", "xor", "fadd", "fmul")}
    | {f"llvm.intr.{name}" for name in ("minimum", "maximum", "minnum", "maxnum")}
    | {f"llvm.intr.{name}" for name in ("smin", "smax", "umin", "umax")}
)
"""Commutative ops without the trait."""

_LARGEST_F32 = float(np.finfo(np.float32).max)

OpTest = Callable[[type[Operation]], bool]


def op_name(op: Operation) -> str:
    """The name of an op, also of an unregistered one."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def owner_of(value: SSAValue) -> Operation | None:
    """The op that defines a value; None for a block argument."""
    owner = value.owner
    return None if isinstance(owner, Block) else owner


def is_constant_op(op: Operation) -> bool:
    """Whether an op is a constant."""
    return op.name in CONSTANTS or op.has_trait(ConstantLike)


def op_classes() -> list[str]:
    """The classes of ops after `trait:`."""
    return [*(kind.name.lower() for kind in Kind), "pure", "commutative"]


def commutes(op: Operation | type[Operation]) -> bool:
    """Whether an op's two operands may be swapped."""
    return op.has_trait(Commutative) or op.name in _COMMUTATIVE


@cache
def class_test(name: str) -> OpTest:
    """The test of a class of ops, `trait:kind`. Raises: KeyError for one that is not in `op_classes`."""
    kind = name.removeprefix(TRAIT)
    if kind == "pure":
        return lambda op: op.has_trait(Pure)
    if kind == "commutative":
        return commutes
    wanted = Kind[kind.upper()]

    def test(op: type[Operation]) -> bool:
        return issubclass(op, GraphOp) and getattr(op, "KIND", None) is wanted

    return test


def kind_of(op: Operation) -> Kind | None:
    """The fusion kind of an op of level 1; None for other ops."""
    return op.fusion_kind if isinstance(op, GraphOp) else None


@cache
def _variadic_group(op: type[Operation]) -> str | None:
    if not issubclass(op, IRDLOperation):
        return None
    groups = [
        name
        for name, definition in op.get_irdl_definition().operands
        if isinstance(definition, VarOperandDef)
    ]
    return groups[0] if len(groups) == 1 else None


def is_all_variadic(op: Operation) -> bool:
    """Whether all operands of an op belong to a single variadic operand group."""
    group = _variadic_group(type(op))
    if group is None:
        return False
    found = cast("SSAValue | tuple[SSAValue, ...] | None", getattr(op, group))
    return isinstance(found, tuple) and len(found) == len(op.operands)


def is_function(op: Operation) -> bool:
    """Whether an op contains a function: a lambda, or a region of one block that is isolated from above."""
    closed = op.has_trait(IsolatedFromAbove) or op.name == "graph.lambda"
    return closed and len(op.regions) == 1 and len(op.regions[0].blocks) == 1


def attribute_of(op: Operation, name: str) -> Attribute | None:
    """An attribute or property of an op, else its declared default."""
    found = op.properties.get(name) or op.attributes.get(name)
    if found is None and isinstance(op, IRDLOperation):
        definition = op.get_irdl_definition()
        declared = definition.properties.get(name) or definition.attributes.get(name)
        found = declared.default_value if declared is not None else None
    return found


def same_attribute(found: Attribute, wanted: Attribute) -> bool:
    """
    Whether attributes have equal values: numbers of any type, arrays elementwise, a dtype by its name.

    A float equals what f32 stores for it, as for 0.01.
    """
    if found == wanted:
        return True
    try:
        return _equal(_plain(found), _plain(wanted))
    except (TypeError, KeyError):
        return False


def _equal(found: object, wanted: object) -> bool:
    if isinstance(found, tuple) and isinstance(wanted, tuple):
        ours, theirs = cast("tuple[object, ...]", found), cast("tuple[object, ...]", wanted)
        return len(ours) == len(theirs) and all(map(_equal, ours, theirs))
    if isinstance(found, float) and isinstance(wanted, float):
        return found == wanted or _is_stored_as(found, wanted) or _is_stored_as(wanted, found)
    return found == wanted


def _is_stored_as(number: float, other: float) -> bool:
    """Whether f32 stores a number as another one."""
    return abs(number) <= _LARGEST_F32 and float(np.float32(number)) == other


def _plain(value: Attribute) -> object:
    """An attribute as plain Python, a dtype as its name, which a string may spell."""
    if isinstance(value, ArrayAttr):
        return tuple(_plain(item) for item in cast("ArrayAttr[Attribute]", value))
    found = plain(value)
    return cast("np.dtype[np.generic]", found).name if isinstance(found, np.dtype) else found


def dtype_name(type: Attribute) -> str | None:
    """The numpy name of a type's elements; None for what numpy has no name for."""
    element = cast(Tensor, type).element_type if isinstance(type, TensorType) else type
    try:
        return dtype_of(element).name
    except TypeError:
        return None


@cache
def dtype_spellings() -> dict[str, str]:
    """Numpy's name of an element type by each of its names: its own and the type's, `float32` and `f32`."""
    own = {dtype.name: dtype.name for dtype in dtypes().values()}
    return own | {str(element): dtype.name for element, dtype in dtypes().items()}


def same_expression(first: SSAValue, second: SSAValue) -> bool:
    """Whether two values are computed alike from the same block arguments; constants by content."""
    pairs = [(first, second)]
    seen: set[tuple[SSAValue, SSAValue]] = set()
    while pairs:
        pair = a, b = pairs.pop()
        if a is b or pair in seen:
            continue
        seen.add(pair)
        x, y = owner_of(a), owner_of(b)
        if x is None or y is None or not _same_op(x, y) or x.results.index(a) != y.results.index(b):
            return False
        pairs += zip(x.operands, y.operands, strict=True)
    return True


def _same_op(a: Operation, b: Operation) -> bool:
    return (
        op_name(a) == op_name(b)
        and len(a.operands) == len(b.operands)
        and a.result_types == b.result_types
        and _content(a) == _content(b)
        and a.attributes == b.attributes
        and len(a.regions) == len(b.regions)
        and all(x.is_structurally_equivalent(y) for x, y in zip(a.regions, b.regions, strict=True))
    )


def _content(op: Operation) -> dict[str, object]:
    """The properties of an op; a weight is its bytes, whatever its name."""
    return {
        name: (value.hash, value.type) if isinstance(value, WeightAttr) else value
        for name, value in op.properties.items()
    }
