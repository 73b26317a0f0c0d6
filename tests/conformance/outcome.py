"""What came of a case."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

PASSED = ("native", "body", "host")
"""Compiled kernels alone; with a function body expanded; with a call out of the compiled code."""
FOREIGN, OWN = "foreign", "own"
"""A written model that ONNX Runtime computes, and one that only we do."""
FAILED = ("wrong", "error", "internal", "crash", "timeout")
"""Another result; a named error; a broken promise of ours; the process died; the time ran out."""


@dataclass(frozen=True)
class Outcome:
    """The result of one case: how it passed, or why not."""

    name: str
    status: str
    reason: str = ""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether the results were right."""
        return self.status in (*PASSED, FOREIGN, OWN)

    def to_line(self) -> str:
        """The outcome as a line of JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_line(line: str) -> Outcome:
        """The outcome that `to_line` wrote."""
        return Outcome(**json.loads(line))
