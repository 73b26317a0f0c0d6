"""Execution providers: names for programs to choose from, and their options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast
from warnings import warn

from stepwell.onnxruntime.errors import BindingError

STEPWELL = "StepwellExecutionProvider"
AVAILABLE = (STEPWELL, "CPUExecutionProvider")
"""The provider's own name, and the CPU provider's name, which programs ask for."""
Given = Sequence[str | tuple[str, Mapping[str, object]]]


def chosen_options(
    providers: Given | None, provider_options: Sequence[Mapping[str, object]] | None
) -> Mapping[str, object]:
    """
    The options of our provider, fields of `CompileOptions`.

    Other providers are named in a warning; so are arguments of another form, because ONNX Runtime goes on
    with its default provider then.
    """
    found: dict[str, Mapping[str, object]] = {}
    try:
        pairs = _pairs(providers or (), provider_options)
    except ValueError as error:
        warn(f"{error} The default provider is used.", stacklevel=4)
        return found
    for name, options in pairs:
        if name not in AVAILABLE:
            available = ", ".join(AVAILABLE)
            warn(
                f"Specified provider '{name}' is not in available provider names. "
                f"Available providers: '{available}'",
                stacklevel=4,
            )
        found.setdefault(name, options)
    return found.get(STEPWELL, {})


def check_and_normalize_provider_args(
    providers: Given | None,
    provider_options: Sequence[Mapping[object, object]] | None,
    available_provider_names: Sequence[str],
) -> tuple[list[str], list[dict[str, str]]]:
    """
    Names without repetition, and the options of each as text.

    A name that is not available, or repeated, is a warning. Raises: ValueError.
    """
    if providers is None:
        return [], []
    options = cast("Sequence[Mapping[str, object]] | None", provider_options)
    found: dict[str, dict[str, str]] = {}
    for name, each in _pairs(providers, options):
        if name not in available_provider_names:
            warn(f"Specified provider '{name}' is not in available provider names.", stacklevel=2)
        if name in found:
            warn(f"Duplicate provider '{name}' encountered, ignoring.", stacklevel=2)
        found.setdefault(name, {str(key): str(value) for key, value in each.items()})
    return [*found], [*found.values()]


def expect_provider_names(providers: Given | None) -> None:
    """Require names of execution providers. Raises: BindingError, as ONNX Runtime's RuntimeError."""
    for name, _ in _pairs(providers or (), None):
        if not name.endswith("ExecutionProvider"):
            help = f"there are {', '.join(AVAILABLE)}"
            raise BindingError("bad-option", None, f"Unknown Provider Type: {name}", help=help)


def _pairs(
    providers: Given, options: Sequence[Mapping[str, object]] | None
) -> list[tuple[str, Mapping[str, object]]]:
    """Names and options. Raises: ValueError."""
    if not isinstance(cast(object, providers), list | tuple):
        raise ValueError("'providers' should be a sequence.")
    if options is not None:
        if not isinstance(cast(object, options), list | tuple):
            raise ValueError("'provider_options' should be a sequence.")
        if not all(isinstance(cast(object, each), dict) for each in options):
            raise ValueError("'provider_options' values must be dicts.")
        if len(options) != len(providers):
            raise ValueError(
                "'providers' and 'provider_options' should be the same length if both are given."
            )
        if not all(isinstance(each, str) for each in providers):
            raise ValueError(
                "Only string values for 'providers' are supported if 'provider_options' is given."
            )
        return list(zip(cast("Sequence[str]", providers), options, strict=True))
    pairs: list[tuple[str, Mapping[str, object]]] = []
    for each in cast("Sequence[object]", providers):
        match each:
            case str():
                pairs.append((each, {}))
            case (str() as name, dict()):
                pairs.append((name, cast("tuple[str, Mapping[str, object]]", each)[1]))
            case _:
                raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
    return pairs
