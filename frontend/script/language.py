"""Loop scripts as plain Python: functions for loops and numbers, views that check indices."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from stepwell.runtime.errors import StepwellError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array: TypeAlias = "npt.NDArray[Any]"

Number: TypeAlias = "Any"
"""A number of Python's or numpy's."""

_ORDER: ContextVar[Random | None] = ContextVar("order", default=None)
"""The generator by which parallel loops run in a random order; None: in order."""

SHORT_TYPES = {
    **{"f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "i1": "bool"},
    **{
        f"{short}{bits}": f"{long}{bits}"
        for short, long in (("i", "int"), ("u", "uint"))
        for bits in (8, 16, 32, 64)
    },
}
"""Short names of element types."""


class Buffer:
    """The annotation of an input: its extents, numbers or names, and its element type."""

    shape: tuple[int, ...]
    """The extents."""

    def __class_getitem__(cls, item: object) -> object:
        return cls

    if TYPE_CHECKING:  # for checkers of types: a parameter is used as a tensor

        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...


class Out(Buffer):
    """The annotation of a result, which is all zeros before the script runs."""


@contextmanager
def parallel_order(random: Random | None) -> Generator[None]:
    """Run parallel loops in a random order meanwhile."""
    token = _ORDER.set(random)
    try:
        yield
    finally:
        _ORDER.reset(token)


def grid(*extents: int) -> Iterator[tuple[int, ...]]:
    """The points of nested loops from 0."""
    return product(*map(range, extents))


def parallel(*bounds: int) -> Sequence[int]:
    """A range whose iterations are independent."""
    indices = list(range(*bounds))
    if (random := _ORDER.get()) is not None:
        random.shuffle(indices)
    return indices


def vectorized(*bounds: int) -> Sequence[int]:
    """A range that lanes of vectors compute."""
    return range(*bounds)


def unrolled(first: int | tuple[Number, ...], *bounds: int) -> Sequence[Number]:
    """A range that is written out; or the numbers of a tuple, one copy of the body each."""
    return first if isinstance(first, tuple) else range(first, *bounds)


class Point(NamedTuple):
    """The index of an axis of a block at one step."""

    at: int
    is_summed: bool


def spatial(index: int) -> Point:
    """The index of an axis whose steps write different elements."""
    return Point(index, is_summed=False)


def reduce(index: int) -> Point:
    """The index of an axis that is summed over."""
    return Point(index, is_summed=True)


class block:
    """A block of a name: all steps of its axes are one op, whose schedule can be changed."""

    def __init__(self, name: str = ""):
        self.name = name
        self._is_first = True

    def __enter__(self) -> block:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def axes(self, *points: Point) -> Any:
        """The indices of the axes at this step: a tuple, or a single index for one axis."""
        self._is_first = all(point.at == 0 for point in points if point.is_summed)
        return points[0].at if len(points) == 1 else tuple(point.at for point in points)

    def init(self) -> bool:
        """Whether this is the first step of all summed axes."""
        return self._is_first


class View:
    """An array whose elements scripts read and write: indices are inside, and are not negative."""

    def __init__(self, array: Array):
        self.array = array

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self.array.shape

    def __getitem__(self, index: Any) -> Number:
        return self.array[self._checked(index)]

    def __setitem__(self, index: Any, value: Number) -> None:
        self.array[self._checked(index)] = value

    def _checked(self, index: Any) -> tuple[int, ...]:
        indices = cast("tuple[Any, ...]", index if isinstance(index, tuple) else (index,))
        if len(indices) != self.array.ndim:
            message = f"{self.array.ndim} indices are needed, found {len(indices)}"
            raise StepwellError("script-bounds", _caller(), message)
        for axis, (at, extent) in enumerate(zip(indices, self.array.shape, strict=True)):
            if not 0 <= at < extent:
                message = f"index {at} along dimension {axis} is outside of the extent {extent}"
                raise StepwellError("script-bounds", _caller(), message)
        return indices


def _caller() -> str:
    """The file and line of the script that runs."""
    from inspect import currentframe

    frame = currentframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def alloc(shape: int | tuple[int, ...], dtype: str = "float32", scope: str = "arena") -> Any:
    """A temporary tensor, all zeros."""
    import numpy as np

    return View(np.zeros(shape, _dtype(dtype)))


def copy(tensor: View) -> View:
    """A tensor with the elements of another one."""
    return View(tensor.array.copy())


def cast_to(x: Number, dtype: str) -> Number:
    """A number in another type: floats to integers truncate and saturate, narrower integers wrap."""
    import numpy as np

    from stepwell.runtime.meaning.casts import cast as converted

    return np.asarray(converted(np.asarray(x), _dtype(dtype), saturate=True, round="down"))[()]


def _dtype(name: str) -> np.dtype[Any]:
    from stepwell.runtime.interface import dtype_from_name

    return dtype_from_name(SHORT_TYPES.get(name, name))


def _erf(x: Number) -> Number:
    from math import erf

    return type(x)(erf(x))


def _numpy(name: str) -> Callable[..., Number]:
    def function(*operands: Number) -> Number:
        import numpy as np

        return getattr(np, name)(*operands)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"numpy's {name} of numbers."
    return function


def sigmoid(x: Number) -> Number:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + FUNCTIONS["exp"](-x))


def rsqrt(x: Number) -> Number:
    """1 / sqrt(x)."""
    return 1 / FUNCTIONS["sqrt"](x)


def select(condition: Number, a: Number, b: Number) -> Number:
    """a where the condition holds, else b; both are computed."""
    return a if condition else b


def truncdiv(a: Number, b: Number) -> Number:
    """a / b of integers, rounded towards 0; 0 for b = 0."""
    return 0 if b == 0 else (a - truncmod(a, b)) // b


def truncmod(a: Number, b: Number) -> Number:
    """a - b * truncdiv(a, b) of integers, with the sign of a; 0 for b = 0."""
    import numpy as np

    return 0 if b == 0 else type(a)(np.fmod(a, b))


_OF_NUMPY = (
    *("exp", "expm1", "log", "log1p", "sqrt", "tanh", "sin", "cos", "tan", "sinh", "cosh"),
    *("floor", "ceil", "trunc", "isnan", "minimum", "maximum", "power"),
)
_RENAMED = {
    **{"asin": "arcsin", "acos": "arccos", "atan": "arctan", "round": "rint", "absolute": "abs"},
    **{"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"},
}
_OPERATORS: ContextVar[Callable[..., Number] | None] = ContextVar("operators", default=None)
"""The meaning of ops by name, while a script is emulated."""


@contextmanager
def operators_by(evaluate: Callable[..., Number]) -> Generator[None]:
    """Compute `op(name, *numbers)` by a function meanwhile."""
    token = _OPERATORS.set(evaluate)
    try:
        yield
    finally:
        _OPERATORS.reset(token)


def op(name: str, *numbers: Number) -> Number:
    """An op of `arith` or `math` by its name, on numbers of one type."""
    if (evaluate := _OPERATORS.get()) is None:
        raise StepwellError("script-syntax", None, f'op("{name}", …) is computed within a script')
    return evaluate(name, *numbers)


FUNCTIONS: dict[str, Callable[..., Number]] = {
    **{name: _numpy(name) for name in _OF_NUMPY},
    **{name: _numpy(of_numpy) for name, of_numpy in _RENAMED.items()},
    **{"erf": _erf, "sigmoid": sigmoid, "rsqrt": rsqrt, "select": select, "cast": cast_to},
    **{"truncdiv": truncdiv, "truncmod": truncmod, "op": op},
}
"""The functions of numbers, by their names in formulas."""
BUILTINS = {"min": FUNCTIONS["minimum"], "max": FUNCTIONS["maximum"], "abs": FUNCTIONS["absolute"]}
"""Functions of Python's, which scripts may call: with numpy's meaning of NaN."""
WORDS: dict[str, object] = {
    **{"range": range, "grid": grid, "parallel": parallel, "vectorized": vectorized, "unrolled": unrolled},
    **{"block": block, "spatial": spatial, "reduce": reduce, "alloc": alloc, "copy": copy},
    **{"Buffer": Buffer, "Out": Out, **BUILTINS, **FUNCTIONS},
}
"""All names that scripts from text know."""
