"""Names of inputs, outputs and sizes as identifiers of C and C++."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import Entry

_KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t
    class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit
    continue decltype default delete do double dynamic_cast else enum explicit export extern false final
    float for friend goto if import inline int long module mutable namespace new noexcept not not_eq
    nullptr operator or or_eq override private protected public register reinterpret_cast requires
    restrict return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using virtual
    void volatile wchar_t while xor xor_eq linux unix errno NULL
    """.split()
)
RESERVED = "stepwell"
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def joined_name(name: str, function: str) -> str:
    """The beginning of the names in C for a function of a library; a model has the name of the file."""
    return f"{name}_{function}" if function else name


def identifier(name: str) -> str:
    """
    An identifier of C for any name.

    `_` replaces each other character, and is put before a first digit and after a keyword.
    """
    text = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name) or "_"
    text = f"_{text}" if text[0].isdigit() else text
    return f"{text}_" if text in _KEYWORDS else text


def identifiers(names: Sequence[str]) -> list[str]:
    """Names as identifiers, each once: equal ones get numbers."""
    found: list[str] = []
    for name in names:
        text, number = identifier(name), 2
        unique = text
        while unique in found:
            unique, number = f"{text}_{number}", number + 1
        found.append(unique)
    return found


def checked_name(name: str) -> str:
    """A name for the functions of a model. Raises: StepwellError `bad-name`."""
    if not _IDENTIFIER.fullmatch(name):
        reason = "it is no identifier of C"
    elif name in _KEYWORDS:
        reason = "it is a keyword of C or C++"
    elif name.lower().startswith(RESERVED):
        reason = f"names that begin with {RESERVED} are those of every file"
    else:
        return name
    raise StepwellError("bad-name", None, f"no model can be named {name!r}: {reason}")


def default_name(stem: str) -> str:
    """The name for the functions of a file."""
    name = identifier(stem)
    return f"model_{name}" if name.lower().startswith(RESERVED) else name


def caller_symbols(entry: Entry) -> tuple[str, ...]:
    """The sizes that the caller passes, as `sched.entry` has them."""
    dims = [dim for spec in entry.interface.inputs for dim in spec.dims]
    return tuple(dict.fromkeys(str(dim) for dim in dims if str(dim) in dim.symbols()))


def expect_names_of_c(functions: Iterable[str]) -> None:
    """Refuse names of functions that constants of a header would share. Raises: StepwellError `bad-name`."""
    known: dict[str, str] = {}
    for function in functions:
        if (other := known.setdefault(function.upper(), function)) != function:
            message = f"{other!r} and {function!r} are one name in capitals, which constants of C have"
            raise StepwellError("bad-name", None, message, help="name one of them otherwise")
