"""Execution providers: names for programs to choose from, and their options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast
from warnings import warn

STEPWELL = "StepwellExecutionProvider"
AVAILABLE = (STEPWELL, "CPUExecutionProvider")
"""The provider, under its name and under that of the CPU, which programs ask for."""
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


def _pairs(
    providers: Given, options: Sequence[Mapping[str, object]] | None
) -> list[tuple[str, Mapping[str, object]]]:
    """Names and options. Raises: ValueError."""
    if not isinstance(cast(object, providers), list | tuple):
        raise ValueError("'providers' should be a sequence.")
    if options is not None:
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
