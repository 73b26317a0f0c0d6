"""Kernel templates: a pattern, and a function on tensors as text in which dimensions and sizes are open."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, TypeVar

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.parser import parse_module
from stepwell.dialects.schedule_levels import MOST
from stepwell.dialects.verify import verify_module
from stepwell.passes.graph.kernels.registered import KERNELS
from stepwell.patterns.files import Remark, entries_of
from stepwell.patterns.read_text import TableEntry, from_text
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.files.unreadable import read_text
from stepwell.runtime.plugins import UNKEYED, file_of, plugin_error

SPLIT_MARK = "// -----"
_NAME = re.compile(r"\$\{(\w+)\}")
_SIGNATURE = re.compile(r"func\.func\s+(?:private\s+)?@(\w+)\s*\(([^)]*)\)\s*->\s*([^{]*?tensor<[^>]*>)")

Sizes: TypeAlias = Mapping[str, int]
SizesOf = Callable[..., "Sizes | None"]
"""Gives the sizes of a kernel for dimensions, its keywords; None where another kernel is better."""
F = TypeVar("F", bound=SizesOf)


@dataclass(frozen=True)
class KernelTemplate:
    """
    A file with a pattern and a kernel for its matches.

    ```mlir
    pattern.def @doubled { %x = pattern.any  %y = pattern.op "graph.add"(%x, %x)  pattern.yield %y }
    // -----
    func.func @doubled(%x: tensor<${M}x${N}xf32>) -> tensor<${M}x${N}xf32> { … tile = [${rows}, 8] … }
    ```
    Names in the types of arguments are dimensions, which the operands of a match give; all others are sizes.
    """

    file: str
    text: str
    sizes_of: SizesOf

    @classmethod
    def read(cls, file: str, sizes_of: SizesOf) -> KernelTemplate:
        """The template of a file. Raises: StepwellError `no-file`, `syntax`."""
        text = read_text(Path(file), "kernel")
        if text.count(SPLIT_MARK) != 1 or _SIGNATURE.search(text.partition(SPLIT_MARK)[2]) is None:
            message = f"expected a pattern, a line {SPLIT_MARK}, and a function that returns one tensor"
            raise StepwellError("syntax", file, message)
        return cls(file, text, sizes_of)

    def entries(self, ctx: Context, remark: Remark) -> list[TableEntry]:
        """The patterns of the file. Raises: StepwellError `syntax`, `bad-pattern`."""
        module = parse_module(ctx, self.text.partition(SPLIT_MARK)[0], self.file)
        verify_module(module)
        found = from_text(module, ctx)
        for where, warning in found.warnings:
            remark(where, warning)
        return entries_of(found, "")

    @property
    def name(self) -> str:
        """The name of the kernel's function."""
        return self._signature[1]

    @cached_property
    def _kernel(self) -> str:
        """The text of the function, in the lines that it has in the file."""
        above, _, kernel = self.text.partition(SPLIT_MARK)
        return "\n" * above.count("\n") + kernel

    @cached_property
    def _signature(self) -> re.Match[str]:
        found = _SIGNATURE.search(self._kernel)
        assert found is not None, "read requires it"
        return found

    @cached_property
    def parameters(self) -> list[str]:
        """The types of the arguments as text, with names of dimensions."""
        return [part.partition(":")[2].strip() for part in self._signature[2].split(",") if part.strip()]

    def dimensions(self, types: Sequence[Attribute], where: Operation) -> dict[str, int] | None:
        """
        The dimensions that operands of a match give, None for operands of other types or open sizes.

        Raises: StepwellError `bad-schedule` for another number of operands.
        """
        if len(types) != len(self.parameters):
            fault = f"has {len(self.parameters)} arguments, and its match {len(types)} operands"
            raise self._bad(where, fault, self._listed(types))
        pattern, seen = "", set[str]()
        for index, part in enumerate(_NAME.split("\n".join(self.parameters))):
            if index % 2 == 0:
                pattern += re.escape(part)
            else:
                pattern += f"(?P={part})" if part in seen else rf"(?P<{part}>\d+)"
                seen.add(part)
        found = re.fullmatch(pattern, "\n".join(map(str, types)))
        return None if found is None else {name: int(text) for name, text in found.groupdict().items()}

    def _listed(self, types: Sequence[Attribute]) -> list[str]:
        return [
            f"the arguments are {', '.join(self.parameters)}",
            f"the operands are {', '.join(map(str, types))}",
        ]

    def sizes(self, dimensions: Sizes, where: Operation) -> Sizes | None:
        """
        All that names stand for; None where the kernel is not wanted.

        Raises: StepwellError `bad-schedule` for sizes that are missing, unknown, or no positive numbers.
        """
        try:
            given = self.sizes_of(**dimensions)
        except StepwellError:
            raise
        except Exception as error:
            raise plugin_error(error, where, [file_of(self.sizes_of)]) or error from error
        if given is None:
            return None
        wanted = [name for name in dict.fromkeys(_NAME.findall(self._kernel)) if name not in dimensions]
        for name in given:
            if name not in wanted:
                message = f"{did_you_mean(name, wanted)}the sizes are {', '.join(wanted) or 'none'}"
                raise self._bad(where, f"has no size {name}", message)
        for name in wanted:
            if name not in given:
                raise self._bad(where, f"needs the size {name}", f"given are {', '.join(given) or 'none'}")
            size = given[name]
            if type(size) is not int or not 0 < size < MOST:
                raise self._bad(where, f"needs a positive number below 2^31 for {name}, found {size!r}")
        return {**dimensions, **given}

    def _bad(self, where: Operation, fault: str, note: str | Sequence[str] = ()) -> StepwellError:
        return StepwellError("bad-schedule", where, f"kernel @{self.name} of {self.file} {fault}", note=note)

    def function(self, ctx: Context, sizes: Sizes, results: Sequence[Attribute], where: Operation) -> FuncOp:
        """
        The function for sizes, which returns the results of the op at `where`.

        Raises: StepwellError `syntax`, `invalid-ir` for text that is no valid function then, `bad-schedule`
        for another result.
        """
        text = _NAME.sub(lambda found: str(sizes[found[1]]), self._kernel)
        module = parse_module(ctx, text, self.file)
        try:
            verify_module(module)
        except VerifyException as error:
            raise StepwellError("invalid-ir", self.file, str(error)) from error
        functions = [op for op in module.ops if isinstance(op, FuncOp)]
        if len(functions) != 1 or len([*module.ops]) != 1:
            raise StepwellError("syntax", self.file, "expected one function after the pattern")
        (function,) = functions
        returned = list(function.function_type.outputs)
        if returned != list(results):
            found, wanted = (", ".join(map(str, types)) for types in (returned, results))
            raise self._bad(where, f"returns {found}, and its match {wanted}")
        function.detach()
        return function


def kernel(file: str) -> Callable[[F], F]:
    """
    Register the kernel of a file, whose path is relative to the plugin's; the function says its sizes.

    Raises: StepwellError `no-file`, `syntax`, `name-taken`.
    """

    def add(function: F) -> F:
        beside = Path(file_of(function)).parent
        template = KernelTemplate.read(str(beside / file), function)
        KERNELS.add(template.name, template, function)
        UNKEYED.add(file_of(function))  # a plugin's digest contains its Python files only
        return function

    return add


def fixed_sizes(text: str) -> SizesOf:
    """
    The function of sizes that are an option of the pass, `rows=4 columns=32`.

    Raises: StepwellError `bad-option`.
    """
    sizes: dict[str, int] = {}
    for part in text.split():
        name, _, number = part.partition("=")
        if not name.isidentifier() or not number.lstrip("-").isdigit():
            raise StepwellError("bad-option", None, f"sizes must be like rows=4 columns=32, found {text!r}")
        sizes[name] = int(number)

    def given(**dimensions: int) -> Sizes:
        return sizes

    return given
