"""
`sched.model`: the module attribute with the interface, weights and errors of a program of level 3 or 4.

Below level 2 the code alone does not contain the names of inputs, the weights that it reads, or the meaning
of its errors. With this attribute the text of such a program can be compiled and run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import GlobalOp
from xdsl.ir import Attribute

from stepwell.dialects import graph
from stepwell.dialects.constants import array_of
from stepwell.dialects.graph.base import plain
from stepwell.dialects.graph_ir.state import state_pairs
from stepwell.dialects.sched_program import WEIGHT
from stepwell.lowering.kernels.program_parts import objects_of_program
from stepwell.passes.pipelines import LLVM_PIPELINE, PROGRAM_LOOP_PIPELINE, SMALL_PROGRAM_LOOP_PIPELINE
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import MAIN, Entry, ModelImage
from stepwell.runtime.interface import Array, Interface
from stepwell.runtime.targets.triples import has_threads
from stepwell.tools.driver.compilation import MODEL, Compilation, is_on_loops, main_of
from stepwell.tools.driver.image import entry_without_code, main_facts, planned_entry, with_code
from stepwell.tools.driver.model_interface import with_initial_values

_DESCRIBED = ("interface", "callees", "host", "errors")
"""The parts of an entry that the attribute contains as they are."""


def to_loops(compilation: Compilation, interface: Interface, pools: Sequence[str] = ()) -> None:
    """
    Convert kernels on tensors to loops on buffers with planned memory, and set `sched.model` on the module.

    Args: `pools` are memories of fixed sizes, such as `tcm=4096`, in place of one arena.
    """
    module = compilation.module
    calls = [op for op in main_of(module).walk() if isinstance(op, graph.HostCallOp)]
    entry = entry_without_code(compilation, interface)
    initial = [pair.initial for pair in state_pairs(main_of(module)) if pair.initial is not None]
    numbered, _ = with_initial_values(
        main_of(module), entry.interface, compilation.ctx.weights, first=len(entry.weights)
    )
    entry = entry._replace(interface=numbered)
    threads = has_threads(compilation.ctx.target.arch)
    pipeline = PROGRAM_LOOP_PIPELINE if threads else SMALL_PROGRAM_LOOP_PIPELINE
    if pools:
        texts = ",".join(f'"{pool}"' for pool in pools)
        pipeline = pipeline.replace("plan-memory", f"plan-memory{{pools={texts}}}")
    compilation.run("loop", pipeline)
    described = planned_entry(entry, main_facts(main_of(module))).to_json()
    fields = _dictionary({name: described[name] for name in _DESCRIBED})
    globals = [op for op in module.ops if isinstance(op, GlobalOp)]
    fields["codes"] = ArrayAttr([op.payload for op in calls])
    fields["weights"] = ArrayAttr([*(op.attributes[WEIGHT] for op in globals), *initial])
    module.attributes[MODEL] = DictionaryAttr(fields)
    compilation.reproducer = None


def interface_of(module: ModuleOp) -> Interface:
    """
    The interface of a program of level 3 or 4.

    Raises: StepwellError `invalid-ir` when `sched.model` was changed by hand and cannot be read.
    """
    try:
        fields = cast("DictionaryAttr", module.attributes[MODEL]).data
        return Interface.from_json(cast("Mapping[str, object]", _value(fields["interface"])))
    except _UNREADABLE as error:
        raise _unreadable(module, error) from error


def is_on_machine(module: ModuleOp) -> bool:
    """Whether a module is on level 4."""
    return is_on_loops(module) and not any(isinstance(op, FuncOp) for op in module.ops)


def image_of(compilation: Compilation) -> ModelImage:
    """
    The compiled model of a module on level 3 or 4.

    Raises: StepwellError `invalid-ir` when `sched.model` was changed by hand and cannot be read.
    """
    module, ctx = compilation.module, compilation.ctx
    if not is_on_machine(module):
        compilation.run("llvm", LLVM_PIPELINE)
    with compilation.timed("machine"):
        objects = objects_of_program(module, ctx.target)
    entry, weights = described_entry(compilation)
    return ModelImage({MAIN: with_code(entry, objects, ctx.target)}, weights)


def described_entry(compilation: Compilation) -> tuple[Entry, tuple[Array, ...]]:
    """
    The function that `sched.model` describes, without its code, and the weights.

    Raises: StepwellError `invalid-ir` when `sched.model` was changed by hand and cannot be read.
    """
    module, ctx = compilation.module, compilation.ctx
    try:
        fields = cast("DictionaryAttr", module.attributes[MODEL]).data
        weights = [array_of(value, ctx.weights) for value in cast("ArrayAttr[Attribute]", fields["weights"])]
        codes = [
            value.data.encode() if isinstance(value, StringAttr) else array_of(value, ctx.weights).tobytes()
            for value in cast("ArrayAttr[Attribute]", fields["codes"])
        ]
        described = {name: _value(fields[name]) for name in _DESCRIBED}
        described |= {"weights": [], "timed": []}
        entry = Entry.from_json(described, codes, ())
        initial = sum(state.initial is not None for state in entry.interface.states)
        entry = entry._replace(weights=tuple(range(len(weights) - initial)))
        return entry, tuple(weights)
    except _UNREADABLE as error:
        raise _unreadable(module, error) from error


_UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def _unreadable(module: ModuleOp, error: Exception) -> StepwellError:
    message = f"sched.model does not describe the program: {type(error).__name__}: {error}"
    return StepwellError("invalid-ir", module, message)


def _dictionary(fields: Mapping[str, object]) -> dict[str, Attribute]:
    return {name: _attribute(value) for name, value in fields.items()}


def _attribute(value: object) -> Attribute:
    """A JSON value as an attribute."""
    match value:
        case None:
            return UnitAttr()
        case bool():
            return BoolAttr.from_bool(value)
        case int():
            return IntegerAttr(value, i64)
        case str():
            return StringAttr(value)
        case Mapping():
            return DictionaryAttr(_dictionary(cast("Mapping[str, object]", value)))
        case _:
            return ArrayAttr([_attribute(item) for item in cast("Sequence[object]", value)])


def _value(attribute: Attribute) -> object:
    """The JSON value of an attribute."""
    match attribute:
        case DictionaryAttr():
            return {name: _value(inner) for name, inner in attribute.data.items()}
        case ArrayAttr():
            return [_value(inner) for inner in attribute]
        case UnitAttr():
            return None
        case _:
            return plain(attribute)
