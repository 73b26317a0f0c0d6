"""The steps of a compilation, from a model file to a `ModelImage`: levels 0 and 1, kernels, `@main`."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cache as cached
from functools import partial
from importlib import import_module
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute

from stepwell.dialects import graph
from stepwell.dialects.graph.host import is_opaque, payload_bytes
from stepwell.dialects.graph.structure import constant_array
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.dialects.graph_ir.annotations import annotated_work
from stepwell.dialects.graph_ir.state import state_pairs
from stepwell.dialects.locations import node_names
from stepwell.dialects.sched_kernel import set_in_place, set_scratch, symbols_of
from stepwell.dialects.sched_program import buffers_of, planned_program
from stepwell.dialects.types import Tensor, WeightAttr, dims_of, dtype_of
from stepwell.lowering.kernels.all_kernels import compile_kernels
from stepwell.lowering.kernels.early import Started
from stepwell.lowering.kernels.fingerprint import kernel_key
from stepwell.lowering.kernels.kernel_object import KernelObject, canonical_text
from stepwell.lowering.main_to_buffers import (
    error_row,
    fallible_ops,
    object_indices,
    published_symbols,
    returned_values,
    signature_of,
)
from stepwell.passes import PassContext, parse_passes, run_pipeline
from stepwell.passes.elsewhere import other_process
from stepwell.passes.pass_limit import next_runs
from stepwell.passes.pipelines import SHARE_PIPELINE, main_pipeline, main_steps
from stepwell.passes.reproducer import Reproducer
from stepwell.runtime.abi import KERNEL_PREFIX
from stepwell.runtime.collector import collector_paused, compiler_imports, free_young_cycles
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import describe_location
from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.host import Callee, HostValue
from stepwell.runtime.image import MAIN, Entry, ModelImage, RuntimeErrorRow, Variant, kept_buffers
from stepwell.runtime.integers.summands import json_of
from stepwell.runtime.interface import Array, Interface
from stepwell.runtime.json_values import as_dim, as_mapping, as_size, as_sizes
from stepwell.runtime.link.code import Code
from stepwell.runtime.log import logger
from stepwell.runtime.machine.loader import linked
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.timing import TimedCall
from stepwell.tools.driver.compilation import Compilation, kernels_of, main_of
from stepwell.tools.driver.model_interface import with_initial_values

_log = logger(__name__)

Progress = Callable[[str, int, int], None]
"""A progress callback: called with the step's name, the amount done, and the total."""


