"""Facts of `@main` on tensors: inputs, symbols with their definitions, objects, ops that may fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, IndexType, MemRefType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.host import is_opaque, signature_before
from stepwell.dialects.graph.symbols import SIGNATURE
from stepwell.dialects.sched_kernel import symbols_of
from stepwell.dialects.types import DimsAttr, Tensor, dims_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import describe_location
from stepwell.runtime.image import RuntimeErrorRow
from stepwell.runtime.interface import LONG_EQUATION


def declared_dims(type: Attribute, attributes: Mapping[str, Attribute]) -> tuple[Dim, ...]:
    """Dimensions from a `graph.dims` attribute if there is one, else from the type."""
    dims = attributes.get("graph.dims")
    if isinstance(dims, DimsAttr):
        return dims.get()
    if isinstance(type, MemRefType):
        return tuple(Dim.of(n) for n in cast("MemRefType[Attribute]", type).get_shape())
    return dims_of(type)


def inputs_of(main: func.FuncOp) -> list[BlockArgument]:
    """The arguments of `@main` on tensors that the caller passes: all but the values of symbols."""
    return [arg for arg in main.args if not isinstance(arg.type, IndexType)]


def object_indices(main: func.FuncOp) -> dict[SSAValue, int]:
    """The index of each Python object of `@main` in the table of a call: inputs first, then in order."""
    values = [*main.args, *(result for op in main.body.walk() for result in op.results)]
    opaque = [value for value in values if is_opaque(value.type)]
    return {value: index for index, value in enumerate(opaque)}


_ALWAYS_FALLIBLE = (
    graph.CheckAccessesOp,
    graph.BindSizesOp,
    graph.DefineSizesOp,
    graph.CheckIndicesOp,
    graph.CheckOffsetsOp,
)


def fallible_ops(main: func.FuncOp) -> list[Operation]:
    """The ops of `@main` that may end a call, in order: the rows of the run-time error table, from 1 on."""
    known = known_symbols(main)
    return [
        op
        for op in main.body.walk()
        if isinstance(op, _ALWAYS_FALLIBLE)
        or (isinstance(op, graph.AssertOp) and is_checked_on_the_way(op, main, known))
    ]


def error_row(op: Operation) -> RuntimeErrorRow:
    """The error of a call that ends in an op: an assertion, an access by indices, or a size of data."""
    if isinstance(op, graph.AssertOp):
        equation = f"{op.lhs.data} must equal {op.rhs.data}"
        message = f"{equation if len(equation) <= LONG_EQUATION else 'sizes do not fit'} ({op.message.data})"
        return RuntimeErrorRow("shape-mismatch", message, describe_location(op))
    if isinstance(op, graph.BindSizesOp | graph.DefineSizesOp):
        message = "a size that depends on data is negative, or more than memory can hold"
        return RuntimeErrorRow("bad-size", message, describe_location(op))
    if isinstance(op, graph.CheckOffsetsOp | graph.InsertSliceOp | graph.SliceOp):
        message = "a slice does not lie within its tensor (offset, then the greatest possible)"
        return RuntimeErrorRow("index-out-of-range", message, describe_location(op))
    if isinstance(op, graph.CheckAccessesOp | graph.CheckIndicesOp) and op.access is not None:
        message = f"{op.access.data} lies outside of its tensor (index, then extent)"
        return RuntimeErrorRow("index-out-of-range", message, describe_location(op))
    message = "an index lies outside of the dimension that it counts along (index, then size)"
    return RuntimeErrorRow("index-out-of-range", message, describe_location(op))


def is_checked_on_the_way(op: graph.AssertOp, main: func.FuncOp, known: AbstractSet[str]) -> bool:
    """Whether an assertion is about data, or in a branch or loop that a call may not run."""
    return op.parent is not main.body.block or not assertion_symbols(op) <= known


def assertion_symbols(op: graph.AssertOp) -> frozenset[str]:
    """The symbols that an assertion is about; where inputs give them all, it is checked before the call."""
    return Dim.of(op.lhs.data).symbols() | Dim.of(op.rhs.data).symbols()


def signature_of(op: graph.HostCallOp | graph.ControlFlowOp) -> FunctionType:
    """The types of a host call, or of a branch's or loop's carried values and results, with named sizes."""
    kept = op.attributes.get(SIGNATURE)
    return kept if isinstance(kept, FunctionType) else signature_before(op)


def published_symbols(main: func.FuncOp) -> list[str]:
    """The symbols, sorted, that the shapes of outputs need and that become known during a call."""
    attrs = main.res_attrs.data if main.res_attrs is not None else ()
    dims = [
        dim
        for i, type in enumerate(main.function_type.outputs)
        if not is_opaque(type)
        for dim in declared_dims(type, attrs[i].data if attrs else {})
    ]
    known = known_symbols(main)
    return sorted({name for dim in dims if not dim.is_unknown for name in dim.symbols()} - known)


def input_symbols(main: func.FuncOp) -> set[str]:
    """The symbols in the shapes of the inputs."""
    attrs = main.arg_attrs.data if main.arg_attrs is not None else ()
    return {
        name
        for arg in inputs_of(main)
        if not is_opaque(arg.type)
        for dim in declared_dims(arg.type, attrs[arg.index].data if attrs else {})
        if not dim.is_unknown
        for name in dim.symbols()
    }


def known_symbols(main: func.FuncOp) -> set[str]:
    """The symbols whose values a call begins with: those in the shapes of inputs, and arguments."""
    return input_symbols(main).union(symbols_of(main))


def returned_values(main: func.FuncOp) -> Sequence[SSAValue]:
    """The operands of the return of `@main`."""
    last = main.body.block.last_op
    assert isinstance(last, func.ReturnOp)
    return last.operands


def memref_of(tensor: Tensor) -> MemRefType[Attribute]:
    """The dense buffer type of a tensor type."""
    return _dense(tensor.element_type, tensor.get_shape())


@lru_cache(maxsize=4096)
def _dense(element: Attribute, shape: tuple[int, ...]) -> MemRefType[Attribute]:
    return MemRefType(element, shape)
