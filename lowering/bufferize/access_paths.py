"""The buffer of each tensor in a function, with the slices and reshapes that lead to its elements."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from xdsl.dialects import scf, tensor
from xdsl.ir import Attribute, Block, Operation, SSAValue

from stepwell.dialects.types import tensor_of
from stepwell.lowering.bufferize.accesses import (
    Destination,
    carried_tensors,
    is_tensor,
    makes_tensors,
    previous,
    viewed,
)
from stepwell.lowering.bufferize.index_forms import IndexForms
from stepwell.lowering.bufferize.layouts import MemRef, dense
from stepwell.lowering.bufferize.shapes import extents_of
from stepwell.lowering.bufferize.view_types import view_type
from stepwell.runtime.dims import Dim


@dataclass(frozen=True)
class SliceStep:
    """A step to a slice; `shape` is the result's, with some extents of 1 dropped."""

    offsets: tuple[Dim, ...]
    sizes: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    shape: tuple[int, ...]

    def is_apart(self, other: SliceStep) -> bool:
        """Whether two slices of one buffer provably have no element in common."""
        return any(_is_before(self, other, i) or _is_before(other, self, i) for i in range(len(self.offsets)))

    @property
    def is_constant(self) -> bool:
        """Whether the slice is the same one in every iteration of any loop."""
        return all(d.is_static for d in (*self.offsets, *self.sizes, *self.strides))


def _is_before(a: SliceStep, b: SliceStep, i: int) -> bool:
    """Whether slice `a` provably ends before slice `b` begins along dimension `i`."""
    if not a.strides[i].is_static:
        return False
    gap = b.offsets[i] - a.offsets[i] - (a.sizes[i] - 1) * a.strides[i] - 1
    return gap.is_nonnegative


@dataclass(frozen=True)
class ShapeStep:
    """A step to another shape of the same elements: `groups` of dimensions are merged or split."""

    before: tuple[Dim, ...]
    after: tuple[Dim, ...]
    groups: Attribute
    is_constant: ClassVar = True

    def undoes(self, other: Step) -> bool:
        """Whether this step reverses `other`."""
        return isinstance(other, ShapeStep) and self.groups == other.groups and self.after == other.before


Step: TypeAlias = SliceStep | ShapeStep


@dataclass(frozen=True)
class AccessPath:
    """
    A buffer, named by the value with the allocation, and the steps to a part of the buffer (an access path).
    """

    root: SSAValue
    steps: tuple[Step, ...] = ()

    def then(self, step: Step) -> AccessPath:
        """The path to a part of this one, or to another shape of it."""
        if self.steps and isinstance(step, ShapeStep) and step.undoes(self.steps[-1]):
            return AccessPath(self.root, self.steps[:-1])
        return AccessPath(self.root, (*self.steps, step))

    def contains(self, other: AccessPath) -> bool:
        """Whether `other` equals this path or continues it."""
        return self.root is other.root and other.steps[: len(self.steps)] == self.steps

    def may_overlap(self, other: AccessPath, *, across_iterations: bool) -> bool:
        """
        Whether two paths may share an element; across iterations of a loop only constant slices are compared.
        """
        if self.root is not other.root:
            return False
        for a, b in zip(self.steps, other.steps, strict=False):
            if across_iterations and not (a.is_constant and b.is_constant):
                return True
            if isinstance(a, SliceStep) and isinstance(b, SliceStep) and a.is_apart(b):
                return False
            if a != b:
                return True
        return True


def slice_step(op: tensor.ExtractSliceOp | tensor.InsertSliceOp, forms: IndexForms) -> SliceStep:
    """The part of its operand that a slice op reads or replaces."""
    part = op.result if isinstance(op, tensor.ExtractSliceOp) else op.source
    return SliceStep(
        forms.mixed(op.static_offsets, op.offsets),
        forms.mixed(op.static_sizes, op.sizes),
        forms.mixed(op.static_strides, op.strides),
        tensor_of(part).get_shape(),
    )


