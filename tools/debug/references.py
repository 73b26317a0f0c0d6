"""References of a model's values: ONNX's evaluator, ONNX Runtime, or arrays by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.files.unreadable import expect_exists
from stepwell.runtime.interface import Array
from stepwell.tools.inputs import read_arrays

if TYPE_CHECKING:
    from onnx import ModelProto

    from stepwell.tools.driver.options import Model

NAMES = ("reference", "onnxruntime")


Found: TypeAlias = Callable[[str], "Array | None"]
"""The array of a value in a run; None for one that the program does not have."""


def _cannot_be_run(name: str, found: Found) -> Array | None:
    del name, found


@dataclass
class Reference:
    """The values of a model by name, of an engine that computes them node by node."""

    values: Mapping[str, Array]
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """By node that it cannot run: why."""
    alone: Callable[[str, Found], Array | None] = _cannot_be_run
    """
    What a value should be by the values that its node read in a run; None where its node cannot be run alone.
    """


def expect_reference(against: str) -> None:
    """Require a reference's name, or a file. Raises: StepwellError `bad-option`, `no-file`."""
    if Path(against).suffix == ".npz":
        expect_exists(Path(against), "reference values")
    elif against not in NAMES:
        help = f"{did_you_mean(against, NAMES)}it is {', '.join(NAMES)}, or a file that ends in .npz"
        raise StepwellError("bad-option", None, f"there is no reference {against!r}", help=help)


def reference_values(
    against: str | Mapping[str, object], model: Model, feeds: Mapping[str, Array]
) -> Reference:
    """
    The values to compare a run with.

    Args: `against` is `reference`, `onnxruntime`, a path that ends in .npz, or arrays by name.
    Raises: StepwellError `no-reference` for a model that is not ONNX, `bad-option`, `bad-inputs`.
    """
    if isinstance(against, Mapping):
        return Reference({name: np.asarray(array) for name, array in against.items()})
    if Path(against).suffix == ".npz":
        from urllib.parse import unquote

        return Reference({unquote(name): array for name, array in read_arrays(Path(against)).items()})
    expect_reference(against)
    proto = model_proto(model)
    if against == "onnxruntime":
        values = onnxruntime_values(proto, feeds)
        return Reference(values, alone=partial(_alone_in_onnxruntime, proto))
    return _evaluated(proto, feeds)


def wanted_values(against: str, path: Path, feeds: Mapping[str, Array]) -> Mapping[str, Array] | None:
    """
    The values by a reference, as far as it has them; None of a program as text.

    Raises: as `reference_values`.
    """
    return reference_values(against, path, feeds).values if path.suffix == ".onnx" else None


def model_proto(model: Model) -> ModelProto:
    """The message of a model. Raises: StepwellError `no-reference` for one that is not ONNX."""
    import onnx

    if isinstance(model, bytes):
        return onnx.ModelProto.FromString(model)
    if isinstance(model, str | Path):
        if Path(model).suffix == ".onnx":
            return onnx.load(str(model))  # pyright: ignore[reportUnknownMemberType]
    elif isinstance(model, onnx.ModelProto):
        return model
    raise StepwellError(
        "no-reference",
        str(model) if isinstance(model, str | Path) else None,
        "a reference needs an .onnx model",
        help="give it the model that this was made from",
    )


def _evaluated(proto: ModelProto, feeds: Mapping[str, Array]) -> Reference:
    """
    The values of ONNX's evaluator, node by node; those of nodes that it cannot run come from ONNX Runtime.
    """
    from stepwell.tools.check.reference import reference_evaluator

    try:
        evaluator: Any = reference_evaluator(proto)
    except Exception as error:  # for a missing operator the evaluator raises any exception
        other = _other_engine(proto, feeds)
        return Reference(other, {"": str(error)}, partial(_alone_in_onnxruntime, proto))
    values: dict[str, Any] = {"": None, **evaluator.rt_inits_, **feeds}
    refused: dict[str, str] = {}
    nodes: dict[str, Any] = {}
    other: Mapping[str, Array] | None = None
    for index, node in enumerate(evaluator.rt_nodes_):
        try:
            if missing := [name for name in node.input if name not in values]:
                raise KeyError(f"{missing[0]} is not known")
            context = {"context": values} if node.need_context() else {}
            with np.errstate(all="ignore"):
                found = node.run(*(values[name] for name in node.input), **context)
        except Exception as error:  # as above
            refused[node.onnx_node.name or f"{node.op_type}#{index}"] = str(error)
            other = _other_engine(proto, feeds) if other is None else other
            values |= {name: other[name] for name in node.output if name in other}
        else:
            values |= zip(node.output, found, strict=False)
            nodes |= dict.fromkeys(node.output, node)
    arrays: dict[str, Array] = {
        name: np.asarray(value) for name, value in values.items() if hasattr(value, "dtype")
    }
    return Reference(arrays, refused, _Evaluated(nodes, values).alone)


