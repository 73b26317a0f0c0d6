"""Compilation of partitions by their backends: compiled, run once, and called by `@main` as host calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.dev.devices import DeviceOp
from stepwell.dialects.graph.host import code_payload
from stepwell.dialects.graph_ir.annotations import BACKEND
from stepwell.dialects.graph_ir.dissolve import open_regions
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import DimsAttr
from stepwell.lowering.backends import Backend, Constants
from stepwell.lowering.refused_part import REFUSALS, RefusedPart
from stepwell.passes.analysis.symbol_sources import SYMBOLS
from stepwell.passes.context import PassContext, remark
from stepwell.passes.pass_limit import numbered
from stepwell.passes.pipelines import text_of
from stepwell.runtime.backends import find_backend
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.fallback import with_fallback
from stepwell.runtime.files.artifact import image_bytes
from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.host import DEVICE, FALLBACK
from stepwell.runtime.interface import Array, TensorSpec
from stepwell.tools.driver.compilation import Compilation, main_of
from stepwell.tools.driver.devices.chosen import ChosenDevice, chosen_devices, ops_on_host
from stepwell.tools.driver.devices.described import described_parts
from stepwell.tools.driver.devices.kept import Parts, keep_on_device
from stepwell.tools.driver.devices.parts import own_main, part_of, symbols_argument
from stepwell.tools.driver.image import compile_image
from stepwell.tools.driver.levels import steps_of, to_kernel_functions, to_level_1
from stepwell.tools.driver.model_interface import read_interface, tensor_spec
from stepwell.tools.driver.options import CompileOptions

SKIPPED = "skip_optimization"
_TRIAL_SIZE = 4
"""The size of each symbol when a partition is tried: the model's own sizes are not known yet."""
_UNFILLED = b"\xa5"


def compile_partitions(compilation: Compilation, options: CompileOptions) -> None:
    """
    Replace the calls of partitions (`graph.external`) by host calls with the backend's code.

    Raises: StepwellError `backend-failed` that names the backend, the partition and its nodes; with
    `--fallback` the partition becomes ours, and a remark says why.
    """
    module = compilation.module
    compilation.on_host = ops_on_host(module)
    functions = {f.sym_name.data: f for f in module.ops if isinstance(f, FuncOp)}
    devices = [op for op in module.ops if isinstance(op, DeviceOp)]
    if not any(BACKEND in func.attributes for func in functions.values()):
        _erase(devices)
        return
    calls = [op for op in module.walk() if isinstance(op, graph.ExternalOp)]
    given_up = 0
    refused: list[RefusedPart] = []
    parts: Parts = {}
    on_backends: Parts = {}
    compilation.reproducer = None
    # Compile each partition by its backend, or inline it where the backend fails.
    with compilation.timed("backends"):
        for op in calls:
            func = functions[op.callee.string_value()]
            try:
                kind, code = _compiled(op, func, compilation, options)
            except RefusedPart as error:
                refused.append(error)
            except StepwellError as error:
                if not options.fallback:
                    raise
                remark(op, f"goes on without the backend: {error.message}")
                _inline(op, func)
                given_up += 1
            else:
                made = _call(op, kind, code, compilation)
                of = parts if kind == DEVICE else on_backends
                of[made] = cast(StringAttr, func.attributes[BACKEND]).data
        # The functions of partitions have no calls any more.
        _erase([*devices, *(func for func in functions.values() if BACKEND in func.attributes)])
    if refused:
        raise RefusedPart([each for error in refused for each in error.errors])
    keep_on_device(parts, compilation)
    made_by = parts | on_backends
    in_order = [op for op in module.walk() if isinstance(op, graph.HostCallOp) and op in made_by]
    compilation.parts = described_parts({op: made_by[op] for op in in_order}, options)
    if calls:
        compilation.counts["partitions"] = len(calls) - given_up
    if given_up:
        compilation.counts["given up"] = given_up
        _optimize_again(compilation, options)


def _erase(ops: Sequence[Operation]) -> None:
    """Erase ops of a module that nothing needs any more."""
    for op in ops:
        op.detach()
        op.erase()


def _optimize_again(compilation: Compilation, options: CompileOptions) -> None:
    """Optimize the ops of partitions that were inlined again, as the rest of level 1 was."""
    open_regions(compilation.module, graph.CompositeOp)
    context = PassContext.current().at_level(options.opt_level)
    context = context.choosing(options.required_passes, options.disabled_passes)
    with context.active():
        plain = replace(options, backends=(), fallback=False)
        compilation.run("graph", text_of(steps_of(plain, compilation.ctx.target, context)))


