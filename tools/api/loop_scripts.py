"""Loop scripts as programs: emulated as Python, lowered, compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from random import Random
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, cast, overload

from stepwell.frontend.script.language import BUILTINS, View, operators_by, parallel_order
from stepwell.runtime.errors import StepwellError

if TYPE_CHECKING:
    import numpy.typing as npt

    from stepwell.frontend.script.functions import Parameter
    from stepwell.frontend.script.source import Source
    from stepwell.runtime.model import CompiledModel
    from stepwell.tools.api.module import Module
    from stepwell.tools.driver.options import CompileKeywords

    Array: TypeAlias = "npt.NDArray[Any]"


class Script:
    """
    A loop script, made by `stepwell.script.script`.

    It is called as the Python function that it is, on arrays of numpy's; `compile` makes native code of it.
    """

    def __init__(self, source: Source, function: Callable[..., object] | None = None):
        self.source = source
        self._function = function

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.source.function.name

    def __repr__(self) -> str:
        return f"<Script {self.name}>"

    def __call__(self, *arrays: Any) -> Any:
        """
        The results by emulation; called by a script that is emulated, the results are written in place.

        Raises: as `emulate`.
        """
        if arrays and all(isinstance(array, View) for array in arrays):
            return self._emulated(arrays)
        return self.emulate(*arrays)

    def emulate(self, *arrays: Array, order: str = "sequential", seed: int = 0) -> Any:
        """
        The results of the script run as Python, on copies of arrays; without a function, by the interpreter.

        Args: with `order` "random", parallel loops run in a random order, which shows races.
        Raises: StepwellError `script-bounds` for an index that is outside, `bad-inputs`, `bad-option`.
        """
        if order not in ("sequential", "random"):
            raise StepwellError("bad-option", None, f"order is sequential or random, found {order!r}")
        if self._function is None:
            return self._one(self.lower(is_raised=False).interpret(*arrays))
        views = self._views(arrays)
        with parallel_order(Random(seed) if order == "random" else None):
            returned = self._emulated(list(views.values()))
        if returned is None:
            results = [views[p.tensor.name] for p in self._parameters if p.is_result]
        else:
            results = cast("Sequence[View]", returned if isinstance(returned, tuple) else (returned,))
        return self._one([view.array for view in results])

    def compile(
        self, *, threads: int | None = None, debug: bool = False, **keywords: Unpack[CompileKeywords]
    ) -> CompiledModel:
        """
        Native code of the script; keywords are those of `stepwell.compile`.

        Args: with `debug`, loops run as they are written, on one thread, and an access outside of its tensor
        ends the call with `index-out-of-range`, which names the line, the index and the extent.
        Raises: as `ir`; `bad-option` for `debug` on several threads.
        """
        if not debug:
            return self.lower().compile(threads=threads, **keywords)
        if threads not in (None, 1):
            help = "the first access outside is that of one order: leave `threads` out"
            raise StepwellError("bad-option", None, f"debug runs on one thread, found {threads}", help=help)
        return self._program(is_checked=True).compile(threads=1, **keywords)

    def lower(self, *, is_raised: bool = True) -> Module:
        """
        The program on level 2: loops that compute structured ops become these ops, or all loops stay as
        written.

        Raises: StepwellError `script-syntax`, `script-race`, `te-type`, `te-bounds`.
        """
        module = self._program()
        return module.run("simplify-indices,raise-loops-to-linalg") if is_raised else module

    def _program(self, *, is_checked: bool = False) -> Module:
        """The loops as they are written; with `is_checked`, accesses outside are errors of a call."""
        from stepwell.frontend.script.functions import module_of
        from stepwell.tools.api.module import Module

        return Module(module_of(self.source, is_checked=is_checked)).verify()

    @overload
    def ir(self, level: Literal["linalg", "vector", "loops", "llvm"] = "linalg") -> Module: ...
    @overload
    def ir(self, level: Literal["asm"]) -> str: ...
    def ir(self, level: str = "linalg") -> Module | str:
        """The program on a level, `linalg`, `vector`, `loops` or `llvm`, or its `asm`. Raises: as `lower`."""
        module = self.lower()
        if level == "asm":
            return "\n".join(kernel.asm for kernel in module.compile(threads=1).kernels.values())
        return module if level == "linalg" else module.to(level)

    def text(self) -> str:
        """The source of the script and of called scripts; `script` of the text is the same program."""
        from stepwell.frontend.script.source_text import source_text

        return source_text(self.source)

    @cached_property
    def _parameters(self) -> list[Parameter]:
        from stepwell.frontend.script.functions import parameters_of

        return parameters_of(self.source)

    def _views(self, arrays: Sequence[Array]) -> Mapping[str, View]:
        """A view of each parameter: of a copy of an input, of zeros for a result."""
        import numpy as np

        from stepwell.runtime.interface import dtype_from_name

        inputs = [p.tensor for p in self._parameters if not p.is_result]
        if len(arrays) != len(inputs):
            names = ", ".join(tensor.name for tensor in inputs)
            raise StepwellError(
                "bad-inputs", None, f"{self.name} has {len(inputs)} inputs, {names}, found {len(arrays)}"
            )
        sizes: dict[str, int] = {}
        given: dict[str, Array] = {}
        for tensor, value in zip(inputs, arrays, strict=True):
            array = np.asarray(value)
            shape = [dim.evaluate(sizes) if dim.symbols() <= sizes.keys() else None for dim in tensor.dims]
            fits = len(shape) == array.ndim and all(
                a in (None, b) for a, b in zip(shape, array.shape, strict=True)
            )
            if array.dtype.name != tensor.dtype or not fits:
                wanted = f"{tensor.dtype}[{', '.join(map(str, tensor.dims))}]"
                found = f"{array.dtype.name}[{', '.join(map(str, array.shape))}]"
                raise StepwellError(
                    "bad-inputs", None, f"{tensor.name} of {self.name} is {wanted}, found {found}"
                )
            sizes |= {
                str(dim): size
                for dim, size in zip(tensor.dims, array.shape, strict=True)
                if not dim.is_static
            }
            given[tensor.name] = array.copy()
        for parameter in self._parameters:
            if parameter.is_result:
                shape = [dim.evaluate(sizes) for dim in parameter.tensor.dims]
                given[parameter.tensor.name] = np.zeros(shape, dtype_from_name(parameter.tensor.dtype))
        return {p.tensor.name: View(given[p.tensor.name]) for p in self._parameters}

    def _emulated(self, views: Sequence[View]) -> object:
        """Run the function on views, with numpy's meaning of overflow and of functions of Python's."""
        from types import FunctionType

        import numpy as np

        function = cast("Any", self._function)
        if function is None:
            raise StepwellError("script-syntax", None, f"{self.name} is made from text: no text is executed")
        names = {**function.__globals__, **BUILTINS}
        plain = FunctionType(function.__code__, names, self.name, function.__defaults__, function.__closure__)
        with np.errstate(all="ignore"), operators_by(_evaluated):
            return plain(*views)

    @staticmethod
    def _one(results: object) -> Any:
        values = list(cast("Sequence[object]", results)) if isinstance(results, list | tuple) else [results]
        return values[0] if len(values) == 1 else tuple(values)


def _evaluated(name: str, *numbers: Any) -> Any:
    """The value of an op by its name, by the interpreter."""
    import numpy as np

    arrays = [np.asarray(number) for number in numbers]
    dtype = next((a.dtype for n, a in zip(numbers, arrays, strict=True) if isinstance(n, np.generic)), None)
    typed = [array.astype(dtype or ("f4" if array.dtype.kind == "f" else array.dtype)) for array in arrays]
    program = _program_of(name, tuple(array.dtype.name for array in typed))
    results: Any = program.interpret(*typed)
    return np.asarray(results[0])[()]


@cache
def _program_of(name: str, dtypes: tuple[str, ...]) -> Module:
    """The program of an op on numbers. Raises: StepwellError `script-syntax`."""
    from stepwell.frontend.te.named_ops import named_call
    from stepwell.frontend.te.tensors import compute, placeholder
    from stepwell.tools.api.formulas import lower

    inputs = [placeholder((), dtype, f"x{n}") for n, dtype in enumerate(dtypes)]
    return lower(inputs, compute((), lambda: named_call(name, [tensor[()] for tensor in inputs]), name="y"))


def script(function: Callable[..., object] | str) -> Script:
    """
    A loop script of a function, of which the source is parsed, or of a text, of which nothing is executed.

    Raises: StepwellError `script-syntax`.
    """
    from stepwell.frontend.script.source import Source

    if not isinstance(function, str):
        return Script(Source.of_function(function), function)
    made: Script | None = None
    known: dict[str, object] = {}
    for source in Source.of_text(function):
        made = Script(source.knowing(known))
        known[made.name] = made
    assert made is not None
    return made
