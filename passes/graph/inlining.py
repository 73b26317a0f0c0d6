"""Inlining: calls are replaced by copies of the bodies of their functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.types import Tensor, dims_of, tensor_of
from stepwell.passes.analysis.call_graph import CallGraph, functions_by_name, recursive_functions, symbols_of
from stepwell.passes.analysis.manager import analysis
from stepwell.passes.analysis.rename_symbols import defined_names, rename_symbols, symbols_named, unified
from stepwell.passes.base import agree_with_return, functions_of
from stepwell.passes.context import count, remark
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

MAX_OPS = 200_000
"""The most ops of a function after inlining: with two calls a function, each level of calls doubles it."""


def inline_module(module: ModuleOp, *, once: bool = False) -> None:
    """
    Replace the calls in all functions of a module.

    Args: `once` replaces only calls of functions and lambdas that nothing else uses.
    Raises: StepwellError `type-mismatch`, `too-large`.
    """
    functions = functions_by_name(module)
    bodies = inlinable_functions(module)
    if once:
        bodies = {name: bodies[name] for name in _called_once(module) if name in bodies}
    for function in functions_of(module):
        _as_graph_calls(function, bodies)
    sizes = _expanded_sizes(functions, bodies)
    # Callees are read as they are, so what has been inlined into them already is not inlined again.
    for function in functions_of(module):
        _expect_bounded(function, sizes[function.sym_name.data])
        _Inliner(function, bodies, once).run()
        agree_with_return(function)


def _called_once(module: ModuleOp) -> list[str]:
    """The private functions that the module names a single time."""
    named = Counter(name for op in module.walk() for name in symbols_of(op))
    return [
        name
        for name, function in functions_by_name(module).items()
        if named[name] == 1 and function.sym_visibility is not None
    ]


def inlinable_functions(module: ModuleOp) -> dict[str, FuncOp]:
    """The functions of a module whose calls can be replaced by their bodies, by name."""
    recursive = recursive_functions(analysis(module, CallGraph).callees)
    return {
        name: function
        for name, function in functions_by_name(module).items()
        if not function.is_declaration
        and len(function.body.blocks) == 1
        and name not in recursive
        and "skip_optimization" not in function.attributes
        and not is_kernel(function)
    }


def inline_calls(function: FuncOp, bodies: dict[str, FuncOp]) -> None:
    """Replace the calls in a function alone. Raises: StepwellError `type-mismatch`, `too-large`."""
    _as_graph_calls(function, bodies)
    _Inliner(function, bodies).run()


class _Inliner:
    """The inlining of calls into one function."""

    def __init__(self, function: FuncOp, bodies: dict[str, FuncOp], once: bool = False):
        self._function, self._bodies, self._once = function, bodies, once
        self._ops = sum(1 for _ in function.body.walk())

    def run(self) -> None:
        """Inline all calls of the function, those in inlined bodies too, and erase unused function values."""
        waiting = _calls(self._function.body)
        while waiting:
            call = waiting.pop()
            if (region := self._body_of(call)) is not None:
                waiting += self._inline(call, region)
        for op in reversed([o for o in self._function.body.walk() if _is_function_value(o)]):
            if op.results[0].first_use is None:
                Rewriter.erase_op(op)

    def _body_of(self, call: graph.CallOp) -> Region | None:
        """A copy of the body of a call's callee; None, with a remark, when it cannot be inlined."""
        owner = call.function.owner if call.function is not None else None
        if isinstance(owner, graph.LambdaOp):
            if owner.recursive is not None or (self._once and not owner.result.has_one_use()):
                remark(call, "not inlined: the lambda calls itself, or is used more than once")
                return None
            return owner.body.clone()
        symbol = owner.callee if isinstance(owner, graph.FunctionOp) else call.callee
        callee = self._bodies.get(symbol.string_value()) if symbol is not None else None
        if callee is None:
            remark(call, "not inlined: the callee is unknown, recursive, or not to be touched")
            return None
        _expect_fit(call, callee)
        return callee.body.clone()

    def _inline(self, call: graph.CallOp, region: Region) -> list[graph.CallOp]:
        """Replace a call by its callee's copied body; returns the calls in that body."""
        count("calls inlined")
        self._ops += sum(1 for _ in region.walk())
        _expect_bounded(call, self._ops)
        self._rename(call, region)
        block = region.block
        for arg, value in zip(tuple(block.args), call.arguments, strict=True):
            arg.replace_all_uses_with(_as_sized(value, arg, call))
        calls = _calls(region)
        for op in region.walk():
            adopt_location(op, call.location)
        last = block.last_op
        assert last is not None
        values = list(last.operands)
        Rewriter.erase_op(last)
        for arg in reversed(list(block.args)):
            block.erase_arg(arg)
        Rewriter.inline_block(block, InsertPoint.before(call))
        for result, value in zip(call.results, values, strict=True):
            value.name_hint = value.name_hint or result.name_hint
        Rewriter.replace_op(call, [], values)
        return calls

    def _rename(self, call: graph.CallOp, region: Region) -> None:
        """Substitute the call's dimensions for the parameters' symbols, and fresh symbols for inner ones."""
        parameters = [arg.type for arg in region.block.args]
        names = unified(parameters, [value.type for value in call.arguments])
        names |= _names_of_open_sizes(call, region, names)
        own = defined_names(region)
        fresh = fresh_symbols(call, len(own)) if own else []
        names |= {old: Dim.symbol(new) for old, new in zip(own, fresh, strict=True)}
        if names:
            rename_symbols(region, names)


