"""Reproducers of internal errors: the IR before the failing pass and a command that repeats the failure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from io import StringIO
from shlex import quote

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.types import WeightAttr
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.cache import default_folder
from stepwell.runtime.files.whole_files import write_text
from stepwell.runtime.plugins import load_options


class Reproducer:
    """
    A module as it was when a pipeline began, and the passes that have run on the module since.

    After a failure the module is made again, and the passes that succeeded run on it again: no copy is needed
    before each pass, and none at all of a module that is still there as text, or in another module.
    """

    def __init__(self, begin: Callable[[], ModuleOp]):
        """Args: `begin` makes the module as it was; it is called when a pass has failed."""
        self.begin = begin
        self.done: list[ModulePass] = []

    @staticmethod
    def of_copy(module: ModuleOp) -> Reproducer:
        """The reproducer of a module that is copied now, which takes 15 us an op."""
        return Reproducer(module.clone().clone)

    def write(self, ctx: Context, failing: ModulePass, cause: str) -> str:
        """Write the reproducer; returns the command that repeats the failure, or why there is no file."""
        module, steps = self._before(ctx, failing)
        options = f"-p '{','.join(str(step) for step in steps)}'{load_options()}"
        cause_line = cause.partition("\n")[0]
        stream = StringIO()
        stream.write(f"// RUN: stepwell-opt %s {options}\n// {cause_line}\n\n")
        Printer(stream, print_debuginfo=True).print_op(module)
        text = stream.getvalue() + "\n"
        digest = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
        path = default_folder() / "reproducers" / f"{failing.name}-{digest}.mlir"
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_text(path, text)
            if WeightAttr.name in text:
                weights_of(ctx).save(path.with_suffix(".weights"))
        except (OSError, StepwellError) as error:
            return f"(no reproducer: {error})"
        return f"stepwell-opt {quote(str(path))} {options}"

    def _before(self, ctx: Context, failing: ModulePass) -> tuple[ModuleOp, list[ModulePass]]:
        """The module before the failing pass, and the passes that repeat the failure on it."""
        module = self.begin()
        try:
            for step in self.done:
                step.apply(ctx, module)
        except Exception:  # passes that succeeded fail on the copy: the reproducer runs all of them
            return self.begin(), [*self.done, failing]
        return module, [failing]


def op_at_failure(error: BaseException) -> Operation | None:
    """The op being rewritten when an exception was raised: the local `op` of the innermost frame with one."""
    found: Operation | None = None
    trace = error.__traceback__
    while trace is not None:
        op = trace.tb_frame.f_locals.get("op")
        if isinstance(op, Operation) and not isinstance(op, ModuleOp):
            found = op
        trace = trace.tb_next
    return found
