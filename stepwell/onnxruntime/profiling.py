"""Profiles of sessions: calls and kernels as events of Chrome's trace format, as ONNX Runtime writes them."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Lock, get_native_id
from time import monotonic_ns

from stepwell.runtime.model import CompiledModel


class Profile:
    """
    The events of a session.

    Args: `prefix` begins the name of the file; `model` is compiled with timers.
    """

    def __init__(self, prefix: str, model: CompiledModel):
        self.start_ns = monotonic_ns()
        """The time of event 0, of the monotonic clock."""
        self._path = f"{prefix}_{datetime.now():%Y-%m-%d_%H-%M-%S_%f}.json"
        self._model = model
        self._events: list[dict[str, object]] = []
        self._lock = Lock()

    @contextmanager
    def run(self) -> Generator[None]:
        """Record a call; calls take turns, because the timers are those of the model."""
        with self._lock:
            begin = monotonic_ns()
            yield
            self._add("Session", "model_run", begin, monotonic_ns(), {})
            self._add_kernels()

    def _add_kernels(self) -> None:
        times = self._model.kernel_times
        if times is None:
            return
        calls = self._model.image.main.timed
        rounds = times.counts()
        for call, (begin, end), count in zip(calls, times.last(), rounds, strict=True):
            if count:
                name = "+".join(call.nodes) or call.name
                facts = {"op_name": call.kind, "kernel": call.name, "provider": "StepwellExecutionProvider"}
                self._add("Node", f"{name}_kernel_time", int(begin), int(end), facts)

    def _add(self, category: str, name: str, begin: int, end: int, facts: dict[str, str]) -> None:
        event: dict[str, object] = {"cat": category, "pid": os.getpid(), "tid": get_native_id()}
        event |= {"dur": (end - begin) // 1000, "ts": (begin - self.start_ns) // 1000, "ph": "X"}
        self._events.append(event | {"name": name, "args": facts})

    def end(self) -> str:
        """Write the events; returns the file's name."""
        with self._lock:
            lines = ",\n".join(map(json.dumps, self._events))
            Path(self._path).write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        return self._path
