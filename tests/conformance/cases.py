"""The test cases that the installed onnx package generates or brings, as models with their data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, SequenceProto, TensorProto, TypeProto, numpy_helper
from onnx.backend.test import runner
from onnx.backend.test.loader import load_model_tests

from tests.conformance.dynamic import made_dynamic
from tests.conformance.outcome import Outcome

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
        if (original := _all_cases().get(static.removesuffix("_expanded"))) is not None:
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


@cache
def _all_cases() -> Mapping[str, _Stored]:
    """Every case by name. Generating them computes their data: some seconds, once a process."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        kinds = {kind: load_model_tests(kind="real" if kind == "light" else kind) for kind in SETS}
    return {case.name: _Stored(case, kind) for kind, cases in kinds.items() for case in cases}


def case_names() -> list[str]:
    """The names of all cases, sorted set by set."""
    return list(_all_cases())


def case_named(name: str) -> Case:
    """One case; `name@one` and `name@all` have symbolic shapes. Raises: KeyError for an unknown name."""
    static, _, mode = name.partition("@")
    case = _all_cases()[static].case()
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
