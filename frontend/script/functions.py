"""Scripts as kernels of level 2: signatures, bodies, calls of other scripts, and `@main`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IndexType, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from stepwell.dialects import graph
from stepwell.dialects.sched import FAULTS
from stepwell.dialects.sched_kernel import KERNEL, KernelAttr
from stepwell.dialects.sched_program import PROGRAM, ProgramAttr
from stepwell.dialects.types import dims_attr
from stepwell.frontend.script import language
from stepwell.frontend.script.accesses import Accesses
from stepwell.frontend.script.scope import Contents, Scope
from stepwell.frontend.script.source import Source
from stepwell.frontend.script.statements import Statements, plain_type, zeros
from stepwell.frontend.te.functions import dtype_named
from stepwell.frontend.te.places import FormulaError
from stepwell.frontend.te.tensors import Tensor, dim_of
from stepwell.runtime.dims import Dim

MOST_CALLS = 16
RECORD = Tensor("faults", (Dim.of(3),), "int64")
"""The first access outside of its tensor: its number, the index, the extent."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a script: a tensor that it reads, or a result."""

    tensor: Tensor
    is_result: bool


@runtime_checkable
class HasSource(Protocol):
    """A script, which other scripts may call."""

    @property
    def source(self) -> Source:
        """The definition."""
        ...


def parameters_of(source: Source) -> list[Parameter]:
    """The parameters of a script by their annotations. Raises: StepwellError `script-syntax`, `te-type`."""
    arguments = source.function.args
    if (
        arguments.vararg
        or arguments.kwarg
        or arguments.kwonlyargs
        or arguments.defaults
        or arguments.posonlyargs
    ):
        raise source.error_at(
            "script-syntax", source.function, "the parameters of a script are names, without defaults"
        )
    return [_parameter(argument, source) for argument in arguments.args]


def _parameter(argument: ast.arg, source: Source) -> Parameter:
    note = argument.annotation
    if isinstance(note, ast.Constant) and isinstance(note.value, str):
        note = ast.copy_location(ast.parse(note.value, mode="eval").body, note)
    kind = source.resolved(note.value) if isinstance(note, ast.Subscript) else None
    if not isinstance(note, ast.Subscript) or not any(
        kind is each for each in (language.Buffer, language.Out)
    ):
        help = 'annotate it: Buffer[128, "N", "f32"] for an input, Out[…] for a result'
        raise source.error_at("script-syntax", argument, f"{argument.arg} has no type", help)
    *sizes, dtype = note.slice.elts if isinstance(note.slice, ast.Tuple) else [note.slice]
    try:
        word = _word(dtype)
        name = dtype_named(language.SHORT_TYPES.get(word, word))
        if name.startswith("uint"):
            raise FormulaError("te-type", f"a script has no {name}: signed integers, floats, bool")
        dims = tuple(dim_of(_size(size, source)) for size in sizes)
    except FormulaError as error:
        raise source.error_at(error.code, note, error.message, error.help) from None
    return Parameter(Tensor(argument.arg, dims, name), kind is language.Out)


def _word(node: ast.expr) -> str:
    """A name in quotes; formatters remove the quotes where annotations are not evaluated."""
    match node:
        case ast.Constant(value=str(name)) | ast.Name(id=name):
            return name
        case _:
            raise FormulaError("te-type", f"the last is the name of a type, found {ast.unparse(node)}")


def _size(node: ast.expr, source: Source) -> int | str:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | str):
        return node.value
    found = source.resolved(node)
    if isinstance(found, int):
        return found
    if isinstance(node, ast.Name) and found is None:
        return node.id
    raise FormulaError("te-type", f"an extent is a number or a name in quotes, found {ast.unparse(node)}")


