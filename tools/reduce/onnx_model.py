"""`stepwell reduce` of an ONNX model: what it does now, the reduction, and the files of the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from shlex import join, quote
from time import perf_counter

from onnx import ModelProto, helper

from stepwell.passes import PassContext
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import whole_file
from stepwell.runtime.interface import Array
from stepwell.tools.check.check import differences_from_reference
from stepwell.tools.debug.references import model_proto
from stepwell.tools.driver.compile import compile
from stepwell.tools.driver.image import Progress
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.reduce.attached_plugins import attached_plugin
from stepwell.tools.reduce.child_runs import end_signature
from stepwell.tools.reduce.judging_command import JudgingCommand
from stepwell.tools.reduce.kinds import (
    InChild,
    RaisesError,
    SignatureOf,
    Tested,
    WrongValues,
    files_of,
    levels_of,
    write_case,
)
from stepwell.tools.reduce.onnx_case import ModelCase, Parts
from stepwell.tools.reduce.onnx_edits import evaluated
from stepwell.tools.reduce.onnx_reduction import ModelReduction
from stepwell.tools.reduce.probes import Probes
from stepwell.tools.reduce.request import Reduction, Request
from stepwell.tools.reduce.signature import Signature


@dataclass
class ModelFailure:
    """
    A model that fails, made smaller into files beside each other: OUT.onnx, OUT.npz, OUT.sh, and plugins.

    Args: `words` are the options of the compilation, as a command line has them; `feeds` the inputs.
    """

    path: Path
    output: Path
    request: Request
    options: CompileOptions
    words: Sequence[str]
    feeds: Mapping[str, Array]
    progress: Progress | None = None

    def reduced(self) -> Reduction:
        """
        Reduce, and write the files.

        Raises: StepwellError `not-interesting` for a model that does not fail so, `bad-test`, `cannot-write`.
        """
        begin = perf_counter()
        deadline = self.request.deadline
        whole = evaluated(_with_shapes(model_proto(self.path), self.feeds, self.options), self.feeds)
        self.options = replace(self.options, input_shapes={})
        with PassContext(reproducers=False):
            parts, signature_of, wanted = self._failure(whole)
            probes = Probes(
                signature_of,
                wanted,
                self._save,
                any_of_kind=self.request.any_of_kind,
                deadline=deadline,
                jobs=self.request.jobs if wanted.kind in ("crash", "slow", "test") else 1,
                seconds=self.request.seconds_in_process(wanted.kind, perf_counter() - begin),
            )
            self._before = len(whole)
            self._save(parts.whole)
            case = ModelReduction(parts, probes, wanted.node).run()
            command = self._command(wanted.kind, case)
        seconds = perf_counter() - begin
        files = [str(path) for path in self._files()]
        return Reduction("nodes", len(whole), len(case), probes.count, seconds, wanted, command, files)

    def _failure(self, whole: ModelCase) -> tuple[Parts, SignatureOf, Signature]:
        """The parts of the model, the function for the signature of a part, and the model's signature."""
        kind = self.request.kind or self._kind_now(whole)
        request, where = replace(self.request, kind=kind), str(self.path)
        if kind == "wrong":
            wrong = WrongValues(self.options)
            found = request.expect(wrong(whole), where, "model")
            if wrong.finding is not None:
                wrong.levels = levels_of(wrong.finding)
            return Parts(whole), wrong, found
        signature_of = self._by_running(kind)
        if isinstance(signature_of, Tested):
            nothing = helper.make_model(helper.make_graph([], "g", [], []))
            signature_of.command.expect_usable(
                lambda: signature_of(whole) is not None,
                lambda: signature_of(ModelCase(nothing, {})) is not None,
            )
            return Parts(whole), signature_of, Signature("test")
        return Parts(whole), signature_of, request.expect(signature_of(whole), where, "model")

    def _by_running(self, kind: str) -> SignatureOf:
        match kind:
            case "error":
                return RaisesError(self.options)
            case "test":
                return Tested(JudgingCommand(self.request.command, self.request.timeout))
            case "slow":
                return InChild(kind, self.words, self.request.slow_seconds)
            case _:
                return InChild(kind, self.words, self.request.timeout)

    def _kind_now(self, whole: ModelCase) -> str:
        """The kind of failure that the model shows in a process of its own."""
        status = InChild("", self.words, self.request.slow_seconds).status(whole)
        if (died := end_signature(status)) is not None:
            return died.kind
        return "error" if status else "wrong"

    def _save(self, case: ModelCase) -> None:
        """Write the best case so far."""
        write_case(case, self.output, self.output.with_suffix(".npz"))
        if self.progress is not None:
            self.progress("reduce", self._before - len(case), self._before)

    def _command(self, kind: str, case: ModelCase) -> str:
        """Write the command that fails to OUT.sh; returns it as it is called here."""
        inputs, script = self.output.with_suffix(".npz"), self.output.with_suffix(".sh")
        here = self._line(kind, case, str(self.output), str(inputs), quote, join(self.words))
        model, arrays = _beside_script(self.output.name), _beside_script(inputs.name)
        line = self._line(kind, case, model, arrays, str, self._script_options())
        with whole_file(script) as file:
            file.write(f"#!/bin/sh\n{line}\n".encode())
        script.chmod(0o755)
        return here

    def _plugins(self) -> Iterator[tuple[int, str]]:
        """The plugins with files beside the case, by their places in the options."""
        for at, (option, word) in enumerate(pairwise(self.words), 1):
            if option == "--load" and (name := attached_plugin(word, self.output.parent)) is not None:
                yield at, name

    def _script_options(self) -> str:
        """The options as the script has them: plugins by their places beside it."""
        plugins = {at: _beside_script(name) for at, name in self._plugins()}
        return " ".join(plugins.get(at, quote(word)) for at, word in enumerate(self.words))

    def _files(self) -> list[Path]:
        """The files of the case, which a report has attached."""
        own = [self.output, self.output.with_suffix(".npz"), self.output.with_suffix(".sh")]
        return [*own, *(self.output.with_name(name) for _, name in self._plugins())]

    def _line(
        self, kind: str, case: ModelCase, model: str, inputs: str, word: Callable[[str], str], options: str
    ) -> str:
        if kind == "test":
            return JudgingCommand(self.request.command, 0).text(word(model), word(inputs))
        if kind != "wrong":
            return f"stepwell run {word(model)} --inputs {word(inputs)} {options}".rstrip()
        command = "run --check" if self._is_compiled_wrongly(case) else "bisect"
        return f"stepwell {command} {word(model)} --inputs {word(inputs)} {options}".rstrip()

    def _is_compiled_wrongly(self, case: ModelCase) -> bool:
        """Whether the outputs of the compiled model show the error."""
        with files_of(case) as (path, _):
            try:
                outputs = compile(path, self.options).run(case.feeds)
                return not all(d.ok for d in differences_from_reference(path, case.feeds, outputs))
            except StepwellError:
                return False


def _beside_script(name: str) -> str:
    """A file of the script's own folder, in the shell's syntax."""
    return f'"$(dirname "$0")"/{quote(name)}'


def _with_shapes(model: ModelProto, feeds: Mapping[str, Array], options: CompileOptions) -> ModelProto:
    """A model whose inputs have the shapes that options fix."""
    for info in model.graph.input:
        if info.name in options.input_shapes and info.name in feeds:
            array = feeds[info.name]
            type = helper.np_dtype_to_tensor_dtype(array.dtype)
            info.CopyFrom(helper.make_tensor_value_info(info.name, type, array.shape))
    return model
