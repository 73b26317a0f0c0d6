"""A database file: lines of JSON that are appended, never changed."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import whole_file
from stepwell.runtime.warned import warn
from stepwell.tools.records.record import Plan, Record, TaskRecord, Trial, UnknownRecord, record_of

MAX_FILE_BYTES = 1 << 30
_PROBE_BYTES = 1 << 16
"""The bytes that a file must have space for before a run: those of the longest line."""


class TuningWarning(UserWarning):
    """Lines of a database that are not used."""


@dataclass
class Content:
    """The records of a file, and what was skipped."""

    tasks: dict[str, TaskRecord] = field(default_factory=dict[str, TaskRecord])
    trials: list[Trial] = field(default_factory=list[Trial])
    plans: list[Plan] = field(default_factory=list[Plan])
    bad: list[str] = field(default_factory=list[str])
    """For each bad line `FILE:LINE: reason`."""
    unknown: int = 0
    """The number of lines of other versions or kinds."""
    torn: bool = False
    """Whether the last line has no end, and was dropped."""

    def add(self, record: Record) -> None:
        """Add a record."""
        match record:
            case TaskRecord():
                self.tasks[record.task] = record
            case Trial():
                self.trials.append(record)
            case Plan():
                self.plans.append(record)

    def warn(self, path: Path) -> None:
        """Warn of lines that are not used, if there are any."""
        parts = [f"{path}: the last line is torn, and was dropped"] if self.torn else []
        parts += [f"{path}: {self.unknown} lines of another version were skipped"] if self.unknown else []
        if self.bad:
            parts.append("; ".join(self.bad[:3]) + (f"; and {len(self.bad) - 3} more" * (len(self.bad) > 3)))
        if parts:
            warn("; ".join(parts), TuningWarning)


def file_bytes(path: Path) -> bytes:
    """The bytes of a database. Raises: StepwellError `no-file`, `cannot-access`, `too-large`."""
    try:
        if (size := path.stat().st_size) > MAX_FILE_BYTES:
            message = f"a database has at most {MAX_FILE_BYTES} bytes, found {size}"
            raise StepwellError(
                "too-large", str(path), message, help="`stepwell tune --prune` makes it smaller"
            )
        return path.read_bytes()
    except FileNotFoundError:
        help = "`stepwell tune MODEL --db FILE` writes one"
        raise StepwellError("no-file", str(path), "there is no such database", help=help) from None
    except OSError as error:
        message = f"the database cannot be read: {error.strerror}"
        raise StepwellError("cannot-access", str(path), message) from None


def parsed(path: Path, data: bytes, is_wanted: Callable[[bytes], bool] | None = None) -> Content:
    """
    The records in the bytes of a database.

    Args: `is_wanted` says of a line whether it is parsed at all.
    """
    content = Content()
    *lines, last = data.split(b"\n")
    content.torn = bool(last)
    for number, line in enumerate(lines, 1):
        if not line or (is_wanted is not None and not is_wanted(line)):
            continue
        try:
            content.add(record_of(line))
        except UnknownRecord:
            content.unknown += 1
        except (ValueError, TypeError) as error:
            content.bad.append(f"{path}:{number}: {str(error).partition(chr(10))[0][:100]}")
    return content


class Database:
    """A database file for reading and appending; it need not exist before the first record."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)

    def read(self) -> Content:
        """The records of the file, none where there is no file. Raises: StepwellError as `file_bytes`."""
        if not self.path.exists():
            return Content()
        content = parsed(self.path, file_bytes(self.path))
        content.warn(self.path)
        return content

    def check_writable(self) -> None:
        """
        Require that records can be appended, before long work: a few are, as empty lines, and removed again.

        Raises: StepwellError `cannot-write`.
        """
        with self._opened() as file:
            if not S_ISREG(os.fstat(file).st_mode):
                raise _refused(self.path, "it is no regular file")
            size = os.fstat(file).st_size
            self._append_to(file, b"\n" * _PROBE_BYTES, size)
            os.ftruncate(file, size)

    def append(self, records: Iterable[Record]) -> None:
        """
        Append records: all of them, or none.

        A line that another process left without an end is removed. Raises: StepwellError `cannot-write`.
        """
        data = b"".join(record.line() for record in records)
        with self._opened() as file:
            self._append_to(file, data, _whole_lines(file))

    def _append_to(self, file: int, data: bytes, size: int) -> None:
        """Append bytes to a file of a size: all of them, or none. Raises: StepwellError `cannot-write`."""
        try:
            _write(file, data)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(file, size)
            raise _refused(self.path, error.strerror or str(error)) from None

    @contextmanager
    def _opened(self) -> Generator[int]:
        """The file, locked against other tuners. Raises: StepwellError `cannot-write`."""
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _refused(self.path, error.strerror or str(error)) from None
        try:
            _lock(file)
            yield file
        finally:
            os.close(file)


