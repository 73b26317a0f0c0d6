"""
A worker process: compiles kernels from their text, or kernels of the parent that a fork has in its memory.

Most of a compilation is Python code, which runs under the interpreter's lock, so a second core needs a second
process. The first request has the plugins of the parent and its pass context, which the worker takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO, Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.costs.kernels import COMPILER
from stepwell.dialects.parser import ExactParser
from stepwell.lowering.kernels.early import PROGRAM
from stepwell.lowering.kernels.handover import described, error_of, handed_over, taken_over
from stepwell.lowering.kernels.kernel import KERNEL_PIPELINES, compile_kernel
from stepwell.lowering.kernels.kernel_object import KernelObject
from stepwell.passes import parse_passes
from stepwell.passes.context import PassContext
from stepwell.passes.trace_events import Span, current_trace, span, traces_of
from stepwell.runtime.child import Child, ChildError
from stepwell.runtime.collector import collector_paused, compiler_imports, free_young_cycles
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.frames import Frame, Head, read_frame, write_frame
from stepwell.runtime.log import Record, collecting, logger, report
from stepwell.runtime.machine.fork import can_fork
from stepwell.runtime.machine.target import TargetDescription

_log = logger(__name__)


def forked(kernels: Mapping[str, FuncOp]) -> Child | None:
    """
    A fork of this process, with its imports and its kernels by name; None where it cannot be forked.

    The text of a kernel takes 6 to 19 ms to parse, a tenth of its compilation, and a copy 0.3 ms.
    """
    if not can_fork():
        return None
    import_passes()  # once for all forks
    return Child(PROGRAM, fork=True, inherited=(kernels,))


def module_of(func: FuncOp) -> ModuleOp:
    """A module with a copy of a kernel."""
    return ModuleOp([func.clone()])


def parsed_module(ctx: StepwellContext, text: str) -> ModuleOp:
    """The module of a kernel's text from another process of ours."""
    module = ExactParser(ctx, text).parse_op()
    assert isinstance(module, ModuleOp)
    return module


class Worker:
    """The parent's side of a worker process."""

    def __init__(self, context: PassContext, child: Child | None = None, number: int = 1):
        """
        Args: `context` is the pass context of this process, of whose instruments the worker has `TraceEvents`
        only; `child` is a process of `started` (default: a new one); `number` is its thread's number in the
        trace.
        """
        self._child = child or Child(PROGRAM)
        self.has_kernels = self._child.is_fork
        """Whether it needs no texts of kernels, which it has by name."""
        self._traces, self._number = traces_of(context), number
        self.refusal: object = None
        """Why the process cannot load the plugins of this one, and is of no use; None where it has."""
        try:
            answer = self._child.ask(handed_over(context))
            self.refusal = answer.head.get("error")
        except ChildError as error:
            self.refusal = str(error)
        if self.refusal is not None:
            _log(1, "a worker is of no use: {}", self.refusal)

    def compile(self, name: str, text: str, target: TargetDescription) -> KernelObject:
        """
        The object of a kernel, passed to the process as the text of a module; as its name alone if the text
        is empty, which the process must have.

        Raises: StepwellError as `compile_kernel` does; InternalError, naming the kernel, when the worker
        died.
        """
        try:
            head, code = self._child.ask({"target": target.to_json(), "name": name}, text.encode())
        except ChildError as error:
            message = f"the worker that compiled kernel {name} gave no answer: {error.reason}"
            raise InternalError(name, message, note=error.last_output or ()) from None
        report(Record(*row) for row in cast("list[list[Any]]", head["log"]))
        for trace in self._traces:
            trace.add(self._number, [Span(*row) for row in cast("list[list[Any]]", head["spans"])])
        if "error" in head:
            raise error_of(cast("dict[str, Any]", head["error"]), f"kernel {name}")
        return KernelObject(code, cast(Mapping[str, object], head["meta"]))

    def close(self) -> None:
        """End the process."""
        self._child.close()


def serve(requests: IO[bytes], replies: IO[bytes], kernels: Mapping[str, FuncOp]) -> None:
    """Compile kernels from `requests` until the stream ends."""
    ctx = StepwellContext()
    while (request := read_frame(requests)) is not None:
        write_frame(replies, *_answer(request, kernels, ctx))
        free_young_cycles(COMPILER.freed_objects)  # while the parent takes the answer


def _answer(request: Frame, kernels: Mapping[str, FuncOp], ctx: StepwellContext) -> tuple[Head, bytes]:
    """The answer to a request: the metadata and the object of its kernel, or the error."""
    text, name = request.body.decode(), str(request.head["name"])

    def made() -> ModuleOp:
        return parsed_module(ctx, text) if text else module_of(kernels[name])

    with collecting() as messages:
        try:
            target = TargetDescription.from_json(cast(Mapping[str, object], request.head["target"]))
            with span(name, "kernel"):
                kernel = compile_kernel(made, ctx, target)
        except Exception as error:  # the parent reports it
            return {"error": described(error), "log": messages, "spans": _taken_spans()}, b""
    return {"meta": dict(kernel.meta), "log": messages, "spans": _taken_spans()}, kernel.code


def _taken_spans() -> list[Span]:
    return [] if (trace := current_trace()) is None else trace.take()


def import_passes() -> None:
    """Import the passes of kernels."""
    with compiler_imports():
        for pipeline in KERNEL_PIPELINES:
            parse_passes(pipeline)


def main(
    requests: IO[bytes], replies: IO[bytes], load: Callable[[str], None], kernels: Mapping[str, FuncOp]
) -> None:
    """
    The program of the worker process: the first request has plugins and the pass context.

    Args: `load` loads a plugin by name; `kernels` are those that requests may name without a text.
    """
    import_passes()  # maybe before there is a request
    if (first := read_frame(requests)) is not None:
        try:
            context = taken_over(first.head, load)
        except StepwellError as error:
            write_frame(replies, {"error": error.render()})
            return
        write_frame(replies, {})
        with context, collector_paused():
            serve(requests, replies, kernels)
