"""
Compilation of models by background processes: a few at a time, while others wait for their turn.

The compiler holds Python's lock: in the caller's process it would slow down every call.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread, Timer
from typing import TYPE_CHECKING, Any, cast

from stepwell.dialects._xdsl import StepwellContext
from stepwell.lowering.kernels.handover import error_of, handed_over
from stepwell.passes.context import PassContext
from stepwell.runtime.child import Child, ChildError
from stepwell.runtime.environment import BACKGROUND
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import load_image
from stepwell.runtime.image import ModelImage
from stepwell.runtime.log import Record, report
from stepwell.tools.driver.program import Program
from stepwell.tools.failure import user_error

if TYPE_CHECKING:
    from stepwell.tools.driver.kept_models import KeptModel
    from stepwell.tools.driver.options import CompileOptions, Model

PROGRAM = "stepwell.tools.driver.background_worker:main"
HEAD_START_SECONDS = 0.5
"""
The delay of a compilation for the first answer. The products of that call use all cores: a process
on one of them makes the threads on the others wait for the slowest.
"""


@dataclass(frozen=True)
class Request:
    """A compilation for a background process."""

    head: Mapping[str, object]
    body: bytes
    """The serialized model, if it is neither a file nor a program."""
    kept: KeptModel | None
    program: tuple[str, StepwellContext] | None = None
    """The text of a program with its locations, and its context."""

    @staticmethod
    def of(
        model: Model, options: CompileOptions, kept: KeptModel | None, stamp: Sequence[int] | None
    ) -> Request:
        """The request to compile a model in the current pass context; a file has a stamp."""
        is_file = isinstance(model, str | Path)
        head: dict[str, object] = {
            **handed_over(PassContext.current()),
            "options": {option.name: getattr(options, option.name) for option in fields(options)},
            "folder": os.getcwd(),
            "model": str(model) if is_file else None,
            "stamp": stamp,
            "setting": None if kept is None else kept.setting,
            "target": None,
        }
        if isinstance(model, Program):
            from xdsl.printer import Printer

            stream = StringIO()
            Printer(stream, print_debuginfo=True).print_op(model.module)
            head["target"] = model.ctx.target.to_json()
            return Request(head, b"", None, (stream.getvalue(), model.ctx))
        body = b"" if is_file else model if isinstance(model, bytes) else model.SerializeToString()
        return Request(head, body, kept)

    @contextmanager
    def sent(self) -> Generator[Mapping[str, object]]:
        """The head of the message; a program is in files meanwhile. Raises: StepwellError `cannot-write`."""
        if self.program is None:
            yield self.head
            return
        from stepwell.tools.driver.ir_files import write_ir

        with TemporaryDirectory(prefix="stepwell-", ignore_cleanup_errors=True) as folder:
            write_ir(path := Path(folder, "program.mlir"), *self.program)
            yield {**self.head, "model": str(path)}

    def in_cache(self, key: str | None = None) -> ModelImage | None:
        """The model that another compilation has finished; `key` is the key of its entry, where known."""
        return None if self.kept is None else self.kept.load(key)


class _Turns:
    """The running and the waiting background compilations of this process."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.limit = 1
        self.running: list[Background] = []
        self.waiting: deque[Background] = deque()

    def take(self, background: Background) -> bool:
        """Let a compilation run if few enough do, and none of the same key; returns whether it may."""
        with self.lock:
            if background in self.running:
                return True
            keys = {other.key for other in self.running if other.key is not None}
            if len(self.running) >= self.limit or background.key in keys:
                return False
            self.running.append(background)
            return True

    def wait(self, background: Background) -> None:
        """Start the thread of a compilation, now or when others have ended."""
        with self.lock:
            self.waiting.append(background)
        self.next()

    def end(self, background: Background) -> None:
        """Let others run in place of a compilation."""
        with self.lock:
            for group in (self.running, self.waiting):
                if background in group:
                    group.remove(background)
        self.next()

    def next(self) -> None:
        """Start the threads of compilations that have their turn."""
        for background in list(self.waiting):
            if self.take(background):
                with self.lock:
                    if background not in self.waiting:
                        continue
                    self.waiting.remove(background)
                Thread(target=background.run, daemon=True).start()


