"""Compiled kernels, and the canonical text by which equal kernels are found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from typing import cast

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import NamelessPrinter
from stepwell.passes.context import Remark
from stepwell.runtime.log import Record


@dataclass(frozen=True)
class KernelObject:
    """A compiled kernel: its object file, and metadata for its callers."""

    code: bytes
    meta: Mapping[str, object]
    """
    `scratch`: bytes as a dimension expression over the kernel's own symbols; `in place`: the outputs that may
    be in the memory of an input, with that input; `remarks` of the passes, if any.
    """

    @property
    def remarks(self) -> list[Remark]:
        """The remarks of the passes at the time of the compilation, maybe long ago."""
        return [Remark(*row) for row in cast("list[tuple[str, str, str]]", self.meta.get("remarks", []))]

    @property
    def scratch(self) -> str:
        """Bytes of scratch memory as a dimension expression over the kernel's symbols; `"0"` for none."""
        return str(self.meta.get("scratch", "0"))

    @property
    def in_place(self) -> list[tuple[int, int]]:
        """The outputs that may be in the memory of an input, with the number of that input."""
        pairs = cast("list[tuple[int, int]]", self.meta.get("in place", []))
        return [(output, input) for output, input in pairs]


Kernels = Mapping[str, tuple[FuncOp, str]]
"""Kernels by cache key: the level-2 function, under its final name, and its canonical text."""


@dataclass
class Results:
    """The kernels of a compilation that are compiled so far, by whichever process."""

    kernels: Kernels
    store: Callable[[str, KernelObject], None]
    """Called with each new object."""
    progress: Callable[[int, int], None] | None = None
    done: dict[str, KernelObject] = field(default_factory=dict[str, KernelObject])
    messages: dict[str, list[Record]] = field(default_factory=dict[str, list[Record]])
    """Messages of the log by kernel, of those too whose compilation failed."""

    def add(self, key: str, kernel: KernelObject) -> None:
        """Store the object of a kernel, and report the progress."""
        self.done[key] = kernel
        self.store(key, kernel)
        if self.progress is not None:
            self.progress(len(self.done), len(self.kernels))


def canonical_text(func: FuncOp) -> str:
    """The text of a kernel without its name, value names and locations, which is equal for equal kernels."""
    name = func.sym_name
    func.properties["sym_name"] = StringAttr("kernel")
    stream = StringIO()
    NamelessPrinter(stream).print_op(func)
    func.properties["sym_name"] = name
    return stream.getvalue()


def text_of(symbol: str, text: str) -> str:
    """The text of a module with a kernel under its own symbol, from its canonical text."""
    return "builtin.module {\n" + text.replace("@kernel", f"@{symbol}", 1) + "\n}"
