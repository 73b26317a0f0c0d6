"""Kernels at level 2 as text, by their loops and index expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Extent = int | str
"""A number, or the symbol of an extent known at run time."""


@dataclass(frozen=True)
class Operand:
    """A tensor of a kernel: name, index expressions over the loops, and extents."""

    name: str
    indices: str
    extents: Sequence[Extent]
    element: str = "f32"

    @property
    def type(self) -> str:
        """The type without names of dimensions."""
        shape = "".join(f"{n if isinstance(n, int) else '?'}x" for n in self.extents)
        return f"tensor<{shape}{self.element}>"

    @property
    def argument(self) -> str:
        """The type as an argument or a result, with names of dimensions."""
        if all(isinstance(n, int) for n in self.extents):
            return self.type
        names = ", ".join(str(n) if isinstance(n, int) else f'"{n}"' for n in self.extents)
        return f"{self.type} {{graph.dims = #graph.dims<[{names}]>}}"


def generic(
    result: str, loops: str, kinds: str, inputs: Sequence[Operand], init: Operand, body: Sequence[str]
) -> str:
    """A `linalg.generic`; `kinds` has p or r for each loop, `body` names its arguments as the operands."""
    maps = ", ".join(f"affine_map<({loops}) -> ({o.indices})>" for o in (*inputs, init))
    words = ", ".join({"p": '"parallel"', "r": '"reduction"'}[k] for k in kinds)
    names = ", ".join(f"%{o.name}" for o in inputs)
    types = ", ".join(o.type for o in inputs)
    ins = f"ins({names} : {types}) " if inputs else ""
    arguments = ", ".join(f"%{o.name}_: {o.element}" for o in (*inputs, init))
    lines = "".join(f"    {line}\n" for line in body)
    return (
        f"  %{result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{words}]}} "
        f"{ins}outs(%{init.name} : {init.type}) {{\n  ^bb0({arguments}):\n{lines}  }} -> {init.type}\n"
    )


def kernel(inputs: Sequence[Operand], result: Operand, lines: Sequence[str]) -> str:
    """A kernel function `@k` that returns `result`; its symbols are in the order in which they appear."""
    extents = [n for o in (*inputs, result) for n in o.extents if isinstance(n, str)]
    symbols = list(dict.fromkeys(extents))
    arguments = [f"%{o.name}: {o.argument}" for o in inputs] + [f"%{s}: index" for s in symbols]
    listed = ", ".join(f'"{s}"' for s in symbols)
    interface = f"#sched.kernel<inputs = {len(inputs)}, outputs = 1, symbols = [{listed}]>"
    returned = result.argument if result.argument == result.type else f"({result.argument})"
    return (
        f"func.func private @k({', '.join(arguments)}) -> {returned} "
        f"attributes {{sched.kernel = {interface}}} {{\n"
        + "".join(lines)
        + f"  func.return %{result.name} : {result.type}\n}}\n"
    )


def empty(operand: Operand) -> str:
    """A tensor without contents."""
    sizes = ", ".join(f"%{n}" for n in operand.extents if isinstance(n, str))
    return f"  %{operand.name} = tensor.empty({sizes}) : {operand.type}\n"


def filled(operand: Operand, number: str) -> str:
    """A tensor filled with a number."""
    name, type = operand.name, operand.type
    return (
        f"  %{name}_number = arith.constant {number} : {operand.element}\n"
        + empty(Operand(f"{name}_empty", "", operand.extents, operand.element))
        + f"  %{name} = linalg.fill ins(%{name}_number : {operand.element}) "
        f"outs(%{name}_empty : {type}) -> {type}\n"
    )


def _names(loops: str) -> list[str]:
    return [name.strip() for name in loops.split(",") if name.strip()]


def _extents(indices: str, extents: Mapping[str, Extent]) -> list[Extent]:
    """The extents of a tensor that is reached by index expressions such as `h * 2 + r`."""
    found: list[Extent] = []
    for index in _names(indices):
        if index in extents:
            found.append(extents[index])
            continue
        last = 0
        for term in index.split("+"):
            loop, _, factor = term.strip().partition(" * ")
            extent = extents[loop]
            assert isinstance(extent, int)
            last += (extent - 1) * int(factor or 1)
        found.append(last + 1)
    return found


def product(loops: str, a: str, b: str, out: str, /, *, element: str = "f32", **extents: Extent) -> str:
    """A sum of products, then a relu: `product("m, n, k", "m, k", "k, n", "m, n", m=4, n=5, k=6)`."""
    names = _names(loops)
    kinds = "".join("p" if name in _names(out) else "r" for name in names)
    x, y = (Operand(n, i, _extents(i, extents), element) for n, i in (("x", a), ("y", b)))
    zero = Operand("zero", out, _extents(out, extents), element)
    multiply, add, most = ("mulf", "addf", "maximumf") if element == "f32" else ("muli", "addi", "maxsi")
    sums = generic(
        "sum", loops, kinds, [x, y], zero,
        [
            f"%p = arith.{multiply} %x_, %y_ : {element}",
            f"%s = arith.{add} %zero_, %p : {element}",
            f"linalg.yield %s : {element}",
        ],
    )  # fmt: skip
    total = Operand("sum", out, zero.extents, element)
    init = Operand("init", out, zero.extents, element)
    follow = generic(
        "r", out, "p" * len(_names(out)), [total], init,
        [f"%m = arith.{most} %sum_, %zero_number : {element}", f"linalg.yield %m : {element}"],
    )  # fmt: skip
    number = "0.0" if element == "f32" else "0"
    result = Operand("r", out, zero.extents, element)
    return kernel([x, y], result, [filled(zero, number), sums, empty(init), follow])


def matmul(m: Extent, panels: int, lanes: int, k: Extent, element: str = "f32") -> str:
    """A product with a packed matrix."""
    return product("m, o, i, k", "m, k", "o, k, i", "m, o, i", element=element, m=m, o=panels, i=lanes, k=k)


def depthwise(o: int, h: int, w: int, lanes: int, window: int, stride: int) -> str:
    """A convolution with one filter a channel."""
    x = f"o, h * {stride} + r, w * {stride} + s, i"
    loops, out = "o, h, w, i, r, s", "o, h, w, i"
    return product(loops, x, "o, r, s, i", out, o=o, h=h, w=w, i=lanes, r=window, s=window)


def pool(o: int, h: int, w: int, lanes: int, window: int, stride: int) -> str:
    """A maximum over windows, whose size is that of a tensor that is never read."""
    out = "o, h, w, i"
    sizes: dict[str, Extent] = {"o": o, "h": h, "w": w, "i": lanes, "r": window, "s": window}
    indices = f"o, h * {stride} + r, w * {stride} + s, i"
    x = Operand("x", indices, _extents(indices, sizes))
    points = Operand("points", "r, s", _extents("r, s", sizes))
    low = Operand("low", out, _extents(out, sizes))
    body = [
        "%g = arith.cmpf ogt, %x_, %low_ : f32",
        "%m = arith.select %g, %x_, %low_ : f32",
        "linalg.yield %m : f32",
    ]
    most = generic("r", "o, h, w, i, r, s", "pppprr", [x, points], low, body)
    return kernel([x], Operand("r", out, low.extents), [empty(points), filled(low, "0xFF800000"), most])


def padded(h: int, w: int, lanes: int, border: int) -> str:
    """Sums of 3x3 windows of a feature map with zero padding."""
    outer = [h + 2 * border, w + 2 * border, lanes]
    x, wide = Operand("x", "h, w, i", [h, w, lanes]), Operand("wide", "h, w, i", outer)
    image = Operand("image", "h + r, w + s, i", outer)
    points, zero = (
        Operand("points", "r, s", [3, 3]),
        Operand("zero", "h, w, i", [outer[0] - 2, outer[1] - 2, lanes]),
    )
    insert = (
        f"  %image = tensor.insert_slice %x into %wide[{border}, {border}, 0] [{h}, {w}, {lanes}] [1, 1, 1] "
        f": {x.type} into {wide.type}\n"
    )
    body = ["%s = arith.addf %zero_, %image_ : f32", "linalg.yield %s : f32"]
    sums = generic("r", "h, w, i, r, s", "ppprr", [image, points], zero, body)
    lines = [filled(wide, "0.0"), insert, empty(points), filled(zero, "0.0"), sums]
    return kernel([x], Operand("r", "h, w, i", zero.extents), lines)


def softmax(rows: Extent, columns: Extent) -> str:
    """Softmax along the last axis: maximum, exponential, sum and quotient of each row."""
    x, row = Operand("x", "i, j", [rows, columns]), [rows]
    low, zero = Operand("low", "i", row), Operand("zero", "i", row)
    top, sums = Operand("top", "i", row), Operand("sums", "i", row)
    powers = Operand("powers", "i, j", x.extents)
    inits = Operand("init", "i, j", x.extents), Operand("init2", "i, j", x.extents)
    lines = [
        filled(low, "0xFF800000"),
        generic(
            "top", "i, j", "pr", [x], low,
            ["%m = arith.maximumf %low_, %x_ : f32", "linalg.yield %m : f32"],
        ),
        empty(inits[0]),
        generic(
            "powers", "i, j", "pp", [x, top], inits[0],
            ["%d = arith.subf %x_, %top_ : f32", "%e = math.exp %d : f32", "linalg.yield %e : f32"],
        ),
        filled(zero, "0.0"),
        generic(
            "sums", "i, j", "pr", [powers], zero,
            ["%a = arith.addf %zero_, %powers_ : f32", "linalg.yield %a : f32"],
        ),
        empty(inits[1]),
        generic(
            "r", "i, j", "pp", [powers, sums], inits[1],
            ["%q = arith.divf %powers_, %sums_ : f32", "linalg.yield %q : f32"],
        ),
    ]  # fmt: skip
    return kernel([x], Operand("r", "i, j", x.extents), lines)


def accumulate(loops: str, read: str, out: str, **extents: Extent) -> str:
    """A sum over the loops that the result does not have."""
    kinds = "".join("p" if name in _names(out) else "r" for name in _names(loops))
    x, zero = Operand("x", read, _extents(read, extents)), Operand("zero", out, _extents(out, extents))
    body = ["%s = arith.addf %zero_, %x_ : f32", "linalg.yield %s : f32"]
    lines = [filled(zero, "0.0"), generic("r", loops, kinds, [x], zero, body)]
    return kernel([x], Operand("r", out, zero.extents), lines)


def elementwise(loops: str, x: str, y: str, **extents: Extent) -> str:
    """Two ops in a row: the product of two tensors, and the larger of it and the first."""
    kinds, whole = "p" * len(_names(loops)), _extents(loops, extents)
    a, b = Operand("x", x, _extents(x, extents)), Operand("y", y, _extents(y, extents))
    inits = Operand("init", loops, whole), Operand("init2", loops, whole)
    middle = Operand("middle", loops, whole)
    lines = [
        empty(inits[0]),
        generic(
            "middle", loops, kinds, [a, b], inits[0],
            ["%p = arith.mulf %x_, %y_ : f32", "linalg.yield %p : f32"],
        ),
        empty(inits[1]),
        generic(
            "r", loops, kinds, [middle, a], inits[1],
            ["%m = arith.maximumf %middle_, %x_ : f32", "linalg.yield %m : f32"],
        ),
    ]  # fmt: skip
    return kernel([a, b], Operand("r", loops, whole), lines)


def transpose(rows: int, columns: int, element: str = "f32") -> str:
    """A transposed copy of a matrix."""
    x = Operand("x", "j, i", [columns, rows], element)
    init = Operand("init", "i, j", [rows, columns], element)
    lines = [empty(init), generic("r", "i, j", "pp", [x], init, [f"linalg.yield %x_ : {element}"])]
    return kernel([x], Operand("r", "i, j", init.extents, element), lines)