class _Calls:
    """Emits calls of scripts in scripts: their statements, with the tensors of the caller."""

    def __init__(self) -> None:
        self._depth = 0

    def emit(self, source: Source, node: ast.Call, scope: Scope, called: object) -> bool:
        """Whether a call is one of a script; its statements are emitted then."""
        if not isinstance(called, HasSource):
            return False
        callee, parameters = called.source, parameters_of(called.source)
        names = [a.id for a in node.args if isinstance(a, ast.Name)]
        given = [local for n in names if isinstance(local := scope.names.get(n), Contents)]
        if len(given) != len(parameters) or len(node.args) != len(parameters) or node.keywords:
            wanted = ", ".join(parameter.tensor.name for parameter in parameters)
            raise source.error_at("script-syntax", node, f"{callee.function.name} takes the tensors {wanted}")
        self._depth += 1
        if self._depth > MOST_CALLS:
            raise source.error_at("script-syntax", node, f"{callee.function.name} calls itself")
        names_of = {
            parameter.tensor.name: contents for parameter, contents in zip(parameters, given, strict=True)
        }
        for parameter, contents in zip(parameters, given, strict=True):
            _expect_type(source, node, parameter.tensor, contents.tensor)
        outer, scope.names = scope.names, dict[str, object](names_of)  # pyright: ignore[reportAttributeAccessIssue]
        body, returned = body_of(callee)
        if returned is not None:
            raise source.error_at(
                "script-syntax", node, f"{callee.function.name} returns, and is called for its results"
            )
        Statements(callee, partial(self.emit, callee)).run(body, scope)
        inner, scope.names = scope.names, outer
        for name, parameter in zip(names, parameters, strict=True):
            changed = inner[parameter.tensor.name]
            assert isinstance(changed, Contents)
            old = outer[name]
            assert isinstance(old, Contents)
            outer[name] = Contents(old.tensor, changed.value)
        self._depth -= 1
        return True


def _expect_type(source: Source, node: ast.AST, wanted: Tensor, found: Tensor) -> None:
    if wanted.dims != found.dims or wanted.dtype != found.dtype:
        shapes = [f"{t.dtype}[{', '.join(map(str, t.dims))}]" for t in (wanted, found)]
        message = f"{wanted.name} is {shapes[0]}, found {found.name} of {shapes[1]}"
        raise source.error_at("te-type", node, message)


def body_of(source: Source) -> tuple[Sequence[ast.stmt], ast.Return | None]:
    """The statements of a script, and its return statement."""
    body = source.function.body
    if body and isinstance(last := body[-1], ast.Return):
        return body[:-1], last if last.value is not None else None
    return body, None


def kernel_of(source: Source, accesses: Accesses | None = None) -> tuple[FuncOp, list[Tensor], list[Tensor]]:
    """
    The kernel of a script as loops over tensors, with the inputs and the results.

    Args: with `accesses`, the last result is the record of `check-bounds`.
    Raises: StepwellError `script-syntax`, `te-type`, `te-bounds`.
    """
    parameters = parameters_of(source)
    inputs = [parameter.tensor for parameter in parameters if not parameter.is_result]
    symbols = sorted(
        {name for parameter in parameters for dim in parameter.tensor.dims for name in dim.symbols()}
    )
    known = {str(dim) for tensor in inputs for dim in tensor.dims}
    if missing := [name for name in symbols if name not in known]:
        raise source.error_at(
            "te-type", source.function, f"no input has the size {missing[0]} as a dimension"
        )
    block = Block(arg_types=[*map(plain_type, inputs), *[IndexType()] * len(symbols)])
    for argument, name in zip(block.args, [*(tensor.name for tensor in inputs), *symbols], strict=True):
        argument.name_hint = name
    scope = Scope(block, sizes=dict(zip(symbols, block.args[len(inputs) :], strict=True)), accesses=accesses)
    record = None if accesses is None else Contents(RECORD, zeros(RECORD, scope))
    arguments = dict(zip(inputs, block.args, strict=False))
    for parameter in parameters:
        tensor = parameter.tensor
        value = zeros(tensor, scope) if parameter.is_result else arguments[tensor]
        scope.names[tensor.name] = Contents(tensor, value)
    statements, returned = body_of(source)
    calls = _Calls()
    Statements(source, partial(calls.emit, source)).run(statements, scope)
    names = (
        [p.tensor.name for p in parameters if p.is_result]
        if returned is None
        else _returned(returned, source)
    )
    results = [_result(name, scope, source) for name in names]
    if not results:
        help = 'annotate a parameter: Out[128, "f32"]'
        raise source.error_at("script-syntax", source.function, "the script has no result", help)
    results += [] if record is None else [record]
    block.add_op(ReturnOp(*(contents.value for contents in results)))
    outputs = [contents.tensor for contents in results]
    kernel = _function("k0", inputs, outputs, symbols, block)
    if record is not None:
        kernel.attributes[FAULTS] = UnitAttr()
    return kernel, inputs, outputs


