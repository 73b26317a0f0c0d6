"""The steps of a compilation, from a model file to a `ModelImage`: levels 0 and 1, kernels, `@main`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    TupleType,
    UnrankedTensorType,
)

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.graph.structure import constant_array
from stepwell.dialects.onnx.input_shapes import Resized
from stepwell.dialects.sched_kernel import is_kernel, set_scratch, symbols_of
from stepwell.dialects.sched_program import planned_program
from stepwell.dialects.types import Tensor, WeightAttr, check_extents, dims_of
from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.kernels.fingerprint import kernel_key
from stepwell.lowering.kernels.kernel import KernelObject, canonical_text
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.lowering.kernels.pool import compile_kernels
from stepwell.lowering.kernels.pool_code import pool_of
from stepwell.lowering.kernels.tile_code import tile_check_code
from stepwell.lowering.main_to_buffers import error_row, fallible_ops, inputs_of, published_symbols
from stepwell.passes import PassContext, run_pipeline
from stepwell.passes.pipelines import LLVM_PIPELINE, MAIN_PIPELINE, TIMED_MAIN_PIPELINE
from stepwell.passes.reproducer import Reproducer
from stepwell.runtime.child import Child
from stepwell.runtime.collector import collector_paused, free_young_cycles
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.image import MAIN, Entry, ModelImage, RuntimeErrorRow, Variant
from stepwell.runtime.interface import Array, Interface
from stepwell.runtime.machine.loader import linked
from stepwell.runtime.machine.target import TargetDescription
from stepwell.tools.driver.host_side import host_side, timed_calls

_LOG = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
"""A progress callback: called with the step's name, the amount done, and the total."""

LARGE_MAIN_CHARS = 400_000
"""From here on, some 700 calls, the speed of `@main`'s code matters less than the time to generate it."""


@dataclass
class Compilation:
    """The state of a compilation: the module at its current level, counts, and times by level."""

    module: ModuleOp
    ctx: StepwellContext
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    resized: Sequence[Resized] = ()
    """The dimensions of inputs that have another size than in the model's file."""
    owns_weights: bool = False
    """Whether the context's weights serve no other program, and may go when they are not needed any more."""
    reproducer: Reproducer | None = None
    """That of the passes that ran so far; None again when anything else changes the module."""

    @contextmanager
    def timed(self, level: str) -> Generator[None]:
        """Add the time of a `with` block to that of a level."""
        start = perf_counter()
        yield
        self.seconds[level] = self.seconds.get(level, 0.0) + perf_counter() - start

    def run(self, level: str, pipeline: str) -> None:
        """Run passes on the module, and add their time to that of a level."""
        with self.timed(level):
            if self.reproducer is None:
                self.reproducer = Reproducer.of_copy(self.module)
            run_pipeline(self.module, pipeline, self.ctx, self.reproducer)


def main_of(module: ModuleOp) -> func.FuncOp:
    """The function `@main` of a module. Raises: StepwellError `no-main` when it has none, or only a name."""
    functions = [f for f in module.ops if isinstance(f, func.FuncOp)]
    main = next((f for f in functions if f.sym_name.data == "main"), None)
    if main is None or not main.body.blocks:
        raise StepwellError(
            "no-main",
            module,
            "a program needs a function @main with a body",
            note=f"functions: {', '.join(f'@{f.sym_name.data}' for f in functions) or 'none'}",
        )
    return main


def check_main(module: ModuleOp) -> None:
    """
    Require `@main` to be compilable: a single block, a final `func.return`, tensors that fit into memory.

    Raises: StepwellError `no-main`, `bad-main`, `too-large`.
    """
    main = main_of(module)
    if len(main.body.blocks) > 1 or not isinstance(main.body.block.last_op, func.ReturnOp):
        raise StepwellError("bad-main", main, "@main must be one block that ends in func.return")
    given = [arg.type for arg in inputs_of(main)]
    if len(main.args) - len(given) != len(symbols_of(main)):
        raise StepwellError("bad-main", main, "each index argument of @main is named by its #sched.program")
    for type in (*given, *main.function_type.outputs):
        if isinstance(type, TensorType):
            tensor = cast(Tensor, type)
            try:
                check_extents(tensor.element_type, dims_of(tensor))
            except StepwellError as error:
                raise error.at(main) from None
        elif not isinstance(type, UnrankedTensorType) and not type.name.startswith("onnx."):  # of a model
            raise StepwellError(
                "bad-main",
                main,
                f"@main takes and returns tensors, found {type}",
                help="return the fields of a tuple, each as a result of its own"
                if isinstance(type, TupleType)
                else "below level 2 a program starts from what `stepwell compile --emit` wrote",
            )