def _compiled(
    op: graph.ExternalOp, func: FuncOp, compilation: Compilation, options: CompileOptions
) -> tuple[str, bytes]:
    """The kind and the code of the host call for a partition."""
    name = cast(StringAttr, func.attributes[BACKEND]).data
    device = next((each for each in chosen_devices(options) if name in (each.name, each.backend)), None)
    if device is not None and device.backend is None:
        return DEVICE, part_of(func, compilation, options)
    if device is not None and device.name == name:
        return device.target.kind, _accelerated(func, compilation, device)
    backend = cast(Backend, find_backend(name))
    if device is not None:
        backend = backend.for_target(device.target)
    try:
        constants = Constants(compilation.ctx.weights)
        code = cast(object, backend.compile(func.clone(), constants, compilation.ctx.target))
        if not isinstance(code, bytes):
            raise TypeError(f"compile must return bytes, found {type(code).__name__}")
        if getattr(backend, "is_tried", True):
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
    return FALLBACK, with_fallback(name, func.sym_name.data, code, own, symbols_argument(func))


def _accelerated(func: FuncOp, compilation: Compilation, device: ChosenDevice) -> bytes:
    """The code of a part for an accelerator. Raises: RefusedPart with what it has no room for."""
    backend = cast(Backend, find_backend(device.target.kind)).for_target(device.target)
    try:
        return backend.compile(func.clone(), Constants(compilation.ctx.weights), compilation.ctx.target)
    except StepwellError as error:
        raise RefusedPart([error]) if error.code in REFUSALS else error from error


def _signature(func: FuncOp) -> str:
    inputs, outputs = (", ".join(map(str, _specs(func, kind))) for kind in ("input", "output"))
    return f"({inputs}) -> ({outputs})"


def _specs(func: FuncOp, kind: str) -> list[TensorSpec]:
    types = func.function_type.inputs if kind == "input" else func.function_type.outputs
    return [tensor_spec(f"{kind}{i}", type, kind) for i, type in enumerate(types)]


def _try(op: graph.ExternalOp, func: FuncOp, backend: Backend, code: bytes) -> None:
    """
    Run a partition once, so that failures and wrong results are found at compile time.

    Symbolic sizes are made up: then only wrong or missing results are errors, and an exception of the backend
    is a remark.
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
        sizes = [attr.data.get(SYMBOLS) for attr in attrs]
        inputs = [
            _made_up(spec, symbols) if not isinstance(dims, DimsAttr) else _sizes(dims, symbols)
            for spec, dims in zip(specs, sizes, strict=True)
        ]
        outputs = [_unfilled(_made_up(spec, symbols)) for spec in _specs(func, "output")]
    except (KeyError, ValueError, ZeroDivisionError):
        return  # sizes that only the model's inputs determine
    try:
        returned = cast(object, call(inputs, given := list(outputs)))
        _expect_filled(outputs, given, returned)
    except Exception as error:
        if not symbols or (isinstance(error, StepwellError) and error.code == "wrong-result"):
            raise
        made_up = ", ".join(f"{name} = {size}" for name, size in symbols.items())
        remark(op, f"the backend {backend.name!r} raised on made-up inputs, {made_up}: {error!r}")


def _unfilled(output: Array) -> Array:
    """
    Fill an output with bytes by which a missing write is detected; a short result may equal them by chance.
    """
    if not output.dtype.hasobject:
        output.reshape(-1).view(np.uint8).fill(_UNFILLED[0])
    return output


def _expect_filled(outputs: Sequence[Array], given: Sequence[object], returned: object) -> None:
    """
    Require a callee to have written each result into the given output. Raises: StepwellError `wrong-result`.
    """
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
    """The partition as a compiled model of Stepwell's, which runs where the backend is missing."""
    main = own_main(func)
    module = ModuleOp([main])
    open_regions(module)
    own = Compilation(module, compilation.ctx)
    plain = replace(options, backends=(), fallback=False)
    with numbered(None):  # not a part of the model's own code
        to_level_1(own, plain)
        interface = read_interface(main_of(module))
        to_kernel_functions(own, plain)
        cache = KernelCache() if options.use_cache else None
        return image_bytes(compile_image(own, interface, cache, processes=options.processes))


def _inline(op: graph.ExternalOp, func: FuncOp) -> None:
    """Replace the call of a partition by the partition's ops."""
    copies: dict[SSAValue, SSAValue] = dict(zip(func.args, op.arguments, strict=True))
    last = func.body.block.last_op
    assert last is not None
    made = [inner.clone(copies) for inner in func.body.block.ops if inner is not last]
    Rewriter.insert_op(made, InsertPoint.before(op))
    Rewriter.replace_op(op, [], [copies[value] for value in last.operands])


def _call(op: graph.ExternalOp, kind: str, code: bytes, compilation: Compilation) -> graph.HostCallOp:
    """Replace the call of a partition by a host call with the backend's code, and return it."""
    name = op.callee.string_value()
    payload = code_payload(code, name, compilation.ctx.weights)
    call = graph.HostCallOp(kind, name, payload, list(op.arguments), list(op.result_types))
    adopt_location(call, op.location)
    Rewriter.replace_op(op, call)
    return call
