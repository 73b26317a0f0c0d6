"""A model as C99: one file and its header, for any compiler; large weights are in a second file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects import emitc
from stepwell.dialects.sched_entry import weight_offsets
from stepwell.dialects.types import WeightAttr
from stepwell.lowering.emit_c import ConstantArray, address_text, braced, c_type, emit_c
from stepwell.lowering.export.c_entry import EntryText, constant_text, weights_check_function
from stepwell.lowering.export.description import description, library_description
from stepwell.lowering.export.files import Exported, ExportOptions, expect_function, expect_stack, write_files
from stepwell.lowering.export.header import HeaderFacts, header_text, library_header_text
from stepwell.lowering.export.names import checked_name, default_name, identifier, identifiers, joined_name
from stepwell.lowering.export.parts import Chunk, weight_chunks
from stepwell.lowering.export.pools import pools_of, workspace_text
from stepwell.lowering.loops_to_emitc import MAIN_FUNCTION
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.files.whole_files import check_place
from stepwell.runtime.image import Entry
from stepwell.runtime.interface import Array

_SEPARATE_BYTES = 1 << 20
"""Weights above it are in a file of their own, so that the code can be read."""


@dataclass(frozen=True)
class CProgram:
    """A program of `emitc` with what describes it."""

    module: ModuleOp
    weights: WeightStore
    functions: Mapping[str, Entry]
    """By name; that of a model has none."""
    arrays: tuple[Array, ...]
    """The weights, in the order of the module's globals."""
    triple: str
    stacks: Mapping[str, int]
    """The most stack of a call of each function."""
    facts: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def entry(self) -> Entry:
        """The function of a model, or the first one of a library."""
        return next(iter(self.functions.values()))

    @property
    def is_library(self) -> bool:
        """Whether its functions have names."""
        return "" not in self.functions


def main_name(function: str) -> str:
    """The name in C of `@main` of a function."""
    return joined_name(MAIN_FUNCTION, function)


def export_source(program: CProgram, path: str | Path, options: ExportOptions) -> Exported:
    """
    Write the C of a program, a header, and a file of weights unless they are embedded.

    Raises: StepwellError `bad-option`, `bad-name`, `needs-host`, `unsupported-interface`, `cannot-write`, …;
    nothing is left half written.
    """
    target = Path(path)
    check_place(target)
    name = checked_name(default_name(target.stem) if options.name is None else options.name)
    for function, entry in program.functions.items():
        expect_function(function, entry, options)
    weight_bytes = sum(map(len, weight_chunks(program.arrays)))
    stack = max(program.stacks.values())
    expect_stack(stack, options)
    facts = HeaderFacts(
        name,
        options.weights,
        weight_bytes,
        stack,
        options.host_calls == "callback",
        threads=False,
        stacks={joined_name(name, function): size for function, size in program.stacks.items()},
        pools=pools_of(program.functions),
    )
    header = target.with_suffix(".h")
    text = _Source(name, program, options.weights, header.name)
    files: dict[Path, Sequence[Chunk]] = {target: [text.code.encode()]}
    if text.constants:
        files[target.with_name(f"{target.stem}_weights.c")] = [part.encode() for part in text.constants]
    files[header] = [_header(program, facts).encode()]
    if options.weights != "embed":
        files[target.with_suffix(".weights")] = weight_chunks(program.arrays)
    write_files(files)
    c_names = [joined_name(name, function) for function in program.functions]
    symbols = [f"{own}_{each}" for own in c_names for each in ("workspace_bytes", "run", "message", "json")]
    symbols += [f"{name}_json"] if program.is_library else []
    symbols += [f"{name}_check_weights"] if options.weights == "file" else []
    workspace = workspace_text(program.functions)
    return Exported(tuple(files), tuple(symbols), workspace, stack, len(text.code), weight_bytes)


def _header(program: CProgram, facts: HeaderFacts) -> str:
    if program.is_library:
        return library_header_text(program.functions, program.triple, (), facts)
    return header_text(program.entry, program.triple, (), facts)