class Background:
    """
    A compilation in a process of its own, started after a delay when few enough run.

    Args: `key` is equal for the same model and options; None for a compilation that none equals.
    Raises: StepwellError `bad-option` for a bad `STEPWELL_BACKGROUND`.
    """

    def __init__(self, key: object):
        self.key = key
        self.closed = False
        self._child: Child | None = None
        self._problem: OSError | None = None
        self._delay: Timer | None = None
        _TURNS.limit = BACKGROUND.count("compilations")

    def _start(self) -> None:
        try:
            self._child = Child(PROGRAM, forward_errors=False)
        except OSError as error:
            self._problem = error
        if self.closed:
            self.close()

    def begin(self, request: Request, done: Callable[[ModelImage | StepwellError], None]) -> None:
        """
        Compile after `release` when it is this compilation's turn.

        `done` gets the model or the error, in a thread.
        """
        self._request, self._done = request, done
        self._delay = Timer(HEAD_START_SECONDS, self.release)
        self._delay.daemon = True
        self._delay.start()

    def release(self) -> None:
        """End the delay: the first answer is there, or somebody waits for the code."""
        with _TURNS.lock:
            delay, self._delay = self._delay, None
        if delay is not None:
            delay.cancel()
            _TURNS.wait(self)

    def close(self) -> None:
        """End the process; a compilation that waits never runs. `done` is not called."""
        self.closed = True
        with _TURNS.lock:
            delay, self._delay = self._delay, None
        if delay is not None:
            delay.cancel()
        if self._child is not None:
            self._child.end_input()
        _TURNS.end(self)

    def forget(self) -> None:
        """Leave the process to the parent of this process, which was forked."""
        if self._child is not None:
            self._child.forget()

    def run(self) -> None:
        """Compile, in a thread."""
        request, done = self._request, self._done
        del self._request, self._done  # which have the model
        try:
            outcome = self._outcome(request)
        except Exception as error:  # a thread has no caller to raise it to
            outcome = user_error(error)
        finally:
            if self._child is not None:
                self._child.close()
            _TURNS.end(self)
        if not self.closed:
            done(outcome)

    def _outcome(self, request: Request) -> ModelImage | StepwellError:
        if self._child is None:
            if (image := request.in_cache()) is not None:
                return image
            self._start()
        if self._child is None:
            return not_coming(f"its process cannot be started: {self._problem}")
        try:
            with request.sent() as head:
                answer, _ = self._child.ask(head, request.body)
        except ChildError as error:
            return not_coming(f"its process ended (status {error.status})", error.last_output)
        report(Record(*row) for row in cast("list[list[Any]]", answer["log"]))
        if "error" in answer:
            return error_of(cast("dict[str, Any]", answer["error"]), "the compilation in the background")
        answered = cast("dict[str, str | None]", answer)
        file, key = answered["file"], answered["key"]
        # Not by a key of our own: sources that were edited since we read them have another one.
        image = request.in_cache(key) if file is None else load_image(file)
        if image is None:
            return not_coming("it is not in the cache any more")
        return image._replace(effort=cast("dict[str, object]", answer["effort"]))


def not_coming(reason: str, output: str = "") -> StepwellError:
    """The error for a background compilation that did not end with code or with an error of its own."""
    message = f"the full code is not coming: {reason}"
    return StepwellError("background-failed", None, message, note=output or ())


_TURNS = _Turns()


def _forked() -> None:
    """In a forked process, forget the compilations, which belong to the parent."""
    for background in _TURNS.running:
        background.forget()
    _TURNS.__init__()


os.register_at_fork(after_in_child=_forked)
