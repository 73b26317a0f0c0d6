"""Races of parallel loops: elements written in one iteration and used in another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.graph.expression_reads import affine_index
from stepwell.dialects.tensor_ir.structured import Linear, linear
from stepwell.passes.tensor.script.raising.nests import number_of
from stepwell.runtime.errors import StepwellError

_FEW = 4
_HELP = (
    "write each element in one iteration; a sum over iterations is a serial loop, or a reduce axis of a block"
)


class _Access(NamedTuple):
    """An element that an iteration reads or writes."""

    root: SSAValue
    place: tuple[Linear, ...] | None
    op: Operation
    loops: tuple[scf.ForOp, ...]
    """The loops around it, from the parallel one on."""


def expect_no_race(loop: scf.ForOp) -> None:
    """Require the iterations of a parallel loop to be independent. Raises: StepwellError `script-race`."""
    name = loop.body.block.args[0].name_hint or "i"
    for argument in loop.body.block.args[1:]:
        if not isinstance(argument.type, TensorType):
            carried = argument.name_hint or "a number"
            message = f"{carried} is carried from one iteration of {name} to the next, and {name} is parallel"
            raise StepwellError("script-race", loop, message, help=_HELP)
    accesses = list(_accesses(loop))
    writes = [access for access in accesses if isinstance(access.op, tensor.InsertOp)]
    for write, other in product(writes, accesses):
        if write.root is other.root and not _is_disjoint(write, other):
            raise _race(name, write, other)


def _accesses(loop: scf.ForOp) -> Iterator[_Access]:
    """The accesses of tensors that a loop carries."""
    roots: dict[SSAValue, SSAValue] = {argument: argument for argument in loop.body.block.args[1:]}
    for op in loop.body.walk():
        match op:
            case scf.ForOp():
                for init, argument, result in zip(
                    op.iter_args, op.body.block.args[1:], op.results, strict=True
                ):
                    if init in roots:
                        roots[argument] = roots[result] = roots[init]
            case scf.IfOp():
                for position, result in enumerate(op.results):
                    last = op.true_region.block.last_op
                    inner = None if last is None else last.operands[position]
                    while (
                        inner is not None and inner not in roots and isinstance(inner.owner, tensor.InsertOp)
                    ):
                        inner = inner.owner.dest
                    if inner is not None and inner in roots:
                        roots[result] = roots[inner]
            case tensor.InsertOp() if op.dest in roots:
                roots[op.result] = roots[op.dest]
                yield _access(op, roots[op.dest], op.indices, loop)
            case tensor.ExtractOp() if op.tensor in roots:
                yield _access(op, roots[op.tensor], op.indices, loop)
            case _:
                pass


def _access(op: Operation, root: SSAValue, indices: Sequence[SSAValue], loop: scf.ForOp) -> _Access:
    loops: list[scf.ForOp] = []
    parent: Operation | None = op
    while parent is not loop:
        assert parent is not None
        parent = parent.parent_op()
        if isinstance(parent, scf.ForOp):
            loops.insert(0, parent)
    every = [*loops]
    outer = loop.parent_op()
    while outer is not None:
        if isinstance(outer, scf.ForOp):
            every.append(outer)
        outer = outer.parent_op()
    axes: dict[SSAValue, int] = {each.body.block.args[0]: at for at, each in enumerate(every)}
    found = [None if (e := affine_index(i, axes)) is None else linear(e) for i in indices]
    place = tuple(form for form in found if form is not None)
    return _Access(root, place if len(place) == len(found) else None, op, tuple(loops))


def _is_disjoint(a: _Access, b: _Access) -> bool:
    """Whether iterations of the parallel loop, which is the first one, access other elements."""
    if a.place is None or b.place is None:
        return False
    outer = set(range(max(len(a.loops), len(b.loops)), 64))
    return any(
        x == y and 0 in x.dims and all(d == 0 or d in outer for d in x.dims)
        for x, y in zip(a.place, b.place, strict=True)
    )


def _race(name: str, a: _Access, b: _Access) -> StepwellError:
    tensor_name = a.root.name_hint or "a tensor"
    points = None if a.place is None or b.place is None else _points(a, b)
    if points is None:
        message = (
            f"iterations of {name}, which is parallel, may write and use the same element of {tensor_name}"
        )
        return StepwellError("script-race", a.op, message, note="nothing shows that they do not", help=_HELP)
    word = "both write" if isinstance(b.op, tensor.InsertOp) else "write and read"
    first, second, element = points
    return StepwellError(
        "script-race", a.op, f"{first} and {second} {word} {tensor_name}[{element}]", help=_HELP
    )


def _points(a: _Access, b: _Access) -> tuple[str, str, str] | None:
    """Two points with another index of the parallel loop and the same element; None where few have none."""
    seen: dict[tuple[int, ...], tuple[int, ...]] = {}
    for point in product(*map(_few, a.loops)):
        seen.setdefault(_element(a, point), point)
    for point in product(*map(_few, b.loops)):
        other = seen.get(element := _element(b, point))
        if other is not None and other[0] != point[0]:
            return _text(a, other), _text(b, point), ", ".join(map(str, element))
    return None


def _few(loop: scf.ForOp) -> range:
    extent = number_of(loop.ub)
    return range(_FEW if extent is None else min(_FEW, extent))


def _element(access: _Access, point: Sequence[int]) -> tuple[int, ...]:
    assert access.place is not None
    return tuple(
        form.constant + sum(c * point[d] for d, c in form.terms if d < len(point)) for form in access.place
    )


def _text(access: _Access, point: Sequence[int]) -> str:
    names = [loop.body.block.args[0].name_hint or "i" for loop in access.loops]
    return ", ".join(f"{name} = {at}" for name, at in zip(names, point, strict=True))
