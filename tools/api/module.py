"""`stepwell.Module`: a program of any level with weights and a target, and its operations."""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast, overload

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.foreign.model_dialect import model_dialect
from stepwell.passes import Instrument, PassContext, run_pipeline
from stepwell.passes.base import bodies_of
from stepwell.passes.instruments import module_text
from stepwell.passes.pipelines import LEVELS
from stepwell.passes.reproducer import Reproducer
from stepwell.patterns import Pattern, Rule, rewrite
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.files.whole_files import write_bytes
from stepwell.runtime.machine.target import TargetDescription
from stepwell.tools.api.building import built, described_target, target_of
from stepwell.tools.api.levels import functions_in, level_of, values_of
from stepwell.tools.api.matching import explanation_in, matches_in
from stepwell.tools.api.onnx_model import written_model
from stepwell.tools.driver.compile import TURN
from stepwell.tools.driver.emit import lower_to
from stepwell.tools.driver.ir_files import write_ir
from stepwell.tools.driver.options import CompileKeywords, CompileOptions, check_suffix, options_with
from stepwell.tools.driver.program import Program
from stepwell.tools.driver.written_program import verify_written

if TYPE_CHECKING:
    from onnx import ModelProto
    from xdsl.dialects.llvm import FuncOp as LLVMFuncOp

    from stepwell.patterns import Explanation, Match
    from stepwell.runtime.model import CompiledModel
    from stepwell.runtime.model_info import TensorInfo
    from stepwell.tools.driver.image import Progress

OpT = TypeVar("OpT", bound=Operation)
PassLike = str | ModulePass | type[ModulePass]
HIGHEST_LEVEL = 3


