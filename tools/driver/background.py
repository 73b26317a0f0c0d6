"""
Compilation of models by background processes: a few at a time, while others wait for their turn.

The compiler holds Python's lock: in the caller's process it would slow down every call.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, cast

from stepwell.lowering.kernels.handover import error_of, handed_over
from stepwell.passes.context import PassContext
from stepwell.runtime.child import Child, ChildError
from stepwell.runtime.environment import BACKGROUND
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import load_image
from stepwell.runtime.image import ModelImage

if TYPE_CHECKING:
    from stepwell.tools.driver.kept_models import KeptModel
    from stepwell.tools.driver.options import CompileOptions, ModelFile

PROGRAM = "stepwell.tools.driver.background_worker:main"


@dataclass(frozen=True)
class Request:
    """A compilation for a background process."""

    head: Mapping[str, object]
    body: bytes
    """The model, where it is no file."""
    kept: KeptModel | None

    @staticmethod
    def of(model: ModelFile, options: CompileOptions, kept: KeptModel | None) -> Request:
        """The request to compile a model in the current pass context."""
        is_file = isinstance(model, str | Path)
        head: dict[str, object] = {
            **handed_over(PassContext.current()),
            "options": {option.name: getattr(options, option.name) for option in fields(options)},
            "model": os.path.abspath(model) if is_file else None,
            "kept": None,
        }
        if kept is not None:
            head["kept"] = {"path": os.path.abspath(kept.path), "key": kept.key, "stamp": kept.stamp}
        body = b"" if is_file else model if isinstance(model, bytes) else model.SerializeToString()
        return Request(head, body, kept)

    def in_cache(self) -> ModelImage | None:
        """The model, where another compilation has finished it."""
        return None if self.kept is None else self.kept.load()


class _Turns:
    """The running and the waiting background compilations of this process."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.running: list[Background] = []
        self.waiting: deque[Background] = deque()

    def take(self, background: Background) -> bool:
        """Let a compilation run if few enough do, and none of the same key; returns whether it may."""
        with self.lock:
            if background in self.running:
                return True
            keys = {other.key for other in self.running if other.key is not None}
            if len(self.running) >= _limit() or background.key in keys:
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


def _limit() -> int:
    """The number of compilations at a time. Raises: StepwellError `bad-option`."""
    text = BACKGROUND.value() or BACKGROUND.default
    if not text.isdecimal() or int(text) < 1:
        message = f"{BACKGROUND.name} must be a number of compilations, found {text!r}"
        raise StepwellError("bad-option", None, message)
    return int(text)


class Background:
    """
    A compilation in a process of its own, started at once when few enough run.

    Args: `key` is that of the model in the cache.
    Raises: StepwellError `bad-option` for a bad `STEPWELL_BACKGROUND`.
    """

    def __init__(self, key: str | None):
        self.key = key
        self.closed = False
        self._child: Child | None = None
        self._problem: OSError | None = None
        if _TURNS.take(self):
            self._start()

    def _start(self) -> None:
        try:
            self._child = Child(PROGRAM, forward_errors=False)
        except OSError as error:
            self._problem = error

    def begin(self, request: Request, done: Callable[[ModelImage | StepwellError], None]) -> None:
        """Compile when it is this compilation's turn; `done` gets the model or the error, in a thread."""
        self._request, self._done = request, done
        _TURNS.wait(self)

    def close(self) -> None:
        """End the process; a compilation that waits never runs. `done` is not called."""
        self.closed = True
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
            answer, _ = self._child.ask(request.head, request.body)
        except ChildError as error:
            return not_coming(f"its process ended (status {error.status})", error.last_output)
        if "error" in answer:
            return error_of(cast("dict[str, Any]", answer["error"]), "the compilation in the background")
        try:
            image = request.in_cache() if answer["file"] is None else load_image(str(answer["file"]))
        except StepwellError as error:
            return error
        if image is None:
            return not_coming("it is not in the cache any more")
        return image._replace(effort=cast("dict[str, object]", answer["effort"]))


def not_coming(reason: str, output: str = "") -> StepwellError:
    """The error for a background compilation that did not end with code or with an error of its own."""
    message = f"the full code is not coming: {reason}"
    return StepwellError("background-failed", None, message, note=output or ())


_TURNS = _Turns()


def _forked() -> None:
    """In a forked process: the compilations are those of its parent."""
    for background in _TURNS.running:
        background.forget()
    _TURNS.__init__()


os.register_at_fork(after_in_child=_forked)
