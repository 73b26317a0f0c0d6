"""The environment variables that Stepwell reads, in one table."""

from __future__ import annotations

import os
from typing import NamedTuple

from stepwell.runtime.errors import StepwellError


class Variable(NamedTuple):
    """An environment variable: the name, the purpose, and the default where it is not set."""

    name: str
    meaning: str
    default: str

    def value(self) -> str | None:
        """The current value; None if it is not set, or empty."""
        return os.environ.get(self.name) or None

    def count(self, of: str) -> int:
        """The value, or the default, as a number from 1 on. Raises: StepwellError `bad-option`."""
        text = self.value() or self.default
        if not text.isdecimal() or int(text) < 1:
            message = f"{self.name} must be a number of {of}, found {text!r}"
            raise StepwellError("bad-option", None, message)
        return int(text)

    def is_set(self) -> bool:
        """Whether a variable that switches something is set, to anything but 0."""
        return self.value() not in (None, "0")


CACHE = Variable(
    "STEPWELL_CACHE",
    "folder of the caches (`stepwell cache`) and of what `stepwell calibrate` measured",
    "the user's cache folder, such as ~/.cache/stepwell",
)
CONFIG = Variable(
    "STEPWELL_CONFIG",
    "folder of settings: certificate and token of `stepwell rpc serve`, and servers that are trusted",
    "the user's folder of settings, such as ~/.config/stepwell",
)
MODELS = Variable(
    "STEPWELL_MODELS",
    "folder of larger models, which the tests and benchmarks of a clone use as well",
    "none: what needs them is skipped, and counted",
)
PERF = Variable(
    "STEPWELL_PERF",
    "1 makes kernels known to profilers: their names to `perf`, their frames to unwinders of the process",
    "off",
)
BACKGROUND = Variable(
    "STEPWELL_BACKGROUND",
    'how many models of a process compile at once after `start="now"`; others wait for their turn',
    "1",
)
ITERATIONS = Variable(
    "STEPWELL_ITERATIONS",
    "the most loop iterations of blocks that an interpreter of GPU kernels runs together: more are endless",
    "10000000",
)
LOG = Variable(
    "STEPWELL_LOG",
    "what is logged, by pass and module: fuse-ops=2,passes/tensor=1,DEFAULT=0 (docs/log-and-trace.md)",
    "nothing",
)
TUNING_DB = Variable(
    "STEPWELL_TUNING_DB",
    "databases of `stepwell tune` that compilations use, the first one wins; separated as in PATH",
    "none",
)
VARIABLES = (BACKGROUND, CACHE, CONFIG, ITERATIONS, LOG, MODELS, PERF, TUNING_DB)


def variables_text() -> str:
    """The table as text for a help page."""
    return "\n".join(
        ["environment variables:", *(f"  {v.name}  {v.meaning} (default: {v.default})" for v in VARIABLES)]
    )
