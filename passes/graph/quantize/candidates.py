"""The ops whose operands a scheme quantizes, and the names under which users know them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.locations import node_names
from stepwell.dialects.types import dims_of
from stepwell.runtime.errors import StepwellError, did_you_mean

Weighted: TypeAlias = graph.ConvOp | graph.ConvTransposeOp | graph.MatmulOp

MOVEMENT = (
    graph.ReshapeOp,
    graph.TransposeOp,
    graph.ExpandDimsOp,
    graph.SqueezeOp,
    graph.SliceOp,
    graph.ReverseOp,
    graph.TileOp,
)
"""Ops whose results have no other numbers than their first operands."""


class Candidate(NamedTuple):
    """An op that a scheme quantizes: name, and operand numbers of activations and weight."""

    name: str
    op: Operation
    activations: Sequence[int]
    weight: int | None
    axis: int = 0
    """The dimension of the weight with a scale for each index: its output channels."""
    sum_axis: int = 0
    """The dimension of the weight that is summed over."""


def names_of_ops(function: FuncOp) -> Mapping[Operation, str]:
    """
    The name of each op of a function's block: the node's, else the op's kind with a number.

    Further ops of one kind and node have a number after the name.
    """
    found: dict[Operation, str] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for op in function.body.block.ops:
        kind = op.name.rpartition(".")[2]
        nodes = node_names(op.location)
        base = nodes[0] if nodes else kind
        number = seen[base, kind]
        seen[base, kind] += 1
        found[op] = base if nodes and not number else f"{base}_{number}"
    return found


def candidates_of(function: FuncOp, names: Mapping[Operation, str]) -> list[Candidate]:
    """The ops of a function's block with a product in f32 that a scheme may quantize, in order."""
    weighted = [op for op in function.body.block.ops if _weight_of(op) is not None]
    leads = _leading_to(weighted)
    found: list[Candidate] = []
    for op in function.body.block.ops:
        if (weight := _weight_of(op)) is not None:
            found.append(Candidate(names[op], op, [0], 1, *weight))
        elif isinstance(op, graph.MatmulOp) and op in leads and _is_of_activations(op):
            found.append(Candidate(names[op], op, [0, 1], None))
    return found


def _weight_of(op: Operation) -> tuple[int, int] | None:
    """The axes of channels and of sums of an op's constant weight; None for an op without one."""
    if not isinstance(op, Weighted) or element_of_value(op.operands[0]) != f32:
        return None
    if not isinstance(op.operands[1].owner, graph.ConstantOp):
        return None
    if isinstance(op.operands[0].owner, graph.ConstantOp):
        return None
    rank = len(dims_of(op.operands[1].type))
    match op:
        case graph.ConvOp():
            return (0, 1)
        case graph.ConvTransposeOp():
            return (1, 0)
        case graph.MatmulOp() if rank >= 2 and len(dims_of(op.a.type)) >= 2:
            return (rank - 2, rank - 1) if op.transpose_b.value.data else (rank - 1, rank - 2)
        case _:
            return None


def _is_of_activations(op: graph.MatmulOp) -> bool:
    """Whether both factors of a product in f32 are computed."""
    computed = not any(isinstance(value.owner, graph.ConstantOp) for value in op.operands)
    return computed and element_of_value(op.a) == f32


def _leading_to(ops: Sequence[Operation]) -> set[Operation]:
    """The ops whose results some ops depend on, and these."""
    found: set[Operation] = set()
    pending = list(ops)
    while pending:
        op = pending.pop()
        if op not in found:
            found.add(op)
            pending += [v.owner for v in op.operands if isinstance(v.owner, Operation)]
    return found


def residual_adds(function: FuncOp, quantized: Iterable[Candidate]) -> list[tuple[graph.AddOp, str]]:
    """The additions of two computed tensors of one shape whose sum a quantized op reads, and its name."""
    readers = {each.op: each.name for each in quantized}
    found: list[tuple[graph.AddOp, str]] = []
    for op in function.body.block.ops:
        if isinstance(op, graph.AddOp) and _adds_tensors(op):
            if (reader := _reader(op.result, readers)) is not None:
                found.append((op, reader))
    return found


def _adds_tensors(op: graph.AddOp) -> bool:
    sides = op.lhs, op.rhs
    computed = not any(isinstance(side.owner, graph.ConstantOp) for side in sides)
    return computed and op.lhs.type == op.rhs.type and element_of_value(op.lhs) == f32


def _reader(value: SSAValue, readers: Mapping[Operation, str]) -> str | None:
    """The name of the first op among some that reads a value, moved and clipped or not."""
    for use in value.uses:
        op = use.operation
        if op in readers:
            return readers[op]
        if isinstance(op, (*MOVEMENT, graph.ReluOp, graph.ClipOp, graph.ObserveOp)) or _is_mean(op):
            if (found := _reader(op.results[0], readers)) is not None:
                return found
    return None


def _is_mean(op: Operation) -> bool:
    """Whether an op is a mean, as of pixels before a classifier."""
    return isinstance(op, graph.ReduceOp) and op.kind.data == "mean"


def end_of(op: Operation) -> SSAValue:
    """The value after an op's bias and activation, as far as nothing else reads the values between."""
    value = op.results[0]
    while value.has_one_use():
        reader = next(iter(value.uses)).operation
        is_bias = isinstance(reader, graph.BiasAddOp) and reader.x is value
        if not is_bias and not isinstance(reader, graph.ReluOp | graph.ClipOp):
            break
        value = reader.results[0]
    return value


def is_returned(value: SSAValue) -> bool:
    """Whether a function returns a value."""
    return any(isinstance(use.operation, ReturnOp) for use in value.uses)


def source_of(value: SSAValue) -> SSAValue:
    """The value whose numbers a value has: before moves, max pools and observers."""
    while isinstance(op := value.owner, Operation):
        is_pool = isinstance(op, graph.PoolOp) and op.kind.data == "max"
        if not is_pool and not isinstance(op, (*MOVEMENT, graph.ObserveOp)):
            break
        value = op.operands[0]
    return value


def chosen(candidates: Sequence[Candidate], keep: Sequence[str], only: Sequence[str]) -> list[Candidate]:
    """
    The candidates that options leave: none of `keep`, and only those of `only`, if given.

    Raises: StepwellError `bad-option` for a pattern that no candidate has.
    """
    names = [each.name for each in candidates]
    for option, patterns in (("keep", keep), ("only", only)):
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in names):
                message = f"{option} names no op that can be quantized: {pattern!r}"
                help = f"{did_you_mean(pattern, names)}there is {', '.join(names) or 'none'}"
                raise StepwellError("bad-option", None, message, help=help)
    return [
        each
        for each in candidates
        if not any(fnmatchcase(each.name, pattern) for pattern in keep)
        and (not only or any(fnmatchcase(each.name, pattern) for pattern in only))
    ]