class Module:
    """
    A program of any level: an op of xDSL's, the weights that it names, and the target to compile for.

    Methods that change the program do so in place and return it; a method that fails leaves it unchanged. One
    thread at a time can use a module: another one gets `error[busy]`.
    """

    def __init__(
        self,
        op: ModuleOp,
        *,
        weights: WeightStore | str | os.PathLike[str] | None = None,
        target: str | TargetDescription | None = None,
        context: StepwellContext | None = None,
    ):
        """
        Args: `op` is not copied; `weights` are those of another module, or a `.weights` file; `target` is a
        CPU level, a triple or a description (default: this machine); `context` is shared by modules that
        share weights, target and dialects.
        Raises: StepwellError `type-mismatch`, `unknown-target`, `no-file`, `invalid-weights`.
        """
        _expect(op, ModuleOp, "op", "a ModuleOp of xDSL's; stepwell.read and stepwell.parse make modules")
        self.op = op
        """The xDSL op, which methods change in place."""
        self.context = StepwellContext() if context is None else context
        _expect(self.context, StepwellContext, "context", "a stepwell.Context")
        if isinstance(weights, WeightStore):
            self.context.weights = weights
        elif weights is not None:
            self.context.weights.load(weights)
        if target is not None:
            self.target = target
        self._lock = RLock()

    @property
    def target(self) -> TargetDescription:
        """The target to compile for; can be set to a CPU level, a triple or a description."""
        return self.context.target

    @target.setter
    def target(self, target: str | TargetDescription) -> None:
        self.context.target = described_target(target)

    @property
    def weights(self) -> WeightStore:
        """The arrays of constants by content hash; clones share them."""
        return self.context.weights

    @property
    def level(self) -> str:
        """The level: `onnx`, `graph`, `linalg`, `vector`, `loops` or `llvm`."""
        return level_of(self.op)

    @property
    def inputs(self) -> list[TensorInfo]:
        """The inputs of `@main`: name, shape and dtype. Raises: StepwellError `no-main`."""
        return values_of(self.op, "input")

    @property
    def outputs(self) -> list[TensorInfo]:
        """The outputs of `@main`: name, shape and dtype. Raises: StepwellError `no-main`."""
        return values_of(self.op, "output")

    def __getitem__(self, name: str) -> FuncOp | LLVMFuncOp:
        """The function of a name. Raises: StepwellError `unknown-function`."""
        functions = functions_in(self.op)
        if name not in functions:
            known = ", ".join(f"@{known}" for known in functions) or "none"
            help = f"{did_you_mean(name, functions)}the functions are {known}"
            raise StepwellError("unknown-function", self.op, f"no function is named {name!r}", help=help)
        return functions[name]

    @overload
    def walk(self) -> Iterator[Operation]: ...
    @overload
    def walk(self, *kinds: type[OpT]) -> Iterator[OpT]: ...
    def walk(self, *kinds: type[Operation]) -> Iterator[Operation]:
        """The ops below the module, in order: all, or those of classes such as `stepwell.graph.ReluOp`."""
        for kind in kinds:
            _expect(kind, type, "walk", "a class of ops, such as stepwell.graph.ReluOp")
        wanted = kinds or (Operation,)
        return (op for op in self.op.walk() if op is not self.op and isinstance(op, wanted))

    def __str__(self) -> str:
        with self._alone("print"):
            return module_text(self.op).removesuffix("\n")

    def __repr__(self) -> str:
        count = sum(1 for _ in self.op.walk()) - 1
        return f"<Module {self.level}, {count} op{'s' * (count != 1)}>"

    def run(self, *passes: PassLike | Sequence[PassLike], instruments: Sequence[Instrument] = ()) -> Module:
        """
        Run passes in order, all or nothing: when one fails, the module is as before.

        Args: a pass is the text of a pipeline, `pass{option=value},pass`, a class or an object. All run that
        are named, whatever their `opt_level`, unless a `PassContext` says otherwise. `instruments` watch, in
        addition to those of the context.
        Returns: this module.
        Raises: StepwellError of the pass that failed, `unknown-pass`, `bad-option`, `type-mismatch`,
        `file-changed`, `busy`.
        """
        steps = list(_steps(passes))
        _expect(instruments, Sequence, "instruments", "a list of instruments")
        for instrument in instruments:
            _expect(instrument, Instrument, "instruments", "instruments such as stepwell.Timing()")
        context = PassContext.current()
        if not PassContext.is_entered():
            context = context.at_level(HIGHEST_LEVEL)
        with self._changing("run") as before, context.watched_by(instruments):
            run_pipeline(self.op, steps, self.context, before)
        return self

    def clone(self) -> Module:
        """A copy that shares the weights. Raises: StepwellError `busy`."""
        with self._alone("clone"):
            return Module(self.op.clone(), context=self.context.clone())

    def __copy__(self) -> Module:
        return self.clone()

    def __deepcopy__(self, memo: object) -> Module:
        return self.clone()

    def to(self, level: str, **keywords: Unpack[CompileKeywords]) -> Module:
        """
        Lower the program to a level, as `stepwell compile --emit LEVEL` does, all or nothing.

        Args: `level` is `graph`, `linalg`, `vector`, `loops` or `llvm`; keywords are those of
        `stepwell.compile`.
        Returns: this module.
        Raises: StepwellError `bad-option` for a level that does not exist, or is above the program's own; the
        error of the pass that failed.
        """
        options = options_with(None, keywords)
        with self._changing("to"):
            _expect_way_down(self.op, level)
            if "target" in keywords or "mcpu" in keywords:
                self.context.target = target_of(options)
            lower_to(Program(self.op, self.context), options, level)
        return self

    def _repr_html_(self) -> str:
        """Coloured text for notebooks, each function foldable."""
        from stepwell.tools.coloured_text import html_of

        return html_of(str(self))

    def verify(self) -> Module:
        """Require the program to be valid. Returns: this module. Raises: StepwellError `invalid-ir`."""
        with self._alone("verify"):
            verify_written(self.op)
        return self

    def save(self, path: str | os.PathLike[str]) -> Module:
        """
        Write the program as text (.mlir), with the weight file beside it, or as a model (.onnx).

        Returns: this module.
        Raises: StepwellError `unknown-file-type`, `cannot-write`; for .onnx, as `to_onnx`.
        """
        file = Path(path)
        check_suffix(file, (".mlir", ".onnx"))
        if file.suffix == ".onnx":
            write_bytes(file, self.to_onnx().SerializeToString())
            return self
        text = f"{self}\n"
        self.weights.expect_unchanged()
        write_ir(file, text, self.context)
        return self

    def to_onnx(self) -> ModelProto:
        """
        The program as an ONNX model. One of ONNX is written as it is; ops of level 1, and those of other
        frameworks' models, become operators of opset 21.

        Raises: StepwellError `unsupported-op`, `unsupported`, `too-large`, `file-changed`, `busy`.
        """
        with self._alone("to_onnx"), TURN:
            return written_model(Program(self.op, self.context).copy())

    def match(self, pattern: Pattern) -> list[Match]:
        """
        Every match of a pattern, in program order; matches may overlap.

        Returns: maps of pattern objects to their nodes, each with the root as `value`.
        Raises: StepwellError `type-mismatch`, `busy`.
        """
        with self._alone("match"):
            return matches_in(self.op, _expected_pattern(pattern))

    def rewrite(self, *rules: Rule) -> int:
        """
        Replace the matches of rules in all functions until nothing changes, all or nothing.

        Returns: the number of replacements.
        Raises: StepwellError `type-mismatch`, `bad-rule`, `endless-rules`, `file-changed`, `busy`.
        """
        for rule in rules:
            _expect(rule, Rule, "rules", "of class stepwell.patterns.Rule")
        with self._changing("rewrite"):
            return sum(rewrite(rules, function) for function in bodies_of(self.op))

    def interpret(
        self,
        *inputs: object,
        function: str = "main",
        max_depth: int = 1_000_000,
        checks: Collection[str] | None = None,
    ) -> list[npt.NDArray[np.generic]]:
        """
        Evaluate a function op by op on arrays and data, without compiling; on levels 1 to 3, and on level 0
        programs of PyTorch, StableHLO and TFLite, whose operators torch, JAX and LiteRT compute.

        Args: `max_depth` is the greatest depth of nested calls; `checks` are those of kernels of a GPU, of
        `races`, `bounds`, `barriers` and `uninitialized`, all unless given, and `banks`.
        Returns: the outputs in order.
        Raises: StepwellError `unsupported`, `unsupported-op`, `unknown-function`, `bad-inputs`, `run-time`,
        `too-deep`, `no-case`, `busy`.
        """
        from stepwell.lowering.interpret import CHECKS, interpret
        from stepwell.runtime.values import Data

        with self._alone("interpret"):
            if self.level == "llvm":
                help = "interpret it on a level from graph to loops, or run it: m.compile()"
                raise StepwellError("unsupported", None, "level llvm cannot be interpreted", help=help)
            self.weights.expect_unchanged()
            values: list[Any] = [each if isinstance(each, Data) else np.asarray(each) for each in inputs]
            chosen = CHECKS if checks is None else checks
            if self.level == "onnx" and (dialect := model_dialect(self.op)) is not None and dialect != "onnx":
                from stepwell.tools.frameworks.level_0 import RUNS, interpret_by_framework

                if dialect in RUNS:
                    return interpret_by_framework(dialect, self.op, self.weights, function, values)
            return interpret(self.op, self.context, function, values, max_depth=max_depth, checks=chosen)

    def explain(self, pattern: Pattern, location: str = "") -> Explanation | None:
        """
        The reason why a pattern matches nowhere: the deepest partial match; None where it matches.

        Args: `location` restricts it to ops on a line of the text, or whose location contains it, such as the
        name of a node.
        Raises: StepwellError `type-mismatch`; `bad-option` when no op has the location; `busy`.
        """
        with self._alone("explain"):
            return explanation_in(self.op, _expected_pattern(pattern), location)

    def compile(
        self,
        options: CompileOptions | None = None,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
        **keywords: Unpack[CompileKeywords],
    ) -> CompiledModel:
        """
        Compile the program; it stays on its level. Arguments and errors: as of `stepwell.compile`.

        The target is the module's, unless `target` or `mcpu` names another one.
        """
        chosen = options_with(options, keywords, ("threads", "progress"))
        with self._alone("compile"):
            now = Program(self.op.clone(), self.context.clone())
        if options is not None or "target" in keywords or "mcpu" in keywords:
            now.ctx.target = target_of(chosen)
        return built(now.copy, chosen, threads, progress)

    @contextmanager
    def _alone(self, doing: str) -> Generator[None]:
        """Exclude other threads. Raises: StepwellError `busy` when one works on the module."""
        if not self._lock.acquire(blocking=False):
            message = f"another thread works on this module: {doing} has to wait"
            raise StepwellError("busy", None, message, help="give each thread a clone()")
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def _changing(self, doing: str) -> Generator[Reproducer]:
        """Restore op and target when the block fails. Raises: StepwellError `busy`, `file-changed`."""
        with self._alone(doing), TURN:
            self.weights.expect_unchanged()
            before, target = Reproducer.of_copy(self.op), self.context.target
            try:
                yield before
            except BaseException:
                _restore(self.op, before.begin())
                self.context.target = target
                raise


