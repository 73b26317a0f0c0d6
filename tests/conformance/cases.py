"""The test cases that the installed onnx package generates or brings, as models with their data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any
from unittest.mock import patch

import numpy as np
import onnx
from onnx import ModelProto, SequenceProto, TensorProto, TypeProto, numpy_helper
from onnx.backend.test import runner
from onnx.backend.test.case.base import Base
from onnx.backend.test.loader import load_model_tests

from tests.conformance.dynamic import made_dynamic
from tests.conformance.outcome import Outcome

NODE_CASES = "onnx.backend.test.case.node"
SETS = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")


@dataclass(frozen=True)
class Case:
    """One case: a model, and inputs with the outputs they should give."""

    name: str
    set: str
    model: ModelProto
    data: Sequence[tuple[Sequence[Any], Sequence[Any]]]
    rtol: float
    atol: float

    @property
    def operator(self) -> tuple[str, str, int]:
        """Domain, name and opset of the operator that a node case is about; that of the set for others."""
        if self.set != "node":
            return "", self.set, 0
        node = self.model.graph.node[-1]
        static = self.name.partition("@")[0]
        if (original := _stored(static.removesuffix("_expanded"))) is not None:
            node = original.model.graph.node[-1]
        imports = {entry.domain: entry.version for entry in self.model.opset_import}
        return node.domain, node.op_type, imports.get(node.domain, max(imports.values(), default=0))


@dataclass(frozen=True)
class _Stored:
    """A case as onnx has it; `case` reads its files."""

    found: Any
    set: str

    @property
    def model(self) -> ModelProto:
        return self.found.model

    def case(self) -> Case:
        found = self.found
        model, data = (found.model, found.data_sets) if found.model is not None else _from_files(found)
        arrays = [([_value(v) for v in inputs], [_value(v) for v in outputs]) for inputs, outputs in data]
        return Case(found.name, self.set, model, arrays, found.rtol, found.atol)


class _NodeCases:
    """
    The cases that onnx generates for its operators.

    A generator computes the data of its cases, which takes ten seconds for all of them: it runs when one of
    its cases is asked for.
    """

    def __init__(self) -> None:
        self._waiting: list[FunctionType] = []
        """The generators that have not run, in the order of onnx's files."""

        def defer(cls: type, name: str, bases: tuple[type, ...], members: Mapping[str, object]) -> None:
            self._waiting += [getattr(cls, member) for member in members if member.startswith("export")]

        with patch.object(type(Base), "__init__", defer):
            self._found = load_model_tests(kind="node")
        self._order = list(self._waiting)
        self._cases: dict[FunctionType, list[Any]] = {}
        """The cases of the generators that have run."""

    def all(self) -> list[Any]:
        """All cases, in the order of onnx's files."""
        while self._waiting:
            self._generate(self._waiting[0])
        return [case for generator in self._order for case in self._cases[generator]]

    def named(self, name: str) -> Any | None:
        """A case; the generators that contain the longest part of its name run first."""
        waiting = sorted(self._waiting, key=lambda run: _shared(run, name), reverse=True)
        for generator in (None, *waiting):
            if generator is not None:
                self._generate(generator)
            if (found := next((case for case in self._found if case.name == name), None)) is not None:
                return found
        return None

    def of_file(self, module: str) -> list[Any]:
        """The cases of one of onnx's files, by the name of its module."""
        own = [generator for generator in self._order if generator.__module__ == module]
        for generator in own:
            if generator in self._waiting:
                self._generate(generator)
        return [case for generator in own for case in self._cases[generator]]

    def _generate(self, generator: FunctionType) -> None:
        self._waiting.remove(generator)
        known = len(self._found)
        np.random.seed(seed=0)  # as onnx does
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            generator()
        self._cases[generator] = self._found[known:]


def _shared(generator: FunctionType, name: str) -> int:
    """The length of the longest beginning of a name among the texts in a function and in what it calls."""
    called = (generator.__globals__.get(other) for other in generator.__code__.co_names)
    inside = [f for f in called if isinstance(f, FunctionType) and f.__module__ == generator.__module__]
    codes = [function.__code__ for function in (generator, *inside)]
    return max((len(text) for code in codes for text in _texts(code) if name.startswith(text)), default=0)


