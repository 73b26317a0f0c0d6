"""`executor="interpreter"`: a program that is run op by op, as the reference for other executors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.vm.interface import interface_of
from stepwell.lowering.interpret import Program as Interpreted
from stepwell.lowering.interpret import call_value
from stepwell.passes.pipelines import REFERENCE_PIPELINE
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.values.data import Data
from stepwell.runtime.values.program import LimitedProgram
from stepwell.runtime.vm.machine import MAX_DEPTH, Limits, expect_arguments, public_function
from stepwell.runtime.vm.objects import TUPLE_TAG, Closure, Tag, Value, tags_of
from stepwell.runtime.vm.program import Function, Type
from stepwell.tools.driver.compilation import Compilation, is_bytecode, is_functional, is_lowered
from stepwell.tools.driver.levels import to_graph
from stepwell.tools.driver.reading import check_program, start

if TYPE_CHECKING:
    from stepwell.tools.driver.options import CompileOptions, Model


class InterpretedProgram(LimitedProgram):
    """A program of level 1 with the interface of a compiled one; it cannot be saved."""

    def __init__(self, module: ModuleOp, ctx: StepwellContext, *, max_depth: int = MAX_DEPTH):
        self._module, self._ctx = module, ctx
        super().__init__(InterpretedMachine(module, ctx, max_depth))

    def with_limits(self, **limits: Unpack[Limits]) -> InterpretedProgram:
        """The same program with another depth. Raises: StepwellError `bad-option` for other limits."""
        for name, value in limits.items():
            if name != "max_depth" and value is not None:
                what = "instructions to observe" if name == "hooks" else name
                message = f"the interpreter has no {what}"
                raise StepwellError("bad-option", None, message, help='executor="vm" has')
        return InterpretedProgram(self._module, self._ctx, max_depth=limits.get("max_depth", MAX_DEPTH))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Nothing can be saved. Raises: StepwellError `no-source`."""
        message = "the interpreter runs a program's text, which an artifact does not have"
        help = 'compile it with executor="auto", "native" or "vm"'
        raise StepwellError("no-source", os.fspath(path), message, help=help)


class InterpretedMachine:
    """The executor: functions of a module by the meanings of their ops, called by several threads at once."""

    def __init__(self, module: ModuleOp, ctx: StepwellContext, max_depth: int):
        self.program, self.max_depth = interface_of(module, ctx.weights), max_depth
        self.tags: list[list[Tag]] = tags_of(self.program)
        """The constructors, by the numbers of data types and tags."""
        self._data = {data.name: number for number, data in enumerate(self.program.data)}
        self._numbers = {function.name: n for n, function in enumerate(self.program.functions)}
        self._functions = {
            name: Interpreted(module, ctx, name, max_depth=max_depth) for name in self._numbers
        }

    def function(self, name: str) -> Function:
        """A public function by its name. Raises: StepwellError `unknown-function`."""
        return public_function(self.program, self._numbers, name)

    def call(self, name: str, *arguments: Value) -> Value:
        """The result of a public function. Raises: StepwellError, as of `interpret`."""
        function = self.function(name)
        expect_arguments(function, arguments)
        assert function.signature is not None
        results = self._functions[name]([_interpreted(each) for each in arguments])
        return self._of_machine(results, function.signature.outputs)

    def call_closure(self, closure: Closure, *arguments: Value) -> Value:
        """The result of a function value that a call returned. Raises: as `call`."""
        function, type = closure.captures
        results = call_value(function, [_interpreted(each) for each in arguments], self.max_depth)
        return self._of_machine(results, type.parts[1].parts)

    def _of_machine(self, results: Sequence[object], types: Sequence[Type]) -> Value:
        """The results of a call, of some types, as a value of the machine, without recursion."""
        done: list[Value] = []
        work: list[Any] = [*zip(results, types, strict=True)][::-1]
        while work:
            item = work.pop()
            if isinstance(item, _Build):
                fields = done[len(done) - item.fields :]
                del done[len(done) - item.fields :]
                done.append((item.tag, *fields))
            elif isinstance(item[0], Data | tuple):
                tag, fields = self._opened(*item)
                work.append(_Build(tag, len(fields)))
                work += reversed(fields)
            else:
                done.append(_leaf(*item))
        return done[0] if len(results) == 1 else (TUPLE_TAG, *done)

    def _opened(self, value: object, type: Type) -> tuple[Tag, Sequence[tuple[object, Type]]]:
        """The constructor of a value with fields, and these with their types."""
        if not isinstance(value, Data):
            return TUPLE_TAG, [*zip(cast("tuple[object, ...]", value), type.parts, strict=True)]
        number = self._data[type.name]
        tag = next(tag for tag in self.tags[number] if tag.name == value.constructor)
        types = self.program.data[number].fields(tag.tag, type.parts)
        return tag, [*zip(value.fields, types, strict=True)]


def _leaf(value: object, type: Type) -> Value:
    """A value without fields: a function with its type, an array."""
    if isinstance(value, list):
        raise StepwellError("bad-main", None, "cells do not leave or enter a program")
    return Closure(0, (value, type)) if callable(value) else np.asarray(value)


class _Build(NamedTuple):
    """A value that is to be made of so many values before it."""

    tag: Tag
    fields: int


def _interpreted(value: Value) -> Any:
    """A value of the machine as one of the interpreter, without recursion."""
    done: list[Any] = []
    work: list[Any] = [value]
    while work:
        item = work.pop()
        if isinstance(item, _Build):
            fields = tuple(done[len(done) - item.fields :])
            del done[len(done) - item.fields :]
            done.append(fields if item.tag is TUPLE_TAG else Data(item.tag.name, fields))
        elif isinstance(item, Closure):
            done.append(item.captures[0])
        elif isinstance(item, tuple):
            tag, *fields = cast("tuple[Any, ...]", item)
            work.append(_Build(tag, len(fields)))
            work += reversed(fields)
        else:
            done.append(item)
    return done[0]


def interpreted_model(model: Model, options: CompileOptions) -> InterpretedProgram:
    """
    The program of a model as the interpreter runs it: linked, with its types, and with gradients written out.

    Raises: StepwellError of the passes; `unsupported` for a program of instructions or on level 2 or below.
    """
    compilation: Compilation = start(model, options)
    module = compilation.module
    if is_bytecode(module) or is_lowered(module):
        message = "the interpreter runs programs of level 1, and this one has been lowered"
        raise StepwellError("unsupported", None, message, help='use executor="auto"')
    is_plain = not is_functional(module)  # which `start` has checked
    if is_plain:
        to_graph(compilation)
    compilation.run("functions", REFERENCE_PIPELINE)
    if not is_plain and not is_functional(module):
        check_program(compilation, options)
    return InterpretedProgram(compilation.module, compilation.ctx)
