"""
The log: messages of passes and of all else, selected by `STEPWELL_LOG`, `--log` or Python's `logging`.

    log = logger(__name__)
    log(1, "{} ops in {} kernels", ops, kernels)  # formatted only where it is selected
    if log.on(2): ...  # for what is costly to find out

Levels: 0 warnings, 1 decisions (a line a pass), 2 each rewrite or candidate, 3 everything. Loggers are those
of `logging`, by module, where 1, 2 and 3 are INFO, DEBUG and 5: applications may select and route them there.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from stepwell.runtime.environment import LOG
from stepwell.runtime.errors import describe_location
from stepwell.runtime.log.spec import Entry, Spec, read_spec

if TYPE_CHECKING:
    import logging

_PYTHON_LEVELS = (30, 20, 10, 5)
_NODE_CHARS = 100


class Record(NamedTuple):
    """A message: seconds since 1970, level, logger, running pass, node of the model, text."""

    time: float
    level: int
    name: str
    step: str
    node: str
    message: str

    def as_text(self) -> str:
        """The record as a line for people."""
        clock = time.strftime("%H:%M:%S", time.localtime(self.time))
        cut = f"{self.node[:_NODE_CHARS]}…" if len(self.node) > _NODE_CHARS else self.node
        node = f" --> {cut}" if cut else ""
        milliseconds = int(1000 * (self.time % 1))
        return f"{clock}.{milliseconds:03} {self.level} {self.step or self._module}: {self.message}{node}"

    def as_json(self) -> str:
        """The record as a line of JSON."""
        import json

        facts = {"time": round(self.time, 6), "level": self.level, "module": self._module}
        return json.dumps({**facts, "pass": self.step, "node": self.node, "message": self.message})

    @property
    def _module(self) -> str:
        return self.name.removeprefix("stepwell.").replace(".", "/")


class _Settings:
    """A specification in use: its text in the environment, where messages go, limits of loggers so far."""

    def __init__(self, spec: Spec, source: str | None, write: Callable[[Record], None] | None = None):
        self.spec, self.source, self.write = spec, source, write
        self.most = spec.most
        self._limits: dict[tuple[str, Sequence[str]], int] = {}

    def limit(self, name: str) -> int:
        """The highest level that a logger reports now, in the running passes."""
        key = name, tuple(_running())
        if (found := self._limits.get(key)) is None:
            found = self._limits[key] = self.spec.limit(*key)
        return found


_settings: _Settings | None = None
_running: Callable[[], Sequence[str]] = tuple
_collected: ContextVar[list[Record] | None] = ContextVar("stepwell_log_records", default=None)


def follow_passes(running: Callable[[], Sequence[str]]) -> None:
    """Set the function that gives the names of the running passes, the innermost last."""
    global _running
    _running = running


class Log:
    """The logger of a module."""

    def __init__(self, name: str):
        self.name = name
        self.decisions = 0
        """The number of messages of level 1 so far."""
        self._logger: logging.Logger | None = None

    def __call__(self, level: int, message: str, *values: object, node: object = None) -> None:
        """
        Report a message, in which `{}` stand for values, if its level is on.

        Args: `node` is an op, or a location, that the message is about.
        """
        if not self.on(level):
            return
        step, text = next(reversed(_running()), ""), message.format(*values) if values else message
        record = Record(time.time(), level, self.name, step, describe_location(node), text)
        self.decisions += level == 1
        report([record])

    def on(self, level: int) -> bool:
        """Whether messages of a level are reported."""
        settings = _settings or _from_environment()
        if level <= settings.most and level <= settings.limit(self.name):
            return True
        if self._logger is None:
            if (logging := sys.modules.get("logging")) is None:
                return False  # importing it would take 4 ms
            self._logger = cast("logging.Logger", logging.getLogger(self.name))
        return self._logger.isEnabledFor(_PYTHON_LEVELS[level])


@cache
def logger(name: str) -> Log:
    """The logger of a module, given its `__name__`."""
    return Log(name)


def _from_environment() -> _Settings:
    """The settings of `STEPWELL_LOG`, in which names that no module has are taken for passes."""
    global _settings
    value = LOG.value()
    _settings = _Settings(read_spec([(LOG.name, value)] if value else ()), value)
    return _settings


def is_current() -> bool:
    """Whether the settings are those of the present value of `STEPWELL_LOG`."""
    return (_settings.source if _settings is not None else None) == LOG.value()


def use_spec(spec: Spec) -> None:
    """Use a specification from now on, in place of that of `STEPWELL_LOG`."""
    global _settings
    _settings = _Settings(spec, LOG.value())


@contextmanager
def logging_to(spec: Spec, stream: IO[str], *, as_json: bool = False) -> Generator[None]:
    """Use a specification while the context is active, and write messages to a stream, as text or JSON."""
    global _settings

    def write(record: Record) -> None:
        stream.write((record.as_json() if as_json else record.as_text()) + "\n")
        stream.flush()

    before, _settings = _settings, _Settings(spec, LOG.value(), write)
    try:
        yield
    finally:
        _settings = before


@contextmanager
def collecting() -> Generator[list[Record]]:
    """A list that messages of this thread are added to while the context is active, for `report`."""
    token = _collected.set(records := [])
    try:
        yield records
    finally:
        _collected.reset(token)


def report(records: Iterable[Record]) -> None:
    """Write messages, or add them to the list of `collecting`; they may be of another process."""
    if (collected := _collected.get()) is not None:
        collected += records
        return
    for record in records:
        _write(record)


def _write(record: Record) -> None:
    """Write a message where the settings say, and give it to handlers of Python's `logging`."""
    import logging

    write = _settings.write if _settings is not None else None
    log = logging.getLogger(record.name)
    if log.hasHandlers():
        level = _PYTHON_LEVELS[record.level]
        facts = {"levelno": level, "levelname": logging.getLevelName(level), "msg": record.message}
        more = {"name": record.name, "created": record.time, "step": record.step, "node": record.node}
        log.handle(logging.makeLogRecord(facts | more))
    elif write is None:
        print(record.as_text(), file=sys.stderr)
    if write is not None:
        write(record)


def spec_data() -> list[object]:
    """The specification in use as JSON values, for other processes."""
    spec = (_settings or _from_environment()).spec
    return [spec.default, *spec.entries]


def use_spec_data(data: Sequence[object]) -> None:
    """Use the specification that `spec_data` describes."""
    default, *rows = cast("tuple[int, *tuple[tuple[list[str], int, str], ...]]", data)
    use_spec(Spec([Entry(*row) for row in rows], default))
