"""The options of a quantization, and the nodes that they name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from stepwell.dialects.quantization.ranges import Calibration
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.tools.driver.options import CompileOptions

SCHEMES = ("int8",)
OPSETS = {"int8": 13}
"""The least opset of the file that a scheme writes."""


@dataclass(frozen=True)
class QuantizeOptions:
    """The options of a quantization; the command line has the same names."""

    scheme: str = "int8"
    calibration: Calibration = field(default_factory=Calibration)
    keep_f32: Sequence[str] = ()
    only: Sequence[str] = ()
    keep_size: bool = False
    """Whether layers are quantized that are no faster, for the sake of the file's size."""
    samples: int | None = None
    seed: int = 0
    activation_type: str = "u8"
    reduce_range: bool = False
    read_calibration: Path | None = None
    write_calibration: Path | None = None
    rank: bool = False
    """Whether each layer is measured alone, for a report, where the budget does not need it."""
    threads: int | None = None
    compile: CompileOptions = field(default_factory=CompileOptions)

    def check(self) -> None:
        """Require options that there are. Raises: StepwellError `bad-option`."""
        if self.scheme not in SCHEMES:
            message = f"there is no scheme {self.scheme!r}"
            raise StepwellError("bad-option", None, message, help=f"there is {', '.join(SCHEMES)}")
        self.calibration.check()


def matching(patterns: Sequence[str], names: Collection[str], option: str) -> set[str]:
    """The names that patterns match. Raises: StepwellError `bad-option` for one that matches none."""
    found: set[str] = set()
    for pattern in patterns:
        matched = [name for name in names if fnmatchcase(name, pattern) or name == pattern]
        if not matched:
            near = did_you_mean(pattern, names) or f"nodes are {_some(names)}"
            raise StepwellError("bad-option", None, f"{option} matches no node: {pattern!r}", help=near)
        found.update(matched)
    return found


def _some(names: Iterable[str]) -> str:
    """The first names as text."""
    first = list(names)
    return ", ".join(first[:8]) + (", …" if len(first) > 8 else "")