def _expected_pattern(pattern: object) -> Pattern:
    """Require a pattern. Raises: StepwellError `type-mismatch`."""
    if isinstance(pattern, Pattern):
        return pattern
    help = "stepwell.patterns.from_text reads text" if isinstance(pattern, str) else None
    message = f"pattern must be a pattern, such as is_op('graph.relu'), found {pattern!r}"
    raise StepwellError("type-mismatch", None, message, help=help)


def _expect_way_down(op: ModuleOp, wanted: object) -> None:
    """Require a level from the program's own on. Raises: StepwellError `bad-option`."""
    levels = LEVELS[: LEVELS.index("llvm") + 1]
    if wanted not in levels:
        help = f"{did_you_mean(str(wanted), levels)}the levels are {', '.join(levels)}"
        raise StepwellError("bad-option", None, f"a program has no level {wanted!r}", help=help)
    if levels.index(wanted) < levels.index(found := level_of(op)):
        help = "stepwell.Module.to_onnx makes a model of it" if found == "graph" else None
        message = f"the program is on level {found} already: nothing leads back up to {wanted}"
        raise StepwellError("bad-option", op, message, help=help)


def _restore(op: ModuleOp, copy: ModuleOp) -> None:
    """Give a module the contents of a copy, which is empty then."""
    op.attributes, op.properties = copy.attributes, copy.properties
    op.detach_region(0)
    op.add_region(copy.detach_region(0))


def _steps(passes: Sequence[object]) -> Iterator[str | ModulePass]:
    """Passes as text and objects. Raises: StepwellError `type-mismatch`, `bad-option`."""
    for step in passes:
        if isinstance(step, str | ModulePass):
            yield step
        elif isinstance(step, type) and issubclass(step, ModulePass):
            try:
                yield step()
            except TypeError as error:
                message = f"{step.__name__} needs options: {error}"
                raise StepwellError("bad-option", None, message, help="give an object") from None
        elif isinstance(step, list | tuple):
            yield from _steps(cast("Sequence[object]", step))
        else:
            message = f"expected passes or their names, found {step!r}"
            raise StepwellError("type-mismatch", None, message)


def _expect(value: object, kind: type, name: str, wanted: str) -> None:
    """Require an argument of a class. Raises: StepwellError `type-mismatch`."""
    if not isinstance(value, kind):
        raise StepwellError("type-mismatch", None, f"{name} must be {wanted}, found {value!r}")
