"""A program that users call with Python values: the public functions of bytecode on the machine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Unpack

from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.image import ModelImage
from stepwell.runtime.interface import Array
from stepwell.runtime.values.convert import Converter
from stepwell.runtime.values.function import Executor, arguments_of, results_of
from stepwell.runtime.vm.bytecode import decode
from stepwell.runtime.vm.machine import Limits, Machine
from stepwell.runtime.vm.program import Signature
from stepwell.runtime.vm.steps import PackedFunction


class ProgramModel:
    """
    A program ready to run: call it to run `@main`, or `run` for another public function.

    Args: `machine` is its executor.
    """

    def __init__(self, machine: Executor) -> None:
        self.machine = machine
        self._converter = Converter(self.machine)
        self.data = SimpleNamespace(
            **{name: SimpleNamespace(**classes) for name, classes in self._converter.classes.items()}
        )
        """The data types by name, with a class for each constructor: `model.data.Tree.Rose(x, [])`."""

    def signature(self, name: str = "main") -> Signature:
        """The interface of a public function. Raises: StepwellError `unknown-function`."""
        signature = self.machine.function(name).signature
        assert signature is not None
        return signature

    def __call__(self, *arguments: object, **named: object) -> object:
        """The result of `@main`; inputs in order, or by name. Raises: StepwellError, as `run`."""
        return self.run("main", *arguments, **named)

    def run(self, function: str, /, *arguments: object, **named: object) -> object:
        """
        The result of a public function.

        Raises: StepwellError `type-mismatch`, `shape-mismatch`, `missing-input`, `extra-input` for what does
        not fit the interface, with the position inside of a value; as `Machine.call`.
        """
        signature = self.signature(function)
        names = [signature.name_of(index) for index in range(len(signature.inputs))]
        values = arguments_of(self._converter, _in_order(arguments, named, names), signature.inputs, names)
        return results_of(self._converter, self.machine.call(function, *values), signature.outputs)

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