def _names_of_open_sizes(call: graph.CallOp, region: Region, names: Mapping[str, Dim]) -> dict[str, Dim]:
    """
    New symbols for the sizes that types of arguments leave open, and ops of the callee name.

    ```mlir
    %y = graph.call @f(%x) : (tensor<?xf32>) -> tensor<?xf32>  // of a tensor<?xf32, #graph.dims<["N"]>>
    // ->
    %s = graph.shape_of %x start 0 end 1 : tensor<?xf32> -> tensor<1xi64>
    %n = graph.bind_sizes %s names ["data_0"] : tensor<1xi64> -> index
    %u = graph.reshape %x shape <["data_0"]> : tensor<?xf32> -> tensor<?xf32, #graph.dims<["data_0"]>>
    ```
    """
    found: dict[str, Dim] = {}
    if not any(dim.is_unknown for dim in names.values()):
        return found
    named = {name for op in region.walk() for name in symbols_named(op)}
    for arg, value in zip(region.block.args, call.arguments, strict=True):
        for axis, dim in enumerate(_dims(arg)):
            name = str(dim)
            if name in found or name not in names or not names[name].is_unknown:
                continue
            if name in named or _is_computed_with(arg):
                found[name] = _bound_size(value, axis, call)
    return found


def _bound_size(value: SSAValue, axis: int, call: graph.CallOp) -> Dim:
    """A new symbol, bound before a call to the size of a value along an axis."""
    (new,) = fresh_symbols(call, 1)
    size = graph.ShapeOfOp(value, axis, axis + 1)
    for op in (size, graph.BindSizesOp(size.result, [new])):
        _insert_before(call, op)
    return Dim.symbol(new)


def _as_sized(value: SSAValue, arg: BlockArgument, call: graph.CallOp) -> SSAValue:
    """An argument of a call with the sizes that the callee knows, checked where the caller does not."""
    if all(b.is_unknown or b.proves_equal(a) for a, b in zip(_dims(value), _dims(arg), strict=False)):
        return value
    if any(dim.is_unknown for dim in _dims(arg)) or not _is_computed_with(arg):
        return value
    for axis, (given, wanted) in enumerate(zip(_dims(value), _dims(arg), strict=True)):
        if given.is_unknown and not _defines(value, axis, wanted):
            found = _bound_size(value, axis, call)
            message = (
                f"argument {arg.index} of a call has another size along axis {axis} than its function wants"
            )
            _insert_before(call, graph.AssertOp(found, wanted, message))
    made = graph.ReshapeOp(value, _dims(arg))
    made.result.name_hint = arg.name_hint
    _insert_before(call, made)
    return made.result


