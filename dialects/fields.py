"""Parses the parameters of attributes that are written `key = value, …` between angle brackets."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.ir import Attribute
from xdsl.parser import AttrParser


def parse_fields(
    parser: AttrParser, readers: Mapping[str, Callable[[], Attribute]], defaults: Mapping[str, Attribute]
) -> list[Attribute]:
    """
    The fields in the text, each at most once, in the order of the readers.

    Raises: ParseError for a key without a reader, and for a missing one without a default.
    """
    found: dict[str, Attribute] = {}
    with parser.in_angle_brackets():
        while True:
            key = parser.parse_identifier()
            if key not in readers or key in found:
                parser.raise_error(f"expected one of {', '.join(readers)}, each once; found {key}")
            parser.parse_punctuation("=")
            found[key] = readers[key]()
            if parser.parse_optional_punctuation(",") is None:
                break
    given = {**defaults, **found}
    for key in readers:
        if key not in given:
            parser.raise_error(f"`{key}` is missing")
    return [given[key] for key in readers]