def _returned(node: ast.Return, source: Source) -> list[str]:
    values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    names = [value.id for value in values if isinstance(value, ast.Name)]
    if len(names) < len(values):
        raise source.error_at("script-syntax", node, "a script returns the names of tensors")
    return names


def _result(name: str, scope: Scope, source: Source) -> Contents:
    found = scope.names.get(name)
    if not isinstance(found, Contents):
        raise source.error_at("te-type", source.function, f"{name} is no tensor, and a result is one")
    return found


def _function(
    name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], symbols: Sequence[str], block: Block
) -> FuncOp:
    types = list(block.arg_types), [plain_type(tensor) for tensor in outputs]
    func = FuncOp(
        name,
        types,
        Region(block),
        visibility="private",
        arg_attrs=ArrayAttr([*map(_dims, inputs), *[DictionaryAttr({})] * len(symbols)]),
        res_attrs=ArrayAttr(map(_dims, outputs)),
    )
    func.attributes[KERNEL] = KernelAttr(len(inputs), len(outputs), symbols=symbols)
    return func


def _dims(tensor: Tensor, **others: Attribute) -> DictionaryAttr:
    named = {} if all(dim.is_static for dim in tensor.dims) else {"graph.dims": dims_attr(tensor.dims)}
    return DictionaryAttr({**others, **named})


def module_of(source: Source, *, is_checked: bool = False) -> ModuleOp:
    """
    The program of a script: the kernel, and `@main` with a call.

    Args: with `is_checked`, an access outside of its tensor ends the call with an error.
    Raises: as `kernel_of`.
    """
    accesses = Accesses() if is_checked else None
    kernel, inputs, outputs = kernel_of(source, accesses)
    block = Block(arg_types=list(kernel.function_type.inputs))
    for argument, inner in zip(block.args, kernel.body.block.args, strict=True):
        argument.name_hint = inner.name_hint
    call = CallOp("k0", block.args, list(kernel.function_type.outputs))
    block.add_op(call)
    if accesses is not None:
        outputs = outputs[:-1]
        for number, text, location in accesses.rows():
            block.add_op(check := graph.CheckAccessesOp(call.results[-1], number, text))
            check.location = location
    block.add_op(ReturnOp(*call.results[: len(outputs)]))
    symbols = [argument.name_hint or "" for argument in block.args[len(inputs) :]]

    def named(tensors: Sequence[Tensor]) -> list[DictionaryAttr]:
        return [_dims(tensor, **{"graph.name": StringAttr(tensor.name)}) for tensor in tensors]

    main = FuncOp(
        "main",
        (list(block.arg_types), list(kernel.function_type.outputs)[: len(outputs)]),
        Region(block),
        arg_attrs=ArrayAttr([*named(inputs), *[DictionaryAttr({})] * len(symbols)]),
        res_attrs=ArrayAttr(named(outputs)),
    )
    if symbols:
        main.attributes[PROGRAM] = ProgramAttr.of_symbols(symbols)
    return ModuleOp([main, kernel])