@dataclass
class _Evaluated:
    """The nodes of an evaluator by value, and the values of a run."""

    nodes: Mapping[str, Any]
    values: Mapping[str, Any]

    def alone(self, name: str, found: Found) -> Array | None:
        """As `Reference.alone`; values that the program does not have are computed from those before them."""
        known: dict[str, Any] = {"": None}

        def given(read: str) -> Any:
            if read not in known:
                array = found(read)
                known[read] = computed(read) if array is None else array
            return known[read]

        def computed(made: str) -> Any:
            if (node := self.nodes.get(made)) is None:
                return self.values[made]
            inputs = [given(read) for read in node.input]
            context = {"context": {**self.values, **known}} if node.need_context() else {}
            with np.errstate(all="ignore"):
                outputs = node.run(*inputs, **context)
            return outputs[list(node.output).index(made)]

        if name not in self.nodes:
            return None
        try:
            return np.asarray(computed(name))
        except Exception:  # for a wrong operator the evaluator raises any exception
            return None


def _alone_in_onnxruntime(proto: ModelProto, name: str, found: Found) -> Array | None:
    """As `Reference.alone`, by a model of the nodes from the values that the program has."""
    from onnx import helper

    from stepwell.tools.measure.peers import onnxruntime_session

    makers = {made: number for number, node in enumerate(proto.graph.node) for made in node.output if made}
    weights = {tensor.name for tensor in proto.graph.initializer}
    feeds: dict[str, Array] = {}
    needed: set[int] = set()
    waiting = [name]
    while waiting:
        value = waiting.pop()
        array = None if value == name or value in weights else found(value)
        if array is not None:
            feeds[value] = array
        elif value in makers and makers[value] not in needed:
            needed.add(makers[value])
            waiting += [read for read in proto.graph.node[makers[value]].input if read]
    try:
        inputs = [
            helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for key, array in feeds.items()
        ]
        part = with_outputs(proto, [name])
        del part.graph.input[:], part.graph.node[:]
        part.graph.input.extend(inputs)
        part.graph.node.extend(proto.graph.node[number] for number in sorted(needed))
        session = onnxruntime_session(part.SerializeToString(), 1, optimize=False)
        return np.asarray(session.run([name], feeds)[0])
    except Exception:  # it has an exception class for each of its states
        return None


def _other_engine(proto: ModelProto, feeds: Mapping[str, Array]) -> Mapping[str, Array]:
    """The values of ONNX Runtime; none where it is not installed, or refuses the model."""
    if find_spec("onnxruntime") is None:
        return {}
    try:
        return onnxruntime_values(proto, feeds)
    except Exception:  # it has an exception class for each of its states
        return {}


def onnxruntime_values(proto: ModelProto, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """
    The values of all nodes outside of subgraphs, computed by ONNX Runtime without its optimizations.

    Raises: StepwellError `missing-package`; exceptions of ONNX Runtime.
    """
    from stepwell.tools.measure.peers import onnxruntime_session

    names = [name for node in proto.graph.node for name in node.output if name]
    watched = with_outputs(proto, names)
    session = onnxruntime_session(watched.SerializeToString(), 1, optimize=False)
    inputs = {info.name for info in session.get_inputs()}
    found = session.run(names, {name: array for name, array in feeds.items() if name in inputs})
    return {name: np.asarray(value) for name, value in zip(names, found, strict=True)}


def with_outputs(model: ModelProto, names: Iterable[str]) -> ModelProto:
    """A copy of a model with other values as its outputs; their types follow from the nodes."""
    import onnx

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return copy
