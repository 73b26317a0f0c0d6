"""Kernels with some sizes as arguments of the function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    TensorType,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects._xdsl import set_type
from stepwell.dialects.ir_builder import INDEX, IRBuilder
from stepwell.dialects.sched_kernel import KernelAttr, kernel_of, set_kernel
from stepwell.dialects.tensor_ir.structured import tensor_element
from stepwell.dialects.types import DimsAttr
from stepwell.passes.tensor.sharing.sizes import Site, sites, sizes_at
from stepwell.runtime.dims import Dim


def opened(kernel: FuncOp, dims: Sequence[Dim], bounds: Mapping[str, tuple[int, int]]) -> FuncOp:
    """
    A copy of a kernel whose sizes are dimensions over symbols, which are its last arguments.

    Args: `dims` replaces the sizes, in the order of `sites`; `bounds` has the symbols with the least and the
    greatest value of each.
    """
    copy = kernel.clone()
    rest = iter(dims)
    found = {site: [next(rest) for _ in sizes_at(site)] for site in sites(copy)}
    block = copy.body.block
    results = block.last_op
    assert results is not None, "a kernel returns its results"
    named = [_names(found[value]) for value in (*block.args, *results.operands)]
    for site, sizes in found.items():
        if isinstance(site, SSAValue):
            set_type(site, TensorType(tensor_element(site), _numbers(sizes)))
    symbols = {name: block.insert_arg(INDEX, len(block.args)) for name in bounds}
    for name, value in symbols.items():
        value.name_hint = name
    for op in list(copy.body.walk()):
        _give_sizes(op, found, symbols)
    count, interface = len(kernel.args), kernel_of(kernel)
    assert interface is not None, "kernels have an interface"
    copy.properties |= {
        "function_type": FunctionType.from_lists(list(block.arg_types), list(results.operand_types)),
        "arg_attrs": ArrayAttr([*named[:count], *[DictionaryAttr({})] * len(symbols)]),
    }
    if any(each.data for each in named[count:]):  # else its text, read again, would be another one
        copy.properties["res_attrs"] = ArrayAttr(named[count:])
    set_kernel(copy, KernelAttr(interface.inputs.data, interface.outputs.data, list(symbols), bounds=bounds))
    return copy


def _numbers(sizes: Sequence[Dim]) -> list[int]:
    return [size.value if size.is_static else DYNAMIC_INDEX for size in sizes]


def _names(sizes: Sequence[Dim]) -> DictionaryAttr:
    """The dimensions of an argument or result as an attribute, where its type lacks some."""
    is_static = all(size.is_static for size in sizes)
    return DictionaryAttr({} if is_static else {"graph.dims": DimsAttr.of(sizes)})


def _give_sizes(op: Operation, found: Mapping[Site, Sequence[Dim]], symbols: Mapping[str, SSAValue]) -> None:
    """Give an op the values of its sizes that are no numbers, as operands."""
    builder = IRBuilder.before(op, symbols=symbols)

    def values(sizes: Sequence[Dim]) -> list[SSAValue]:
        return [builder.extent(size) for size in sizes if not size.is_static]

    match op:
        case tensor.EmptyOp():
            op.operands = values(found[op.tensor])
        case tensor.ExpandShapeOp():
            sizes = found[op, "static_output_shape"]
            op.operands = [op.src, *values(sizes)]
            op.properties["static_output_shape"] = DenseArrayBase.from_list(i64, _numbers(sizes))
        case tensor.InsertSliceOp() | tensor.ExtractSliceOp():
            whole = [v for v in op.operands if isinstance(v.type, TensorType)]
            lists = {name: found[op, name] for name in ("static_offsets", "static_sizes")}
            given = [values(sizes) for sizes in lists.values()]
            op.operands = [*whole, *given[0], *given[1]]
            counts = [*[1] * len(whole), *map(len, given), 0]
            op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, counts)
            op.properties |= {n: DenseArrayBase.from_list(i64, _numbers(s)) for n, s in lists.items()}
        case _:
            pass
