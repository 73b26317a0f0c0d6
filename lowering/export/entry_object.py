"""The objects of an export besides kernels and `@main`: entry, thread pool, functions of the C library."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Region

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.runtime_calls import BYTES
from stepwell.dialects.sched_entry import EntryOp
from stepwell.dialects.sched_program import PROGRAM, ProgramAttr
from stepwell.dialects.types import DimsAttr, element_of
from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.kernels.exported_pool import exported_pool_code
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import LLVM_PIPELINE
from stepwell.runtime.image import MAIN, Entry
from stepwell.runtime.interface import Interface, TensorSpec
from stepwell.runtime.machine.target import TargetDescription


def entry_module(entry: Entry, name: str, offsets: Sequence[int], *, weights: str, host: bool) -> ModuleOp:
    """
    A module of level 3 with the declaration of `@main` and its entry.

    Args: `offsets` are those of its weights from the first of the file; `weights` is their place.
    """
    interface = entry.interface
    main = _declaration(entry)
    op = EntryOp(
        name,
        MAIN,
        weights,
        offsets,
        checks=[
            (str(c.left), str(c.right), located(f"shape-mismatch: {c.left} must equal {c.right}", c.where))
            for c in interface.checks
        ],
        messages=[located(f"{row.code}: {row.message}", row.where) for row in entry.errors],
        host_calls=host,
    )
    return ModuleOp([main, op])


def located(message: str, where: str) -> str:
    """A message with the place that it is about."""
    return f"{message} ({where})" if where else message


def _declaration(entry: Entry) -> FuncOp:
    """The declaration of a planned `@main`."""
    interface, slots = entry.interface, entry.slots
    memories = max(1, len(entry.pools))
    buffers = [_buffer(spec, interface) for spec in (*interface.inputs, *interface.outputs)]
    types = [*(type for type, _ in buffers), *[BYTES] * memories, *[IndexType()] * len(interface.symbols)]
    unnamed = [DictionaryAttr({})] * (memories + len(interface.symbols))
    attributes = [*(attrs for _, attrs in buffers), *unnamed]
    main = FuncOp(
        MAIN, FunctionType.from_lists(types, []), Region(), "private", arg_attrs=ArrayAttr(attributes)
    )
    counts = len(interface.inputs), len(interface.outputs)
    main.attributes[PROGRAM] = ProgramAttr.planned(
        *counts,
        interface.symbols,
        interface.published,
        interface.arena_bytes,
        slots,
        pools=[f"{name}={size}" for name, size in entry.pools.items()],
    )
    return main


def _buffer(spec: TensorSpec, interface: Interface) -> tuple[Attribute, DictionaryAttr]:
    """The type of an input or output of `@main`, and its attributes."""
    if is_allocated(spec, interface):
        return BYTES, DictionaryAttr({})
    sizes = [dim.value if dim.is_static else DYNAMIC_INDEX for dim in spec.dims]
    return MemRefType(element_of(spec.dtype), sizes), DictionaryAttr({"graph.dims": DimsAttr.of(spec.dims)})


def is_allocated(spec: TensorSpec, interface: Interface) -> bool:
    """Whether the size of an output depends on data, so that its memory is allocated during a call."""
    return any(dim.symbols() & set(interface.published) for dim in spec.dims)


def entry_object(module: ModuleOp, description: Mapping[str, object], target: TargetDescription) -> bytes:
    """The object of an entry. `description` is what its function `json` returns."""
    (op,) = (op for op in module.ops if isinstance(op, EntryOp))
    op.properties["json"] = StringAttr(json.dumps(description, separators=(",", ":"), sort_keys=True))
    ctx = StepwellContext()
    ctx.target = target
    run_pipeline(module, LLVM_PIPELINE, ctx)
    return compile_to_object(emit_llvm(module), target, optimize=False)


@cache
def pool_object(target: TargetDescription) -> bytes:
    """The object of the thread pool."""
    return compile_to_object(exported_pool_code(target), target, optimize=False)
