"""`stepwell.compile`: from a model to code that runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, cast

from stepwell.runtime.artifact import ModelImage
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.model import CompiledModel, checked_threads
from stepwell.tools.kept_models import kept_model

if TYPE_CHECKING:  # the compiler itself is imported when something is to be compiled
    from onnx import ModelProto

    from stepwell.tools.compilation import Progress

    Model = str | Path | bytes | ModelProto


_LOG = logging.getLogger(__name__)
_COMPILING = RLock()
"""Held by the one compilation of this process: passes share state, kernels have processes of their own."""

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
        for name in _LISTS:
            if isinstance(value := getattr(self, name), str):  # as on the command line
                object.__setattr__(self, name, tuple(value.split(",")))
        for name, (legal, is_legal) in _LEGAL.items():
            if not is_legal(value := getattr(self, name)):
                raise StepwellError("bad-option", None, f"{name} must be {legal}, found {value!r}")
        if self.fallback and not self.backends:
            message = "fallback is for where a backend is missing or fails, and no backend is named"
            raise StepwellError("bad-option", None, message)


_LISTS = ("backends", "disabled_passes", "required_passes")


def _one_of(values: Sequence[object]) -> tuple[str, Callable[[object], bool]]:
    """The description and the test of a choice; 2.0 and True are neither 2 nor 1."""
    kinds = {type(value) for value in values}
    legal = f"one of {', '.join(map(str, values))}"
    return legal, lambda value: type(value) in kinds and value in values


def _is_list_of(kind: type, value: object) -> bool:
    return isinstance(value, Sequence) and all(type(item) is kind for item in cast("Sequence[object]", value))


def _are_shapes(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and _is_list_of(int, shape)
        for name, shape in cast("Mapping[object, object]", value).items()
    )


_NAMES = ("a list of names", partial(_is_list_of, str))
_LEGAL: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "mcpu": ("a name", lambda value: isinstance(value, str)),
    "target": ("an LLVM triple or None", lambda value: value is None or isinstance(value, str)),
    "opt_level": _one_of(OPT_LEVELS),
    "input_shapes": ("shapes by name, such as {'x': (1, 3, 224, 224)}", _are_shapes),
    "winograd": _one_of(WINOGRAD),
    "memory": _one_of(MEMORY),
    **dict.fromkeys(_LISTS, _NAMES),
    **dict.fromkeys(("fallback", "use_cache", "profile"), _one_of((True, False))),
    "processes": (
        "a number from 1 on, or None",
        lambda value: value is None or (type(value) is int and value > 0),
    ),
}
"""Description and test of the values that each option takes."""


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

    known = [*(option.name for option in fields(CompileOptions)), "threads"]
    if unknown := [name for name in overrides if name not in known]:
        raise StepwellError(
            "bad-option",
            None,
            f"there is no option {unknown[0]!r}",
            help=f"{did_you_mean(unknown[0], known)}the options are {', '.join(known)}",
        )
    options = CompileOptions() if options is None else options
    if not isinstance(options, CompileOptions):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise StepwellError("bad-option", None, f"options must be CompileOptions, found {options!r}")
    options = replace(options, **overrides)  # pyright: ignore[reportArgumentType]
    threads = checked_threads(threads)
    return CompiledModel(build_image(model, options, progress=progress), threads=threads)


def build_image(model: Model, options: CompileOptions, *, progress: Progress | None = None) -> ModelImage:
    """
    Compile a model for any target, without loading its code.

    Raises: as `compile`, but for `wrong-cpu`.
    """
    kept = kept_model(model, options)
    image = kept.load() if kept is not None else None
    _LOG.debug("the model is%s in the cache", "" if image is not None else " not")
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
