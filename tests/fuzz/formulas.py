"""Random formulas of `stepwell.te`, each with its meaning in numpy, written down beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from stepwell import te

Array = npt.NDArray[Any]
SIZES = (0, 1, 2, 3, 5, 7, 8, 16, 17, 33)
DTYPES = ("float32", "float32", "float32", "float64", "int32", "int64", "uint8", "float16")


@dataclass(frozen=True)
class Extent:
    """A size as a formula has it, and its number."""

    size: Any
    number: int


@dataclass(frozen=True)
class Pair:
    """An expression, and its value at all points of a grid."""

    expr: Any
    value: Array


@dataclass(frozen=True)
class Known:
    """A tensor that formulas may read, and its array."""

    tensor: te.Tensor
    array: Array
    extents: tuple[Extent, ...]


@dataclass
class Program:
    """A random program: placeholders with arrays, and computed tensors with what they should be."""

    random: Random
    inputs: list[Known] = field(default_factory=list[Known])
    stages: list[Known] = field(default_factory=list[Known])
    extents: list[Extent] = field(default_factory=list[Extent])

    @staticmethod
    def of(seed: int) -> Program:
        """The program of a seed."""
        program = Program(Random(seed))
        program.extents += [Extent(te.var(name), program.random.choice(SIZES)) for name in ("n", "m")]
        program.extents += [Extent(number, number) for number in program.random.sample(SIZES[1:], 2)]
        for extent in program.extents[:2]:
            program.read_from("float32", (extent,))  # each symbol is a dimension by itself
        for _ in range(program.random.randint(1, 3)):
            program._stage()
        return program

    def read_from(self, dtype: str, extents: tuple[Extent, ...], high: int | None = None) -> Known:
        """A new placeholder; integers are small, or below `high`."""
        shape = [extent.number for extent in extents]
        draw = np.random.default_rng(self.random.randrange(1 << 30))
        if "float" in dtype:
            array: Array = draw.standard_normal(shape).astype(dtype)
        else:
            low = 0 if dtype == "uint8" else -9
            array = draw.integers(low, 9 if high is None else high, shape).astype(dtype)
        tensor = te.placeholder([extent.size for extent in extents], dtype, name=f"x{len(self.inputs)}")
        self.inputs.append(Known(tensor, array, extents))
        return self.inputs[-1]

    def _stage(self) -> None:
        dtype = self.random.choice(DTYPES)
        extents = tuple(self.random.choices(self.extents, k=self.random.randint(1, 3)))
        kind = self.random.choice(("plain", "plain", "reduced", "reduced", "pair"))
        if kind == "reduced":
            self._reduction(dtype, extents)
            return
        values: list[Array] = []

        def formula(*axes: te.Axis) -> object:
            point = Point(self, axes, extents)
            pairs = [point.expression(dtype, 2) for _ in range(1 + (kind == "pair"))]
            values[:] = [point.whole(pair) for pair in pairs]
            exprs = [pair.expr for pair in pairs]
            return tuple(exprs) if kind == "pair" else exprs[0]

        self._add(formula, values, extents)

    def _reduction(self, dtype: str, extents: tuple[Extent, ...]) -> None:
        over = tuple(self.random.choices(self.extents, k=self.random.randint(1, 2)))
        reducer = self.random.choice(("sum", "max", "min", "argmax"))
        over = over[:1] if reducer == "argmax" else over
        reduced = [te.reduce_axis((0, extent.size), f"r{k}") for k, extent in enumerate(over)]
        values: list[Array] = []

        def formula(*axes: te.Axis) -> object:
            point = Point(self, (*axes, *reduced), (*extents, *over))
            pair = point.expression(dtype, 1)
            whole = point.whole(pair)
            along = tuple(range(len(extents), len(extents) + len(over)))
            if reducer == "argmax":
                values[:] = _argmax(whole, along[0])
                return te.argmax(pair.expr, axis=reduced[0])
            condition = point.condition() if self.random.random() < 0.3 else None
            values[:] = [_reduced(reducer, whole, along, condition, point.shape)]
            where = None if condition is None else condition.expr
            return getattr(te, reducer)(pair.expr, axis=reduced, where=where)

        self._add(formula, values, extents)

    def _add(
        self, formula: Callable[..., object], values: Sequence[Array], extents: tuple[Extent, ...]
    ) -> None:
        """Compute a stage; the formula, when it runs, puts what it should be into `values`."""
        made = te.compute([e.size for e in extents], formula, name=f"t{len(self.stages)}")
        tensors = made if isinstance(made, tuple) else (made,)
        self.stages += [Known(t, v.astype(t.dtype), extents) for t, v in zip(tensors, values, strict=True)]

    def readable(self, dtype: str) -> list[Known]:
        """The tensors of a type."""
        return [known for known in (*self.inputs, *self.stages) if known.tensor.dtype == dtype]


def _argmax(whole: Array, axis: int) -> list[Array]:
    if whole.shape[axis] == 0:
        low = -np.inf if whole.dtype.kind == "f" else np.iinfo(whole.dtype).min
        shape = whole.shape[:axis]
        return [np.full(shape, low), np.full(shape, np.iinfo(np.int64).max)]
    return [whole.max(axis), whole.argmax(axis)]


def _reduced(
    reducer: str, whole: Array, axes: tuple[int, ...], condition: Pair | None, shape: Sequence[int]
) -> Array:
    where: Any = True if condition is None else np.broadcast_to(condition.value, shape)
    if reducer == "sum":
        exact: Any = np.float64 if whole.dtype.kind == "f" else whole.dtype
        return np.sum(whole, axis=axes, dtype=exact, where=where)
    if whole.dtype.kind == "f":
        least, greatest = -np.inf, np.inf
    else:
        least, greatest = np.iinfo(whole.dtype).min, np.iinfo(whole.dtype).max
    if reducer == "max":
        return np.max(whole, axis=axes, initial=least, where=where)
    return np.min(whole, axis=axes, initial=greatest, where=where)


class Point:
    """Random expressions at a point of some axes, which read what a program knows."""

    def __init__(self, program: Program, axes: Sequence[te.Axis], extents: Sequence[Extent]):
        self._program, self._random, self._axes, self._extents = program, program.random, axes, extents
        self.shape = [extent.number for extent in extents]
        self._grid = np.meshgrid(*(np.arange(n) for n in self.shape), indexing="ij", sparse=True)

    def whole(self, pair: Pair) -> Array:
        """The value of an expression at all points."""
        return np.broadcast_to(pair.value, self.shape)

    def expression(self, dtype: str, depth: int) -> Pair:
        """An expression of a type."""
        if depth == 0 or self._random.random() < 0.2:
            return self._leaf(dtype)
        return (self._of_floats if "float" in dtype else self._of_integers)(dtype, depth)

    def _of_floats(self, dtype: str, depth: int) -> Pair:
        a, b = (self.expression(dtype, depth - 1) for _ in range(2))
        wide = np.float64
        x, y = a.value.astype(wide), b.value.astype(wide)
        choice: list[Callable[[], tuple[Any, Array]]] = [
            lambda: (a.expr + b.expr, x + y),
            lambda: (a.expr - 2 * b.expr, x - 2 * y),
            lambda: (a.expr * b.expr, x * y),
            lambda: (te.maximum(a.expr, b.expr), np.maximum(x, y)),
            lambda: (te.tanh(a.expr) + 1, np.tanh(x) + 1),
            lambda: (te.exp(te.minimum(a.expr, 2)), np.exp(np.minimum(x, 2))),
            lambda: (-abs(a.expr) / 3, -np.abs(x) / 3),
            lambda: self._selected(a.expr, b.expr, x, y),
        ]
        expr, value = self._random.choice(choice)()
        return Pair(expr, value)

    def _of_integers(self, dtype: str, depth: int) -> Pair:
        a, b = (self.expression(dtype, depth - 1) for _ in range(2))
        x, y = a.value.astype(dtype), b.value.astype(dtype)
        by = np.dtype(dtype).type(self._random.choice([2, 3, 7]))
        choice: list[Callable[[], tuple[Any, Array]]] = [
            lambda: (a.expr + b.expr, x + y),
            lambda: (a.expr - b.expr, x - y),
            lambda: (a.expr * b.expr, x * y),
            lambda: (te.minimum(a.expr, b.expr), np.minimum(x, y)),
            lambda: (a.expr // int(by), x // by),
            lambda: (te.floormod(a.expr, int(by)), x % by),
            lambda: self._selected(a.expr, b.expr, x, y),
        ]
        with np.errstate(over="ignore"):
            expr, value = self._random.choice(choice)()
        return Pair(expr, value)

    def _selected(self, a: Any, b: Any, x: Array, y: Array) -> tuple[Any, Array]:
        condition = self.condition()
        return te.select(condition.expr, a, b), np.where(condition.value, x, y)

    def condition(self) -> Pair:
        """A condition on the axes, which no rounding can change."""
        axis = self._random.randrange(len(self._axes))
        bound = self._random.randint(0, 6)
        index, at = self._axes[axis], self._grid[axis]
        even = Pair(index % 2 == 0, at % 2 == 0)
        below = Pair(index < bound, at < bound)
        both = Pair(te.all(even.expr, te.not_(below.expr)), np.logical_and(even.value, ~below.value))
        either = Pair(te.any(even.expr, below.expr), np.logical_or(even.value, below.value))
        return self._random.choice([even, below, both, either])

    def _leaf(self, dtype: str) -> Pair:
        kind = self._random.random()
        if kind < 0.1:
            axis = self._random.randrange(len(self._axes))
            return Pair(te.cast(self._axes[axis] % 5, dtype), (self._grid[axis] % 5).astype(dtype))
        reads = [self._point, self._broadcast, self._shifted, self._strided, self._padded, self._divided]
        return self._random.choice([*reads, self._gathered])(dtype)

    def _some(self) -> list[int]:
        """Some of the axes, in any order."""
        return self._random.sample(range(len(self._axes)), self._random.randint(1, len(self._axes)))

    def _read(self, known: Known, indices: Sequence[Any], at: Sequence[Any]) -> Pair:
        return Pair(known.tensor[tuple(indices)], known.array[tuple(at)])

    def _input_over(self, dtype: str, axes: Sequence[int]) -> Known:
        extents = tuple(self._extents[axis] for axis in axes)
        known = [k for k in self._program.readable(dtype) if str(k.extents) == str(extents)]
        if known and self._random.random() < 0.6:
            return self._random.choice(known)
        return self._program.read_from(dtype, extents)

    def _point(self, dtype: str) -> Pair:
        return self._along(dtype, range(len(self._axes)))

    def _broadcast(self, dtype: str) -> Pair:
        return self._along(dtype, self._some())

    def _along(self, dtype: str, axes: Sequence[int]) -> Pair:
        known = self._input_over(dtype, axes)
        return self._read(known, [self._axes[a] for a in axes], [self._grid[a] for a in axes])

    def _shifted(self, dtype: str) -> Pair:
        """A read of a longer tensor at an offset, as stencils have it."""
        axes, by = self._some(), self._random.randint(0, 3)
        extents = tuple(Extent(self._extents[a].size + 3, self._extents[a].number + 3) for a in axes)
        known = self._program.read_from(dtype, extents)
        return self._read(known, [self._axes[a] + by for a in axes], [self._grid[a] + by for a in axes])

    def _strided(self, dtype: str) -> Pair:
        """A window: two axes in one index."""
        a, b = self._random.choices(range(len(self._axes)), k=2)
        size, number = (2 * (self._extents[a]).size + self._extents[b].size, 0)
        number = 2 * self._extents[a].number + self._extents[b].number
        known = self._program.read_from(dtype, (Extent(size, number),))
        return self._read(known, [2 * self._axes[a] + self._axes[b]], [2 * self._grid[a] + self._grid[b]])

    def _padded(self, dtype: str) -> Pair:
        """A read with a number in place of what is outside."""
        (axis, by) = self._random.randrange(len(self._axes)), self._random.randint(1, 2)
        known = self._input_over(dtype, [axis])
        index, at = self._axes[axis] - by, self._grid[axis] - by
        expr = te.if_then_else(index >= 0, known.tensor[index], 1)
        if known.array.size == 0:
            return Pair(expr, np.ones(at.shape, dtype))
        return Pair(expr, np.where(at >= 0, known.array[np.maximum(at, 0)], np.dtype(dtype).type(1)))

    def _divided(self, dtype: str) -> Pair:
        """A read at a quotient and a remainder."""
        axis, by = self._random.randrange(len(self._axes)), self._random.choice([2, 3])
        extent = self._extents[axis]
        known = self._program.read_from(dtype, (extent, Extent(by, by)))
        index, at = self._axes[axis], self._grid[axis]
        return self._read(known, [index // by, index % by], [at // by, at % by])

    def _gathered(self, dtype: str) -> Pair:
        """A read at an index from another tensor, led inside."""
        axis, size = self._random.randrange(len(self._axes)), self._random.choice([1, 4, 9])
        places = self._program.read_from("int64", (self._extents[axis],), high=size + 3)
        known = self._program.read_from(dtype, (Extent(size, size),))
        index, at = places.tensor[self._axes[axis]], places.array[self._grid[axis]]
        return Pair(te.clamped(known.tensor[index]), known.array[np.clip(at, 0, size - 1)])


def check_formula(seed: int) -> tuple[str, str]:
    """The outcome of a program: interpreted on level 1, and compiled, against numpy."""
    program = Program.of(seed)
    inputs, outputs = ([known.tensor for known in side] for side in (program.inputs, program.stages))
    arrays = [known.array for known in program.inputs]
    module = te.lower(inputs, outputs, "graph")
    interpreted = module.interpret(*arrays)
    compiled: Any = module.compile(threads=1)(*arrays)
    for way, results in ("interpreted", interpreted), ("compiled", compiled):
        found = list(results) if isinstance(results, list | tuple) else [results]
        for known, array in zip(program.stages, found, strict=True):
            if difference := mismatch(known, array):
                return "wrong", f"{way}: {difference}"
    return "native", ""


def tolerance(dtype: str) -> float:
    """The difference that a type may show, as a part of the largest number."""
    return {"float16": 2e-2, "float32": 2e-4, "float64": 1e-9}.get(dtype, 0)


def mismatch(known: Known, found: Array) -> str:
    """The difference of a result from its meaning, as text; empty where there is none."""
    if found.dtype != known.array.dtype or found.shape != known.array.shape:
        return f"{known.tensor}: found {found.dtype}{found.shape}, expected {known.array.shape}"
    wide: Any = np.float64 if found.dtype.kind == "f" else found.dtype
    a, b = found.astype(wide), known.array.astype(wide)
    same = (a == b) | ((a != a) & (b != b))
    if same.all():
        return ""
    scale = max(1.0, float(np.max(np.abs(b[np.isfinite(b)]), initial=0)))
    with np.errstate(invalid="ignore"):
        worst = float(np.max(np.abs(np.where(same, 0, a - b))))
    return f"{known.tensor}: differs by {worst}" if not worst <= tolerance(known.tensor.dtype) * scale else ""
