"""Options of a compilation, as users choose them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from stepwell.runtime.errors import StepwellError

if TYPE_CHECKING:
    from onnx import ModelProto

    Model = str | Path | bytes | ModelProto

OPT_LEVELS = (0, 1, 2, 3)
WINOGRAD = ("auto", "fast", "off")
MEMORY = ("normal", "low")
OPTION_GROUPS = {
    "numerics": "what may happen to the digits of results",
    "placement": "which machines and engines compute",
    "sizes": "shapes and memory",
    "tuning": "how compilation proceeds",
}


def _about(group: str, cache: Literal["key", "free", "never"] = "key") -> Mapping[str, str]:
    """
    What an option declares: its group in the help, and its part in the keys of kept models. A `key` has its
    value, a `free` one does not change the result, and with a `never` one set a model is not kept.
    """
    return {"group": group, "cache": cache}


@dataclass(frozen=True)
class CompileOptions:
    """What a user may choose; the same names as on the command line."""

    mcpu: str = field(default="host", metadata=_about("placement"))
    """`host`, `x86-64-v2`, `x86-64-v3`, `x86-64-v4` or `aarch64`."""
    target: str | None = field(default=None, metadata=_about("placement"))
    """An LLVM triple; default: this machine's."""
    opt_level: int = field(default=2, metadata=_about("numerics"))
    """0 keeps every digit of the reference, 2 is the default."""
    input_shapes: Mapping[str, Sequence[int]] = field(
        default_factory=dict[str, Sequence[int]], metadata=_about("sizes")
    )
    """Fixed shapes for inputs whose dimensions the model leaves open."""
    winograd: str = field(default="auto", metadata=_about("numerics"))
    """
    3x3 convolutions with fewer products: `auto` where that is faster and the weights find room, `fast`
    whatever the weights take, or `off`. Errors stay below 1e-5 of each one's range.
    """
    memory: str = field(default="normal", metadata=_about("sizes"))
    """
    `low`: packed weights take about what the model's own do (no transformed filters, bytes stay bytes), and
    nothing of the model's file stays in memory. Kernels may be slower.
    """
    backends: str | Sequence[str] = field(default=(), metadata=_about("placement", "never"))
    """Engines that take part of the model, the preferred one first."""
    fallback: bool = field(default=False, metadata=_about("placement", "never"))
    """Go on without a backend that is missing or fails; the artifact holds our kernels for its part too."""
    disabled_passes: Sequence[str] = field(default=(), metadata=_about("tuning"))
    """Passes of level 1 that do not run; this wins over `required_passes`."""
    required_passes: Sequence[str] = field(default=(), metadata=_about("tuning"))
    """Passes of the pipeline that run whatever their level."""
    use_cache: bool = field(default=True, metadata=_about("tuning", "free"))
    profile: bool = field(default=False, metadata=_about("tuning", "never"))
    """Whether the model tells the times of its kernels (`stepwell run --profile`); costs time itself."""
    processes: int | None = field(default=None, metadata=_about("tuning", "free"))
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
