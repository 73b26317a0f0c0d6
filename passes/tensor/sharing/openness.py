"""The sizes of a kernel that may become arguments: extents of outer loops, from the shapes and maps alone."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from xdsl.dialects import tensor
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.tensor_ir.structured import Structured, single_dim, tensor_shape
from stepwell.passes.tensor.sharing.sizes import Site, sites, sizes_at


class Openness(Enum):
    """Whether a size may become an argument."""

    CLOSED = 0
    """The extent of an inner loop, or of a loop that the lanes of vectors may be along."""
    SUM = 1
    """The extent of an outer loop of a sum."""
    RESULTS = 2
    """The extent of an outer loop over results."""


def openness_of(kernel: FuncOp) -> list[Openness]:
    """
    The openness of each size of a kernel, in the order of `sites`.

    A loop is an outer one if it moves the first dimension of a tensor that is longer than 1, no last
    dimension of any, and no position of a window.
    """
    loops = _Loops(kernel)
    closed, summed, outer = (
        {loops.root(p) for p in each} for each in (loops.closed, loops.summed, loops.outer)
    )
    found: list[Openness] = []
    for root in map(loops.root, range(len(loops.parent))):
        is_open = root in outer and root not in closed
        found.append(Openness.CLOSED if not is_open else Openness.SUM if root in summed else Openness.RESULTS)
    return found


class _Loops:
    """The sizes of a kernel by loop: a union-find over their positions, with marks."""

    def __init__(self, kernel: FuncOp):
        self.parent: list[int] = []
        self.closed: set[int] = set()
        self.summed: set[int] = set()
        self.outer: set[int] = set()
        self._first: dict[Site, int] = {}
        for site in sites(kernel):
            self._first[site] = len(self.parent)
            self.parent += range(len(self.parent), len(self.parent) + len(sizes_at(site)))
            if isinstance(site, SSAValue):
                self._mark_ends(site)
        for op in kernel.body.walk():
            self._relate(op)

    def root(self, position: int) -> int:
        """The representative of the sizes of one loop."""
        while self.parent[position] != position:
            position = self.parent[position]
        return position

    def _mark_ends(self, value: SSAValue) -> None:
        """Mark the first dimension of a tensor that is longer than 1, and the last one."""
        first, shape = self._first[value], tensor_shape(value)
        self.outer |= {first + next((d for d, n in enumerate(shape) if n != 1), 0)} if shape else set()
        self.closed |= {first + len(shape) - 1} if shape else set()

    def _relate(self, op: Operation) -> None:
        """Unite the sizes of each loop of an op; close those of an op that needs numbers."""
        match op:
            case linalg.GenericOp() | linalg.FillOp() if (view := Structured.of(op)) is not None:
                self._relate_maps(view)
            case tensor.InsertSliceOp() | tensor.ExtractSliceOp() if _keeps_rank(op):
                values = [v for v in (*op.operands, *op.results) if isinstance(v.type, TensorType)]
                self._unite_each([*values, (op, "static_offsets"), (op, "static_sizes")])
            case tensor.CollapseShapeOp() | tensor.ExpandShapeOp():
                self._relate_groups(op)
            case tensor.EmptyOp() | ReturnOp():
                pass
            case _:
                for value in (*op.operands, *op.results):
                    if isinstance(value.type, TensorType):
                        self._close(value, range(len(tensor_shape(value))))

    def _relate_maps(self, view: Structured) -> None:
        known: dict[int, int] = {}
        operands = [
            *zip(view.op.operands, view.maps, strict=True),
            *zip(view.op.results, view.init_maps, strict=True),
        ]
        for value, map in operands:
            for d, index in enumerate(map.results if isinstance(value.type, TensorType) else ()):
                if (loop := single_dim(index)) is None:
                    self._close(value, [d])
                    continue
                position = self._first[value] + d
                self._unite([known.setdefault(loop, position), position])
                if not view.parallel[loop]:
                    self.summed.add(position)
        used = {d for map in view.maps for e in map.results if single_dim(e) is None for d in e.used_dims()}
        self.closed |= {known[loop] for loop in used if loop in known}

    def _relate_groups(self, op: tensor.CollapseShapeOp | tensor.ExpandShapeOp) -> None:
        """Unite a merged dimension with the only long one of its group; close all others."""
        source, result = op.operands[0], op.results[0]
        merged, split = (result, source) if isinstance(op, tensor.CollapseShapeOp) else (source, result)
        shape = tensor_shape(split)
        for at, group in enumerate(op.reassociation.data):
            dims = [d.value.data for d in group.data]
            long = [d for d in dims if shape[d] != 1]
            if len(long) == 1:
                self._unite([self._first[merged] + at, self._first[split] + long[0]])
            else:
                self._close(merged, [at])
                self._close(split, dims)
        if isinstance(op, tensor.ExpandShapeOp):
            self._unite_each([result, (op, "static_output_shape")])

    def _unite_each(self, together: Sequence[Site]) -> None:
        """Unite the first sizes of several places, the second ones, and so on."""
        for d in range(len(sizes_at(together[0]))):
            self._unite([self._first[site] + d for site in together])

    def _unite(self, positions: Sequence[int]) -> None:
        for position in positions[1:]:
            self.parent[self.root(position)] = self.root(positions[0])

    def _close(self, value: SSAValue, dims: Sequence[int]) -> None:
        self.closed.update(self._first[value] + d for d in dims)


def _keeps_rank(op: tensor.InsertSliceOp | tensor.ExtractSliceOp) -> bool:
    """Whether a slice has the rank of the whole, and steps of 1."""
    rank = len(tensor_shape(op.operands[0]))
    values = [value for value in (*op.operands, *op.results) if isinstance(value.type, TensorType)]
    return all(len(tensor_shape(v)) == rank for v in values) and set(op.static_strides.get_values()) <= {1}
