"""`convert-onnx-to-graph`: each operator of a model, at its opset, to `graph` ops of the same meaning."""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Iterable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from stepwell.dialects import onnx
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.onnx.versions import VERSIONS
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.lowering.onnx_to_graph.agreement import check_agreement
from stepwell.lowering.onnx_to_graph.contrib import DOMAIN as CONTRIB
from stepwell.lowering.onnx_to_graph.declared import check_declared
from stepwell.lowering.onnx_to_graph.elementwise_tables import UNARY, unary_op
from stepwell.lowering.onnx_to_graph.host import DTYPES, FUNCTIONS
from stepwell.lowering.onnx_to_graph.host.string_movement import move_strings
from stepwell.lowering.onnx_to_graph.pattern_files import FILES, OnnxPatterns, operators_of, patterns_in_file
from stepwell.lowering.onnx_to_graph.support import ELEMENT_NUMBERS
from stepwell.passes.registry import load_pass
from stepwell.patterns.driver.conversion import convert
from stepwell.patterns.driver.pattern_set import PatternSet
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.plugins import described

__all__ = [
    "CONTRIB",
    "DTYPES",
    "FUNCTIONS",
    "ELEMENT_NUMBERS",
    "UNARY",
    "unary_op",
    "ConvertOnnxToGraphPass",
    "contrib_on_host",
    "converted_operators",
]

_NOT_A_NAME = re.compile(r"\W")


class ConvertOnnxToGraphPass(ModulePass):
    """
    Lower `onnx` to `graph`: leaves functions of `graph` ops whose types are inferred from the inputs' types.

    Calls of the model's functions are inlined first, and so are operators that only a function body defines.
    Open dimensions of inputs without a name get one: `x_0` for the first dimension of x.
    Fails, and lists all such operators, when an operator of the model has no conversion.
    """

    name = "convert-onnx-to-graph"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """
        Name open dimensions, inline functions, convert until only illegal ops are left, then check the
        outputs.
        """
        patterns = OnnxPatterns(weights_of(ctx))
        declared: dict[FuncOp, Sequence[Attribute]] = {}
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                _name_open_dimensions(function)
                declared[function] = function.function_type.outputs.data
        if any(isinstance(inner, onnx.FunctionOp) for inner in op.ops):
            _expand_functions(ctx, op, (), ready=False)
        if with_graphs := _names_of(o for o in op.walk() if o.regions and not patterns.of(type(o))):
            # Function bodies expect the subgraphs unconverted.
            _expand_functions(ctx, op, with_graphs, ready=False)
        convert(op, patterns, illegal=["onnx"], convert_new_ops=True, partial=True)
        seen: set[onnx.OnnxOp] = set()
        while left := _without_conversion(op, patterns) - seen:
            # These may have a function body; the input types that some bodies depend on are known by now.
            seen |= left
            _expand_functions(ctx, op, _names_of(left), ready=True)
            convert(op, patterns, illegal=["onnx"], convert_new_ops=True, partial=True)
        convert(op, patterns, illegal=["onnx"], convert_new_ops=True, hint=_hint, help=_missing_plugin)
        move_strings(op)
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                _set_result_types(function)
                check_declared(function, declared.get(function, ()))
                check_agreement(function)


def converted_operators(*, on_host: bool) -> set[str]:
    """The operators, by name in the IR, of patterns that make host calls (`on_host`), or kernels."""
    patterns = (pattern(WeightStore()) for file in FILES for pattern in patterns_in_file(file))
    return {name for pattern in patterns if pattern.ON_HOST == on_host for name in operators_of(pattern)}


def contrib_on_host(op: onnx.CallOp) -> bool | None:
    """Whether the host computes an operator of ONNX Runtime's domain; None for one without conversion."""
    from stepwell.lowering.onnx_to_graph.contrib.patterns import ON_HOST, meaning_of

    return None if meaning_of(op) is None else op.op_type.data in ON_HOST


def _names_of(ops: Iterable[Operation]) -> tuple[str, ...]:
    """The names of the operators of ONNX among some ops, sorted."""
    return tuple(sorted({op.name for op in ops if isinstance(op, onnx.OnnxOp)}))


def _expand_functions(ctx: Context, module: ModuleOp, ops: tuple[str, ...], *, ready: bool) -> None:
    """Run the front end's pass `expand-onnx-functions`, which may only be referred to by name from here."""
    make = typing.cast("Callable[..., ModulePass]", load_pass("expand-onnx-functions"))
    make(ops=ops, ready=ready).apply(ctx, module)


def _hint(op: Operation) -> str:
    """More about an operator that is left: its plugin's pattern, or a similar name."""
    from stepwell.dialects.plugins.operators import OPERATORS, operator_of  # for an error only

    if (operator := operator_of(op)) is not None:
        return f"; the plugin's pattern does not rewrite it: {described(operator.defined)}"
    if not isinstance(op, onnx.CallOp):
        return ""
    from difflib import get_close_matches  # for an error only

    if (prefix := onnx.PREFIXES.get(op.domain.data)) is None:
        near = get_close_matches(op.title, [f"{key.domain}.{key.name}" for key in OPERATORS], n=1)
        return f"; did you mean {near[0]}, which a plugin has registered?" if near else ""
    known = [name.removeprefix(prefix) for name in VERSIONS if name.startswith(prefix)]
    near = get_close_matches(op.op_type.data, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _missing_plugin(ops: Sequence[Operation]) -> str | None:
    """The help for operators of domains that are neither ONNX's nor ours; None without such operators."""
    from stepwell.dialects.plugins.operators import operator_of  # for an error only

    found = {op.domain.data for op in ops if isinstance(op, onnx.CallOp) and operator_of(op) is None}
    domains = sorted(found - onnx.PREFIXES.keys() - {"ai.onnx", CONTRIB, FUNCTIONS})
    if not domains:
        return None
    return (
        f"load the plugin that lowers operators of {' and '.join(domains)}: `--load PLUGIN.py`, or import it "
        "in Python; docs/write-an-operator.md has how to write one"
    )


def _without_conversion(module: ModuleOp, patterns: PatternSet) -> set[onnx.OnnxOp]:
    """The operators without pattern whose inputs are all converted."""
    return {
        op
        for op in module.walk()
        if isinstance(op, onnx.OnnxOp)
        and not patterns.of(type(op))
        and not any(isinstance(value.owner, onnx.OnnxOp) for value in op.operands)
    }


def _name_open_dimensions(function: FuncOp) -> None:
    """Give each unknown dimension of an input a new symbol."""
    inputs = [arg for arg in function.args if isinstance(arg.type, TensorType)]
    taken = {symbol for arg in inputs for dim in dims_of(arg.type) for symbol in dim.symbols()}
    for arg in inputs:
        dims = list(dims_of(arg.type))
        for axis, dim in enumerate(dims):
            if dim.is_unknown:
                name = f"{_NOT_A_NAME.sub('_', arg.name_hint or f'input{arg.index}')}_{axis}"
                while name in taken:
                    name += "_"
                taken.add(name)
                dims[axis] = Dim.symbol(name)
        if dims != list(dims_of(arg.type)):
            Rewriter.replace_value_with_new_type(arg, tensor_type(tensor_of(arg).element_type, dims))
    _set_result_types(function)


def _set_result_types(function: FuncOp) -> None:
    """Set the result types of a function to the types of the returned values."""
    last = function.body.block.last_op
    assert last is not None
    function.properties["function_type"] = FunctionType.from_lists(
        list(function.body.block.arg_types), list(last.operand_types)
    )
