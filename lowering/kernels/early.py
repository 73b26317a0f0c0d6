"""
Processes for kernels that start before there are any.

On Linux it is a fork of this process, made before the model is read: it imports the passes of kernels and
compiles a sample with them, on a core that would be idle until the passes of levels 0 and 1 have run. Then it
compiles all kernels, with workers of its own; this process never imports those passes.
"""

from __future__ import annotations

import pickle
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from threading import Thread
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from stepwell.dialects.costs.kernels import COMPILER
from stepwell.lowering.kernels.handover import error_of, handed_over
from stepwell.lowering.kernels.kernel_object import KernelObject, Results
from stepwell.lowering.kernels.packed import NotPacked, packed, unpacked
from stepwell.passes.context import PassContext
from stepwell.runtime.child import Child, ChildError
from stepwell.runtime.cores import usable_cores
from stepwell.runtime.errors import InternalError
from stepwell.runtime.frames import Head
from stepwell.runtime.link.code import Code
from stepwell.runtime.log import Record, logger
from stepwell.runtime.machine.fork import can_fork
from stepwell.runtime.machine.target import TargetDescription

_log = logger(__name__)
PROGRAM = "stepwell.tools.driver.kernel_worker:main"
"""Plugins are loaded by a folder above this one."""
EARLY_PROGRAM = "stepwell.tools.driver.kernel_worker:early"
SEPARATOR = "\0"
"""The character between the texts of kernels, which follow the packed functions of a request."""
_FAULTS = {getattr(signal, name, None) for name in ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV")}
"""Signals that end a process for a defect of its own, which would end this process as well."""


class EarlyProcess:
    """This process's side of the early one."""

    def __init__(self, child: Child):
        self._child = child

    def compile(
        self,
        names: Sequence[str],
        results: Results,
        target: TargetDescription,
        processes: int,
        meanwhile: Sequence[Callable[[], object]] = (),
    ) -> None:
        """
        Add the objects of kernels to results; not of all where the process was killed, or cannot load the
        plugins of this one.

        Args: `names` are those of the kernels in the order of their compilation; `processes` bounds the
        number that compile at once; `meanwhile` is done here while they do.
        Raises: StepwellError of the first kernel that cannot be compiled; InternalError after a fault.
        """
        kernels = {name: results.kernels[name] for name in names}
        request = {**_setting(target), "processes": processes}
        request["kernels"] = [[name, function.sym_name.data] for name, (function, _) in kernels.items()]
        errors: list[Exception] = []

        def exchange() -> None:
            try:
                functions = _packed([function for function, _ in kernels.values()])
                request["packed"] = len(functions)
                texts = SEPARATOR.join(text for _, text in kernels.values())
                self._exchange(request, functions + texts.encode(), results)
            except Exception as error:  # a thread has no caller to raise it to
                errors.append(error)

        thread = Thread(target=exchange, daemon=True)
        thread.start()
        for work in meanwhile:
            work()
        thread.join()
        if errors:
            raise errors[0]

    def _exchange(self, request: Head, body: bytes, results: Results) -> None:
        """Send the kernels, and receive their objects in whatever order."""
        try:
            answer = self._child.ask(request, body)
            while (name := cast("str | None", answer.head.get("kernel"))) is not None:
                results.messages[name] = [Record(*row) for row in cast("list[list[Any]]", answer.head["log"])]
                results.add(name, KernelObject(answer.body, cast("dict[str, object]", answer.head["meta"])))
                answer = self._child.next_answer()
        except ChildError as error:
            if error.status < 0 and -error.status in _FAULTS:
                message = f"the process that compiled kernels gave no answer: {error.reason}"
                raise InternalError(None, message, note=error.last_output or ()) from None
            _log(1, "kernels are compiled here: {}", error)
            return
        if (refusal := answer.head.get("refusal")) is not None:
            _log(1, "kernels are compiled here: {}", refusal)
        elif "error" in answer.head:
            for name, rows in cast("dict[str, list[list[Any]]]", answer.head["log"]).items():
                results.messages[name] = [Record(*row) for row in rows]
            raise error_of(cast("dict[str, Any]", answer.head["error"]), "the compilation of kernels")

    def begin_passes(
        self, functions: Sequence[FuncOp], pipeline: str, target: TargetDescription
    ) -> Callable[[], Sequence[FuncOp] | None]:
        """
        Begin to run passes on copies of functions in the other process.

        Returns: a function that waits for these copies and returns them, or None if there are none.
        """
        if not (body := _packed(functions)):
            return lambda: None
        made = self._begun({**_setting(target), "pipeline": pipeline}, body)

        def wait() -> Sequence[FuncOp] | None:
            return None if (copies := made()) is None else unpacked(copies)

        return wait

    def main_object(
        self, module: ModuleOp, target: TargetDescription, meanwhile: Sequence[Callable[[], object]] = ()
    ) -> bytes | None:
        """
        The object file of `@main` on level 3; None where the other process does not make it.

        Args: `meanwhile` is done here while it does.
        """
        if not (body := _packed([module])):
            return None
        made = self._begun({**_setting(target), "code": "main"}, body)
        for work in meanwhile:
            work()
        return made()

    def thread_pool(self, target: TargetDescription, *, records: bool) -> Code | None:
        """The thread pool's code, which is made last; None where the other process does not make it."""
        made = self._made({**_setting(target), "code": "pool", "records": records})
        self._child.end_input()  # it ends while this process goes on
        return None if made is None else cast(Code, pickle.loads(made))

    def _begun(self, request: Head, body: bytes) -> Callable[[], bytes | None]:
        """Send a request on a thread; returns a function that waits for the bytes that `_made` gives."""
        found: list[bytes | None] = []
        thread = Thread(target=lambda: found.append(self._made(request, body)), daemon=True)
        thread.start()

        def wait() -> bytes | None:
            thread.join()
            return found[0] if found else None

        return wait

    def _made(self, request: Head, body: bytes = b"") -> bytes | None:
        """The bytes that the other process makes; None where it fails: an error occurs again here."""
        with suppress(ChildError):
            return self._child.ask(request, body).body or None
        return None


def _setting(target: TargetDescription) -> Head:
    """The plugins, the pass context and the target of a request."""
    return {**handed_over(PassContext.current()), "target": target.to_json()}


def _packed(ops: Sequence[Operation]) -> bytes:
    """The bytes of functions or modules; none where they have only a text."""
    try:
        return packed(ops)
    except NotPacked as error:
        _log(1, "not packed for another process: {}", error)
        return b""


@dataclass
class Started:
    """The processes of a compilation that run before there are kernels."""

    children: list[Child] = field(default_factory=list[Child])
    """Those of workers, where this process cannot be forked."""
    early: EarlyProcess | None = None
    beside_kernels: Sequence[Callable[[], object]] = ()
    """Work for this process while the early one compiles kernels."""
    beside_main: Sequence[Callable[[], object]] = ()
    """Work for this process while the early one compiles `@main`, when no other process has any."""

    def with_work(self, *work: Callable[[], object]) -> Started:
        """The same processes, with more work for this one while kernels are compiled."""
        return replace(self, beside_kernels=(*self.beside_kernels, *work))


@contextmanager
def early_process(
    processes: int | None, target: Callable[[], TargetDescription]
) -> Generator[EarlyProcess | None]:
    """
    The fork that prepares to compile kernels; None if no core is free for it, or if this process is prepared.

    It is killed at the end. Args: `processes` as for `compile_kernels`; `target()` gives the target for which
    the fork compiles a sample.
    """
    if not _is_worth_it(processes):
        yield None
        return
    child = Child(EARLY_PROGRAM, fork=True, inherited=(target,))
    try:
        yield EarlyProcess(child) if child.is_fork else None
    finally:
        child.kill()


def _is_worth_it(processes: int | None) -> bool:
    """Whether a core is idle, and this process has compiled nothing yet; instruments watch all of it."""
    has_cores = (processes or usable_cores()) > COMPILER.early_cores
    return has_cores and not (is_ready() or PassContext.current().instruments) and can_fork()


def is_ready() -> bool:
    """Whether this process has compiled before, and has imported passes of kernels."""
    return "stepwell.lowering.loops_to_llvm" in sys.modules


@contextmanager
def started(count: int) -> Generator[list[Child]]:
    """
    A list of started processes for `Worker`, which import the passes meanwhile.

    A worker pops its process from the list; those that are left at the end are killed. There are none where
    this process can be forked, which `forked` does when it has the kernels.
    """
    children = [] if can_fork() else [Child(PROGRAM) for _ in range(count)]
    try:
        yield children
    finally:
        for child in children:
            child.kill()
