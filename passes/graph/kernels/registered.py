"""The kernels that plugins bring: few models have any, and others do without the parser of patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepwell.runtime.plugins import Registry

if TYPE_CHECKING:
    from stepwell.passes.graph.kernels.templates import KernelTemplate

KERNELS: Registry[str, KernelTemplate] = Registry("a kernel named", changes_models=True)
"""The kernels by the name of their function; the first that fits a match is bound."""