class _Source:
    """The text of a program: `code`, and `constants` of a second file."""

    def __init__(self, name: str, program: CProgram, weights: str, header: str):
        self._name, self._program, self._weights = name, program, weights
        globals = [op for op in program.module.ops if isinstance(op, emitc.GlobalOp)]
        names = identifiers([f"{name}_{identifier(_weight_name(op))}" for op in globals])
        symbols = [op.sym_name.data for op in globals]
        separate = weights == "embed" and sum(a.nbytes for a in program.arrays) > _SEPARATE_BYTES
        places = self._offsets(globals) if weights != "embed" else {}
        declarations: list[str] = []
        self.constants: list[str] = []
        if separate:
            reads = (op for op in program.module.walk() if isinstance(op, emitc.GetGlobalOp))
            used = {op.global_name.string_value() for op in reads}
            arrays = {
                op.sym_name.data: ConstantArray(each, op.type, array)
                for op, array, each in zip(globals, program.arrays, names, strict=True)
                if op.sym_name.data in used
            }
            places = {symbol: array.place for symbol, array in arrays.items()}
            declarations = [array.declaration() for array in arrays.values()]
            head = f"/* The weights of {name}. */\n#include <stdint.h>\n\n"
            definitions = (array.definition(static=False) for array in arrays.values())
            self.constants = [head, *definitions]
        self.code = self._text(header, places, dict(zip(symbols, names, strict=True)), declarations)

    def _text(
        self, header: str, places: Mapping[str, str], names: Mapping[str, str], declarations: Sequence[str]
    ) -> str:
        name, program = self._name, self._program
        source = emit_c(program.module, program.weights, places=places, names=names)
        outputs = max(1, *(len(entry.interface.outputs) for entry in program.functions.values()))
        entries = [self._entry(function, entry) for function, entry in program.functions.items()]
        checked = dict.fromkeys(part for entry in entries for part in entry.helpers())
        parts = [
            f"/* {name}: made by stepwell. C99, freestanding. */",
            f'#include "{header}"\n\n#include <stddef.h>\n#include <stdint.h>\n',
            f"typedef {name}_call model_call;\nenum {{ MODEL_OUTPUTS = {outputs} }};\n",
            *declarations,
            source.text,
            *(f"{part}\n" for part in checked),
            *(
                entry.text(self._description(function, program.functions[function]))
                for function, entry in zip(program.functions, entries, strict=True)
            ),
        ]
        if program.is_library:
            about = library_description(
                name, program.functions, program.triple, (), program.arrays, self._weights
            )
            parts.append(constant_text(f"{name}_json", _json(about)))
        if self._weights == "file":
            parts.append(weights_check_function(name, weight_chunks(program.arrays)))
        return braced("\n".join(parts))

    def _entry(self, function: str, entry: Entry) -> EntryText:
        """The C of the entry of a function."""
        main, types = main_name(function), self._types(function, entry)
        name = joined_name(self._name, function)
        return EntryText(name, entry, self._weights, types, main, self._name)

    def _description(self, function: str, entry: Entry) -> str:
        """The description of a function."""
        program, name = self._program, joined_name(self._name, function)
        numbers = entry.weights if program.is_library else range(len(program.arrays))
        arrays = [program.arrays[number] for number in numbers]
        return _json(description(name, entry, program.triple, (), arrays, self._weights, program.facts))

    def _types(self, function: str, entry: Entry) -> list[str]:
        """The types in C of the parameters of `@main` for inputs and outputs."""
        interface = entry.interface
        functions = [op for op in self._program.module.ops if isinstance(op, emitc.FuncOp)]
        main = next(op for op in functions if op.sym_name.data == main_name(function))
        hidden = 1 + bool(interface.published) + bool(entry.slots)
        inputs = len(interface.inputs)
        args = main.body.block.args[hidden : hidden + inputs + len(interface.outputs)]
        written = {state.input for state in interface.states if state.is_in_place}
        return [
            c_type(arg.type, const=number < inputs and number not in written)
            for number, arg in enumerate(args)
        ]

    def _offsets(self, globals: Sequence[emitc.GlobalOp]) -> dict[str, str]:
        """The expression for each weight in memory of the caller's."""
        base = "call->weights" if self._weights == "file" else f"{self._name}_weights"
        offsets = weight_offsets([array.nbytes for array in self._program.arrays])
        return {
            op.sym_name.data: address_text(op.type, base, offset)
            for op, offset in zip(globals, offsets, strict=True)
        }


def _json(about: Mapping[str, object]) -> str:
    return json.dumps(about, separators=(",", ":"), sort_keys=True)


def _weight_name(op: emitc.GlobalOp) -> str:
    """The name that the model has for a weight."""
    value = op.initial_value
    return value.weight_name.data if isinstance(value, WeightAttr) else op.sym_name.data
