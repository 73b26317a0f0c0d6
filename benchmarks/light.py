"""The nine networks of the onnx package's light folder, with seeded weights in place of constant ones."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

# Name -> (input, image size); the input of each is one image of three channels.
LIGHT_MODELS = {
    "bvlc_alexnet": ("data_0", 224),
    "densenet121": ("data_0", 224),
    "inception_v1": ("data_0", 224),
    "inception_v2": ("data_0", 224),
    "resnet50": ("gpu_0/data_0", 224),
    "shufflenet": ("gpu_0/data_0", 224),
    "squeezenet": ("data_0", 224),
    "vgg19": ("data_0", 224),
    "zfnet512": ("gpu_0/data_0", 224),
}
_VIEWS = ("Unsqueeze", "Reshape", "Identity")


def light_folder() -> Path:
    """The folder of the light models in the onnx package."""
    return Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def write_light_model(name: str, path: Path) -> None:
    """Write a light network with weights drawn as a fresh network's would be: signals keep their scale."""
    model = onnx.load(str(light_folder() / f"light_{name}.onnx"))
    graph = model.graph
    shapes = {i.name: numpy_helper.to_array(i) for i in graph.initializer if i.data_type == 7}  # i64
    makers = {node.output[0]: node for node in graph.node if node.op_type == "ConstantOfShape"}
    roles = _roles(graph, set(makers))
    rng = np.random.default_rng(int(hashlib.sha256(name.encode()).hexdigest()[:8], 16))
    weights: list[onnx.TensorProto] = []
    for value, node in makers.items():
        shape = [int(n) for n in shapes[node.input[0]]]
        weights.append(numpy_helper.from_array(_draw(rng, shape, *roles.get(value, ("", 0))), value))
    kept = [node for node in graph.node if node.output[0] not in makers]
    used = {value for node in kept for value in node.input}
    constants = [i for i in graph.initializer if i.name in used]
    named = {i.name for i in (*constants, *weights)}
    inputs = [i for i in graph.input if i.name in used and i.name not in named]
    for field, values in (("node", kept), ("initializer", [*constants, *weights]), ("input", inputs)):
        repeated = getattr(graph, field)
        del repeated[:]
        repeated.extend(values)
    model.ir_version = 8
    _calm_classifier(model, LIGHT_MODELS[name])
    onnx.save(model, str(path))


def _calm_classifier(model: onnx.ModelProto, input: tuple[str, int]) -> None:
    """Scale the last weights so that the final softmax is neither flat nor one-hot, and shows differences."""
    import onnxruntime as ort

    softmax = next((node for node in reversed(model.graph.node) if node.op_type == "Softmax"), None)
    if softmax is None:
        return
    logits = onnx.ModelProto()
    logits.CopyFrom(model)
    del logits.graph.output[:]
    logits.graph.output.append(onnx.ValueInfoProto(name=softmax.input[0]))
    session = ort.InferenceSession(logits.SerializeToString(), providers=["CPUExecutionProvider"])
    picture = np.random.default_rng(0).standard_normal((1, 3, input[1], input[1])).astype(np.float32)
    scale = 2 / float(np.std(np.asarray(session.run(None, {input[0]: picture})[0])))
    makers = {node.output[0]: node for node in model.graph.node}
    last = makers[softmax.input[0]]
    while last.op_type not in ("Gemm", "Conv"):
        last = makers[last.input[0]]
    for held in model.graph.initializer:
        if held.name in last.input[1:]:
            held.CopyFrom(
                numpy_helper.from_array((numpy_helper.to_array(held) * scale).astype(np.float32), held.name)
            )


def _roles(graph: onnx.GraphProto, made: set[str]) -> dict[str, tuple[str, int]]:
    """Maps each made weight to the op type and operand index of its use; views are skipped."""
    behind = {n.output[0]: n.input[0] for n in graph.node if n.op_type in _VIEWS and n.input[0] in made}
    roles: dict[str, tuple[str, int]] = {}
    for node in graph.node:
        for index, value in enumerate(node.input):
            roles[behind.get(value, value)] = (node.op_type, index)
    return {value: role for value, role in roles.items() if value in made and role[0] not in _VIEWS}


def _draw(rng: np.random.Generator, shape: list[int], op: str, index: int) -> npt.NDArray[np.float32]:
    normal = rng.standard_normal(shape)
    match op, index:
        case "Conv", 1:
            values = normal * np.sqrt(2 / max(1, np.prod(shape[1:])))
        case "Gemm", 1:
            values = normal * 2 * np.sqrt(1 / max(shape))
        case (("BatchNormalization" | "Mul"), 1):
            values = 1 + 0.1 * normal
        case "BatchNormalization", 4:
            values = rng.uniform(0.8, 1.2, shape)
        case _:
            values = 0.05 * normal
    return np.asarray(values, np.float32)
