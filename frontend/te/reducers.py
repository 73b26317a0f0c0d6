"""Reductions of one number or of several at once, by Stepwell's reducers or a user's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from stepwell.frontend.te.expressions import (
    BOOL,
    INDEX,
    Axis,
    Call,
    Dtype,
    Expr,
    Number,
    expression,
    integer_range,
    is_float,
)
from stepwell.frontend.te.functions import conjunction, disjunction, isnan, maximum, minimum, negation, select
from stepwell.frontend.te.places import FormulaError

Combine = Callable[[Any, Any], object]
Identity = Callable[..., object]
"""The identity for the types of the values."""


class Reducer:
    """
    A way to combine values: associative, commutative, with an identity.

    Called with an expression, or a tuple of them, and axes it is a reduction. One that is not `known` to be
    so is tested with samples.
    """

    def __init__(self, name: str, combine: Combine, identity: Identity, known: bool = True):
        self.name, self.combine, self.identity, self.is_known = name, combine, identity, known

    def __call__(self, values: object, axis: Axis | Sequence[Axis], where: Expr | None = None) -> Reduction:
        return reduction(self, values, axis, where)

    def combined(self, xs: Sequence[Expr], ys: Sequence[Expr]) -> list[Expr]:
        """The combination of two values. Raises: StepwellError `te-reducer`."""
        x, y = (v[0] if len(v) == 1 else tuple(v) for v in (xs, ys))
        made = self.combine(x, y)
        results = cast("Sequence[object]", made) if isinstance(made, tuple) else [made]
        if len(results) != len(xs):
            message = f"the reducer {self.name} combines {len(xs)} numbers, and gives {len(results)}"
            raise FormulaError("te-reducer", message)
        typed = [expression(r, like=x) for r, x in zip(results, xs, strict=True)]
        for result, x in zip(typed, xs, strict=True):
            if result.dtype != x.dtype:
                found = f"a {result.dtype} from {x.dtype}"
                raise FormulaError(
                    "te-reducer", f"the reducer {self.name} makes {found}: its results keep the types"
                )
        return typed

    def start(self, dtypes: Sequence[Dtype]) -> list[float]:
        """The identity for types. Raises: StepwellError `te-reducer`."""
        made = self.identity(*dtypes)
        numbers = cast("Sequence[object]", made) if isinstance(made, tuple) else [made]
        values = [n.value if isinstance(n, Number) else n for n in numbers]
        items = [v.item() if hasattr(v, "item") else v for v in cast("Sequence[Any]", values)]
        if len(items) != len(dtypes) or not all(isinstance(v, bool | int | float) for v in items):
            message = f"the identity of the reducer {self.name} is {len(dtypes)} numbers, found {made!r}"
            raise FormulaError("te-reducer", message)
        return cast("list[float]", items)


class Reduction:
    """Values that are combined over axes; it is the whole of a formula."""

    def __init__(
        self,
        reducer: Reducer,
        values: tuple[Expr, ...],
        axes: tuple[Axis, ...],
        where: Expr | None,
        accumulate: str | None,
    ):
        self.reducer, self.values, self.axes = reducer, values, axes
        self.where, self.accumulate = where, accumulate

    def masked(self) -> list[Expr]:
        """The values, with the identity where the condition does not hold."""
        if self.where is None:
            return list(self.values)
        numbers = self.reducer.start([value.dtype for value in self.values])
        return [
            Call("if_then_else", [self.where, value, Number(number, value.dtype)], value.dtype)
            for value, number in zip(self.values, numbers, strict=True)
        ]

    def not_an_operand(self, *_: object) -> Exception:
        """The error for a reduction inside an expression."""
        return FormulaError(
            "te-reduction",
            f"te.{self.reducer.name} stands alone in a formula",
            help="put the rest of the expression into another te.compute, which reads its result",
        )

    def _refuse(self, *_: object) -> Any:
        raise self.not_an_operand()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __mod__ = __pow__ = __neg__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


def reduction(
    reducer: Reducer,
    values: object,
    axis: Axis | Sequence[Axis],
    where: Expr | None = None,
    accumulate: str | None = None,
) -> Reduction:
    """The reduction of values over axes. Raises: StepwellError `te-reduction`, `te-type`."""
    axes = tuple([axis] if isinstance(axis, Axis) else axis)
    for each in axes:
        if not isinstance(cast("object", each), Axis) or each.low is None:
            what = f"te.{reducer.name} runs over axes of te.reduce_axis, found {each!r}"
            raise FormulaError("te-reduction", what)
    if not axes or len({id(each) for each in axes}) < len(axes):
        raise FormulaError("te-reduction", f"te.{reducer.name} needs axes to run over, each once")
    given = cast("tuple[object, ...]", values) if isinstance(values, tuple) else (values,)
    made = tuple(expression(value) for value in given)
    if where is not None and where.dtype != BOOL:
        raise FormulaError("te-type", f"`where` is a condition, found `{where}`")
    if accumulate not in (None, "same"):
        raise FormulaError("te-reduction", f'accumulate is "same" or left out, found {accumulate!r}')
    if not reducer.is_known:
        from stepwell.frontend.te.samples import Tried, expect_reducer

        dtypes = [value.dtype for value in made]
        expect_reducer(Tried(reducer.name, reducer.combined, reducer.start(dtypes)), dtypes)
    return Reduction(reducer, made, axes, where, accumulate)


def _lowest(dtype: Dtype) -> float:
    if dtype == BOOL:
        return False
    return -float("inf") if is_float(dtype) else integer_range(dtype)[0]


def _highest(dtype: Dtype) -> float:
    if dtype == BOOL:
        return True
    return float("inf") if is_float(dtype) else integer_range(dtype)[1]


def _zero(dtype: Dtype) -> float:
    return 0


def _one(dtype: Dtype) -> float:
    return 1


SUM = Reducer("sum", lambda x, y: x + y, _zero)
PROD = Reducer("prod", lambda x, y: x * y, _one)
MAX = Reducer("max", maximum, _lowest)
MIN = Reducer("min", minimum, _highest)


def _named(reducer: Reducer) -> Callable[..., Reduction]:
    def reduce(
        e: object, axis: Axis | Sequence[Axis], where: Expr | None = None, accumulate: str | None = None
    ) -> Reduction:
        return reduction(reducer, e, axis, where, accumulate)

    reduce.__name__ = reduce.__qualname__ = reducer.name
    reduce.__doc__ = f"The {reducer.name} of an expression over axes, at points where a condition holds."
    return reduce


sum_of, product_of, greatest, least = map(_named, (SUM, PROD, MAX, MIN))


def _extremum(name: str, is_better: Callable[[Expr, Expr], Expr], worst: Callable[[Dtype], float]) -> Reducer:
    """The reducer of an extremum and its position: the first one wins, and NaN as in numpy."""

    def combine(x: tuple[Expr, Expr], y: tuple[Expr, Expr]) -> tuple[Expr, Expr]:
        (a, i), (b, j) = x, y
        earlier = j < i
        second = disjunction(is_better(b, a), conjunction(b == a, earlier))
        if is_float(a.dtype):
            only, both = conjunction(isnan(b), negation(isnan(a))), conjunction(isnan(a), isnan(b))
            second = disjunction(conjunction(negation(isnan(a)), second), only, conjunction(both, earlier))
        return select(second, b, a), select(second, j, i)

    def identity(value: Dtype, position: Dtype) -> tuple[float, float]:
        return worst(value), _highest(position)

    return Reducer(name, combine, identity)


ARGMAX = _extremum("argmax", lambda a, b: a > b, _lowest)
ARGMIN = _extremum("argmin", lambda a, b: a < b, _highest)


def argmax(e: Expr, axis: Axis) -> Reduction:
    """The greatest value along an axis, and its first position as int64; NaN is the greatest."""
    return reduction(ARGMAX, (e, _position(axis)), axis)


def argmin(e: Expr, axis: Axis) -> Reduction:
    """The least value along an axis, and its first position as int64; NaN is the least."""
    return reduction(ARGMIN, (e, _position(axis)), axis)


def _position(axis: Axis) -> Expr:
    """The index along an axis as a number."""
    if not isinstance(cast("object", axis), Axis):
        raise FormulaError("te-reduction", f"a position is along one axis, found {axis!r}")
    return Call("cast", [axis], INDEX)


def reducer(combine: Combine, identity: Identity, name: str = "reducer", *, assume: bool = False) -> Reducer:
    """
    A user's reducer: `combine(x, y)` on expressions, or on tuples of them, and `identity(*dtypes)`.

    It must be associative and commutative. This is tested with samples when the types are known; `assume`
    skips the test.
    """
    return Reducer(name, combine, identity, assume)
