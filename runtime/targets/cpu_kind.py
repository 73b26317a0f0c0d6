"""The kind `cpu`: processors, by level of features (`cpu.csv`) or by triple."""

from __future__ import annotations

import re

from stepwell.runtime.targets.kind import Kind, bad_target, size, word, words

_SHARE = re.compile(
    r"[\w-]+:[1-9]\d{0,5}x[1-9]\d{0,5}:(?:[01]|0?\.\d+|1\.0+|0\.\d+|\d(?:\.\d+)?e-\d+)", re.ASCII
)


def shares(key: str, value: object) -> tuple[str, ...]:
    """The speeds of register tiles that a calibration measured, as `CLASS:ROWSxVECTORS:SHARE`, in order."""
    listed = value.split(",") if isinstance(value, str) else value
    if isinstance(listed, list | tuple):
        texts = tuple(map(str, listed))  # pyright: ignore[reportUnknownArgumentType]  # JSON
        if all(map(_SHARE.fullmatch, texts)):
            return texts
    raise bad_target(f"{key} must be a list of CLASS:ROWSxVECTORS:SHARE, such as f32:6x2:0.98")


KIND = Kind(
    "cpu",
    ("cpu",),
    {
        "mcpu": word,
        "triple": word,
        "features": words,
        "cores": size,
        "l1": size,
        "l2": size,
        "l3": size,
        "vector": size,
        "vector-registers": size,
        "tile-shares": shares,
    },
    "processors, by level of features or by triple",
    experimental=False,
)
