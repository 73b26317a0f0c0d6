"""IR fragments, as documentation shows them: ops that use values which nothing in the text defines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import LocatingParser, parse_module
from stepwell.runtime.errors import StepwellError


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
    A fragment as a module: a `test.op` before it defines the values it lacks, one behind it uses those to
    `keep`.

    Args: `given`: the values to define, by name (default: those that the text lacks).
    Raises: StepwellError `syntax`.
    """
    values = free_values(ctx, text, name) if given is None else given
    # On the line of the first op, so that errors still show the fragment's own lines.
    before = "".join(f'%{value} = "test.op"() : () -> {type} ' for value, type in sorted(values.items()))
    names = ", ".join(f"%{value}" for value, _ in keep)
    types = ", ".join(str(type) for _, type in keep)
    behind = f'\n"test.op"({names}) : ({types}) -> ()' if keep else ""
    return parse_module(ctx, before + text + behind, name)