def _texts(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _texts(constant)


@cache
def _node_cases() -> _NodeCases:
    return _NodeCases()


@cache
def _stored_cases() -> dict[str, _Stored]:
    """The cases that are files."""
    kinds = {kind: load_model_tests(kind="real" if kind == "light" else kind) for kind in SETS[1:]}
    return {case.name: _Stored(case, kind) for kind, cases in kinds.items() for case in cases}


def _stored(name: str) -> _Stored | None:
    """A case by its name."""
    if (stored := _stored_cases().get(name)) is not None:
        return stored
    found = _node_cases().named(name)
    return None if found is None else _Stored(found, "node")


@cache
def _all_cases() -> Mapping[str, _Stored]:
    """Every case by name, set by set. Takes ten seconds, once a process."""
    return {case.name: _Stored(case, "node") for case in _node_cases().all()} | _stored_cases()


def cases_of_file(name: str) -> list[Any]:
    """The cases of one of onnx's files as onnx has them; the others are not generated."""
    return _node_cases().of_file(f"{NODE_CASES}.{name}")


def case_names() -> list[str]:
    """The names of all cases, sorted set by set."""
    return list(_all_cases())


def case_named(name: str) -> Case:
    """One case; `name@one` and `name@all` have symbolic shapes. Raises: KeyError for an unknown name."""
    static, _, mode = name.partition("@")
    if (stored := _stored(static)) is None:
        raise KeyError(static)
    case = stored.case()
    return replace(case, name=name, model=made_dynamic(case.model, mode, static)) if mode else case


def dynamic_names(mode: str, recorded: Mapping[str, Outcome]) -> list[str]:
    """The node cases that pass as they are, by their names in a mode of `dynamic.MODES`."""
    return [
        f"{name}@{mode}"
        for name, case in _all_cases().items()
        if case.set == "node" and name in recorded and recorded[name].passed
    ]


def set_of(name: str) -> str:
    """The set that a case belongs to."""
    return _all_cases()[name].set


def _value(value: Any) -> Any:
    """A value as a model takes or gives it: onnx's cases mix arrays, numbers, messages, lists and None."""
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, SequenceProto):
        return numpy_helper.to_list(value)
    if isinstance(value, list | tuple):
        return [_value(v) for v in value]
    return value if value is None else np.asarray(value)


def _from_files(found: Any) -> tuple[ModelProto, list[tuple[list[Any], list[Any]]]]:
    if found.url is not None:
        return _light(Path(onnx.__file__).parents[1] / found.url)
    folder = Path(found.model_dir)
    model = onnx.load(folder / "model.onnx")
    sets = sorted(folder.glob("test_data_set_*"))
    return model, [
        (
            list(_messages(data, "input", [info.type for info in model.graph.input])),
            list(_messages(data, "output", [info.type for info in model.graph.output])),
        )
        for data in sets
    ]


def _light(path: Path) -> tuple[ModelProto, list[tuple[list[Any], list[Any]]]]:
    """A light model: inputs as onnx's own runner makes them, the output is stored beside it."""
    model = onnx.load(path)
    constant = {tensor.name for tensor in model.graph.initializer}
    arguments = [info for info in model.graph.input if info.name not in constant]
    inputs = [runner.Runner.generate_dummy_data(info, name=path.stem) for info in arguments]
    stored = [path.with_name(f"{path.stem}_output_{i}.pb") for i in range(len(model.graph.output))]
    return model, [(inputs, [_read(TensorProto(), file) for file in stored])]


def _messages(folder: Path, kind: str, types: Sequence[TypeProto]) -> Iterator[Any]:
    for i in range(len(list(folder.glob(f"{kind}_*.pb")))):
        is_list = types[i].HasField("sequence_type")
        yield _read(SequenceProto() if is_list else TensorProto(), folder / f"{kind}_{i}.pb")


def _read(message: TensorProto | SequenceProto, path: Path) -> TensorProto | SequenceProto:
    message.ParseFromString(path.read_bytes())
    return message