def _lock(file: int) -> None:
    """Wait for the lock of a file, where the system has locks."""
    try:
        from fcntl import LOCK_EX, flock
    except ImportError:
        return
    with suppress(OSError):  # a file system without locks
        flock(file, LOCK_EX)


def _write(file: int, data: bytes) -> None:
    """Write all bytes, by one call unless the system takes fewer. Raises: OSError."""
    while data:
        written = os.write(file, data)
        if written == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        data = data[written:]


def _whole_lines(file: int) -> int:
    """Remove a last line without an end; returns the size of the file. Raises: OSError."""
    size = end = os.fstat(file).st_size
    while end > 0:
        begin = max(0, end - (1 << 16))
        part = os.pread(file, end - begin, begin)
        if (at := part.rfind(b"\n")) >= 0:
            end = begin + at + 1
            break
        end = begin
    if end < size:
        os.ftruncate(file, end)
    return end


def _refused(path: Path, why: str) -> StepwellError:
    return StepwellError(
        "cannot-write",
        str(path),
        f"records cannot be appended: {why}",
        help="choose a file that you may write, with enough space: --db FILE",
    )


def best_of(trials: Iterable[Trial]) -> Trial | None:
    """The trial with the highest lower bound among gains; of equal ones the first script."""
    gains = [trial for trial in trials if trial.is_gain]
    return min(gains, key=lambda trial: (-trial.low, trial.script), default=None)


def merged(contents: Sequence[Content]) -> list[Record]:
    """The records of several files, each once, in an order that does not depend on that of the files."""
    tasks = {t.task: t for content in contents for t in content.tasks.values()}
    trials = {trial.line(): trial for content in contents for trial in content.trials}
    plans = {plan.line(): plan for content in contents for plan in content.plans}
    found: list[Record] = [tasks[name] for name in sorted(tasks)]
    found += [trials[line] for line in sorted(trials)]
    return found + [plans[line] for line in sorted(plans)]


def pruned(content: Content) -> list[Record]:
    """The records that compilations use: for each task, machine and threads the best, and plans."""
    groups: dict[tuple[str, str, str, int], list[Trial]] = {}
    for trial in content.trials:
        groups.setdefault((trial.task, trial.machine, trial.target, trial.threads), []).append(trial)
    best = [trial for group in groups.values() if (trial := best_of(live_trials(group))) is not None]
    tasks = {trial.task: content.tasks[trial.task] for trial in best if trial.task in content.tasks}
    return [*tasks.values(), *best, *content.plans]


def live_trials(trials: Sequence[Trial]) -> list[Trial]:
    """The last trial of each script on each machine: a failed check replaces the gain before."""
    last = {(t.task, t.script, t.machine, t.target, t.threads): t for t in trials}
    return list(last.values())


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write a whole database file. Raises: StepwellError `cannot-write`."""
    with whole_file(path) as file:
        for record in records:
            file.write(record.line())
