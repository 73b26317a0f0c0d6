"""Inlining: calls are replaced by copies of the bodies of their functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import adt, graph
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.type_variables import types_inside
from stepwell.dialects.types import Tensor, dims_of, tensor_of
from stepwell.passes.analysis.call_graph import CallGraph, functions_by_name, recursive_functions, symbols_of
from stepwell.passes.analysis.manager import analysis
from stepwell.passes.analysis.rename_symbols import defined_names, rename_symbols, unified
from stepwell.passes.base import agree_with_return, functions_of
from stepwell.passes.context import count, remark
from stepwell.passes.graph.reaching_functions import Reaching, reaching_function
from stepwell.runtime.dims import UNKNOWN, Dim
from stepwell.runtime.errors import StepwellError

MAX_OPS = 200_000
"""The most ops of a function after inlining: with two calls a function, each level of calls doubles it."""
MOST_NESTED = 64
"""The most bodies inside each other around a call of a lambda that comes through tuples or data."""


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
    # Callees are read in their current state: calls that were inlined into them are not inlined again.
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


class _Around(NamedTuple):
    """The function or lambda whose inlined body a call is in, and those around that body."""

    callee: Operation
    outer: _Around | None


class _Body(NamedTuple):
    """A call, its callee, and a copy of the body."""

    call: graph.CallOp
    callee: Operation
    region: Region


class _Inliner:
    """The inlining of calls into one function."""

    def __init__(self, function: FuncOp, bodies: dict[str, FuncOp], once: bool = False):
        self._function, self._bodies, self._once = function, bodies, once
        self._ops = sum(1 for _ in function.body.walk())

    def run(self) -> None:
        """Inline all calls of the function, those in inlined bodies too, and erase unused function values."""
        waiting: list[tuple[graph.CallOp, _Around | None]]
        waiting = [(call, None) for call in _calls(self._function.body)]
        while waiting:
            call, around = waiting.pop()
            if self._is_gone(call) or (found := self._body_of(call, around)) is None:
                continue
            inside = _Around(found.callee, around)
            waiting += [(each, inside) for each in self._inline(found.call, found.region)]
        for op in reversed([o for o in self._function.body.walk() if _may_be_erased(o)]):
            if op.results[0].first_use is None:
                Rewriter.erase_op(op)

    def _is_gone(self, call: graph.CallOp) -> bool:
        """Whether a call was in a region of a branch that does not run."""
        op: Operation | None = call
        while op is not None and op is not self._function:
            op = op.parent_op()
        return op is None

    def _body_of(self, call: graph.CallOp, around: _Around | None) -> _Body | None:
        """The callee of a call and a copy of its body; None, with a remark, when it cannot be inlined."""
        if call.function is not None:
            reaching = reaching_function(call)
            owner = reaching.value.owner
            if isinstance(owner, graph.LambdaOp):
                return self._body_of_lambda(call, owner, reaching, around)
            if isinstance(owner, graph.FunctionOp | graph.ClosureOp):
                call = _by_name(call, owner)
        callee = self._bodies.get(call.callee.string_value()) if call.callee is not None else None
        if callee is None:
            remark(call, "not inlined: the callee is unknown, recursive, or not to be touched")
            return None
        _expect_fit(call, callee)
        return _Body(call, callee, callee.body.clone())

    def _body_of_lambda(
        self, call: graph.CallOp, callee: graph.LambdaOp, reaching: Reaching, around: _Around | None
    ) -> _Body | None:
        if callee.recursive is not None or (self._once and not reaching.used_once):
            remark(call, "not inlined: the lambda calls itself, or is used more than once")
            return None
        # Data may contain a function that takes the data apart again, and so calls itself.
        if reaching.came_through and _is_inside(callee, around):
            remark(call, "not inlined: the lambda may call itself, through data")
            return None
        return _Body(call, callee, callee.body.clone())

    def _inline(self, call: graph.CallOp, region: Region) -> list[graph.CallOp]:
        """Replace a call by its callee's copied body; returns the calls in that body."""
        count("calls inlined")
        self._ops += sum(1 for _ in region.walk())
        _expect_bounded(call, self._ops)
        values = self._rename(call, region)
        block = region.block
        for arg, value in zip(tuple(block.args), values, strict=True):
            arg.replace_all_uses_with(value)
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

    def _rename(self, call: graph.CallOp, region: Region) -> list[SSAValue]:
        """
        Substitute the call's dimensions for the parameters' symbols, and fresh symbols for inner ones.

        Returns: the arguments, with names for the sizes that are unknown and that the callee speaks of.
        """
        parameters = [arg.type for arg in region.block.args]
        names = unified(parameters, [value.type for value in call.arguments])
        unknown = [symbol for symbol, dim in names.items() if dim.is_unknown]
        own = [*unknown, *defined_names(region)]
        fresh = fresh_symbols(call, len(own)) if own else []
        names |= {old: Dim.symbol(new) for old, new in zip(own, fresh, strict=True)}
        if names:
            rename_symbols(region, names)
        if unknown or any(map(_needs_sizes, region.block.args, call.arguments)):
            return _with_named_sizes(call, parameters, names, unknown)
        return list(call.arguments)