def kernels_of(module: ModuleOp) -> list[func.FuncOp]:
    """The kernel functions of a level-2 module, in order."""
    return [f for f in module.ops if isinstance(f, func.FuncOp) and is_kernel(f)]


def compile_image(
    compilation: Compilation,
    interface: Interface,
    cache: KernelCache | None,
    *,
    timed: bool = False,
    processes: int | None = None,
    children: list[Child] | None = None,
    progress: Progress | None = None,
) -> ModelImage:
    """
    Compile a module of level 2 (kernels, and `@main` that calls them) to the image of the model.

    Args: `timed` makes a `main` that records the times of its kernels; `children` as for `compile_kernels`.
    Raises: StepwellError of the pass or kernel that failed.
    """
    target = compilation.ctx.target
    if PassContext.current().chooses_passes:
        cache = None  # whose keys do not describe it
    calls = [op for op in main_of(compilation.module).walk() if isinstance(op, func.CallOp)]
    names = [call.callee.string_value() for call in calls]
    compilation.reproducer = None
    store = compilation.ctx.weights if compilation.owns_weights else compilation.ctx.weights.copy()
    with compilation.timed("kernels"), store.computed(_weight_names(main_of(compilation.module))):
        texts = deduplicate(compilation.module, target)
        kernels = {f.sym_name.data: (f, texts[f.sym_name.data]) for f in kernels_of(compilation.module)}
        report = partial(progress, "kernels") if progress is not None else None
        objects, hits = compile_kernels(
            kernels, target, cache, processes=processes, children=children, progress=report
        )
    compilation.counts["kernels"] = len(kernels)
    for func_op, _ in kernels.values():
        if (scratch := objects[func_op.sym_name.data].scratch) != "0":
            set_scratch(func_op, scratch)
    entry = entry_without_code(compilation, interface)
    weights = tuple(constant_array(op, store) for op in _constants(main_of(compilation.module)))
    calls = timed_calls(main_of(compilation.module), kernels, names) if timed else ()
    with compilation.timed("main"):
        main = _compile_main(compilation, cache, timed)
    entry = planned_entry(entry, main.meta)._replace(timed=calls)
    return ModelImage(
        {MAIN: with_code(entry, [*(kernel.code for kernel in objects.values()), main.code], target)},
        weights,
        summary=summary(compilation, entry.interface, weights),
        effort={
            "cached kernels": hits,
            "seconds": {level: round(s, 4) for level, s in compilation.seconds.items()},
        },
    )


def entry_without_code(compilation: Compilation, interface: Interface) -> Entry:
    """
    The function `@main` of a level-2 module without code and memory plan: interface, weights, errors,
    callees.
    """
    main = main_of(compilation.module)
    host = host_side(main, compilation.ctx.weights)
    return Entry(
        interface._replace(symbols=symbols_of(main), published=tuple(published_symbols(main))),
        weights=tuple(range(len(_constants(main)))),
        errors=error_rows(main),
        callees=host.callees,
        objects_per_call=host.objects,
        output_objects=host.outputs,
    )


def main_facts(main: func.FuncOp) -> dict[str, object]:
    """The memory of a planned `@main`, for the cache: bytes of the arena, number of slots."""
    program = planned_program(main)
    return {"arena": program.arena.data, "slots": program.slots.data}


def planned_entry(entry: Entry, facts: Mapping[str, object]) -> Entry:
    """A function with the memory plan that `main_facts` describes."""
    interface = entry.interface._replace(arena_bytes=Dim.of(str(facts["arena"])))
    return entry._replace(interface=interface, slots=int(str(facts["slots"])))


