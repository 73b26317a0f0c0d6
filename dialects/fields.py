"""The parameters of attributes that are written `key = value, …` in angle brackets: parsing, checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr
from xdsl.ir import Attribute
from xdsl.parser import AttrParser
from xdsl.utils.exceptions import VerifyException

from stepwell.runtime.dims import Dim
from stepwell.runtime.integers.summands import dim_of_summands


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


def parse_number(parser: AttrParser) -> IntAttr:
    """An integer. Raises: ParseError."""
    return IntAttr(parser.parse_integer(allow_boolean=False))


def parse_numbers(parser: AttrParser) -> ArrayAttr[IntAttr]:
    """A list of integers in brackets. Raises: ParseError."""
    return ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_number(parser)))


def parse_names(parser: AttrParser) -> ArrayAttr[StringAttr]:
    """A list of strings in brackets. Raises: ParseError."""
    return names_attr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal))


def names_attr(names: Sequence[str]) -> ArrayAttr[StringAttr]:
    """A list of names as an attribute."""
    return ArrayAttr([StringAttr(name) for name in names])


def verify_symbols(names: Sequence[str]) -> None:
    """Require symbols to be names, each once. Raises: VerifyException."""
    for name in names:
        if not name.isidentifier():
            raise VerifyException(f"symbols must be names, found {name!r}")
        if names.count(name) > 1:
            raise VerifyException(f"symbols must be distinct, found {name} twice")


def verified_size(key: str, *texts: str) -> Dim:
    """The dimension with the texts of a field as summands. Raises: VerifyException for none, or below 0."""
    try:
        size = dim_of_summands(texts)
    except ValueError as error:
        raise VerifyException(f"{key}: {error}") from None
    if size.is_static and size.value < 0:
        raise VerifyException(f"{key} must not be negative, found {size}")
    return size