def _defines(value: SSAValue, axis: int, size: Dim) -> bool:
    """Whether a symbol is defined as the size of a value along an axis."""
    sizes = (use.operation for use in value.uses)
    reads = (op for op in sizes if isinstance(op, graph.ShapeOfOp) and op.start.value.data == axis)
    binds = (use.operation for op in reads for use in op.result.uses)
    return any(isinstance(op, graph.BindSizesOp) and op.symbols.data[0].data == str(size) for op in binds)


def _insert_before(call: graph.CallOp, op: Operation) -> None:
    adopt_location(op, call.location)
    Rewriter.insert_op(op, InsertPoint.before(call))


def _dims(value: SSAValue) -> Sequence[Dim]:
    return dims_of(value.type) if value.type.name == TensorType.name else ()


def _is_computed_with(value: SSAValue) -> bool:
    """Whether an op on tensors reads a value; data, calls and results need no sizes."""
    users = (use.operation for use in value.uses)
    return any(isinstance(op, GraphOp) and op.KIND is not Kind.STRUCTURE for op in users)


def _as_graph_calls(function: FuncOp, bodies: Mapping[str, FuncOp]) -> None:
    """Replace each `func.call` of an inlinable function by a `graph.call`."""
    for op in list(function.body.walk()):
        if isinstance(op, CallOp) and (name := op.callee.string_value()) in bodies:
            made = graph.CallOp(name, list(op.operands), op.result_types)
            adopt_location(made, op.location)
            Rewriter.replace_op(op, made)


def _calls(region: Region) -> list[graph.CallOp]:
    return [op for op in region.walk(reverse=True) if isinstance(op, graph.CallOp)]


def _expanded_sizes(functions: Mapping[str, FuncOp], bodies: Mapping[str, FuncOp]) -> dict[str, int]:
    """Maps each function to its number of ops after inlining its direct calls, and theirs, recursively."""
    sizes: dict[str, int] = {}
    calls: dict[str, list[str]] = {}
    waiting = list(functions)
    while waiting:
        name = waiting[-1]
        if name not in calls:
            found = (c.callee.string_value() for c in _calls(functions[name].body) if c.callee is not None)
            calls[name] = [callee for callee in found if callee in bodies]
        if missing := [callee for callee in calls[name] if callee not in sizes and callee != name]:
            waiting += missing
            continue
        own = sum(1 for _ in functions[name].body.walk())
        sizes[name] = own + sum(sizes.get(callee, 0) for callee in calls[name])
        waiting.pop()
    return sizes


def _expect_bounded(where: Operation, ops: int) -> None:
    """Check the size of a function after inlining. Raises: StepwellError `too-large` above `MAX_OPS`."""
    if ops > MAX_OPS:
        raise StepwellError(
            "too-large", where, f"inlining makes {ops} ops of a function, at most {MAX_OPS} are allowed"
        )


def _is_function_value(op: Operation) -> bool:
    return isinstance(op, graph.LambdaOp | graph.FunctionOp)


def _expect_fit(call: graph.CallOp, callee: FuncOp) -> None:
    """Check a call's argument and result types. Raises: StepwellError `type-mismatch`."""
    type = callee.function_type
    pairs: Sequence[tuple[Sequence[Attribute], Sequence[SSAValue], str]] = (
        (type.inputs.data, call.arguments, "argument"),
        (type.outputs.data, call.results, "result"),
    )
    for wanted, given, what in pairs:
        if len(wanted) != len(given):
            raise StepwellError(
                "type-mismatch",
                call,
                f"@{callee.sym_name.data} has {len(wanted)} {what}s, found {len(given)}",
            )
        for index, (expected, value) in enumerate(zip(wanted, given, strict=True)):
            if not _fits(expected, value):
                raise StepwellError(
                    "type-mismatch",
                    call,
                    f"@{callee.sym_name.data}: {what} {index} must be {expected}, found {value.type}",
                )


def _fits(expected: Attribute, value: SSAValue) -> bool:
    if not (isinstance(expected, TensorType) and isinstance(value.type, TensorType)):
        return expected == value.type
    parameter = cast(Tensor, expected)
    wanted, found = dims_of(parameter), dims_of(tensor_of(value))
    if parameter.element_type != tensor_of(value).element_type or len(wanted) != len(found):
        return False
    pairs = zip(wanted, found, strict=True)
    return all(a == b for a, b in pairs if a.is_static and b.is_static)
