"""
Text of every level against the model that it comes from: `make texts`, or `python -m benchmarks.texts`.

Each kernel of each model is printed on its way to machine code: on level 2, after `choose-forms` and
`choose-schedules`, and on the levels `vector`, `loops` and `llvm`. Each text is read again and goes through
all passes of its level once more; it must become the text of the next level, and the last one the same LLVM
IR. Where it becomes another one, both are compiled, and where the objects differ as well, both are timed. The
forms and schedules of a whole program must also be such that `share-kernels` leaves them as they are.

What was found is written to a file after each kernel: a second run goes on from there, unless the compiler
was changed.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from time import perf_counter, process_time
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from benchmarks.replay import Replay, all_models, digest
from benchmarks.zoo import REPOSITORY
from stepwell.dialects._xdsl import NamelessPrinter, StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.verify import verify_module
from stepwell.lowering.kernels.fingerprint import compiler_fingerprint
from stepwell.lowering.kernels.kernel import llvm_text, object_of
from stepwell.lowering.kernels.kernel_object import canonical_text
from stepwell.passes import run_pipeline
from stepwell.passes.instruments import module_text
from stepwell.passes.pipelines import (
    LLVM_PIPELINE,
    LOOP_PIPELINE,
    SCHEDULE_PIPELINE,
    SHARE_PIPELINE,
    schedule_steps,
    text_of,
)
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.rpc.interleaved import interleave
from stepwell.tools.check.function_inputs import inputs_of_function
from stepwell.tools.check.one_kernel import program_of_kernel
from stepwell.tools.driver.compilation import Compilation, kernels_of, main_of
from stepwell.tools.driver.compile import compile
from stepwell.tools.driver.emit import lower_to
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.program import Program

DEFAULT_FILE = REPOSITORY / "benchmarks" / "results" / "texts.json"
LEAST_RATIO = 0.98
"""The ratio of times, of the model's kernel over the one of the text, from which on that is as fast."""
_ROUNDS = 7
_CHOOSERS = ("choose-forms", "choose-schedules")
LEVELS = ("linalg", *_CHOOSERS, "vector", "loops", "llvm")
"""The texts of a kernel, from the first to the last."""
_STAGES = (
    text_of(schedule_steps(None, "choose-forms")),
    text_of(schedule_steps("choose-forms", "choose-schedules")),
    text_of(schedule_steps("choose-schedules")),
    LOOP_PIPELINE,
    LLVM_PIPELINE,
)
"""The passes between these texts."""
_BELOW = {"vector": SCHEDULE_PIPELINE, "loops": LOOP_PIPELINE, "llvm": LLVM_PIPELINE}
"""The levels that a text is lowered to, and the passes that lead there."""

Verdicts: TypeAlias = dict[str, str]
"""
By level: `same` LLVM IR, `object` where that alone is the same, the ratio of times, or the error of a pass.
"""


class Texts:
    """The texts of a kernel on its way to LLVM IR, as users get them."""

    def __init__(self, kernel: FuncOp, target: TargetDescription):
        self.kernel, self._target = kernel.clone(), target
        self.kernel.properties["sym_name"] = StringAttr("kernel")
        self.written: dict[str, str] = {}
        self._nameless: dict[str, str] = {}
        module, ctx = ModuleOp([self.kernel.clone()]), self._context()
        for level, pipeline in zip(LEVELS, ("", *_STAGES), strict=True):
            run_pipeline(module, pipeline, ctx)
            self.written[level] = module_text(module)
            if level in _BELOW:
                self._nameless[level] = _without_names(module)
        self._lowered, self._llvm_ir = module, llvm_text(module, target)

    def verdict(self, level: str) -> str:
        """
        `same`, `object` or `differs`, for the code of the text of a level.

        Raises: StepwellError of a pass that refuses it.
        """
        above = LEVELS[max(0, LEVELS.index(level) - 1)]
        if above != level and self.written[above] == self.written[level]:
            return self.verdict(above)
        ctx = self._context()
        module = parse_module(ctx, self.written[level], f"{level}.mlir")
        verify_module(module)
        for reached, pipeline in _BELOW.items():
            if LEVELS.index(reached) < LEVELS.index(level) or reached == level != "vector":
                continue
            run_pipeline(module, pipeline, ctx)
            if level != reached and _without_names(module) == self._nameless[reached]:
                return "same"  # the verdict on that text is about the rest of the way
        if llvm_text(module, self._target) == self._llvm_ir:
            return "same"
        codes = [object_of(each, self._target) for each in (module, self._lowered)]
        return "object" if codes[0] == codes[1] else "differs"

    def ratio(self, level: str) -> float:
        """The time of the model's kernel over that of the text's, on one thread. Raises: StepwellError."""
        program = Program(program_of_kernel(self.kernel), self._context())
        models = {name: self._compiled(program, name) for name in ("linalg", level)}
        inputs = inputs_of_function(main_of(program.module))[: len(models["linalg"].interface.inputs)]
        runners = {name: partial(model, *inputs) for name, model in models.items()}
        rounds = {
            name: latency.rounds for name, latency in interleave(runners, _ROUNDS, process_time).items()
        }
        return min(rounds["linalg"]) / min(rounds[level])

    def _compiled(self, program: Program, level: str) -> CompiledModel:
        """The program of the kernel, compiled from its text on a level."""
        options = CompileOptions(use_cache=False, processes=1)
        copy = Program(program.module.clone(), self._context())
        if level in _CHOOSERS:
            run_pipeline(copy.module, text_of(schedule_steps(None, level)), copy.ctx)
            module = copy.module
        else:
            module = lower_to(copy, options, level).module
        ctx = self._context()
        read = parse_module(ctx, module_text(module), f"{level}.mlir")
        return compile(Program(read, ctx), options, threads=1)

    def _context(self) -> StepwellContext:
        ctx = StepwellContext()
        ctx.target = self._target
        return ctx


