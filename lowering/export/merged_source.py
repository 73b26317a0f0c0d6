"""Programs in C of several models as one program: equal weights and equal kernels are there once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from io import StringIO

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr

from stepwell.dialects import emitc
from stepwell.dialects._xdsl import NamelessPrinter
from stepwell.dialects.types import WeightAttr
from stepwell.lowering.export.c_source import CProgram, main_name
from stepwell.lowering.export.names import checked_name, expect_names_of_c
from stepwell.lowering.loops_to_emitc import COMMENT, MAIN_FUNCTION
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore, content_hash
from stepwell.runtime.interface import Array


def merged_program(programs: Mapping[str, CProgram]) -> CProgram:
    """
    The program of a library, whose functions have the names of `programs`.

    Raises: StepwellError `bad-option` for a library without functions, `bad-name`.
    """
    if not programs:
        raise StepwellError("bad-option", None, "a library in C has a function at least")
    for name in programs:
        checked_name(name)
    expect_names_of_c(programs)
    merged = _Merged()
    numbers = {name: merged.add(name, program) for name, program in programs.items()}
    functions = {
        name: program.entry._replace(weights=tuple(numbers[name])) for name, program in programs.items()
    }
    stacks = {name: program.stacks[""] for name, program in programs.items()}
    triple = next(iter(programs.values())).triple
    return CProgram(
        ModuleOp([*merged.globals, *merged.functions]),
        merged.weights,
        functions,
        tuple(merged.arrays),
        triple,
        stacks,
    )


@dataclass
class _Merged:
    """The parts of the program so far."""

    weights: WeightStore = field(default_factory=WeightStore)
    arrays: list[Array] = field(default_factory=list[Array])
    globals: list[emitc.GlobalOp] = field(default_factory=list[emitc.GlobalOp])
    functions: list[emitc.FuncOp] = field(default_factory=list[emitc.FuncOp])
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    """The number of each weight, by its type and contents."""
    kernels: dict[str, str] = field(default_factory=dict[str, str])
    """The name of each kernel, by its text."""

    def add(self, name: str, program: CProgram) -> list[int]:
        """Add a program; returns the numbers of its weights."""
        module = program.module.clone()
        globals = [op for op in module.ops if isinstance(op, emitc.GlobalOp)]
        numbers = [self._number(op, array) for op, array in zip(globals, program.arrays, strict=True)]
        places = {op.sym_name.data: _global_name(n) for op, n in zip(globals, numbers, strict=True)}
        for op in module.walk():
            if isinstance(op, emitc.GetGlobalOp):
                op.properties["name"] = SymbolRefAttr(places[op.global_name.string_value()])
        renamed: dict[str, str] = {}
        for op in [op for op in module.ops if isinstance(op, emitc.FuncOp)]:
            for call in op.walk():
                if isinstance(call, emitc.CallOp):
                    call.properties["callee"] = SymbolRefAttr(renamed[call.callee.string_value()])
            old = op.sym_name.data
            renamed[old] = self._function(op, name)
        return numbers

    def _number(self, op: emitc.GlobalOp, array: Array) -> int:
        """The number of a weight, which is added at its first use."""
        key = f"{op.type} {content_hash(array)}"
        if key not in self.numbers:
            number = self.numbers[key] = len(self.arrays)
            value = op.initial_value
            if isinstance(value, WeightAttr):
                value = WeightAttr(value.weight_name.data, self.weights.add(array), value.type)
            self.globals.append(emitc.GlobalOp(_global_name(number), op.type, value))
            self.arrays.append(array)
        return self.numbers[key]

    def _function(self, op: emitc.FuncOp, name: str) -> str:
        """The name of a function, which is added unless an equal kernel is there."""
        if op.sym_name.data == MAIN_FUNCTION:
            own = main_name(name)
        else:
            text = _text(op)
            if text in self.kernels:
                return self.kernels[text]
            own = self.kernels[text] = f"k{len(self.kernels)}"
        op.properties["sym_name"] = StringAttr(own)
        op.detach()
        self.functions.append(op)
        return own


def _global_name(number: int) -> str:
    return f"w{number}"


def _text(op: emitc.FuncOp) -> str:
    """The text of a kernel without name and nodes."""
    copy = op.clone()
    copy.properties["sym_name"] = StringAttr("kernel")
    copy.attributes.pop(COMMENT, None)
    stream = StringIO()
    NamelessPrinter(stream).print_op(copy)
    return stream.getvalue()
