"""The second compilation of a package for WebAssembly: engines differ in whether they have relaxed SIMD."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stepwell.tools.driver.options import CompileOptions

_FIXED, _RELAXED = "wasm32", "wasm32-relaxed"


def relaxed_options(options: CompileOptions, path: Path) -> CompileOptions | None:
    """The options for engines with relaxed SIMD, where a file has code for these too."""
    return replace(options, mcpu=_RELAXED) if path.suffix == ".tgz" and options.mcpu == _FIXED else None
