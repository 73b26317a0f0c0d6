"""The worker processes of the language server: the first reads texts, the second answers questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from threading import Lock
from typing import cast

from stepwell.runtime.child import Child, ChildError

_PROGRAM = "stepwell.tools.lsp.worker:main"
MOST_SECONDS = 120
"""A worker that takes longer is ended."""


class RequestError(Exception):
    """A request without an answer, with the error as text."""


class _Worker:
    """A process with the plugins, which answers one request at a time."""

    def __init__(self, plugins: Sequence[str]):
        self._child = Child(_PROGRAM, forward_errors=False)
        self._to_load = list(plugins)
        self._lock = Lock()
        self.ended = self.is_cancelled = False

    @property
    def is_busy(self) -> bool:
        """Whether it works on a request."""
        return self._lock.locked()

    def ask(self, what: str, text: str, values: dict[str, object]) -> object:
        """The answer to a request. Raises: RequestError."""
        with self._lock:
            while self._to_load:
                self._asked("load", "", {"name": self._to_load.pop(0)})
            error, found = self._asked(what, text, values)
        if error is not None:
            raise RequestError(error)
        return found

    def _asked(self, what: str, text: str, values: dict[str, object]) -> tuple[str | None, object]:
        try:
            answer = self._child.ask({"do": what, **values}, text.encode(), seconds=MOST_SECONDS)
        except ChildError as error:
            self.ended = True
            return str(error), None
        return cast("str | None", answer.head["error"]), json.loads(answer.body)

    def end(self) -> None:
        """End the process at once, whatever it does."""
        self.ended = self.is_cancelled = True
        self._child.kill()


class Workers:
    """
    Two processes: texts are read in the first, everything else is asked of the second.

    Where reading is cancelled, its process is ended: the second one, which has all imports, then reads, and a
    new one takes its place.
    """

    def __init__(self, plugins: Sequence[str] = ()):
        self.plugins = list(plugins)
        self._turn = Lock()
        """Of the text that is read."""
        self._swap = Lock()
        self._reader = _Worker(self.plugins)
        self._helper = _Worker(self.plugins)

    def read(self, text: str, file: str) -> object | None:
        """The reading of a text by `reading.py`; None where cancelled. Raises: RequestError."""
        with self._turn:
            with self._swap:
                if self._reader.ended:
                    self._reader, self._helper = self._alive(self._helper), _Worker(self.plugins)
                reader = self._reader
            try:
                return reader.ask("read", text, {"file": file})
            except RequestError:
                if reader.is_cancelled:
                    return None
                raise

    @property
    def is_reading(self) -> bool:
        """Whether a text is being read."""
        return self._reader.is_busy

    def cancel(self) -> None:
        """End the reading of a text that is no longer wanted."""
        with self._swap:
            if self._reader.is_busy:
                self._reader.end()

    def ask(self, what: str, text: str = "", **values: object) -> object:
        """The answer to a request of `worker.py`. Raises: RequestError."""
        with self._swap:
            helper = self._helper = self._alive(self._helper)
        return helper.ask(what, text, values)

    def load(self, plugin: str) -> None:
        """Load a plugin, in the processes to come too. Raises: RequestError."""
        self.ask("load", name=plugin)
        self.plugins.append(plugin)
        with self._swap:
            self._reader.end()

    def _alive(self, worker: _Worker) -> _Worker:
        return _Worker(self.plugins) if worker.ended else worker

    def close(self) -> None:
        """End both processes."""
        with self._swap:
            self._reader.end()
            self._helper.end()
