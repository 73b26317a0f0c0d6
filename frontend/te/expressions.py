"""Expressions of formulas: numbers, axes, sizes, elements of tensors, and operations on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

from stepwell.frontend.te.places import FormulaError, user_place
from stepwell.runtime.dims import Dim

if TYPE_CHECKING:
    from stepwell.frontend.te.tensors import Tensor

Dtype: TypeAlias = str
"""The name of an element type, as numpy and ml_dtypes have it: numpy itself takes long to import."""
Operand: TypeAlias = "Expr | bool | int | float"
"""An expression, or a Python number, which gets the type of the other operands."""

INDEX: Dtype = "int64"
BOOL: Dtype = "bool"


class Expr:
    """A number that a formula computes: operators make larger expressions."""

    precedence: ClassVar[int] = 9

    def __init__(self, dtype: Dtype, parts: Sequence[Expr] = ()):
        self.dtype = dtype
        self.parts = tuple(parts)
        """The expressions that this one is computed from."""

    def __add__(self, other: Operand) -> Expr:
        return arithmetic("add", self, other)

    def __radd__(self, other: Operand) -> Expr:
        return arithmetic("add", other, self)

    def __sub__(self, other: Operand) -> Expr:
        return arithmetic("subtract", self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return arithmetic("subtract", other, self)

    def __mul__(self, other: Operand) -> Expr:
        return arithmetic("multiply", self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return arithmetic("multiply", other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return divided(self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return divided(other, self)

    def __floordiv__(self, other: Operand) -> Expr:
        return of_integers("floordiv", self, other)

    def __rfloordiv__(self, other: Operand) -> Expr:
        return of_integers("floordiv", other, self)

    def __mod__(self, other: Operand) -> Expr:
        return of_integers("floormod", self, other)

    def __rmod__(self, other: Operand) -> Expr:
        return of_integers("floormod", other, self)

    def __pow__(self, other: Operand) -> Expr:
        return of_floats("power", self, other)

    def __neg__(self) -> Expr:
        return Call("negate", [_number(self)], self.dtype)

    def __abs__(self) -> Expr:
        return Call("absolute", [_number(self)], self.dtype)

    def __lt__(self, other: Operand) -> Expr:
        return comparison("lt", self, other)

    def __le__(self, other: Operand) -> Expr:
        return comparison("le", self, other)

    def __gt__(self, other: Operand) -> Expr:
        return comparison("gt", self, other)

    def __ge__(self, other: Operand) -> Expr:
        return comparison("ge", self, other)

    def __eq__(self, other: object) -> Expr:  # pyright: ignore[reportIncompatibleMethodOverride]
        return comparison("eq", self, cast("Operand", other))

    def __ne__(self, other: object) -> Expr:  # pyright: ignore[reportIncompatibleMethodOverride]
        return comparison("ne", self, cast("Operand", other))

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise FormulaError(
            "te-type",
            f"`{self}` has no truth value while the formula is written",
            help="join conditions by te.all, te.any and te.not_; choose by te.select or te.if_then_else, "
            "not by `and`, `or`, `not`, `if`",
        )

    def __iter__(self) -> Iterator[Expr]:
        raise FormulaError("te-type", f"`{self}` is one number, found a loop over it")

    def __index__(self) -> int:
        raise FormulaError(
            "te-type",
            f"`{self}` is known at each point only, and indexes no list or array",
            help="give the array as a te.placeholder, which a formula may index",
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **_: object) -> object:
        """Arithmetic with numpy numbers; other numpy functions are errors that name the functions of `te`."""
        from stepwell.frontend.te.numpy_numbers import computed

        return computed(ufunc.__name__ if method == "__call__" else method, operands, Expr)

    def __repr__(self) -> str:
        return str(self)

    def inside(self, precedence: int) -> str:
        """The text of the expression as an operand of one of a precedence."""
        return f"({self})" if self.precedence < precedence else str(self)


class Number(Expr):
    """A number. Python's have no type until they meet an expression that has one."""

    def __init__(self, value: float, dtype: Dtype):
        super().__init__(dtype)
        self.value = value

    def __str__(self) -> str:
        return str(self.value)


class Axis(Expr):
    """The index along a loop: of an axis of the result, or of one that is reduced."""

    def __init__(self, name: str, extent: Dim, *, low: Dim | None = None):
        super().__init__(INDEX)
        self.name, self.extent = name, extent
        self.low = low
        """The first index of an axis that is reduced; None for an axis of the result, whose is 0."""

    def __str__(self) -> str:
        return self.name


