"""Options of a compilation, as users choose them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from stepwell.runtime.errors import StepwellError

if TYPE_CHECKING:
    from onnx import ModelProto

    Model = str | Path | bytes | ModelProto

OPT_LEVELS = (0, 1, 2, 3)
WINOGRAD = ("auto", "fast", "off")
MEMORY = ("normal", "low")


@dataclass(frozen=True)
class CompileOptions:
    """What a user may choose; the same names as on the command line."""

    mcpu: str = "host"
    """`host`, `x86-64-v2`, `x86-64-v3`, `x86-64-v4` or `aarch64`."""
    target: str | None = None
    """An LLVM triple; default: this machine's."""
    opt_level: int = 2
    """0 keeps every digit of the reference, 2 is the default."""
    input_shapes: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """Fixed shapes for inputs whose dimensions the model leaves open."""
    winograd: str = "auto"
    """
    3x3 convolutions with fewer products: `auto` where that is faster and the weights find room, `fast`
    whatever the weights take, or `off`. Errors stay below 1e-5 of each one's range.
    """
    memory: str = "normal"
    """
    `low`: packed weights take about what the model's own do (no transformed filters, bytes stay bytes), and
    nothing of the model's file stays in memory. Kernels may be slower.
    """
    backends: str | Sequence[str] = ()
    """Engines that take part of the model, the preferred one first."""
    fallback: bool = False
    """Go on without a backend that is missing or fails; the artifact holds our kernels for its part too."""
    disabled_passes: Sequence[str] = ()
    """Passes of level 1 that do not run; this wins over `required_passes`."""
    required_passes: Sequence[str] = ()
    """Passes of the pipeline that run whatever their level."""
    use_cache: bool = True
    profile: bool = False
    """Whether the model tells the times of its kernels (`stepwell run --profile`); costs time itself."""
    processes: int | None = None
    """How many kernels compile at once; default: one a core."""

    def __post_init__(self) -> None:
        if isinstance(self.backends, str):  # as on the command line
            object.__setattr__(self, "backends", tuple(self.backends.split(",")))
        if self.opt_level not in OPT_LEVELS:
            message = f"opt_level must be one of {', '.join(map(str, OPT_LEVELS))}, found {self.opt_level!r}"
            raise StepwellError("bad-option", None, message)
        if self.winograd not in WINOGRAD:
            message = f"winograd must be one of {', '.join(WINOGRAD)}, found {self.winograd!r}"
            raise StepwellError("bad-option", None, message)
        if self.memory not in MEMORY:
            message = f"memory must be one of {', '.join(MEMORY)}, found {self.memory!r}"
            raise StepwellError("bad-option", None, message)


def check_suffix(path: Path, known: Sequence[str] = (".onnx", ".mlir", ".stepwell")) -> None:
    """Refuse a file by its name, unless it is a model, IR or an artifact. Raises: StepwellError."""
    if path.suffix not in known:
        raise StepwellError(
            "unknown-file-type",
            str(path),
            f"expected a file that ends in {', '.join(known)}, found {path.suffix or 'no suffix'}",
            help="an artifact is compiled already: compile its model again"
            if path.suffix == ".stepwell"
            else "give a model a name that says what it is",
        )
