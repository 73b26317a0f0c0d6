"""
Outlining of kernels from `@main`: each `graph.fused` becomes a function, with symbols as trailing arguments.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import count
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.advice import on_open_size
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.dialects.graph_ir.annotations import BOUND_KERNEL, WORK
from stepwell.dialects.linalg_builder.support import symbol_arguments
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.sched_kernel import KernelAttr, set_kernel, symbols_of
from stepwell.dialects.sched_program import PROGRAM, ProgramAttr
from stepwell.dialects.types import DimsAttr, Tensor, dims_of
from stepwell.lowering.graph_to_linalg.objects import hand_over_objects
from stepwell.passes.analysis.call_graph import functions_by_name
from stepwell.patterns.groups import blocks_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


def outline_kernels(module: ModuleOp) -> ModuleOp:
    """
    Move every `graph.fused` of a module into a function `k0`, `k1`, … of a new one, and call it.

    ```mlir
    func.func @main(%x: tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32, #graph.dims<["N"]>> {
      %y = graph.fused (%a = %x : tensor<?xf32, #graph.dims<["N"]>>) -> (tensor<?xf32, #graph.dims<["N"]>>) {
        %b = graph.relu %a : tensor<?xf32, #graph.dims<["N"]>> -> tensor<?xf32, #graph.dims<["N"]>>
        graph.yield %b : tensor<?xf32, #graph.dims<["N"]>>
      }
      func.return %y : tensor<?xf32, #graph.dims<["N"]>>
    }
    // ->
    func.func @main(%x: tensor<?xf32, …>, %N: index) -> tensor<?xf32, …>
        attributes {sched.program = #sched.program<symbols = ["N"]>} {
      %y = func.call @k0(%x, %N) : (tensor<?xf32, …>, index) -> tensor<?xf32, …>
      func.return %y : tensor<?xf32, …>
    }
    func.func private @k0(%a: tensor<?xf32, …>, %N: index) -> tensor<?xf32, …>
        attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>} { … }
    ```
    Kernels that compute the same share a function. Those that `bind-kernels` has bound have one already.
    """
    kernels: dict[Hashable, FuncOp] = {}
    bound = _bound_functions(module)
    for function in [f for f in module.ops if isinstance(f, FuncOp) and not f.is_declaration]:
        _hoist_constants(function)
        hand_over_objects(function)
        fused_ops = [op for op in function.body.walk() if isinstance(op, graph.FusedOp)]
        outside = _symbols_outside_kernels(function)
        if not fused_ops and not outside:
            continue
        symbols = {op: _distinct(_symbols_in_kernel(op)) for op in fused_ops}
        defined = {name: value for op in function.walk() for name, value in defined_symbols(op)}
        carried = {op: _carried_symbols(op) for op in fused_ops}
        for op in fused_ops:
            _expect_known(function, op, symbols[op], defined.keys() | carried[op].keys())
        needed = [*(n for op in fused_ops for n in symbols[op] if n not in carried[op]), *outside]
        arguments = [name for name in _distinct(needed) if name not in defined]
        _add_symbol_arguments(function, arguments)
        if arguments:
            function.attributes[PROGRAM] = ProgramAttr.of_symbols(arguments)
        values = dict(symbol_arguments(function)) | defined
        for op in fused_ops:
            written = bound.get(op)
            content = written or (_content(op.body.block, {}), tuple(op.result_types))
            if (kernel := kernels.get(content)) is None:
                name = f"k{len(kernels)}"
                kernel = _adopt(written, op, name) if written else _outline(op, name, symbols[op])
                kernels[content] = kernel
            here = values | carried[op]
            _call(op, kernel, [here[name] for name in symbols[op]])
    return ModuleOp(list(kernels.values()))


def _bound_functions(module: ModuleOp) -> dict[Operation, FuncOp]:
    """The functions of bound kernels, taken out of the module. Raises: StepwellError `invalid-ir`."""
    functions = functions_by_name(module)
    found: dict[Operation, FuncOp] = {}
    for op in module.walk():
        if isinstance(op, graph.FusedOp) and isinstance(
            named := op.attributes.get(BOUND_KERNEL), SymbolRefAttr
        ):
            function = functions.get(named.string_value())
            types = FunctionType.from_lists(op.operand_types, op.result_types)
            if function is None or function.function_type != types:
                message = f"expected a function @{named.string_value()} of type {types}"
                raise StepwellError("invalid-ir", op, message, help="bind-kernels makes such functions")
            found[op] = function
    for function in dict.fromkeys(found.values()):
        function.detach()
    return found


def _adopt(function: FuncOp, op: graph.FusedOp, name: str) -> FuncOp:
    """A function that a user wrote, as a kernel."""
    function.properties["sym_name"] = StringAttr(name)
    set_kernel(function, KernelAttr(len(function.args), len(op.results)))
    adopt_location(function, op.location)
    return function


def _content(block: Block, numbers: dict[SSAValue, int]) -> Hashable:
    """The computation of a block without names and locations; kernels with the same share a function."""
    numbers.update(zip(block.args, count(len(numbers)), strict=False))
    ops: list[Hashable] = []
    for op in block.ops:
        operands = tuple([numbers[value] for value in op.operands])
        attributes = frozenset(op.properties.items()), frozenset(op.attributes.items())
        regions = tuple([tuple([_content(b, numbers) for b in region.blocks]) for region in op.regions])
        ops.append((op.name, operands, tuple(op.result_types), attributes, regions))
        numbers.update(zip(op.results, count(len(numbers)), strict=False))
    return tuple(block.arg_types), tuple(ops)


def _hoist_constants(function: FuncOp) -> None:
    """Move constants out of branches and loops to before the control flow op, where weights are numbered."""
    for op in function.body.block.ops:
        if isinstance(op, graph.ControlFlowOp):
            constants = [inner for inner in op.walk() if isinstance(inner, graph.ConstantOp)]
            for constant in constants:
                if not isinstance(constant.parent_op(), graph.ClosedRegionOp):
                    constant.detach()
                    Rewriter.insert_op(constant, InsertPoint.before(op))


def _carried_symbols(op: Operation) -> dict[str, SSAValue]:
    """The symbols that loops around an op carry, with their values in the bodies that contain the op."""
    found: dict[str, SSAValue] = {}
    block = op.parent
    while block is not None and (outer := block.parent_op()) is not None:
        if isinstance(outer, graph.LoopOp) and (names := outer.carried_names):
            found |= zip(names, block.args[-len(names) :], strict=True)
        block = outer.parent
    return found


def _distinct(names: Iterable[str]) -> list[str]:
    """Names without repetitions, in order of first occurrence."""
    return list(dict.fromkeys(names))


def _symbols_outside_kernels(function: FuncOp) -> list[str]:
    """Symbols in types and shapes of `@main`'s own ops, which reshape values and copy inputs to outputs."""
    if symbols_of(function):
        return []
    ops = [op for block in blocks_of(function) for op in block.ops if not isinstance(op, graph.FusedOp)]
    known = {name for arg in function.args for name in _symbols_in_type(arg.type)}
    names = [
        name for op in ops for value in (*op.operands, *op.results) for name in _symbols_in_type(value.type)
    ]
    names += [name for op in ops for name in _symbols_in_properties(op)]
    return [name for name in names if name in known]


