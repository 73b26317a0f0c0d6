"""`stepwell.compile`: from a model to code that runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Literal

from stepwell.runtime.artifact import ModelImage
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model import CompiledModel
from stepwell.tools.kept_models import kept_model

if TYPE_CHECKING:  # the compiler itself is imported when something is to be compiled
    from onnx import ModelProto

    from stepwell.tools.compilation import Progress

    Model = str | Path | bytes | ModelProto


_COMPILING = RLock()
"""Held by the one compilation of this process: passes share state, kernels have processes of their own."""

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
    The declarations of an option: its group in the help, and its role in the keys of kept models. The value of
    a `key` is part of them, a `free` one does not change the result, with a `never` set no model is kept.
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
    """Passes of the pipeline that run whatever their level, and passes of plugins."""
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


def compile(
    model: Model,
    options: CompileOptions | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    **overrides: object,
) -> CompiledModel:
    """
    Compile a model.

    Args: `model` is a path to an .onnx file, its bytes or an `onnx.ModelProto`; `options`, or single fields
    of `CompileOptions` as keywords; `threads` that kernels may use when it runs (default: all cores).
    Returns: the model as native code; call it with numpy arrays, `save` it.
    Threads may compile at the same time: they take turns.
    Raises: StepwellError that names the node of the model, what was expected and what to do.
    """
    from dataclasses import fields, replace

    known = [option.name for option in fields(CompileOptions)]
    if unknown := [name for name in overrides if name not in known]:
        raise StepwellError(
            "bad-option",
            None,
            f"there is no option {unknown[0]!r}",
            help=f"the options are {', '.join(known)}",
        )
    options = replace(options or CompileOptions(), **overrides)  # pyright: ignore[reportArgumentType]
    return CompiledModel(build_image(model, options, progress=progress), threads=threads)


def build_image(model: Model, options: CompileOptions, *, progress: Progress | None = None) -> ModelImage:
    """
    Compile a model for any target, without loading its code.

    Raises: as `compile`, but for `wrong-cpu`.
    """
    kept = kept_model(model, options)
    image = kept.load() if kept is not None else None
    if image is None:
        with _COMPILING:
            from stepwell.tools.levels import lower_and_compile

            image = lower_and_compile(model, options, kept, progress)
    return image


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