def compile_image(
    compilation: Compilation,
    interface: Interface,
    cache: KernelCache | None,
    *,
    passes: PassContext | None = None,
    timed: bool = False,
    keep: bool = False,
    processes: int | None = None,
    started: Started | None = None,
    progress: Progress | None = None,
    compiled: Mapping[str, KernelObject] | None = None,
) -> ModelImage:
    """
    Compile a module of level 2 (kernels, and `@main` that calls them) to the image of the model.

    Args: `passes` decides whether kernels are shared (default: the current context); with `timed`, `@main`
    records the times of its kernels, with `keep` it preserves their results; `started` as for
    `compile_kernels`; `compiled` are finished kernels, by the names that `deduplicate` gives.
    Raises: StepwellError of the pass or kernel that failed.
    """
    target = compilation.ctx.target
    calls = [op for op in main_of(compilation.module).walk() if isinstance(op, func.CallOp)]
    names = [call.callee.string_value() for call in calls]
    started = started or Started()
    early = started.early
    with (passes or PassContext.current()).active(), other_process(early and early.begin_passes):
        compilation.run("kernels", SHARE_PIPELINE)
    free_young_cycles()  # of levels 0 and 1, which are not needed any more
    compilation.reproducer = None
    store = compilation.ctx.weights if compilation.owns_weights else compilation.ctx.weights.copy()
    text_of_main = cached(lambda: canonical_text(main_of(compilation.module)))
    with compilation.timed("kernels"):
        texts = deduplicate(compilation.module, target)
        kernels = {f.sym_name.data: (f, texts[f.sym_name.data]) for f in kernels_of(compilation.module)}
        known = compiled or {}
        objects, hits = compile_kernels(
            {name: kernel for name, kernel in kernels.items() if name not in known},
            target,
            cache,
            processes=processes,
            started=started.with_work(partial(_get_ready, timed, keep), *([text_of_main] if cache else [])),
            progress=partial(progress, "kernels") if progress is not None else None,
            beside=store.computed(_weight_names(main_of(compilation.module))),
        )
        objects = {name: known.get(name) or objects[name] for name in kernels}
    compilation.counts["kernels"] = len(kernels)
    _note_memory([func_op for func_op, _ in kernels.values()], objects)
    entry = entry_without_code(compilation, interface)
    weights = tuple(constant_array(op, store) for op in _constants(main_of(compilation.module)))
    begun, initial = with_initial_values(
        main_of(compilation.module), entry.interface, store, first=len(weights)
    )
    entry, weights = entry._replace(interface=begun), (*weights, *initial)
    calls = timed_calls(main_of(compilation.module), kernels, names) if timed else ()
    with compilation.timed("main"):
        main = _compile_main(compilation, cache, started, text_of_main, timed=timed, keep=keep)
    entry = planned_entry(entry, main.meta)._replace(timed=calls)
    pool = early and early.thread_pool(target, records=timed)
    return ModelImage(
        {MAIN: with_code(entry, [*(kernel.code for kernel in objects.values()), main.code], target, pool)},
        weights,
        summary=summary(compilation, entry.interface, weights),
        buffers=kept_buffers(as_mapping(main.meta.get("buffers", {}))),
        effort={
            "cached kernels": hits,
            "seconds": {level: round(s, 4) for level, s in compilation.seconds.items()},
        },
    )


def _note_memory(kernels: Sequence[func.FuncOp], objects: Mapping[str, KernelObject]) -> None:
    """Record in kernels the scratch memory of their code, and the outputs that can overwrite an input."""
    for kernel in kernels:
        code = objects[kernel.sym_name.data]
        if code.scratch != "0":
            set_scratch(kernel, code.scratch)
        set_in_place(kernel, code.in_place)


def _get_ready(timed: bool, keep: bool) -> None:
    """
    Import modules for the steps after the kernels: passes that plan the memory of `@main`, and the linker.
    """
    with compiler_imports():
        parse_passes(main_pipeline(keep=keep, timed=timed))
        import_module("stepwell.runtime.link.linker")


def entry_without_code(compilation: Compilation, interface: Interface) -> Entry:
    """
    The entry of `@main` of a level-2 module, without code and memory plan: interface, weights, errors,
    callees.
    """
    main = main_of(compilation.module)
    host = _host_side(compilation)
    return Entry(
        interface._replace(symbols=symbols_of(main), published=tuple(published_symbols(main))),
        weights=tuple(range(len(_constants(main)))),
        errors=error_rows(main),
        callees=host.callees,
        objects_per_call=host.objects,
        output_objects=host.outputs,
    )


def main_facts(main: func.FuncOp) -> dict[str, object]:
    """
    The memory plan of `@main`, for the cache: bytes of the arena, number of slots, kept values, and the
    numbers of outputs that overwrite states.
    """
    program = planned_program(main)
    return {
        "arena": json_of(program.arena_bytes),
        "slots": program.slots.data,
        "buffers": buffers_of(main),
        "in place": list(program.numbers_in_place),
        "pools": dict(program.pool_bytes),
    }


def planned_entry(entry: Entry, facts: Mapping[str, object]) -> Entry:
    """An entry with the memory plan that `main_facts` describes."""
    written = as_sizes(facts.get("in place", ()))
    states = tuple(
        each._replace(is_in_place=each.output is not None and each.output in written)
        for each in entry.interface.states
    )
    interface = entry.interface._replace(arena_bytes=as_dim(facts["arena"]), states=states)
    pools = {name: as_size(size) for name, size in as_mapping(facts.get("pools", {})).items()}
    return entry._replace(interface=interface, slots=int(str(facts["slots"])), pools=pools)


