"""Random programs with functions as arguments, results, captured values, and in tuples, data and cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

import stepwell

N = "tensor<i64>"
F = f"({N}) -> {N}"
G = f"({N}) -> ({F})"
PAIR = f"tuple<{N}, {F}>"
OPTION = f"!adt.data<@Option, {F}>"
LIST = f"!adt.data<@List, {F}>"
CELL = f"!ref.cell<{F}>"
COUNT = f"!ref.cell<{N}>"
HELPERS = f"""
func.func private @double(%x: {N}) -> {N} {{
  %y = graph.add %x, %x : ({N}, {N}) -> {N}
  func.return %y : {N}
}}
func.func private @twice(%f: {F}, %x: {N}) -> {N} {{
  %y = graph.call %f(%x) : {F}
  %z = graph.call %f(%y) : {F}
  func.return %z : {N}
}}
func.func private @repeat(%f: {F}, %n: {N}, %x: {N}) -> {N} {{
  %zero = graph.constant dense<0> : {N}
  %more = graph.less %zero, %n : ({N}, {N}) -> tensor<i1>
  %r = graph.if %more : tensor<i1> -> ({N}) {{
    %one = graph.constant dense<1> : {N}
    %m = graph.subtract %n, %one : ({N}, {N}) -> {N}
    %y = graph.call %f(%x) : {F}
    %z = graph.call @repeat(%f, %m, %y) : ({F}, {N}, {N}) -> {N}
    graph.yield %z : {N}
  }} else {{
    graph.yield %x : {N}
  }}
  func.return %r : {N}
}}
func.func private @all(%fs: {LIST}, %x: {N}) -> {N} {{
  %r = adt.match %fs : {LIST} -> ({N}) case Cons(%f: {F}, %rest: {LIST}) {{
    %y = graph.call @all(%rest, %x) : ({LIST}, {N}) -> {N}
    %z = graph.call %f(%y) : {F}
    graph.yield %z : {N}
  }} case Nil {{
    graph.yield %x : {N}
  }}
  func.return %r : {N}
}}
"""


class Scope:
    """The names of the values that are seen, by type."""

    def __init__(self, names: Mapping[str, Sequence[str]]):
        self.names = {type: [*found] for type, found in names.items()}

    def inner(self) -> Scope:
        return Scope(self.names)

    def add(self, type: str, name: str) -> None:
        self.names.setdefault(type, []).append(name)

    def of(self, type: str) -> list[str]:
        return self.names.get(type, [])


class Functions:
    """The text of a random program; `cells` lets it have cells."""

    def __init__(self, data: st.DataObject, *, cells: bool = True):
        self._data, self._number, self._cells = data, 0, cells

    def text(self) -> str:
        scope = Scope({N: ["%x", "%y"]})
        lines = self._ops(scope, 0, self._data.draw(st.integers(4, 9)))
        values = scope.of(N)[-3:]
        lines.append(f"func.return {', '.join(values)} : {', '.join([N] * len(values))}")
        types = ", ".join([N] * len(values))
        head = f"func.func @main(%x: {N}, %y: {N}, %c: tensor<i1>) -> ({types})"
        return f"{HELPERS}{head} {{\n" + "\n".join(lines) + "\n}\n"

    def _draw(self, choices: Sequence[str]) -> str:
        return self._data.draw(st.sampled_from(choices))

    def _name(self) -> str:
        self._number += 1
        return f"%v{self._number}"

    def _ops(self, scope: Scope, depth: int, count: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            type = self._draw([N, N, F, F, G, PAIR, OPTION, LIST, *([CELL, COUNT] if self._cells else [])])
            self._value(type, scope, depth, lines)
        return lines

    def _value(self, type: str, scope: Scope, depth: int, lines: list[str]) -> str:
        """A new value of a type; its ops are added to the lines."""
        name = self._name()
        match type:
            case _ if type == N:
                lines.append(f"{name} = {self._number_of(scope, depth, lines)}")
            case _ if type == F:
                lines.append(f"{name} = {self._function(scope, depth, lines)}")
            case _ if type == G:
                lines.append(f"{name} = {self._lambda(F, scope, depth)}")
            case _ if type == PAIR:
                fields = f"{self._some(N, scope, depth, lines)}, {self._some(F, scope, depth, lines)}"
                lines.append(f"{name} = graph.tuple {fields} : {N}, {F}")
            case _ if type == OPTION:
                lines.append(f"{name} = {self._option(scope, depth, lines)}")
            case _ if type == LIST:
                rest = self._draw([*scope.of(LIST), ""])
                if not rest:
                    rest = self._name()
                    lines.append(f"{rest} = adt.make @List::@Nil() : () -> {LIST}")
                head = self._some(F, scope, depth, lines)
                lines.append(f"{name} = adt.make @List::@Cons({head}, {rest}) : ({F}, {LIST}) -> {LIST}")
            case _:
                content = F if type == CELL else N
                value = self._some(content, scope, depth, lines)
                if scope.of(type) and self._data.draw(st.booleans()):
                    lines.append(f"ref.write {self._draw(scope.of(type))}, {value} : {type}, {content}")
                    return ""
                lines.append(f"{name} = ref.new {value} : {content} -> {type}")
        scope.add(type, name)
        return name

    def _some(self, type: str, scope: Scope, depth: int, lines: list[str]) -> str:
        """A value of a type, a new one where there is none."""
        known = scope.of(type)
        return self._draw(known) if known else self._value(type, scope, depth, lines)

    def _number_of(self, scope: Scope, depth: int, lines: list[str]) -> str:
        x = self._some(N, scope, depth, lines)
        kinds = ["add", "call", "call", "twice", "repeat"]
        kinds += [kind for kind, type in (("get", PAIR), ("match", OPTION), ("all", LIST)) if scope.of(type)]
        kinds += ["read"] * bool(scope.of(COUNT)) + ["if"] * (depth < 2)
        match kind := self._draw(kinds):
            case "call":
                return f"graph.call {self._some(F, scope, depth, lines)}({x}) : {F}"
            case "twice":
                return f"graph.call @twice({self._some(F, scope, depth, lines)}, {x}) : ({F}, {N}) -> {N}"
            case "repeat":
                function, count = self._some(F, scope, depth, lines), self._name()
                lines.append(f"{count} = graph.constant dense<{self._data.draw(st.integers(0, 3))}> : {N}")
                return f"graph.call @repeat({function}, {count}, {x}) : ({F}, {N}, {N}) -> {N}"
            case "all":
                return f"graph.call @all({self._draw(scope.of(LIST))}, {x}) : ({LIST}, {N}) -> {N}"
            case "get":
                return f"graph.get {self._draw(scope.of(PAIR))} [0] : {PAIR} -> {N}"
            case "read":
                return f"ref.read {self._draw(scope.of(COUNT))} : {COUNT} -> {N}"
            case "match":
                bound, result = self._name(), self._name()
                return (
                    f"adt.match {self._draw(scope.of(OPTION))} : {OPTION} -> ({N})\n"
                    f"case Some({bound}: {F}) {{\n{result} = graph.call {bound}({x}) : {F}\n"
                    f"graph.yield {result} : {N}\n"
                    f"}} case None {{\ngraph.yield {x} : {N}\n}}"
                )
            case "if":
                return self._if(N, scope, depth)
            case _:
                op = self._draw(["add", "subtract", "multiply"])
                return f"graph.{op} {x}, {self._draw(scope.of(N))} : ({N}, {N}) -> {N}  // {kind}"

    def _function(self, scope: Scope, depth: int, lines: list[str]) -> str:
        kinds = ["lambda"] * 2 * (depth < 2) + ["symbol"] + ["if"] * (depth < 2)
        kinds += [kind for kind, type in (("call", G), ("get", PAIR), ("read", CELL)) if scope.of(type)]
        match self._draw(kinds):
            case "lambda":
                return self._lambda(N, scope, depth)
            case "if":
                return self._if(F, scope, depth)
            case "call":
                return f"graph.call {self._draw(scope.of(G))}({self._draw(scope.of(N))}) : {G}"
            case "get":
                return f"graph.get {self._draw(scope.of(PAIR))} [1] : {PAIR} -> {F}"
            case "read":
                return f"ref.read {self._draw(scope.of(CELL))} : {CELL} -> {F}"
            case _:
                return f"graph.function @double : {F}"

    def _option(self, scope: Scope, depth: int, lines: list[str]) -> str:
        if self._data.draw(st.booleans()):
            return f"adt.make @Option::@None() : () -> {OPTION}"
        value = self._some(F, scope, depth, lines)
        made = f"@Option::@Some<{F}> : ({F}) -> {OPTION}"
        if self._data.draw(st.booleans()):
            return f"adt.make @Option::@Some({value}) : ({F}) -> {OPTION}"
        constructor = self._name()
        lines.append(f"{constructor} = graph.function {made}")
        return f"graph.call {constructor}({value}) : ({F}) -> {OPTION}"

    def _block(self, type: str, scope: Scope, depth: int) -> str:
        lines = self._ops(scope, depth, self._data.draw(st.integers(0, 3)))
        value = self._some(type, scope, depth, lines)
        return "\n".join([*lines, f"graph.yield {value} : {type}"])

    def _lambda(self, result: str, scope: Scope, depth: int) -> str:
        inner, argument = scope.inner(), self._name()
        inner.add(N, argument)
        return f"graph.lambda ({argument}: {N}) -> ({result}) {{\n{self._block(result, inner, depth + 1)}\n}}"

    def _if(self, type: str, scope: Scope, depth: int) -> str:
        arms = [self._block(type, scope.inner(), depth + 1) for _ in range(2)]
        return f"graph.if %c : tensor<i1> -> ({type}) {{\n{arms[0]}\n}} else {{\n{arms[1]}\n}}"


def results(module: stepwell.Module) -> list[list[int]]:
    """The results of a program for both values of its condition."""
    every: list[Any] = [module.interpret(np.int64(3), np.int64(5), np.bool_(c)) for c in (False, True)]
    return [[int(each) for each in found] for found in every]
