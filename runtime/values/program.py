"""A program that users call with Python values: the public functions of bytecode on the machine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Unpack, cast

import numpy as np

from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.image import MAIN, ModelImage
from stepwell.runtime.interface import Array, Interface
from stepwell.runtime.sessions.session import Session
from stepwell.runtime.sessions.states import States, Targets
from stepwell.runtime.values.convert import Converter
from stepwell.runtime.values.function import Executor, arguments_of, results_of
from stepwell.runtime.vm.bytecode import decode
from stepwell.runtime.vm.machine import Limits, Machine
from stepwell.runtime.vm.program import Signature
from stepwell.runtime.vm.program_states import interface_of_signature
from stepwell.runtime.vm.steps import PackedFunction


class _Names(SimpleNamespace):
    """Data types, or the constructors of one, by name; the error for another name has the near ones."""

    def __getattr__(self, name: str) -> Any:
        known = list(vars(self))
        raise AttributeError(f"no {name}: {did_you_mean(name, known)}there are {', '.join(known)}")


class ProgramModel:
    """
    A program ready to run: call it to run `@main`, or `run` for another public function.

    Args: `machine` is its executor.
    """

    def __init__(self, machine: Executor) -> None:
        self.machine = machine
        self._converter = Converter(self.machine)
        self.data = _Names(**{name: _Names(**classes) for name, classes in self._converter.classes.items()})
        """The data types by name, with a class for each constructor: `model.data.Tree.Rose(x, [])`."""
        self._states = self.new_states({}) if self._has_states() else None

    def signature(self, name: str = MAIN) -> Signature:
        """The interface of a public function, without states. Raises: StepwellError `unknown-function`."""
        return self._whole(name).public

    def _whole(self, name: str) -> Signature:
        signature = self.machine.function(name).signature
        assert signature is not None
        return signature

    def _has_states(self) -> bool:
        return any(f.signature.states for f in self.machine.program.public() if f.signature is not None)

    def __call__(self, *arguments: object, **named: object) -> object:
        """The result of `@main`; inputs in order, or by name. Raises: StepwellError, as `run`."""
        return self.run(MAIN, *arguments, **named)

    def run(self, function: str, /, *arguments: object, **named: object) -> object:
        """
        The result of a public function. Calls of `@main` are on states of the program's own.

        Raises: StepwellError `type-mismatch`, `shape-mismatch`, `missing-input`, `extra-input` for what does
        not fit the interface, with the position inside of a value; as `Machine.call`.
        """
        signature = self._whole(function)
        if signature.states and self._states is not None:
            outputs = self.invoke_on(self._states, self.in_order(arguments, named))
            return outputs[0] if len(outputs) == 1 else outputs
        names = [signature.name_of(index) for index in range(len(signature.inputs))]
        return self._called(function, _in_order(arguments, named, names))

    def _called(self, function: str, values: Sequence[object]) -> object:
        """The result of a public function on all of its inputs."""
        signature = self._whole(function)
        names = [signature.name_of(index) for index in range(len(signature.inputs))]
        given = arguments_of(self._converter, values, signature.inputs, names)
        return results_of(self._converter, self.machine.call(function, *given), signature.outputs)

    # States of `@main`.

    @property
    def interface(self) -> Interface:
        """The interface of `@main` as that of a compiled model, without states."""
        return interface_of_signature(self.signature())

    def in_order(self, arrays: Sequence[object], named: Mapping[str, object]) -> tuple[object, ...]:
        """The inputs of `@main` in order. Raises: StepwellError `extra-input`, `missing-input`."""
        signature = self.signature()
        names = [signature.name_of(index) for index in range(len(signature.inputs))]
        return tuple(_in_order(arrays, named, names))

    def session(self, **sizes: int) -> Session[ProgramModel]:
        """A session with states of its own, of these open sizes; the first call gives those left out."""
        return Session(self, self.new_states(sizes))

    def new_states(self, sizes: Mapping[str, int]) -> States:
        """The states of `@main` with their initial values. Raises: StepwellError `bad-option`."""
        constants = self.machine.program.constants
        whole = interface_of_signature(self._whole(MAIN))
        return States(whole, lambda number: constants[number].array, sizes)

    def invoke_on(self, states: States, values: Sequence[object]) -> tuple[Any, ...]:
        """The outputs of a call of `@main` on states, which it changes. Raises: as `run`."""
        return states.call(self._whole(MAIN).states, self._call_with_states, values)

    def _call_with_states(self, values: Sequence[object], targets: Targets) -> tuple[Any, ...]:
        """
        The outputs of a call on all inputs. States are copied on their way in and out: a program may return
        the array that it was given, inside of other values too, and the caller may write to that.
        """
        signature, inputs = self._whole(MAIN), list(values)
        for state in signature.states:
            inputs[state.input] = cast(Array, inputs[state.input]).copy()
        result = self._called(MAIN, inputs)
        outputs: list[Any] = [result]
        if len(signature.outputs) > 1:
            outputs = list(cast("tuple[Any, ...]", result))
        for number, memory in targets.items():
            if outputs[number].shape != memory.shape:
                name = next(state.name for state in signature.states if state.output == number)
                found = f"{list(memory.shape)} before the call and {list(outputs[number].shape)} after it"
                raise StepwellError("shape-mismatch", None, f"the state {name!r} has the sizes {found}")
            np.copyto(memory, outputs[number])
            outputs[number] = memory
        return tuple(outputs)

    def __repr__(self) -> str:
        shown: list[str] = []
        for function in self.machine.program.public():
            signature = self.signature(function.name)
            inputs = [f"{signature.name_of(n)}: {type}" for n, type in enumerate(signature.inputs)]
            outputs = ", ".join(map(str, signature.outputs))
            shown.append(f"{function.name}({', '.join(inputs)}) -> {outputs}")
        return f"<ProgramModel {'; '.join(shown)}>"


class LimitedProgram(ProgramModel, ABC):
    """A program whose calls can be limited."""

    @abstractmethod
    def with_limits(self, **limits: Unpack[Limits]) -> LimitedProgram:
        """The same program with other limits. Raises: StepwellError `bad-option`."""


def _in_order(arguments: Sequence[object], named: Mapping[str, object], names: Sequence[str]) -> list[object]:
    """Inputs in order, from those given in order and by name. Raises: StepwellError."""
    unknown = [name for name in named if name not in names[len(arguments) :]]
    if unknown or len(arguments) > len(names):
        name = unknown[0] if unknown else f"number {len(names)}"
        help = f"{did_you_mean(name, names)}the inputs are {', '.join(names)}"
        raise StepwellError("extra-input", None, f"there is no input {name!r} left to be given", help=help)
    missing = [name for name in names[len(arguments) :] if name not in named]
    if missing:
        raise StepwellError("missing-input", None, f"input {missing[0]!r} is not given")
    return [*arguments, *(named[name] for name in names[len(arguments) :])]


def load_program(
    data: bytes, weights: Sequence[Array], packed: Mapping[str, PackedFunction], **limits: Unpack[Limits]
) -> ProgramModel:
    """
    The program in bytecode, verified.

    Args: `weights` are those of the artifact; `packed` has segments and host functions by name.
    Raises: StepwellError `bad-bytecode`, `bad-artifact` (another version), `unknown-function`, `too-large`.
    """
    return ProgramModel(Machine(decode(data, weights), packed, **limits))


def program_of_image(
    image: ModelImage, packed: Mapping[str, PackedFunction], **limits: Unpack[Limits]
) -> ProgramModel:
    """
    The program of an artifact, whose weights are checked first.

    Raises: StepwellError `bad-artifact` for an artifact without bytecode; as `load_program`.
    """
    if not image.program:
        raise StepwellError("bad-artifact", None, "the artifact has no bytecode: it is no program")
    if image.weight_check is not None:
        image.weight_check.wait()
    return load_program(image.program, image.weights, packed, **limits)
