"""What came of a case."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

FOREIGN, OWN = "foreign", "own"
"""A written model that ONNX Runtime computes, and one that only we do."""
PASSED = ("native", "body", "host", FOREIGN, OWN)
"""Compiled kernels alone; with a function body expanded; with a call out of the compiled code; written."""
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
        return self.status in PASSED

    def to_line(self) -> str:
        """The outcome as a line of JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_line(line: str) -> Outcome:
        """The outcome that `to_line` wrote."""
        return Outcome(**json.loads(line))
