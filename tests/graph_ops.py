"""Helpers for tests of single graph ops: values of a type, and comparison of meanings with type relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.test import TestOp
from xdsl.ir import Block, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, operand_slots, plain_properties
from stepwell.dialects.graph.structure import constant_array
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.dialects.types import DimLike, dims_of, dtype_of, element_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array, evaluate


def value(array: Array, dims: Sequence[DimLike] | None = None) -> SSAValue:
    """A value of an array's type, for building ops; `dims` names its dimensions."""
    shape = array.shape if dims is None else dims
    return TestOp(result_types=[tensor_type(element_of(array.dtype), shape)]).results[0]


def run(op: GraphOp, *operands: Array | None, symbols: Mapping[str, int] | None = None) -> tuple[Array, ...]:
    """Evaluate an op's meaning, and compare the results with its type relation."""
    op.verify_()
    results = evaluate(op.name, operands, plain_properties(op, symbols or {}))
    for array, result in zip(results, op.results, strict=True):
        assert element_of(array.dtype) == tensor_of(result).element_type
        dims = dims_of(result.type)
        assert len(dims) == array.ndim
        for dim, size in zip(dims, array.shape, strict=True):
            assert dim.is_unknown or dim.evaluate(symbols or {}) == size
    return results


def run_module(module: ModuleOp, inputs: Sequence[Array], weights: WeightStore) -> list[Array]:
    """
    Evaluate a module of one function at level 1 with the numpy meanings, and compare each result with its
    type.
    """
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    return _run_block(function.body.block, inputs, {}, weights)


def _run_block(
    block: Block, inputs: Sequence[Array], symbols: dict[str, int], weights: WeightStore
) -> list[Array]:
    values: dict[SSAValue, Array] = {}
    for arg, array in zip(block.args, inputs, strict=True):
        values[arg] = array
        symbols |= _bound(arg, array)
    for op in block.ops:
        if isinstance(op, ReturnOp | graph.YieldOp):
            return [values[value] for value in op.operands]
        assert isinstance(op, GraphOp)
        if isinstance(op, graph.BindSizesOp | graph.DefineSizesOp):
            symbols |= _defined(op, values, symbols)
            continue
        for result, array in zip(op.results, _run_op(op, values, symbols, weights), strict=True):
            symbols |= {name: size for name, size in _bound(result, array).items() if name not in symbols}
            expected = [d.evaluate(symbols) if not d.is_unknown else n for d, n in _dims(result, array)]
            assert (list(array.shape), array.dtype) == (expected, dtype_of(tensor_of(result).element_type))
            values[result] = array
    raise AssertionError("a block ends in a terminator")


def _defined(
    op: graph.BindSizesOp | graph.DefineSizesOp, values: Mapping[SSAValue, Array], symbols: dict[str, int]
) -> dict[str, int]:
    """The symbols that an op defines."""
    if isinstance(op, graph.DefineSizesOp):
        sizes = [dim.evaluate(symbols) for dim in op.dims.get()]
    else:
        sizes = [int(size) for size in values[op.input].reshape(-1).tolist()]
        if op.signed is not None:
            sizes = [part for size in sizes for part in (max(size, 0), max(-size, 0))]
    assert min(sizes, default=0) >= 0
    return {name: size for (name, _), size in zip(defined_symbols(op), sizes, strict=True)}


def _run_op(
    op: GraphOp, values: Mapping[SSAValue, Array], symbols: Mapping[str, int], weights: WeightStore
) -> Sequence[Array]:
    match op:
        case graph.ConstantOp():
            return [constant_array(op, weights)]
        case graph.FusedOp():
            return _run_block(op.body.block, [values[v] for v in op.operands], dict(symbols), weights)
        case graph.AssertOp():
            assert Dim.of(op.lhs.data).evaluate(symbols) == Dim.of(op.rhs.data).evaluate(symbols)
            return []
        case _:
            operands = [None if slot is None else values[slot] for slot in operand_slots(op)]
            return evaluate(op.name, operands, plain_properties(op, symbols))


def _dims(value: SSAValue, array: Array) -> list[tuple[Dim, int]]:
    return list(zip(dims_of(value.type), array.shape, strict=True))


def _bound(value: SSAValue, array: Array) -> dict[str, int]:
    """Sizes of the symbols that are themselves a dimension of a type."""
    return {str(dim): size for dim, size in _dims(value, array) if str(dim).isidentifier()}
