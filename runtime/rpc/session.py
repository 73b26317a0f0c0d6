"""Sessions: a folder, uploaded files, and the process in which models run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from signal import Signals
from tempfile import mkdtemp
from threading import Lock
from time import monotonic, sleep
from typing import NamedTuple

from stepwell.runtime.child import Child, ChildError
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import BadFrame, Frame
from stepwell.runtime.json_values import as_text
from stepwell.runtime.rpc.identity import KEY
from stepwell.runtime.rpc.messages import failure

_HASH = re.compile(r"[0-9a-f]{64}")
_PROGRAM = "stepwell.runtime.rpc.runner:main"
_FEWEST_SECONDS = 0.01
_LOG_SECONDS = 5
_MARK_BYTES = 8
_MARK = re.compile(rf"\0[0-9a-f]{{{2 * _MARK_BYTES}}}\n?")


class Limits(NamedTuple):
    """The bounds of a session."""

    max_bytes: int = 1 << 30
    """Of all files together, and of a message."""
    max_files: int = 64
    session_seconds: float | None = None
    memory_bytes: int | None = None


class Session:
    """
    A session: its files, and a process that runs the uploaded code. Requests take turns.

    A request whose code crashes or takes too long ends the session, and it only.
    """

    def __init__(self, limits: Limits):
        """Raises: OSError when the folder or the process cannot be made."""
        self._limits = limits
        self._folder = Path(mkdtemp(prefix="stepwell-session-"))
        self._uploads = self._folder / "files"
        self._uploads.mkdir()
        self._child = Child(_PROGRAM, memory_bytes=limits.memory_bytes, forward_errors=False)
        self._begin = monotonic()
        self._names: list[str] = []
        self._lock = Lock()
        self._ended: StepwellError | None = None

    def answer(self, head: Mapping[str, object], body: bytes, line: bytes = b"") -> Frame:
        """The answer to a request, which may have come as a line; a failure is one too."""
        try:
            with self._lock:
                if self._ended is not None:
                    raise self._ended
                return self._answer(head, body, line)
        except (BadFrame, KeyError, TypeError) as error:
            return failure(BadFrame(str(error)))
        except (StepwellError, OSError) as error:
            return failure(error)

    def _answer(self, head: Mapping[str, object], body: bytes, line: bytes) -> Frame:
        match head.get("op"):
            case "has":
                return Frame({"has": self._stored(head).exists()}, b"")
            case "put":
                return self._put(body)
            case "upload":
                self._write(self._uploads / _checked_name(head.get("name")), body)
                return Frame({}, b"")
            case "download":
                return self._download(_checked_name(head.get("name")))
            case "log":
                return Frame({"log": self._log()}, b"")
            case "load":
                self._names.append(as_text(head["name"])[:200])
                stored = self._stored(head)
                return self._ask({**head, "path": str(stored), "op": "load"}, b"", self._names[-1])
            case "call":
                return self._ask({**head, "folder": str(self._uploads)}, body, self._running(head))
            case _:
                return self._ask(head, body, self._running(head), line)

    def _stored(self, head: Mapping[str, object]) -> Path:
        digest = as_text(head["sha256"])
        if _HASH.fullmatch(digest) is None:
            raise BadFrame("expected a hash of 64 hexadecimal digits")
        return self._folder / f"{digest}.stepwell"

    def _put(self, body: bytes) -> Frame:
        digest = sha256(body).hexdigest()
        self._write(self._folder / f"{digest}.stepwell", body)
        return Frame({"sha256": digest}, b"")

    def _write(self, path: Path, body: bytes) -> None:
        """Write a file within the limits. Raises: StepwellError `too-large`, `too-many`; OSError."""
        files = [file for file in self._folder.rglob("*") if file.is_file() and file != path]
        if len(files) >= self._limits.max_files:
            raise StepwellError("too-many", None, f"a session has at most {self._limits.max_files} files")
        if sum(file.stat().st_size for file in files) + len(body) > self._limits.max_bytes:
            message = f"the files of a session have at most {self._limits.max_bytes} bytes"
            raise StepwellError("too-large", None, message)
        part = path.with_name(f".{path.name}.part")
        part.write_bytes(body)
        part.replace(path)

    def _download(self, name: str) -> Frame:
        path = self._uploads / name
        if not path.is_file() or path.is_symlink():
            raise StepwellError("no-file", None, f"the session has no file {name!r}")
        if path.stat().st_size > self._limits.max_bytes:
            raise StepwellError("too-large", None, f"{name} has more than {self._limits.max_bytes} bytes")
        return Frame({}, path.read_bytes())

    def _log(self) -> str:
        """The end of the process's output up to now: the process prints a mark, and the session waits."""
        mark = f"\0{token_hex(_MARK_BYTES)}"
        self._ask({"op": "mark", "mark": mark}, b"", "log")
        end = monotonic() + _LOG_SECONDS
        while mark not in (output := self._child.last_output) and monotonic() < end:
            sleep(0.001)
        return _MARK.sub("", output).strip()

    def _running(self, head: Mapping[str, object]) -> str:
        """The name of the model or function that a request runs."""
        index = head.get("model")
        if type(index) is int and 0 <= index < len(self._names):
            return f'model "{self._names[index]}"'
        return f"{head.get('function', head.get('op'))}"[:200]

    def _ask(self, head: Mapping[str, object], body: bytes, what: str, line: bytes = b"") -> Frame:
        seconds = self._seconds(head, what)
        try:
            return self._child.ask(head, body, seconds=seconds, line=line)
        except ChildError as error:
            self._ended = _died(error, what)
            raise self._ended from None

    def _seconds(self, head: Mapping[str, object], what: str) -> float | None:
        """The time limit of a request: the client's deadline, or the rest of the session's."""
        given, most = head.get("seconds"), self._limits.session_seconds
        left = [] if most is None else [most - (monotonic() - self._begin)]
        if isinstance(given, int | float) and not isinstance(given, bool):
            left.append(float(given))
        return max(min(left), _FEWEST_SECONDS) if left else None

    def stop(self, reason: StepwellError) -> None:
        """End the process, while a request may wait for it; later requests raise the reason."""
        self._ended = self._ended or reason
        self._child.stop()

    def close(self) -> None:
        """End the process and remove the folder."""
        self._ended = self._ended or StepwellError("session-died", None, "the session was closed")
        self._child.kill()
        rmtree(self._folder, ignore_errors=True)


def _checked_name(name: object) -> str:
    if not isinstance(name, str) or KEY.fullmatch(name) is None:
        message = (
            f"a name has 1 to 80 letters, digits, '.', '_' or '-' and no leading dot, found {name!r:.100}"
        )
        raise StepwellError("bad-name", None, message, help="choose another name")
    return name


def _died(error: ChildError, what: str) -> StepwellError:
    notes = [f"its last output: {error.last_output[-1000:]}"] if error.last_output else []
    if error.is_late:
        return StepwellError("session-timeout", None, f"{what}: {error.reason}", note=notes)
    how = f"status {error.status}"
    if error.status < 0:
        known = {signal.value: signal.name for signal in Signals}
        how = known.get(-error.status, f"signal {-error.status}")
    return StepwellError("session-died", None, f"the code stopped with {how} in {what}", note=notes)
