"""
IR fragments of documentation: ops that use values which the text does not define.

An example with `…` in it is a sketch, which is not run. A line `// ->` separates the ops before
a rewrite from those after.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import LocatingParser, parse_module
from stepwell.dialects.verify import verify_module
from stepwell.passes.instruments import module_text
from stepwell.runtime.errors import StepwellError

ONE_VALUE = re.compile(r"\s*%(\w+)\s*")
"""A half without an op: the value that replaces the other half's."""
_ARROW = re.compile(r"^\s*// ->(?=$| %\w+$)", re.MULTILINE)
_ATTRIBUTE = re.compile(r"\s*[#!][\w.]+(?![\w.]|\s*=)")


def is_sketch(text: str) -> bool:
    """Whether an example is not meant to be run."""
    return "…" in text


def halves_of(text: str) -> list[str]:
    """The parts of an example before and after `// ->`; the whole example without that line."""
    return _ARROW.split(text)


def check_fragment(text: str, name: str) -> None:
    """
    Require a fragment (or an attribute) to parse, to verify, and to print as it parses again.

    Raises: StepwellError, AssertionError.
    """
    ctx = StepwellContext()
    if _ATTRIBUTE.match(text):
        attribute = LocatingParser(ctx, text, name).parse_attribute()
        assert LocatingParser(ctx, str(attribute)).parse_attribute() == attribute
    elif text.strip() and not ONE_VALUE.fullmatch(text):
        module = parse_fragment(ctx, text, name)
        verify_module(module)
        printed = module_text(module)
        assert module_text(parse_fragment(ctx, printed)) == printed


def free_values(ctx: StepwellContext, text: str, name: str = "fragment") -> dict[str, Attribute]:
    """
    The values that a text uses and does not define, with their types, by name.

    Raises: StepwellError `syntax` for any other mistake in the text.
    """
    parser = LocatingParser(ctx, text, name)
    try:
        parser.parse_file()
    except StepwellError:
        free = {value: places[0].type for value, places in parser.forward_ssa_references.items()}
        if not free:
            raise
        return free
    return {}


def parse_fragment(
    ctx: StepwellContext,
    text: str,
    name: str = "fragment",
    *,
    given: Mapping[str, Attribute] | None = None,
    keep: Sequence[tuple[str, Attribute]] = (),
) -> ModuleOp:
    """
    A fragment as a module: a `test.op` before the text defines missing values, a second after the text uses
    the values to `keep`.

    Args: `given`: the values to define, by name (default: those that the text lacks).
    Raises: StepwellError `syntax`.
    """
    values = free_values(ctx, text, name) if given is None else given
    # On the line of the first op, so that errors still show the fragment's own lines.
    before = "".join(f'%{value} = "test.op"() : () -> {type} ' for value, type in sorted(values.items()))
    names = ", ".join(f"%{value}" for value, _ in keep)
    types = ", ".join(str(type) for _, type in keep)
    after = f'\n"test.op"({names}) : ({types}) -> ()' if keep else ""
    return parse_module(ctx, before + text + after, name)
