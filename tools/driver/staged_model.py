"""Models of `start="now"`: calls are answered by the first stage until the full code is there."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Mapping, Sequence
from threading import Event, Lock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Literal

from stepwell.passes.context import PassContext
from stepwell.passes.registry import is_registered_by_hand
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import ModelImage
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel, checked_threads
from stepwell.runtime.model_info import checked_timeout
from stepwell.runtime.plugins import UNKEYED
from stepwell.runtime.sessions.states import States, StateStore, Targets
from stepwell.runtime.values.loading import model_of
from stepwell.tools.driver.background import Background, Request, not_coming
from stepwell.tools.driver.first_stage import FirstStage, NoFirstStage
from stepwell.tools.driver.program import Program
from stepwell.tools.failure import user_error

if TYPE_CHECKING:
    from stepwell.tools.driver.kept_models import KeptModel
    from stepwell.tools.driver.options import CompileOptions, Model

_OF_CODE = ("image", "variant", "kernel_times")
"""The attributes of a compiled model that describe its code."""
_POLL_SECONDS = 0.05


class StagedModel(CompiledModel):
    """
    A model on its first stage, while another process makes the full code.

    It becomes a `CompiledModel` between two calls: its attributes and class are replaced, so that later calls
    take as long as without stages. Methods that need the code, such as `save` and copies, wait for it.
    """

    def __init__(self, first: FirstStage, background: Background, kept: KeptModel | None, threads: int):
        self._first: FirstStage | None = first
        self._background, self._kept = background, kept
        self._refusal: StepwellError | None = None
        self._decided = Event()  # the code is there, or will not be
        self._lock = Lock()
        self._is_forked = False
        self._whole = first.interface
        self.interface = first.interface.public
        self._states = self.new_states({}) if first.interface.states else None
        self._input_names = tuple(spec.name for spec in self.interface.inputs)
        self._output_names = tuple(spec.name for spec in self.interface.outputs)
        self._threads = threads
        _MODELS.add(self)

    def __getattr__(self, name: str) -> object:
        if name not in _OF_CODE:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.wait()
        return getattr(self, name)

    @property
    def stage(self) -> Literal["first", "full"]:
        return "first"

    @property
    def failure(self) -> StepwellError | None:
        return self._refusal

    @property
    def threads(self) -> int:
        return self._threads

    @threads.setter
    def threads(self, threads: int | None) -> None:
        checked = checked_threads(threads)
        with self._lock:
            if self.stage == "first":
                self._threads = checked
                return
        self.threads = checked  # of the code, which came meanwhile

    def wait(self, timeout: float | None = None) -> bool:
        end = None if checked_timeout(timeout) is None else monotonic() + (timeout or 0)
        self._release()
        while self._is_forked and not self._decided.is_set():
            self._look_up()
            if end is not None and monotonic() >= end:
                return self._decided.is_set()
            sleep(_POLL_SECONDS)
        decided = self._decided.wait(timeout)
        if self._refusal is not None:
            raise self._refusal
        return decided

    def close(self) -> None:
        self._background.close()
        self._fail(not_coming("the model was closed"))

    def new_states(self, sizes: Mapping[str, int], store: StateStore | None = None) -> States:
        if (first := self._first) is None:
            return CompiledModel.new_states(self, sizes, store)
        return States(first.interface, first.initial.__getitem__, sizes, store)

    def invoke_on(self, states: States, values: Sequence[object]) -> tuple[Array, ...]:
        if self._is_forked:
            self._look_up()
        if (first := self._first) is None:  # the code came since the call began
            return CompiledModel.invoke_on(self, states, values)
        return states.call(first.interface.states, lambda inputs, _: self._answer(first, inputs), values)

    def _invoke(self, values: Sequence[object], targets: Targets | None = None) -> tuple[Array, ...]:
        if targets is None and self._states is not None:
            return self.invoke_on(self._states, values)
        if self._is_forked:
            self._look_up()
        if (first := self._first) is None:
            return CompiledModel._invoke(self, values, targets)
        return self._answer(first, values)

    def _answer(self, first: FirstStage, values: Sequence[object]) -> tuple[Array, ...]:
        try:
            return first(values, self._threads)
        finally:
            self._release()

    def _release(self) -> None:
        """End the delay of the compilation, which is the parent's in a forked process."""
        if not self._is_forked:
            self._background.release()

    def finish(self, outcome: ModelImage | StepwellError) -> None:
        """Take the code from now on, or warn once that it is not coming."""
        if isinstance(outcome, ModelImage):
            try:
                self._take(outcome)
                return
            except Exception as error:  # a thread has no caller to raise it to
                outcome = user_error(error)
        message = not_coming(outcome.message.removeprefix(not_coming("").message)).message
        try:  # before `wait` ends; a filter may make an exception of it
            warnings.warn(f"{message}; the model goes on as it is", RuntimeWarning, stacklevel=2)
        finally:
            self._fail(outcome)

    def _take(self, image: ModelImage) -> None:
        """Become a compiled model. Raises: StepwellError `file-changed`; of code that cannot be loaded."""
        if self._first is not None:
            self._first.expect_unchanged()
        full, states = model_of(image, threads=self._threads), self._states
        with self._lock:
            if full.threads != self._threads:
                full.threads = self._threads
            vars(self).update(vars(full))
            self._states = states  # with their values
            self.__class__ = type(full)  # pyright: ignore[reportAttributeAccessIssue]  # not a subclass
        _MODELS.discard(self)
        self._first = None
        self._decided.set()

    def _fail(self, error: StepwellError) -> None:
        self._refusal = self._refusal or error
        self._decided.set()

    def _look_up(self) -> None:
        """In a forked process: take the code where the parent has put it into the cache."""
        if self._kept is None:
            self._fail(not_coming("this process was forked from the one that compiles"))
        elif self._first is not None and (image := self._kept.load()) is not None:
            self._take(image)

    def forked(self) -> None:
        """In a forked process: nothing is left of the threads and locks of its parent."""
        self._is_forked, self._lock, self._decided = True, Lock(), Event()


def staged_model(
    model: Model, options: CompileOptions, kept: KeptModel | None, threads: int
) -> StagedModel | None:
    """
    A model that answers at once; None for one that this process has to compile itself, in the caller's time.

    Raises: StepwellError for a model that cannot be read; `bad-option` for a bad `STEPWELL_BACKGROUND`.
    """
    if _is_compiled_here(options):
        return None
    background = Background(None if kept is None else kept.source)
    try:
        first = FirstStage(model.copy() if isinstance(model, Program) else model, options)
    except NoFirstStage:
        background.close()
        return None
    except BaseException:
        background.close()
        raise
    staged = StagedModel(first, background, kept, threads)
    reference = weakref.ref(staged)

    def done(outcome: ModelImage | StepwellError) -> None:
        if (waiting := reference()) is not None:
            waiting.finish(outcome)

    stamp = None if first.file is None else first.file[1]
    background.begin(Request.of(model, options, kept, stamp), done)
    return staged


def _is_compiled_here(options: CompileOptions) -> bool:
    """Whether this process alone has what compiling needs: instruments, or code that is no plugin."""
    context = PassContext.current()
    required = (*options.required_passes, *context.required_pass)
    return bool(context.instruments or UNKEYED or any(map(is_registered_by_hand, required)))


_MODELS: weakref.WeakSet[StagedModel] = weakref.WeakSet()


def _forked() -> None:
    for model in _MODELS:
        model.forked()


os.register_at_fork(after_in_child=_forked)
