"""`stepwell.show`: a program as coloured text."""

from __future__ import annotations

from typing import NamedTuple, cast

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.passes.instruments import module_text
from stepwell.runtime.errors import StepwellError
from stepwell.tools.api.module import Module
from stepwell.tools.coloured_text import html_of


class Shown(NamedTuple):
    """IR that a notebook shows as coloured text, and a terminal as text."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return html_of(self.text)


def show(module: Module | ModuleOp, level: str | None = None) -> Shown:
    """
    A program as coloured text, each function foldable.

    Args: `module` is a `stepwell.Module` or a module of xDSL's; `level` lowers a copy to it first, by the
    names of `Module.to`.
    Raises: StepwellError `type-mismatch`; of the lowering.
    """
    if isinstance(module, ModuleOp):
        if level is None:
            return Shown(module_text(module))
        module = Module(module.clone(), context=StepwellContext())
    if not isinstance(cast("object", module), Module):
        message = f"expected a stepwell.Module or a ModuleOp, found {type(module).__name__}"
        raise StepwellError("type-mismatch", None, message)
    return Shown(str(module if level is None else module.clone().to(level)))
