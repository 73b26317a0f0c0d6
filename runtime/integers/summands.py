"""Dimensions of any length as text: as few summands as there are, each short enough to be read again."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.runtime.dims import MAX_EXPRESSION_CHARS, Dim
from stepwell.runtime.integers.polynomials import Monomial


def summands_of(dim: Dim) -> list[str]:
    """Texts short enough for `Dim.of`, as few as there are, with the expression as their sum."""
    texts: list[str] = []
    part: dict[Monomial, int] = {}
    for monomial, coefficient in dim.terms():
        longer = {**part, monomial: coefficient}
        if part and len(str(Dim(longer))) > MAX_EXPRESSION_CHARS:
            texts.append(str(Dim(part)))
            longer = {monomial: coefficient}
        part = longer
    return [*texts, str(Dim(part))]


def dim_of_summands(texts: Sequence[str]) -> Dim:
    """The sum of expressions, each a text. Raises: ValueError, as `Dim.of`."""
    return sum(map(Dim.of, texts), Dim.of(0))


def json_of(dim: Dim) -> str | list[str]:
    """The expression as a text, or as several summands if a single text is too long for `Dim.of`."""
    texts = summands_of(dim)
    return texts[0] if len(texts) == 1 else texts
