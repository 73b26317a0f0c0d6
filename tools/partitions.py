"""Partitions of backends on their way to the artifact: compiled, tried once, called by `@main`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, FunctionType, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.constants import constant_attr
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import DimsAttr, tensor_type
from stepwell.lowering.backends import Backend, Constants
from stepwell.lowering.graph_to_onnx.structure import open_regions
from stepwell.passes.context import PassContext, remark
from stepwell.passes.graph.partition_graph import BACKEND
from stepwell.passes.graph.symbol_sources import SYMBOLS
from stepwell.runtime.artifact import image_bytes
from stepwell.runtime.backends import find_backend
from stepwell.runtime.cache import KernelCache
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.fallback import with_fallback
from stepwell.runtime.host import FALLBACK
from stepwell.runtime.interface import Array, TensorSpec
from stepwell.tools.compilation import Compilation, compile_image, main_of, read_interface, tensor_spec
from stepwell.tools.driver import CompileOptions

SKIPPED = "skip_optimization"
_TRIAL_SIZE = 4
"""What each symbol is when a partition is tried: the model's own sizes are not known yet."""
_UNFILLED = b"\xa5"


def available_backends(options: CompileOptions) -> Sequence[str]:
    """
    The backends that a compilation uses: those that are asked for.

    Raises: StepwellError `unknown-backend`, `missing-backend`; with `--fallback` a missing one is left out,
    and a remark says so.
    """
    missing = expect_backends(options)
    for error in missing.values():
        remark(None, f"goes on without a backend: {error.message}")
    return [name for name in options.backends if name not in missing]


def expect_backends(options: CompileOptions) -> Mapping[str, StepwellError]:
    """
    Require that the backends which are asked for can be had.

    Returns: with `--fallback`, those that are not installed, and why.
    Raises: StepwellError `unknown-backend`, `missing-backend`.
    """
    missing: dict[str, StepwellError] = {}
    for name in options.backends:
        try:
            cast(Backend, find_backend(name)).require()
        except StepwellError as error:
            if not options.fallback or error.code != "missing-backend":
                raise
            missing[name] = error
    return missing


def compile_partitions(compilation: Compilation, options: CompileOptions) -> None:
    """
    Replace the calls of partitions (`graph.external`) by host calls that carry what the backend made of them.

    Raises: StepwellError `backend-failed` that names the backend, the partition and its nodes; with
    `--fallback` the partition becomes ours, and a remark says why.
    """
    module = compilation.module
    functions = {f.sym_name.data: f for f in module.ops if isinstance(f, FuncOp)}
    if not any(BACKEND in func.attributes for func in functions.values()):
        return
    calls = [op for op in module.walk() if isinstance(op, graph.ExternalOp)]
    given_up = 0
    compilation.reproducer = None
    with compilation.timed("backends"):
        for op in calls:
            func = functions[op.callee.string_value()]
            try:
                kind, code = _compiled(op, func, compilation, options)
            except StepwellError as error:
                if not options.fallback:
                    raise
                remark(op, f"goes on without the backend: {error.message}")
                _inline(op, func)
                given_up += 1
            else:
                _call(op, kind, code, compilation)
        for func in functions.values():
            if BACKEND in func.attributes:
                func.detach()
                func.erase()
    if calls:
        compilation.counts["partitions"] = len(calls) - given_up
    if given_up:
        compilation.counts["given up"] = given_up
        _optimize_again(compilation, options)


def _optimize_again(compilation: Compilation, options: CompileOptions) -> None:
    """Bring what backends gave back to where the rest of level 1 is."""
    from stepwell.tools.levels import pipeline_of  # which compiles partitions: a cycle of modules

    open_regions(compilation.module, graph.CompositeOp)
    context = PassContext.current().at_level(options.opt_level)
    context = context.choosing(options.required_passes, options.disabled_passes)
    with context.active():
        plain = replace(options, backends=())
        compilation.run("graph", pipeline_of(plain, compilation.ctx.target, context))


def _compiled(
    op: graph.ExternalOp, func: FuncOp, compilation: Compilation, options: CompileOptions
) -> tuple[str, bytes]:
    """The kind and the code of the host call for a partition."""
    name = cast(StringAttr, func.attributes[BACKEND]).data
    backend = cast(Backend, find_backend(name))
    try:
        constants = Constants(compilation.ctx.weights)
        code = cast(object, backend.compile(func.clone(), constants, compilation.ctx.target))
        if not isinstance(code, bytes):
            raise TypeError(f"compile must return bytes, found {type(code).__name__}")
        _try(op, func, backend, code)
    except Exception as error:
        what = error.message if isinstance(error, StepwellError) else f"{type(error).__name__}: {error}"
        raise StepwellError(
            "backend-failed",
            op,
            f"the backend {name!r} failed on partition @{func.sym_name.data}: {what}",
            note=f"the partition is {_signature(func)}",
            help="--fallback goes on without the backend where it fails",
        ) from error
    if not options.fallback:
        return name, code
    own = _own_image(func, compilation, options)
    return FALLBACK, with_fallback(name, func.sym_name.data, code, own, _place_of_symbols(func))


def _signature(func: FuncOp) -> str:
    inputs, outputs = (", ".join(map(str, _specs(func, kind))) for kind in ("input", "output"))
    return f"({inputs}) -> ({outputs})"


def _specs(func: FuncOp, kind: str) -> list[TensorSpec]:
    types = func.function_type.inputs if kind == "input" else func.function_type.outputs
    return [tensor_spec(f"{kind}{i}", type, kind) for i, type in enumerate(types)]