class AccessPaths:
    """
    The access path of every tensor under a set of copy decisions.

    Args: `destinations` has the overwritten operands of each op on tensors; `copied` are those, as
    (op, position), that are copied to a new buffer first: all others share theirs with the result.
    """

    def __init__(
        self,
        body: Block,
        forms: IndexForms,
        copied: Collection[tuple[Operation, int]],
        destinations: Mapping[Operation, Sequence[Destination]],
    ):
        self.of: dict[SSAValue, AccessPath] = {}
        self.types: dict[SSAValue, MemRef] = {}
        self.in_place_inserts: set[Operation] = set()
        """The `tensor.insert_slice` ops whose source was computed in the slice: they need no code."""
        self.branch_origins: dict[SSAValue, SSAValue] = {}
        """Maps results of `scf.if` that are in the buffer of a value from outside to that value."""
        self._forms = forms
        self._copied = copied
        self._destinations = destinations
        for arg in body.args:
            if is_tensor(arg):
                self._start(arg)
        self._walk(body)

    def _walk(self, block: Block) -> None:
        """Visit the ops of a block in order, regions included."""
        for op in block.ops:
            if not op.regions:
                self._visit(op)
                continue
            match op:
                case scf.ForOp():
                    self._visit_for(op)
                case scf.IfOp():
                    self._visit_if(op)
                case scf.WhileOp():
                    for region in op.regions:
                        self._walk(region.block)
                case _:
                    self._visit(op)

    def _start(self, value: SSAValue) -> None:
        """Give a value a new dense buffer."""
        self.of[value] = AccessPath(value)
        self.types[value] = dense(tensor_of(value))

    def _share(self, value: SSAValue, other: SSAValue) -> None:
        """Give a value the access path of another."""
        self.of[value] = self.of[other]
        self.types[value] = self.types[other]

    def _visit(self, op: Operation) -> None:
        """Find the paths of an op's tensor results: of a destination, of a view, or new."""
        if op not in self._destinations or not makes_tensors(op):
            return
        for destination in self._destinations[op]:
            if (op, destination.index) in self._copied:
                self._start(destination.result)
            else:
                self._share(destination.result, destination.operand)
        if isinstance(op, tensor.InsertSliceOp) and (op, 1) not in self._copied:
            if self.of[op.source] == self.of[op.dest].then(slice_step(op, self._forms)):
                self.in_place_inserts.add(op)
        for result in op.results:
            if is_tensor(result) and result not in self.of:
                self._visit_view(op, result)

    def _visit_view(self, op: Operation, result: SSAValue) -> None:
        """Find the path of a view; a new buffer when no strided type can describe it."""
        source = viewed(result)
        type = None if source is None else view_type(op, self.types[source])
        if source is None or type is None:
            self._start(result)
            return
        self.types[result] = type
        match op:
            case tensor.ExtractSliceOp():
                self.of[result] = self.of[source].then(slice_step(op, self._forms))
            case tensor.CollapseShapeOp() | tensor.ExpandShapeOp():
                before, after = extents_of(source, self._forms), extents_of(result, self._forms)
                self.of[result] = self.of[source].then(ShapeStep(before, after, op.reassociation))
            case _:
                self.of[result] = self.of[source]

    def _visit_for(self, op: scf.ForOp) -> None:
        """Find the paths of carried tensors: the paths of the initial values, or new ones for copies."""
        for carried in carried_tensors(op):
            if (op, carried.index) in self._copied:
                self._start(carried.arg)
            else:
                self._share(carried.arg, carried.init)
        self._walk(op.body.block)
        for carried in carried_tensors(op):
            self._share(carried.result, carried.arg)

    def _visit_if(self, op: scf.IfOp) -> None:
        """
        Find the paths of a branch's results: shared when both branches use one buffer from outside, else new.
        """
        for region in op.regions:
            for block in region.blocks:
                self._walk(block)
        for k, result in enumerate(op.output):
            if not is_tensor(result):
                continue
            origins = {self._origin(region.block.last_op, k, op) for region in op.regions}
            if len(origins) == 1 and (origin := origins.pop()) is not None:
                self.branch_origins[result] = origin
                self._share(result, origin)
            else:
                self._start(result)

    def _origin(self, yield_op: Operation | None, k: int, branch: scf.IfOp) -> SSAValue | None:
        """The value from outside a branch in whose buffer result `k` of the branch is computed."""
        assert yield_op is not None
        value = yield_op.operands[k]
        path = self.of[value]
        while branch.is_ancestor(value.owner):
            before = previous(value)
            if before is None or self.of[before] != path:
                return None
            value = before
        return value