def with_code(entry: Entry, objects: Sequence[bytes], target: TargetDescription) -> Entry:
    """A function with its code for a target, linked of object files."""
    variant = Variant(
        target.triple,
        target.needed_features,
        linked(objects),
        pool=pool_of(target),
        tile_check=tile_check_code() if target.has_tile_products else None,
    )
    return entry._replace(variants=(*entry.variants, variant))


def _options_text(target: TargetDescription) -> str:
    """The target as text, the part of a kernel's cache key besides the kernel's own text."""
    return str(sorted(target.to_json().items()))


def deduplicate(module: ModuleOp, target: TargetDescription) -> dict[str, str]:
    """Name every kernel by its content and erase duplicates; returns the canonical texts by name."""
    options = _options_text(target)
    texts: dict[str, str] = {}
    renamed: dict[str, SymbolRefAttr] = {}
    for kernel in kernels_of(module):
        text = canonical_text(kernel)
        name = f"k_{kernel_key(text, options)}"
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
    """The hashes of the weights of `@main`: its constants, and what its host calls are given."""
    named = (value for op in main.walk() for value in op.properties.values())
    return [value.hash.data for value in named if isinstance(value, WeightAttr)]


def error_rows(main: func.FuncOp) -> tuple[RuntimeErrorRow, ...]:
    """The run-time error table: the message of each op of `@main` that may end a call."""
    return tuple(error_row(op) for op in fallible_ops(main))


@collector_paused()
def _compile_main(compilation: Compilation, cache: KernelCache | None, timed: bool) -> KernelObject:
    """
    The object code of `@main`; its metadata are the arena's size as a dimension expression and the number of
    slots.
    """
    module = compilation.module
    key = _key_of_main(compilation, timed) if cache is not None else ""
    if cache is not None and (entry := cache.load(key)) is not None:
        _LOG.debug("@main is in the cache")
        code, meta = entry
        return KernelObject(code, meta)
    meta = _lower_main(compilation, timed)
    text = emit_llvm(module)
    effort = 2
    if len(text) > LARGE_MAIN_CHARS:
        effort = 0
        _free_ops(module)
    code = compile_to_object(text, compilation.ctx.target, optimize=False, effort=effort)
    if cache is not None:
        cache.store(key, code, meta)
    return KernelObject(code, meta)


def _free_ops(module: ModuleOp) -> None:
    """Give the memory of a module's ops back: those of a long `@main` need as much as LLVM is about to."""
    while (op := module.body.block.first_op) is not None:
        op.detach()
    free_young_cycles()


def _lower_main(compilation: Compilation, timed: bool) -> Mapping[str, object]:
    """From calls of kernels on tensors to `llvm`; returns what `main_facts` says of the plan in between."""
    module, reproducer = compilation.module, Reproducer.of_copy(compilation.module)
    run_pipeline(module, TIMED_MAIN_PIPELINE if timed else MAIN_PIPELINE, compilation.ctx, reproducer)
    facts = main_facts(main_of(module))
    run_pipeline(module, LLVM_PIPELINE, compilation.ctx, reproducer)
    return facts


def _key_of_main(compilation: Compilation, timed: bool) -> str:
    module = compilation.module
    signatures = "".join(
        f"{f.sym_name.data}{f.function_type}{sorted(map(str, f.attributes.items()))}"
        for f in kernels_of(module)
    )
    options = f"{'timed ' if timed else ''}main {_options_text(compilation.ctx.target)}"
    return kernel_key(canonical_text(main_of(module)) + signatures, options)


def summary(compilation: Compilation, interface: Interface, weights: Sequence[Array]) -> Mapping[str, object]:
    """
    The counts of a compilation and the bytes of arena and weights, as shown to users and by `stepwell
    inspect`.
    """
    return {
        **compilation.counts,
        "arena bytes": str(interface.arena_bytes),
        "weight bytes": sum(int(w.nbytes) for w in weights),
    }
