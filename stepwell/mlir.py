"""Programs to and from upstream MLIR: `stepwell.mlir.to_upstream(module)`, `from_upstream(text)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepwell.tools.api.module import Module


def to_upstream(module: Module, *, keep_info: bool = True) -> str:
    """
    A program of level 2, 3 or 4 in the generic form of upstream MLIR, with the bytes of weights.

    Args: `keep_info` keeps our attributes as text in attributes that MLIR lets pass, for `from_upstream`.
    Raises: StepwellError `bad-option` for a program of level 0 or 1; `unsupported-op`.
    """
    from stepwell.tools.upstream.text import upstream_text

    return upstream_text(module.op, module.context, keep_info=keep_info)


def from_upstream(text: str, *, name: str = "<text>") -> Module:
    """
    A program from the text of upstream MLIR.

    Forms that our parser does not know are printed by upstream's bindings, where they are installed.
    Raises: StepwellError `syntax`, `invalid-ir`, `unsupported`.
    """
    from stepwell.dialects._xdsl import StepwellContext
    from stepwell.tools.api.module import Module
    from stepwell.tools.upstream.reading import from_upstream_text

    context = StepwellContext()
    return Module(from_upstream_text(text, context, name), context=context)