def _without_names(module: ModuleOp) -> str:
    NamelessPrinter(stream := StringIO()).print_op(module)
    return stream.getvalue()


class Comparison:
    """The verdicts on the texts of all kernels, which are written to a file as they are found."""

    def __init__(self, file: Path, mcpu: str, timed: bool):
        self._file, self._replay, self._timed = file, Replay(mcpu), timed
        self._state = f"{mcpu} {compiler_fingerprint()}"
        self.known: dict[str, Verdicts] = self._read()
        """By the digest of a kernel's text."""

    def _read(self) -> dict[str, Verdicts]:
        if not self._file.exists():
            return {}
        content = json.loads(self._file.read_text())
        return content["kernels"] if content["state"] == self._state else {}

    def _write(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps({"state": self._state, "kernels": self.known}, indent=1) + "\n")

    def of_model(self, name: str) -> dict[str, Verdicts]:
        """The verdicts on the kernels of a model by name, and under `program` those on its whole texts."""
        with collector_paused():
            lowered = self._replay.lowered(name)
            run_pipeline(lowered.module, SHARE_PIPELINE, lowered.ctx)
            found = {"program": _shared_again(lowered)}
            for kernel in kernels_of(lowered.module):
                text = digest(canonical_text(kernel).encode())
                if text not in self.known:
                    self.known[text] = self._verdicts(kernel)
                    self._write()
                found[kernel.sym_name.data] = self.known[text]
        return found

    def _verdicts(self, kernel: FuncOp) -> Verdicts:
        texts = Texts(kernel, self._replay.target)
        return {level: self._verdict(texts, level) for level in LEVELS}

    def _verdict(self, texts: Texts, level: str) -> str:
        try:
            found = texts.verdict(level)
            return f"{texts.ratio(level):.2f}" if found == "differs" and self._timed else found
        except StepwellError as error:
            return error.render()


def _shared_again(compilation: Compilation) -> Verdicts:
    """Whether `share-kernels` leaves the texts of a whole program as they are."""
    module, ctx, last = compilation.module.clone(), compilation.ctx, None
    found: Verdicts = {}
    for chooser in _CHOOSERS:
        run_pipeline(module, text_of(schedule_steps(last, chooser)), ctx)
        again, last = module.clone(), chooser
        run_pipeline(again, SHARE_PIPELINE, ctx)
        found[chooser] = "same" if _without_names(again) == _without_names(module) else "differs"
    return found


def _is_right(verdict: str) -> bool:
    """Whether a text's code is that of the model, or as fast."""
    if verdict in ("same", "object"):
        return True
    try:
        return float(verdict) >= LEAST_RATIO
    except ValueError:
        return False


def report(found: Mapping[str, Mapping[str, Verdicts]]) -> str:
    """A table of the texts of each model, and the texts whose code is another one."""
    lines = [
        "| model | kernels | texts | same | same object | as fast | slower or refused |",
        "|---|" + "---|" * 6,
    ]
    others: list[str] = []
    for model, kernels in found.items():
        verdicts = [(name, level, v) for name, all in kernels.items() for level, v in all.items()]
        same, objects = (sum(v == word for *_, v in verdicts) for word in ("same", "object"))
        wrong = sum(not _is_right(v) for *_, v in verdicts)
        counts = (
            len(kernels) - 1,
            len(verdicts),
            same,
            objects,
            len(verdicts) - same - objects - wrong,
            wrong,
        )
        lines.append(f"| {model} | {' | '.join(map(str, counts))} |")
        others += [
            f"{model} {name}, {level}: {v}" for name, level, v in verdicts if v not in ("same", "object")
        ]
    return "\n".join([*lines, "", *others])


def main(argv: Sequence[str] | None = None) -> int:
    """Compare and print; returns 1 where a text is refused, or its code slower than the model's."""
    args = _arguments(argv)
    number, count = args.shard
    models = (args.models or all_models())[number - 1 :: count]
    comparison, found = Comparison(args.file, args.mcpu, not args.untimed), dict[str, dict[str, Verdicts]]()
    for name in models:
        begin = perf_counter()
        found[name] = comparison.of_model(name)
        print(
            f"{name}: {len(found[name]) - 1} kernels, {perf_counter() - begin:.0f} s",
            file=sys.stderr,
            flush=True,
        )
    print(report(found))
    return int(
        any(not _is_right(v) for each in found.values() for all in each.values() for v in all.values())
    )


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="benchmarks.texts", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="of the zoo, or a file (default: all)")
    parser.add_argument(
        "--shard", type=_shard, default=(1, 1), metavar="I/N", help="every Nth model from the Ith on"
    )
    parser.add_argument(
        "--file", type=Path, default=DEFAULT_FILE, help="the verdicts so far (default: %(default)s)"
    )
    parser.add_argument("--untimed", action="store_true", help="code that is another one is an error")
    parser.add_argument("--mcpu", default="x86-64-v3", help="the target (default: %(default)s)")
    return parser.parse_args(argv)


def _shard(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise ArgumentTypeError(f"expected I/N with I from 1 to N, found {text}")
    return int(number), int(count)


if __name__ == "__main__":
    raise SystemExit(main())