def _with_named_sizes(
    call: graph.CallOp, parameters: Sequence[Attribute], names: Mapping[str, Dim], unknown: Sequence[str]
) -> list[SSAValue]:
    """
    The arguments of a call with names for unknown sizes: the first with a size defines its name.

    Args: `names` are the sizes by symbol of the callee; those of the symbols `unknown` are new names.

    ```mlir
    %y = graph.call @f(%x) : (tensor<?xf32>) -> tensor<?xf32>
    // ->
    %s = graph.shape_of %x start 0 end 1 : tensor<?xf32> -> tensor<1xi64>
    %n = graph.bind_sizes %s names ["data_0"] : tensor<1xi64> -> index
    %named = graph.reshape %x shape <["data_0"]> : tensor<?xf32> -> tensor<?xf32, #graph.dims<["data_0"]>>
    ```
    """
    bound = {str(dim) for symbol, dim in names.items() if symbol not in unknown}
    values: list[SSAValue] = []
    for index, value in enumerate(call.arguments):
        wanted = dims_of(cast(Tensor, parameters[index])) if isinstance(value.type, TensorType) else ()
        sizes = [dim if dim.is_static else names.get(str(dim), Dim.of(UNKNOWN)) for dim in wanted]
        made = _named(call, index, sizes, bound)
        for op in made:
            adopt_location(op, call.location)
            Rewriter.insert_op(op, InsertPoint.before(call))
        values.append(made[-1].results[0] if made else value)
    return values


def _named(call: graph.CallOp, index: int, wanted: Sequence[Dim], bound: set[str]) -> list[Operation]:
    """The ops that give an argument's unknown sizes their names; `bound` are names that are defined."""
    made: list[Operation] = []
    value = call.arguments[index]
    dims = list(dims_of(tensor_of(value))) if wanted else []
    unknown = [axis for axis, dim in enumerate(dims) if _is_less_known(dim, wanted[axis])]
    for axis in unknown:
        dim = dims[axis] = wanted[axis]
        own = dim
        if dim.is_static or not dim.symbols().isdisjoint(bound):
            own = Dim.symbol(*fresh_symbols(call, 1))
        bound |= own.symbols()
        shape = graph.ShapeOfOp(value, axis, axis + 1)
        made += [shape, graph.BindSizesOp(shape.result, [str(own)])]
        if own is not dim:
            message = f"argument {index} of a call has another size along axis {axis} than its function wants"
            made.append(graph.AssertOp(own, dim, message))
    return [*made, graph.ReshapeOp(value, dims)] if unknown else made


def _needs_sizes(arg: SSAValue, value: SSAValue) -> bool:
    """Whether ops of a callee compute with sizes of an argument that its caller does not know."""
    if not isinstance(value.type, TensorType):
        return False
    users = (use.operation for use in arg.uses)
    if not any(isinstance(op, GraphOp) and op.KIND is not Kind.STRUCTURE for op in users):
        return False
    return any(map(_is_less_known, dims_of(tensor_of(value)), dims_of(tensor_of(arg))))


def _is_less_known(given: Dim, wanted: Dim) -> bool:
    """Whether a callee knows more of a size than its caller: a number, or a name for an unknown one."""
    return not wanted.is_unknown and (given.is_unknown or (wanted.is_static and not given.is_static))


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


def _is_inside(callee: Operation, around: _Around | None) -> bool:
    """Whether a call is in a copy of a body, or in more bodies than are looked at."""
    for _ in range(MOST_NESTED):
        if around is None:
            return False
        if around.callee is callee:
            return True
        around = around.outer
    return True


def _by_name(call: graph.CallOp, value: graph.FunctionOp | graph.ClosureOp) -> graph.CallOp:
    """The call of a function of the module by its name, with captured values, in the place of a call."""
    if value.callee.nested_references.data:
        return call  # a constructor
    captured = value.captured if isinstance(value, graph.ClosureOp) else ()
    given = (
        value.type_args.data if isinstance(value, graph.FunctionOp) and value.type_args is not None else ()
    )
    name = value.callee.root_reference.data
    made = graph.CallOp(name, [*captured, *call.arguments], call.result_types, given)
    adopt_location(made, call.location)
    Rewriter.replace_op(call, made)
    return made


def _may_be_erased(op: Operation) -> bool:
    """Whether an op is a function value, or makes a value that may have had one inside."""
    if isinstance(op, graph.LambdaOp | graph.FunctionOp | graph.ClosureOp):
        return True
    if not isinstance(op, graph.TupleOp | graph.GetOp | adt.MakeOp):
        return False
    return any(isinstance(part, FunctionType) for type in op.operand_types for part in types_inside(type))


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