class Size(Expr):
    """A size that is known when the operator runs: of a dimension, or computed from sizes of dimensions."""

    def __init__(self, dim: Dim):
        super().__init__(INDEX)
        self.dim = dim

    def __str__(self) -> str:
        return str(self.dim)

    @property
    def precedence(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The precedence of the text."""
        return 9 if str(self.dim).isidentifier() else 1


class Read(Expr):
    """
    An element of a tensor. Its indices are proved to be in bounds, or are `clamped` to the nearest legal
    ones. The indices of a `checked` read are clamped too, after all of them were checked before the kernel.
    """

    def __init__(
        self, tensor: Tensor, indices: Sequence[Expr], *, is_clamped: bool = False, is_checked: bool = False
    ):
        super().__init__(tensor.dtype, indices)
        self.tensor, self.is_clamped, self.is_checked = tensor, is_clamped or is_checked, is_checked
        self.where = user_place()

    @property
    def indices(self) -> Sequence[Expr]:
        """An index a dimension."""
        return self.parts

    def __str__(self) -> str:
        return f"{self.tensor.name}[{', '.join(map(str, self.parts))}]"


_INFIX: Mapping[str, tuple[str, int]] = {
    **{"add": ("+", 2), "subtract": ("-", 2), "multiply": ("*", 3), "divide": ("/", 3)},
    **{"floordiv": ("//", 3), "floormod": ("%", 3), "power": ("**", 5)},
    **{"lt": ("<", 1), "le": ("<=", 1), "gt": (">", 1), "ge": (">=", 1), "eq": ("==", 1), "ne": ("!=", 1)},
}


class Call(Expr):
    """An operation on expressions, by its name in the table of the conversion."""

    def __init__(self, op: str, parts: Sequence[Expr], dtype: Dtype):
        super().__init__(dtype, parts)
        self.op = op

    @property
    def precedence(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The precedence of the operator, or that of a call."""
        return _INFIX[self.op][1] if self.op in _INFIX else 9

    def __str__(self) -> str:
        if self.op == "cast":
            return f"te.cast({self.parts[0]}, {self.dtype})"
        if self.op not in _INFIX:
            return f"te.{self.op}({', '.join(map(str, self.parts))})"
        sign, precedence = _INFIX[self.op]
        left, right = self.parts
        return f"{left.inside(precedence)} {sign} {right.inside(precedence + 1)}"


def walk(expr: Expr) -> Iterator[Expr]:
    """An expression and all that it is computed from, each once."""
    seen: set[int] = set()
    waiting = [expr]
    while waiting:
        current = waiting.pop()
        if id(current) not in seen:
            seen.add(id(current))
            yield current
            waiting += current.parts[::-1]


def is_index(expr: Expr) -> bool:
    """Whether an expression is computed from axes, sizes and integers alone."""
    return expr.dtype == INDEX and all(
        isinstance(part, Axis | Size | Number) or (isinstance(part, Call) and part.op in _OF_INDICES)
        for part in walk(expr)
    )


_OF_INDICES = ("add", "subtract", "multiply", "floordiv", "floormod", "minimum", "maximum")


def expression(value: object, like: Expr | None = None) -> Expr:
    """
    A value as an expression; a Python number gets the type of another expression.

    Raises: StepwellError `te-type`, `te-reduction`.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, Dim):
        return Size(value)
    if isinstance(value, bool | int | float) and not hasattr(value, "dtype"):
        return Number(value, _default(value) if like is None else _number_type(value, like))
    if (item := getattr(value, "item", None)) is not None and getattr(value, "shape", None) == ():
        # a number of numpy's: beside an expression as one of Python's, else with its own type
        number = cast(float, item())
        dtype = str(cast("Any", value).dtype.name)
        return Number(number, dtype if like is None else _number_type(number, like))
    if (reason := getattr(value, "not_an_operand", None)) is not None:
        raise cast("Callable[[], Exception]", reason)()
    help = "give an array as a te.placeholder" if hasattr(value, "shape") else None
    message = f"a formula has no {type(value).__name__}: found {value!r}"
    raise FormulaError("te-type", message, help=help)


def _default(value: float) -> Dtype:
    if isinstance(value, bool):
        return BOOL
    return INDEX if isinstance(value, int) else "float32"


def _number_type(value: float, like: Expr) -> Dtype:
    """The type of a Python number beside an expression. Raises: StepwellError `te-type`."""
    is_wrong_float = isinstance(value, float) and is_integer(like.dtype)
    fits = isinstance(value, bool) == (like.dtype == BOOL) and not is_wrong_float
    if not fits:
        raise FormulaError(
            "te-type",
            f"{value!r} is no {like.dtype}, which `{like}` is",
            help=f"write te.cast({like}, dtype) for a type that has both",
        )
    return like.dtype


def together(name: str, *operands: object) -> list[Expr]:
    """Operands of one type; Python numbers get that of the others. Raises: StepwellError `te-type`."""
    typed = [o for o in operands if isinstance(o, Expr | Dim)]
    typed = typed or [o for o in operands if not isinstance(o, _PLAIN)]
    like = expression(typed[0]) if typed else None
    made = [expression(operand, like) for operand in operands]
    if (other := next((each for each in made if each.dtype != made[0].dtype), None)) is not None:
        first = made[0]
        raise FormulaError(
            "te-type",
            f"{name} has operands of one type, found {first.dtype} (`{first}`) and {other.dtype} (`{other}`)",
            help=f'convert one of them: te.cast({other}, "{first.dtype}")',
        )
    return made


_PLAIN = (bool, int, float)


def _number(value: Expr) -> Expr:
    if value.dtype == BOOL:
        raise FormulaError(
            "te-type", f"`{value}` is a condition, expected a number", help="te.cast converts it"
        )
    return value


def is_float(dtype: Dtype) -> bool:
    """Whether a type is a floating-point type, of numpy or of ml_dtypes."""
    return "float" in dtype


def is_integer(dtype: Dtype) -> bool:
    """Whether a type is one of integers."""
    return "int" in dtype


def is_narrow(dtype: Dtype) -> bool:
    """Whether a type is one of floats of less than 32 bits."""
    return is_float(dtype) and dtype not in ("float32", "float64")


def integer_range(dtype: Dtype) -> tuple[int, int]:
    """The least and the greatest number of a type of integers."""
    bits = int(dtype.rpartition("int")[2])
    return (0, (1 << bits) - 1) if dtype.startswith("u") else (-(1 << bits - 1), (1 << bits - 1) - 1)


_OF_SIZES: Mapping[str, Callable[[Dim, Dim], Dim]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "minimum": lambda a, b: a.minimum(b),
    "maximum": lambda a, b: a.maximum(b),
}


def arithmetic(op: str, a: object, b: object) -> Expr:
    """An operation on two numbers; one of sizes is a size again. Raises: StepwellError `te-type`."""
    left, right = together(op, a, b)
    for each in (left, right):
        _number(each)
    if op in _OF_SIZES and isinstance(left, Size | Number) and isinstance(right, Size | Number):
        if left.dtype == INDEX and not (isinstance(left, Number) and isinstance(right, Number)):
            return Size(_OF_SIZES[op](size_of(left), size_of(right)))
    return Call(op, [left, right], left.dtype)


def size_of(value: Size | Number) -> Dim:
    """A size as a dimension."""
    return value.dim if isinstance(value, Size) else Dim.of(int(value.value))


def divided(a: object, b: object) -> Expr:
    """a / b of floats. Raises: StepwellError `te-type`."""
    left, right = together("/", a, b)
    if not is_float(left.dtype):
        raise FormulaError(
            "te-type",
            f"`/` divides floats, found {left.dtype} (`{left}`)",
            help="integers are divided by te.floordiv or te.truncdiv; te.cast converts to a float",
        )
    return Call("divide", [left, right], left.dtype)


def of_integers(op: str, a: object, b: object) -> Expr:
    """A division of integers. Raises: StepwellError `te-type`."""
    left, right = together(op, a, b)
    if not is_integer(left.dtype):
        raise FormulaError("te-type", f"te.{op} divides integers, found {left.dtype} (`{left}`)")
    return arithmetic(op, left, right)


def of_floats(op: str, *operands: object) -> Expr:
    """A function of floats. Raises: StepwellError `te-type`."""
    made = together(op, *operands)
    if not is_float(made[0].dtype):
        what = f"te.{op} is a function of floats, found {made[0].dtype} (`{made[0]}`)"
        raise FormulaError("te-type", what, help=f'te.cast({made[0]}, "float32") converts it')
    return Call(op, made, made[0].dtype)


def comparison(op: str, a: object, b: object) -> Expr:
    """A condition. Raises: StepwellError `te-type`."""
    return Call(op, together(op, a, b), BOOL)
