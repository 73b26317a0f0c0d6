"""Random programs on tensors mean the same once they are on buffers."""

from __future__ import annotations

import random

import pytest

from tests.support.samples import repetitions
from tests.support.validate import run_before_after

_SIZE = 12
_TYPE = f"tensor<{_SIZE}xf32>"


class _Program:
    """Writes a kernel of ops on tensors of one type, each op on values that were made before it."""

    def __init__(self, seed: int, *, dynamic: bool):
        self._dynamic = dynamic
        self._random = random.Random(seed)
        self._lines: list[str] = []
        self._count = 0
        self._depth = 0
        self._indices: list[str] = []

    def text(self) -> str:
        """The kernel."""
        values = ["%x", "%y"]
        for _ in range(self._random.randint(3, 9)):
            values.append(self._op(values))
        results = [self._random.choice(values[2:]) for _ in range(self._random.randint(1, 3))]
        types = ", ".join([_TYPE] * len(results))
        body = "\n".join(self._lines)
        text = (
            f"func.func private @k(%x: {_TYPE}, %y: {_TYPE}) -> ({types}) "
            f"attributes {{sched.kernel = #sched.kernel<inputs = 2, outputs = {len(results)}>}} {{\n"
            + "  %zero = arith.constant 0.5 : f32\n"
            + "".join(f"  %c{n} = arith.constant {n} : index\n" for n in range(5))
            + f"{body}\n  func.return {', '.join(results)} : {types}\n}}\n"
        )
        return _with_symbol(text) if self._dynamic else text

    def _new(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def _emit(self, line: str) -> None:
        self._lines.append(f"  {line}")

    def _op(self, values: list[str]) -> str:
        kinds = [self._elementwise, self._accumulate, self._fill, self._slice, self._insert, self._one]
        if not self._dynamic:
            kinds.append(self._reshape)
        if self._depth < 2:
            kinds += [self._loop, self._branch]
        return self._random.choice(kinds)(values)

    def _destination(self, values: list[str]) -> str:
        if self._random.random() < 0.6:
            empty = self._new()
            self._emit(f"{empty} = tensor.empty() : {_TYPE}")
            return empty
        return self._random.choice(values)

    def _generic(self, inputs: list[str], output: str, body: str, type: str = _TYPE) -> str:
        result = self._new()
        maps = ", ".join(["affine_map<(i) -> (i)>"] * (len(inputs) + 1))
        args = ", ".join([*(f"%a{k}: f32" for k in range(len(inputs))), "%o: f32"])
        self._emit(
            f'{result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}} '
            f"ins({', '.join(inputs)} : {', '.join([type] * len(inputs))}) outs({output} : {type}) {{\n"
            f"  ^bb0({args}):\n{body}  }} -> {type}"
        )
        return result

    def _elementwise(self, values: list[str]) -> str:
        inputs = [self._random.choice(values), self._random.choice(values)]
        body = "    %s = arith.subf %a0, %a1 : f32\n    linalg.yield %s : f32\n"
        return self._generic(inputs, self._destination(values), body)

    def _accumulate(self, values: list[str]) -> str:
        body = "    %s = arith.addf %o, %a0 : f32\n    linalg.yield %s : f32\n"
        return self._generic([self._random.choice(values)], self._random.choice(values), body)

    def _fill(self, values: list[str]) -> str:
        result = self._new()
        self._emit(
            f"{result} = linalg.fill ins(%zero : f32) outs({self._destination(values)} : {_TYPE}) -> {_TYPE}"
        )
        return result

    def _part(self) -> tuple[str, str]:
        size = self._random.choice([3, 4, 6])
        offset = self._random.choice(
            ["%c1", "%c3", "0", "2", "5", self._indices[-1] if self._indices else "4"]
        )
        return f"[{offset}] [{size}] [1]", f"tensor<{size}xf32>"

    def _slice(self, values: list[str]) -> str:
        """A slice of one value, changed, put in another or back."""
        where, type = self._part()
        source = self._random.choice(values)
        part, result = self._new(), self._new()
        self._emit(f"{part} = tensor.extract_slice {source}{where} : {_TYPE} to {type}")
        body = "    %s = arith.mulf %a0, %zero : f32\n    linalg.yield %s : f32\n"
        if self._random.random() < 0.5:
            destination = self._new()
            self._emit(f"{destination} = tensor.empty() : {type}")
        else:
            destination = part
        changed = self._generic([part], destination, body, type)
        target = source if self._random.random() < 0.6 else self._random.choice(values)
        if self._random.random() < 0.3:
            where = where.replace(where[: where.index("]") + 1], "[1]", 1)
        self._emit(f"{result} = tensor.insert_slice {changed} into {target}{where} : {type} into {_TYPE}")
        return result

    def _insert(self, values: list[str]) -> str:
        where, type = self._part()
        part, result = self._new(), self._new()
        self._emit(f"{part} = tensor.extract_slice {self._random.choice(values)}{where} : {_TYPE} to {type}")
        where = f"[{self._random.choice(['0', '2', '%c4'])}]" + where[where.index("]") + 1 :]
        target = self._random.choice(values)
        self._emit(f"{result} = tensor.insert_slice {part} into {target}{where} : {type} into {_TYPE}")
        return result

    def _one(self, values: list[str]) -> str:
        element, result = self._new(), self._new()
        index = self._random.randint(0, 4)
        self._emit(f"{element} = tensor.extract {self._random.choice(values)}[%c{index}] : {_TYPE}")
        target = self._random.choice(values)
        self._emit(f"{result} = tensor.insert {element} into {target}[%c{4 - index}] : {_TYPE}")
        return result

    def _reshape(self, values: list[str]) -> str:
        groups = "[[0 : i64, 1 : i64]]"
        wide, result = self._new(), self._new()
        value = self._random.choice(values)
        self._emit(
            f"{wide} = tensor.expand_shape {value} {groups} output_shape [3, 4] "
            f": {_TYPE} into tensor<3x4xf32>"
        )
        self._emit(f"{result} = tensor.collapse_shape {wide} {groups} : tensor<3x4xf32> into {_TYPE}")
        return result

    def _nested(self, values: list[str]) -> list[str]:
        inner = list(values)
        self._depth += 1
        for _ in range(self._random.randint(1, 3)):
            inner.append(self._op(inner))
        self._depth -= 1
        return inner

    def _loop(self, values: list[str]) -> str:
        count = self._random.randint(1, 2)
        result = self._new()
        args = [f"{self._new()}" for _ in range(count)]
        inits = [self._random.choice(values) for _ in range(count)]
        types = ", ".join([_TYPE] * count)
        pairs = ", ".join(f"{a} = {i}" for a, i in zip(args, inits, strict=True))
        index = self._new()
        self._emit(
            f"{result}{f':{count}' if count > 1 else ''} = scf.for {index} = %c0 to %c3 step %c1 "
            f"iter_args({pairs}) -> ({types}) {{"
        )
        self._indices.append(index)
        inner = self._nested([*values, *args, *args])
        self._indices.pop()
        ends = [self._random.choice(inner[len(values) :]) for _ in range(count)]
        self._emit(f"scf.yield {', '.join(ends)} : {types}\n  }}")
        return f"{result}#{self._random.randrange(count)}" if count > 1 else result

    def _branch(self, values: list[str]) -> str:
        condition, result = self._new(), self._new()
        self._emit(f"{condition} = arith.constant {self._random.choice(['true', 'false'])}")
        self._emit(f"{result} = scf.if {condition} -> ({_TYPE}) {{")
        self._emit(f"scf.yield {self._random.choice(self._nested(values)[-3:])} : {_TYPE}\n  }} else {{")
        self._emit(f"scf.yield {self._random.choice(self._nested(values)[-3:])} : {_TYPE}\n  }}")
        return result


def _with_symbol(text: str) -> str:
    """The same kernel for a symbolic extent."""
    head, body = text.split("{\n", 1)
    dims = f'{_TYPE} {{graph.dims = #graph.dims<["N"]>}}'
    head = head.replace(_TYPE, dims).replace(") ->", ", %N: index) ->")
    head = head.replace(">} ", ', symbols = ["N"]>} ')
    body = body.replace(f"tensor.empty() : {_TYPE}", f"tensor.empty(%N) : {_TYPE}")
    return f"{head}{{\n{body}".replace(_TYPE, "tensor<?xf32>")


@pytest.mark.sample
@pytest.mark.parametrize("dynamic", [False, True])
def test_random_kernels(dynamic: bool) -> None:
    for seed in range(repetitions(80)):
        text = _Program(seed, dynamic=dynamic).text()
        try:
            assert run_before_after(text, "bufferize,linalg-to-loops", symbols={"N": _SIZE}) == ["k"]
        except Exception as error:
            raise AssertionError(f"seed {seed}:\n{text}") from error