def with_code(
    entry: Entry, objects: Sequence[bytes], target: TargetDescription, pool: Code | None = None
) -> Entry:
    """An entry with its code for a target, linked from object files, and with the thread pool's code."""
    if pool is None:
        from stepwell.lowering.kernels.pool_code import pool_of  # imports LLVM

        pool = pool_of(target, records=bool(entry.timed))
    tile_check = None
    if target.has_tile_products:
        from stepwell.lowering.kernels.tile_code import tile_check_code

        tile_check = tile_check_code()
    code = linked(objects)
    variant = Variant(target.triple, target.needed_features, code, pool=pool, tile_check=tile_check)
    return entry._replace(variants=(*entry.variants, variant))


def options_text(target: TargetDescription) -> str:
    """The target as text: the part of a kernel's cache key that is added to the kernel's own text."""
    return str(sorted(target.to_json().items()))


def deduplicate(module: ModuleOp, target: TargetDescription) -> dict[str, str]:
    """Name every kernel by its content and erase duplicates; returns the canonical texts by name."""
    options = options_text(target)
    texts: dict[str, str] = {}
    renamed: dict[str, SymbolRefAttr] = {}
    for kernel in kernels_of(module):
        text = canonical_text(kernel)
        name = f"{KERNEL_PREFIX}{kernel_key(text, options)}"
        renamed[kernel.sym_name.data] = SymbolRefAttr(name)
        if name in texts:
            kernel.detach()
            kernel.erase()
        else:
            texts[name] = text
            kernel.properties["sym_name"] = StringAttr(name)
    for op in main_of(module).walk():
        if isinstance(op, func.CallOp) and op.callee.string_value() in renamed:
            op.properties["callee"] = renamed[op.callee.string_value()]
    return texts


def _constants(main: func.FuncOp) -> list[graph.ConstantOp]:
    return [op for op in main.body.block.ops if isinstance(op, graph.ConstantOp)]


def _weight_names(main: func.FuncOp) -> list[str]:
    """The hashes of the weights of `@main`: constants, operands of host calls, and initial states."""
    named = [value for op in main.walk() for value in op.properties.values()]
    named += [state.initial for state in state_pairs(main) if state.initial is not None]
    return [value.hash.data for value in named if isinstance(value, WeightAttr)]


def error_rows(main: func.FuncOp) -> tuple[RuntimeErrorRow, ...]:
    """The run-time error table: the message of each op of `@main` that can end a call."""
    return tuple(error_row(op) for op in fallible_ops(main))


@dataclass(frozen=True)
class _HostSide:
    callees: tuple[Callee, ...]
    objects: int
    outputs: tuple[int | None, ...]
    """For each output, the index of its Python object, or None for an array."""


def _host_side(compilation: Compilation) -> _HostSide:
    """The host calls of `@main` in order, and the numbering of the Python objects passed between them."""
    main = main_of(compilation.module)
    calls = [op for op in main.walk() if isinstance(op, graph.HostCallOp)]
    callees = tuple(_callee(op, compilation) for op in calls)
    indices = object_indices(main)
    outputs = tuple(indices.get(value) for value in returned_values(main))
    return _HostSide(callees, len(indices), outputs if any(o is not None for o in outputs) else ())


def _callee(op: graph.HostCallOp, compilation: Compilation) -> Callee:
    signature = signature_of(op)
    own = {name for name, _ in defined_symbols(op)}
    return Callee(
        op.kind.data,
        op.callee.data,
        payload_bytes(op, compilation.ctx.weights),
        tuple(_host_value(type, own) for type in signature.inputs),
        tuple(_host_value(type, own) for type in signature.outputs.data[: len(op.values)]),
        describe_location(op),
    )


def _host_value(type: Attribute, own: set[str]) -> HostValue:
    if is_opaque(type):
        return HostValue("")
    dims = dims_of(type)
    made = any(dim.symbols() & own for dim in dims)
    return HostValue(dtype_of(cast(Tensor, type).element_type).name, len(dims), made)