def _try(op: graph.ExternalOp, func: FuncOp, backend: Backend, code: bytes) -> None:
    """
    Run a partition once, so that one that cannot run or gives other results is found out now.

    Where sizes are symbols, they are made up: then only results that are wrong or not there count, and a
    remark says what the backend raised.
    Raises: what the backend raises.
    """
    call = backend.load(code)
    specs = _specs(func, "input")
    symbols = {
        name: _TRIAL_SIZE
        for spec in (*specs, *_specs(func, "output"))
        for d in spec.dims
        for name in d.symbols()
    }
    try:
        attrs = func.arg_attrs.data if func.arg_attrs is not None else [DictionaryAttr({})] * len(specs)
        told = [attr.data.get(SYMBOLS) for attr in attrs]
        inputs = [
            _made_up(spec, symbols) if not isinstance(dims, DimsAttr) else _sizes(dims, symbols)
            for spec, dims in zip(specs, told, strict=True)
        ]
        outputs = [_unfilled(_made_up(spec, symbols)) for spec in _specs(func, "output")]
    except (KeyError, ValueError, ZeroDivisionError):
        return  # sizes that nobody but the model's inputs tell
    try:
        returned = cast(object, call(inputs, given := list(outputs)))
        _expect_filled(outputs, given, returned)
    except Exception as error:
        if not symbols or (isinstance(error, StepwellError) and error.code == "wrong-result"):
            raise
        made_up = ", ".join(f"{name} = {size}" for name, size in symbols.items())
        remark(op, f"the backend {backend.name!r} raised on made-up inputs, {made_up}: {error!r}")


def _unfilled(output: Array) -> Array:
    """Bytes by which an output that nobody wrote to is known; a short one may come to hold them by chance."""
    if not output.dtype.hasobject:
        output.reshape(-1).view(np.uint8).fill(_UNFILLED[0])
    return output


def _expect_filled(outputs: Sequence[Array], given: Sequence[object], returned: object) -> None:
    """Hold a callee to what it owes its caller. Raises: StepwellError `wrong-result`."""
    for number, (output, held) in enumerate(zip(outputs, given, strict=False)):
        is_long = output.nbytes >= 8 and not output.dtype.hasobject
        if held is not output or (is_long and output.tobytes() == _UNFILLED * output.nbytes):
            instead = (
                "another array was put in its place" if held is not output else "nothing was written to it"
            )
            if returned is not None:
                instead = "the function returned its results"
            message = f"result {number} must be written to outputs[{number}], as `fill` does: {instead}"
            raise StepwellError("wrong-result", None, message)


def _made_up(spec: TensorSpec, symbols: Mapping[str, int]) -> Array:
    shape = [dim.evaluate(symbols) for dim in spec.dims]
    return np.full(shape, 0 if spec.dtype.kind in "iub" else 0.5).astype(spec.dtype)


def _sizes(dims: DimsAttr, symbols: Mapping[str, int]) -> Array:
    return np.array([dim.evaluate(symbols) for dim in dims.get()], np.int64)


def _own_image(func: FuncOp, compilation: Compilation, options: CompileOptions) -> bytes:
    """The partition as a model of ours, which runs where the backend is missing."""
    from stepwell.tools.levels import to_level_1, to_level_2

    main = func.clone()
    main.properties["sym_name"] = StringAttr("main")
    main.attributes = {name: a for name, a in main.attributes.items() if name not in (BACKEND, SKIPPED)}
    main.properties.pop("sym_visibility", None)
    _tell_symbols_by_shape(main)
    module = ModuleOp([main])
    open_regions(module)
    own = Compilation(module, compilation.ctx)
    plain = replace(options, backends=(), fallback=False)
    to_level_1(own, plain)
    interface = read_interface(main_of(module))
    to_level_2(own, plain)
    cache = KernelCache() if options.use_cache else None
    return image_bytes(compile_image(own, interface, cache, processes=options.processes))


def _tell_symbols_by_shape(main: FuncOp) -> None:
    """Symbols that an argument holds as data become the dimensions of one without elements."""
    for arg, about in zip(main.args, main.arg_attrs or (), strict=False):
        if isinstance(told := about.data.get(SYMBOLS), DimsAttr):
            arg._type = tensor_type(i64, [0, *told.get()])  # pyright: ignore[reportPrivateUsage]
    types = list(main.body.block.arg_types), list(main.function_type.outputs)
    main.properties["function_type"] = FunctionType.from_lists(*types)


def _place_of_symbols(func: FuncOp) -> int | None:
    """Which argument holds sizes of symbols."""
    attrs = func.arg_attrs.data if func.arg_attrs is not None else ()
    return next((i for i, about in enumerate(attrs) if SYMBOLS in about.data), None)


def _inline(op: graph.ExternalOp, func: FuncOp) -> None:
    """Put the ops of a partition in the place of its call."""
    copies: dict[SSAValue, SSAValue] = dict(zip(func.args, op.arguments, strict=True))
    last = func.body.block.last_op
    assert last is not None
    made = [inner.clone(copies) for inner in func.body.block.ops if inner is not last]
    Rewriter.insert_op(made, InsertPoint.before(op))
    Rewriter.replace_op(op, [], [copies[value] for value in last.operands])


def _call(op: graph.ExternalOp, kind: str, code: bytes, compilation: Compilation) -> None:
    """Replace the call of a partition by a host call with the backend's code."""
    name = op.callee.string_value()
    payload = constant_attr(np.frombuffer(code, np.uint8), name, compilation.ctx.weights)
    call = graph.HostCallOp(kind, name, payload, list(op.arguments), list(op.result_types))
    adopt_location(call, op.location)
    Rewriter.replace_op(op, call)
