"""Structured ops on dimensions that are merged: neighbouring loops become one."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import Rewriter

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir.reshapes import collapse, expand
from stepwell.dialects.tensor_ir.structured import Structured, dims_by_result, fill_with, generic, single_dim


def merge_loops(view: Structured, dim: int) -> linalg.GenericOp | linalg.FillOp:
    """The op with a loop and the next one as a single loop, which `unmerged` has no objection to."""
    emit = IRBuilder.before(view.op)
    loops = runs(view.rank, {dim})
    positions = [merged_position(map, dims_by_result(map), dim) for map in view.maps]
    groups = [
        runs(len(map.results), set[int]() if at is None else {at})
        for map, at in zip(view.maps, positions, strict=True)
    ]
    operands = [collapse(emit, v, g) for v, g in zip(view.op.operands, groups, strict=True)]
    maps = [merged_map(m, loops, g) for m, g in zip(view.maps, groups, strict=True)]
    count = len(view.inputs)
    made = rebuilt(emit, view, operands[:count], operands[count:], maps, loops)
    results = [
        expand(emit, new, old, group)
        for new, old, group in zip(made, view.op.results, groups[count:], strict=True)
    ]
    for new, old in zip(made, view.op.results, strict=True):
        new.name_hint = old.name_hint
    Rewriter.replace_op(view.op, [], results)
    op = made[0].owner
    assert isinstance(op, linalg.GenericOp | linalg.FillOp)
    return op


def unmerged(view: Structured, dim: int) -> SSAValue | None:
    """An operand in which a loop and the next one are no neighbouring dimensions; None where all agree."""
    for value, map in zip(view.op.operands, view.maps, strict=True):
        dims = dims_by_result(map)
        if any({dim, dim + 1} & each for each in dims) and merged_position(map, dims, dim) is None:
            return value
    return None


def uses_index(view: Structured, dim: int) -> bool:
    """Whether the body computes with the index of a loop or of the next one."""
    return any(isinstance(op, linalg.IndexOp) and op.dim.value.data in (dim, dim + 1) for op in view.body.ops)


def merged_position(map: AffineMap, dims: Sequence[set[int]], dim: int) -> int | None:
    """The first of two neighbouring dimensions indexed by `dim` and `dim + 1` only; None otherwise."""
    used = [i for i, each in enumerate(dims) if dim in each or dim + 1 in each]
    if len(used) != 2 or used[1] != used[0] + 1:
        return None
    first, second = (map.results[i] for i in used)
    return used[0] if single_dim(first) == dim and single_dim(second) == dim + 1 else None


def rebuilt(
    emit: IRBuilder,
    view: Structured,
    inputs: Sequence[SSAValue],
    inits: Sequence[SSAValue],
    maps: Sequence[AffineMap],
    loops: Sequence[Sequence[int]],
) -> Sequence[SSAValue]:
    """The results of an op on merged operands, with a loop for each group of loops."""
    if isinstance(view.op, linalg.FillOp):
        return emit.insert(fill_with(inputs[0], inits[0])).results
    kinds = [view.op.iterator_types.data[group[0]] for group in loops]
    body = view.op.body.clone()
    for index in [op for op in body.block.ops if isinstance(op, linalg.IndexOp)]:
        number = next(i for i, group in enumerate(loops) if index.dim.value.data in group)
        index.properties["dim"] = IntegerAttr(number, i64)
    op = generic(inputs, inits, body, maps, kinds)
    op.attributes |= view.op.attributes
    return emit.insert(op).results


def runs(count: int, joined: set[int]) -> list[list[int]]:
    """The numbers 0 .. count - 1 in groups, each number of `joined` in the group of its successor."""
    groups: list[list[int]] = []
    for i in range(count):
        if i - 1 in joined:
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


def merged_map(map: AffineMap, loops: Sequence[Sequence[int]], groups: Sequence[Sequence[int]]) -> AffineMap:
    """The map of an operand on merged dimensions, over merged loops."""
    number = {d: i for i, group in enumerate(loops) for d in group}
    dims: list[AffineExpr] = [AffineDimExpr(number[d]) for d in range(map.num_dims)]
    results = tuple(map.results[g[0]].replace_dims_and_symbols(dims, []) for g in groups)
    return AffineMap(len(loops), 0, results)
