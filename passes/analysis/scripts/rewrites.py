"""Steps of scripts that change a kernel at once: each is refused with a reason, or carried out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, StringAttr
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.costs.schedules import BUFFERS
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.sched import NAME
from stepwell.dialects.tensor_ir.combiners import combiner_of
from stepwell.dialects.tensor_ir.gaps import gaps_read, has_gaps
from stepwell.dialects.tensor_ir.rewrites.copies import copied, tensor_named, uses_of
from stepwell.dialects.tensor_ir.rewrites.merge_loops import merge_loops, unmerged, uses_index
from stepwell.dialects.tensor_ir.rewrites.partial_results import PartialResults
from stepwell.dialects.tensor_ir.rewrites.regions import BuiltLoop, ComputedInside, reads_of
from stepwell.dialects.tensor_ir.rewrites.split_loops import LoopSplit, split_of
from stepwell.dialects.tensor_ir.structured import (
    Structured,
    projected_permutation,
    tensor_element,
    tensor_shape,
)
from stepwell.dialects.types import element_bytes
from stepwell.passes.analysis.scripts.formula import listed
from stepwell.passes.analysis.scripts.nest import IllegalStepError, Kind, Loop, Nest
from stepwell.passes.context import remark

SCOPES = ("arena", "stack")


@dataclass(frozen=True)
class Target:
    """A stage that a step changes."""

    name: str
    view: Structured
    nest: Nest | None

    def expect_fresh(self, word: str) -> None:
        """Require no decision about the loops yet, which the step would drop. Raises: IllegalStepError."""
        if self.nest is not None and (self.nest.became or self.nest.kinds or self._is_moved(self.nest)):
            raise IllegalStepError(
                f"the loops of {self.name} have decisions already, which are about the loops before",
                f"{word} comes first, and sched.loops names the loops after it",
            )

    @staticmethod
    def _is_moved(nest: Nest) -> bool:
        return nest.loops != Nest.of(nest.view, nest.formula).loops


def cache_write(target: Target, scope: str, name: str) -> None:
    """Let a stage of a new name compute, and the old one copy its result out."""
    target.expect_fresh("cache_write")
    op = target.view.op
    if len(op.results) != 1:
        raise IllegalStepError(f"{target.name} computes {len(op.results)} tensors together")
    result = op.results[0]
    _expect_scope(result, scope, target.name)
    copy = copied(IRBuilder.after(op), result, target.name)
    hint, copy.results[0].name_hint = result.name_hint, result.name_hint
    result.replace_uses_with_if(copy.results[0], lambda use: use.operation is not copy)
    copy.results[0].name_hint = hint or target.name
    op.attributes[NAME] = StringAttr(name)
    result.name_hint = name


def cache_read(tensor: str, readers: Sequence[Target], scope: str, name: str) -> None:
    """Let stages read a copy of a tensor, by a stage of a new name."""
    ops: list[Operation] = [reader.view.op for reader in readers]
    value = tensor_named(tensor, ops)
    if value is None:
        raise _not_read(tensor, readers)
    _expect_scope(value, scope, tensor)
    uses = uses_of(value, ops)
    first = min((use.operation for use in uses), key=_position)
    copy = copied(IRBuilder.before(first), value, name)
    copy.results[0].name_hint = name
    for use in uses:
        use.operation.operands[use.index] = copy.results[0]


def _not_read(tensor: str, readers: Sequence[Target]) -> IllegalStepError:
    names = [v.name_hint for reader in readers for v in reader.view.inputs if v.name_hint is not None]
    of = listed(reader.name for reader in readers)
    return IllegalStepError(
        f"{of} read no tensor {tensor}", f"the tensors are {listed(names)}" if names else None
    )


def _position(op: Operation) -> int:
    assert op.parent is not None
    return op.parent.get_operation_index(op)


def _expect_scope(value: SSAValue, scope: str, name: str) -> None:
    """Require a copy to fit where it is to be stored. Raises: IllegalStepError."""
    if scope not in SCOPES:
        reason = "vectors of a tile stay in registers" if scope == "registers" else f"a CPU has no {scope}"
        raise IllegalStepError(f"{reason}: the scopes of copies are {listed(SCOPES)}")
    shape = tensor_shape(value)
    if scope == "stack":
        bytes = element_bytes(tensor_element(value))
        for size in shape:
            bytes *= size
        if DYNAMIC_INDEX in shape or bytes > BUFFERS.stack_bytes:
            found = "a size known at run time" if DYNAMIC_INDEX in shape else f"{bytes} bytes"
            raise IllegalStepError(
                f"{name} has {found}, the stack has room for {BUFFERS.stack_bytes}", 'scope "arena"'
            )


def rfactor(target: Target, loop: Loop, axis: int, name: str) -> None:
    """Write partial results of a summed loop, or of a part of it, by a stage of a new name."""
    view, nest = target.view, target.nest
    assert nest is not None
    if view.parallel[loop.dim]:
        raise IllegalStepError(f"loop {loop.name} of {target.name} is not summed over")
    combiner = combiner_of(view.body)
    if combiner is None or len(view.inits) != 1:
        raise IllegalStepError(f"nothing known to be associative combines the steps of loop {loop.name}")
    rank = len(view.init_maps[0].results)
    if not 0 <= axis <= rank:
        raise IllegalStepError(f"the partial results have axes 0 to {rank}, found {axis}")
    others = {other.dim for other in nest.became} - {loop.dim}
    parts = [each for each in nest.loops if each.dim == loop.dim]
    if nest.kinds or others or len(parts) > 2:
        raise IllegalStepError(
            f"the loops of {target.name} have decisions already, which are about the loops before",
            f"split {loop.name.partition('.')[0]} in two at most, and rfactor first",
        )
    split = _split_in_two(view, loop, parts) if len(parts) == 2 else None
    is_outer = split is None or loop.step == parts[0].step
    PartialResults(view, combiner, loop.dim, split, is_outer, axis).write(name)


def _split_in_two(view: Structured, loop: Loop, parts: Sequence[Loop]) -> LoopSplit:
    """The split of a loop for good. Raises: IllegalStepError."""
    extent, inner = view.extents[loop.dim], parts[0].step
    if extent is None or extent % inner:
        found = "an extent known at run time" if extent is None else f"{extent} iterations"
        raise IllegalStepError(
            f"parts of {inner} do not divide the loop, which has {found}", "split by a divisor"
        )
    if uses_index(view, loop.dim):
        raise IllegalStepError(f"{loop.name} is part of a loop whose index is a number of the formula")
    split = split_of(view, loop.dim, (extent // inner, inner))
    if split is None:
        raise IllegalStepError(f"no tensor is indexed by the loop of {loop.name} alone")
    return split


def fuse(target: Target, outer: Loop, inner: Loop) -> None:
    """Merge two neighbouring loops."""
    view, nest = target.view, target.nest
    assert nest is not None
    names = f"{outer.name} and {inner.name}"
    if outer in nest.became or inner in nest.became or not (outer.is_last and inner.is_last):
        raise IllegalStepError(f"{names} are parts of loops that were split", "parallel takes several loops")
    target.expect_fresh("fuse")
    if view.parallel[outer.dim] != view.parallel[inner.dim]:
        summed = inner.name if view.parallel[outer.dim] else outer.name
        raise IllegalStepError(f"{names} are of two kinds: {summed} is summed over")
    if inner.dim != outer.dim + 1:
        raise IllegalStepError(f"loop {inner.name} is not the next one inside of {outer.name}")
    if has_gaps(view.op) or gaps_read(view.inputs):
        raise IllegalStepError(f"{names} walk a tensor with gaps between its rows")
    if uses_index(view, outer.dim):
        raise IllegalStepError(f"the index of {names} is a number of the formula")
    if (value := unmerged(view, outer.dim)) is not None:
        at = nest.formula.access_of(value)
        raise IllegalStepError(f"no stride walks {names} together in {at}")
    merge_loops(view, outer.dim)


@dataclass(frozen=True)
class Place:
    """A producer, and a loop of the reader to compute the producer in."""

    producer: Target
    reader: Target
    loop: Loop

    def compute(self) -> None:
        """Build the loops of the reader down to the loop, with the producer inside."""
        self.producer.expect_fresh("compute_at")
        nest = self.reader.nest
        assert nest is not None
        inside = self._inside(nest, self._loops(nest))
        if (times := inside.times) > 1:
            remark(
                self.producer.view.op,
                f"{self.producer.name} in loop {self.loop.name} of {self.reader.name}: "
                f"elements are computed {times:.3g} times",
            )
        inside.write()

    def _inside(self, nest: Nest, loops: Sequence[BuiltLoop]) -> ComputedInside:
        producer, reader = self.producer, self.reader
        if len(producer.view.op.results) != 1 or projected_permutation(producer.view.init_maps[0]) is None:
            raise IllegalStepError(f"tiles of {producer.name} are no boxes of a tensor")
        reads = reads_of(producer.view, reader.view)
        if reads is None:
            raise IllegalStepError(
                f"{producer.name} is used outside of {reader.name} as well, or not read by it",
                f"compute_root({producer.name})",
            )
        inside = ComputedInside(producer.view, reader.view, tuple(loops), tuple(reads))
        dims = projected_permutation(producer.view.init_maps[0]) or ()
        if inside.box(inside.steps) is None or not producer.view.can_slice(set(dims)):
            raise IllegalStepError(
                f"an iteration of {self.loop.name} reads no box of {producer.name} that moves with it",
                f"compute_root({producer.name})",
            )
        if not reader.view.can_slice({loop.dim for loop in loops}):
            raise IllegalStepError(f"tiles of {reader.name} reach no slices: {nest.formula}")
        return inside

    def _loops(self, nest: Nest) -> list[BuiltLoop]:
        """The loops down to the one of the step. Raises: IllegalStepError."""
        outer = nest.loops[: nest.loops.index(self.loop) + 1]
        if summed := [loop.name for loop in outer if not nest.view.parallel[loop.dim]]:
            raise IllegalStepError(
                f"loop {summed[0]} of {self.reader.name} is summed over: each iteration would compute "
                f"{self.producer.name}",
                f"reorder what is parallel outside of {summed[0]}",
            )
        if len({loop.dim for loop in outer}) < len(outer):
            raise IllegalStepError(
                f"loops {listed(loop.name for loop in outer)} contain two parts of one loop"
            )
        later = [loop for loop in nest.kinds if loop not in outer or nest.kind(loop) is not Kind.PARALLEL]
        if later:
            raise IllegalStepError(
                f"loop {later[0].name} is {nest.kind(later[0]).value} already, not built by compute_at",
                "decide about inner loops after it: sched.loops names them again",
            )
        parallel = Kind.PARALLEL
        return [BuiltLoop(loop.dim, loop.step, nest.kind(loop) is parallel) for loop in outer]


def generic_of(target: Target) -> linalg.GenericOp:
    """The op of a stage that is no fill. Raises: IllegalStepError."""
    op = target.view.op
    if not isinstance(op, linalg.GenericOp):
        raise IllegalStepError(f"{target.name} fills a tensor with a number")
    return op
