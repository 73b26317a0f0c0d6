"""`.pt2` files without torch: modules of level 0, and results equal to those of eager mode."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import pytest

import stepwell
from stepwell.frontend.torch.trees import input_names, output_names, tree_of_text
from stepwell.runtime.interface import Array
from stepwell.tools.generators.generate_torch import CONVERTED, converted_text
from tests.support.imports import ROOT

SAMPLES = ROOT / "tests" / "models" / "torch"


def arrays_of(name: str, kind: str) -> list[Array]:
    """The inputs (`in`) or results (`out`) of a sample."""
    with np.load(SAMPLES / f"{name}.npz") as file:
        return [file[key] for key in sorted(file) if key.startswith(kind)]


def close(found: Sequence[Array], wanted: Sequence[Array]) -> bool:
    pairs = zip(found, wanted, strict=True)
    return all(np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in pairs)


def results(value: object) -> list[Array]:
    return list(value) if isinstance(value, tuple | list) else [value]  # type: ignore[list-item]


@pytest.mark.parametrize("name", ["cnn", "mlp", "types"])
def test_results_are_those_of_eager_mode(name: str) -> None:
    # Convolutions are compiled elsewhere: here it is about what they are given.
    executor = "interpreter" if name == "cnn" else "auto"
    model = stepwell.compile(SAMPLES / f"{name}.pt2", executor=executor)
    assert close(results(model(*arrays_of(name, "in"))), arrays_of(name, "out"))
    assert "torch" not in sys.modules


def test_an_open_size_has_the_range_of_the_program() -> None:
    model = stepwell.compile(SAMPLES / "mlp.pt2")
    outputs = "(logits: float32[x_0, 6], size: float32[6])"
    assert str(model) == f"<CompiledModel (x: float32[x_0, 6]) -> {outputs}>"
    for batch in (1, 64):
        assert model(np.zeros([batch, 6], np.float32))[0].shape == (batch, 6)
    with pytest.raises(stepwell.StepwellError, match="found 65 and 64") as caught:
        model(np.zeros([65, 6], np.float32))
    assert caught.value.code == "shape-mismatch"
    assert "dimension 0 of x, x_0, must be at most 64" in caught.value.render()


def test_a_written_buffer_is_a_state() -> None:
    session = stepwell.compile(SAMPLES / "cache.pt2").session()
    inputs = arrays_of("cache", "in")
    first, second = session(*inputs), session(*inputs)
    assert close(results(first), arrays_of("cache", "out"))
    assert (float(first[1]), float(second[1])) == (2.0, 4.0)
    session.reset()
    assert float(session(*inputs)[1]) == 2.0


CACHE = """
func.func @main(
    %k: tensor<2x8x3xf32> {graph.name = "k", graph.state = "k"}, %i: tensor<1xi64> {graph.name = "i"},
    %v: tensor<2x1x3xf32> {graph.name = "v"}) -> (tensor<2x8x3xf32> {graph.state = "k"}, tensor<2xf32>) {
  %y = "torch.aten.index_put.default"(%k, %i, %v) {indices.present = [false, true]}
    : (tensor<2x8x3xf32>, tensor<1xi64>, tensor<2x1x3xf32>) -> tensor<2x8x3xf32>
  %s = "torch.aten.sum.dim_IntList"(%y) {dim = [1, 2]} : (tensor<2x8x3xf32>) -> tensor<2xf32>
  func.return %y, %s : tensor<2x8x3xf32>, tensor<2xf32>
}
"""


def test_a_slot_of_a_cache_is_written_in_its_memory() -> None:
    model = stepwell.parse(CACHE).compile()
    (state,) = model.image.main.interface.states
    assert state.is_in_place
    session, cache = model.session(), np.zeros([2, 8, 3], np.float32)
    for position in (3, -1, 0, 3):
        values = np.arange(6, dtype=np.float32).reshape(2, 1, 3) + position
        cache[:, [position]] = values
        assert close(results(session(np.array([position]), values)), [cache.sum((1, 2))])
    with pytest.raises(stepwell.StepwellError, match="found 8 and 7") as caught:
        session(np.array([8]), values)
    assert caught.value.code == "index-out-of-range"


def test_nested_arguments_have_paths_as_names() -> None:
    module = stepwell.read(SAMPLES / "cache.pt2")
    assert [each.name for each in module.inputs] == ["x", "past.a.0"]
    assert [each.name for each in stepwell.read(SAMPLES / "mlp.pt2").outputs] == ["logits", "size"]


def test_tied_weights_are_one_weight() -> None:
    text = str(stepwell.read(SAMPLES / "mlp.pt2"))
    assert text.count("#graph.weight<") == 1
    assert text.count('"torch.aten.linear.default"(') == 2


def test_reading_twice_gives_the_same_text() -> None:
    assert str(stepwell.read(SAMPLES / "cnn.pt2")) == str(stepwell.read(SAMPLES / "cnn.pt2"))


def test_the_text_of_level_0_is_read_again() -> None:
    module = stepwell.read(SAMPLES / "cnn.pt2")
    assert str(stepwell.parse(str(module))) == str(module)


def test_nodes_have_the_users_line_and_module() -> None:
    text = str(stepwell.read(SAMPLES / "cnn.pt2"))
    assert 'torch.module = "conv (Conv2d)"' in text
    conv = next(op for op in stepwell.read(SAMPLES / "cnn.pt2").op.walk() if "conv2d" in op.name)
    assert "write_torch_samples.py" in str(conv.location)


def test_weights_are_views_of_the_mapped_file() -> None:
    module = stepwell.read(SAMPLES / "cnn.pt2")
    large = [module.weights.get(key) for key in module.weights]
    assert large and all(not each.flags.owndata and not each.flags.writeable for each in large)


def test_an_input_of_another_static_size_is_refused() -> None:
    with pytest.raises(stepwell.StepwellError, match="is 4 in the model's file, here 8") as caught:
        stepwell.compile(SAMPLES / "cnn.pt2", input_shapes={"image": (2, 3, 4, 8)})
    assert caught.value.code == "shape-mismatch"


def test_names_of_leaves() -> None:
    leaf = '{"type": null, "context": null, "children_spec": []}'
    pair = f'{{"type": "builtins.tuple", "context": "null", "children_spec": [{leaf}, {leaf}]}}'
    named = f'{{"type": "builtins.dict", "context": "[\\"a\\", \\"b\\"]", "children_spec": [{pair}, {leaf}]}}'
    arguments = f'{{"type": "builtins.tuple", "context": "null", "children_spec": [{leaf}, {named}]}}'
    none = '{"type": "builtins.dict", "context": "[]", "children_spec": []}'
    root = f'{{"type": "builtins.tuple", "context": "null", "children_spec": [{arguments}, {none}]}}'
    tree = tree_of_text(f"[1, {root}]", "here")
    assert input_names(tree, ["x", "past"]) == ["x", "past.a.0", "past.a.1", "past.b"]
    assert output_names(tree_of_text(f"[1, {named}]", "here")) == ["a.0", "a.1", "b"]
    assert output_names(tree_of_text(f"[1, {pair}]", "here")) == ["output_0", "output_1"]
    assert output_names(tree_of_text(f"[1, {leaf}]", "here")) == ["output"]


@pytest.mark.parametrize("text", ["", "[]", "[1]", "[1, 2]", '[1, {"type": "x"}]', "[" * 2000, '{"a": 1}'])
def test_a_tree_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(stepwell.StepwellError, match="nested arguments") as caught:
        tree_of_text(text, "m.pt2: models/model.json")
    assert caught.value.code == "invalid-model"


def test_samples_name_no_path_of_a_machine() -> None:
    for file in sorted(SAMPLES.glob("*.pt2")):
        data = file.read_bytes()
        assert b"/site-packages" not in data and str(ROOT).encode() not in data, file


def test_the_list_of_converted_overloads_is_that_of_the_conversions() -> None:
    """Written by `python -m stepwell.tools.generators.generate_torch`; the reader decomposes all others."""
    assert CONVERTED.read_text(encoding="utf-8") == converted_text()