def _symbols_in_properties(op: Operation) -> Iterator[str]:
    """Symbols in dimension attributes of an op, such as the sizes of a slice."""
    for attribute in op.properties.values():
        if isinstance(attribute, DimsAttr):
            yield from _symbols_in_dims(attribute.get())


def _symbols_in_kernel(op: graph.FusedOp) -> Iterator[str]:
    """Symbols of a kernel in order of occurrence: in its operands' types first, then in its body."""
    for operand in op.operands:
        yield from _symbols_in_type(operand.type)
    for inner in op.body.walk():
        for result in inner.results:
            yield from _symbols_in_type(result.type)
        yield from _symbols_in_properties(inner)


def _symbols_in_type(type: Attribute) -> Iterator[str]:
    """Symbols in the dimensions of a tensor type."""
    if isinstance(type, TensorType):
        yield from _symbols_in_dims(dims_of(cast(Tensor, type)))


def _symbols_in_dims(dims: Sequence[Dim]) -> Iterator[str]:
    """Symbols of dimension expressions, sorted within each."""
    for dim in dims:
        if not dim.is_unknown:
            yield from sorted(dim.symbols())


def _expect_known(
    function: FuncOp, op: graph.FusedOp, needed: Sequence[str], defined: AbstractSet[str]
) -> None:
    """Raise `unsupported` when a kernel needs a symbol that no input's shape defines."""
    known = {name for arg in function.args for name in _symbols_in_type(arg.type)} | defined
    if unknown := [name for name in needed if name not in known]:
        raise StepwellError(
            "unsupported",
            op,
            f"dimension {', '.join(unknown)} depends on data, not on the shapes of the inputs",
            help=on_open_size(op),
        )


def _add_symbol_arguments(function: FuncOp, symbols: Sequence[str]) -> None:
    """Append an index argument for each symbol to a function."""
    block = function.body.block
    for name in symbols:
        arg = block.insert_arg(IndexType(), len(block.args))
        arg.name_hint = name
    if function.arg_attrs is not None:
        padding = [DictionaryAttr({})] * len(symbols)
        function.properties["arg_attrs"] = ArrayAttr([*function.arg_attrs, *padding])
    function.properties["function_type"] = FunctionType.from_lists(
        list(block.arg_types), list(function.function_type.outputs)
    )


def _outline(op: graph.FusedOp, name: str, symbols: Sequence[str]) -> FuncOp:
    """A new function with the region of a `graph.fused`."""
    region = op.detach_region(op.body)
    yielded = region.block.last_op
    assert isinstance(yielded, graph.YieldOp)
    Rewriter.replace_op(yielded, ReturnOp(*yielded.values), [])
    kernel = FuncOp(name, (region.block.arg_types, op.result_types), region, "private")
    set_kernel(kernel, KernelAttr(len(kernel.args), len(op.results), symbols))
    _add_symbol_arguments(kernel, symbols)
    adopt_location(kernel, op.location)
    return kernel


def _call(op: graph.FusedOp, kernel: FuncOp, symbols: Sequence[SSAValue]) -> None:
    """Replace a kernel by a call of its function."""
    call = CallOp.create(
        operands=[*op.operands, *symbols],
        result_types=op.result_types,
        properties={"callee": SymbolRefAttr(kernel.sym_name)},
        attributes={name: op.attributes[name] for name in WORK if name in op.attributes},
    )
    adopt_location(call, op.location)
    Rewriter.replace_op(op, call)