def timed_calls(main: func.FuncOp, kernels: Container[str], names: Sequence[str]) -> tuple[TimedCall, ...]:
    """
    The calls of kernels and of the host in `@main`, in order, with the work that `annotate-work` annotated.

    Args: `names` are the names of all called functions before kernels were renamed by content.
    """
    earlier = iter(names)
    calls: list[TimedCall] = []
    for op in main.walk():
        nodes = tuple(node_names(op.location))
        if isinstance(op, graph.HostCallOp):
            calls.append(TimedCall("host", op.callee.data, "", nodes, Dim.of(0), Dim.of(0)))
        elif isinstance(op, func.CallOp):
            name, symbol = next(earlier), op.callee.string_value()
            if symbol in kernels:
                calls.append(TimedCall("kernel", name, symbol, nodes, *annotated_work(op)))
    return tuple(calls)


@collector_paused()
def _compile_main(
    compilation: Compilation,
    cache: KernelCache | None,
    started: Started,
    text: Callable[[], str],
    *,
    timed: bool,
    keep: bool,
) -> KernelObject:
    """
    The object code of `@main`; its metadata are the arena's size as a dimension expression and the number of
    slots. If there was a process for the kernels, it compiles `@main` too.

    Args: `text` gives the canonical text of `@main`.
    """
    module = compilation.module
    if PassContext.current().alters(next_runs(len(main_steps(timed)))):
        cache = None
    pipeline = main_pipeline(keep=keep, timed=timed)
    key = _key_of_main(compilation, pipeline, text()) if cache is not None else ""
    if cache is not None and (entry := cache.load(key)) is not None:
        _log(1, "@main is in the cache")
        code, meta = entry
        return KernelObject(code, meta)
    planned, reproducer = _to_plan(module)
    run_pipeline(planned, pipeline, compilation.ctx, reproducer)
    meta = main_facts(main_of(planned))
    early, target = started.early, compilation.ctx.target
    if early is None or (code := early.main_object(planned, target, started.beside_main)) is None:
        with compiler_imports():
            from stepwell.lowering.kernels.main_code import main_object

        code = main_object(planned, compilation.ctx, reproducer)
    if cache is not None:
        cache.store(key, code, meta)
    return KernelObject(code, meta)


def _to_plan(module: ModuleOp) -> tuple[ModuleOp, Reproducer]:
    """
    A module for the memory plan of `@main`, with a reproducer that has the kernels.

    With instruments it is the module itself. Otherwise it has no bodies of kernels, which no pass reads:
    copying them for the reproducer alone would take 15 us for each op.
    """
    if PassContext.current().instruments:
        return module, Reproducer.of_copy(module)
    from stepwell.lowering.main_to_buffers import with_declarations  # with the plan

    return with_declarations(module), Reproducer(module.clone)


def _key_of_main(compilation: Compilation, pipeline: str, text: str) -> str:
    module = compilation.module
    signatures = "".join(
        f"{f.sym_name.data}{f.function_type}{sorted(map(str, f.attributes.items()))}"
        for f in kernels_of(module)
    )
    options = f"main {pipeline} {options_text(compilation.ctx.target)}"
    return kernel_key(text + signatures, options)


def summary(compilation: Compilation, interface: Interface, weights: Sequence[Array]) -> Mapping[str, object]:
    """
    The counts of a compilation and the bytes of arena and weights, as shown to users and by `stepwell
    inspect`.
    """
    on_host = {"on the host": list(compilation.on_host)} if compilation.on_host else {}
    parts = {"parts": list(compilation.parts)} if compilation.parts else {}
    precision = {} if compilation.precision == "f32" else {"precision": compilation.precision}
    return {
        **compilation.counts,
        **precision,
        **on_host,
        **parts,
        "arena bytes": str(interface.arena_bytes),
        "weight bytes": sum(int(w.nbytes) for w in weights),
    }
