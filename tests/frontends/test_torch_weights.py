"""Modules without values, on the device `meta`, whose weights are in files of safetensors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from tests.frontends.torch_cases import SMALL, First, without_its_operators
from tests.support.components import needs

torch = needs("torch")
nn = torch.nn
pytestmark = pytest.mark.slow


class Tied(nn.Module):
    """An embedding, whose weight is that of the last product too."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.cells, self.head = nn.Embedding(9, 4), nn.LSTM(4, 4), nn.Linear(4, 9, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids: Any) -> Any:
        return self.head(self.cells(self.words(ids))[0])


def saved(module: Any, path: Path) -> Path:
    """Writes the tensors of a module, each once."""
    tensors: dict[int, tuple[str, Any]] = {}
    for name, tensor in module.state_dict().items():
        tensors.setdefault(tensor.data_ptr(), (name, tensor.contiguous()))
    needs("safetensors.torch").save_file(dict(tensors.values()), path)
    return path


def empty(make: Any) -> Any:
    with torch.device("meta"):
        return make().eval()


def test_weights_are_those_of_the_file(tmp_path: Path) -> None:
    torch.manual_seed(0)
    real, meta = Tied().eval(), empty(Tied)
    path, ids = saved(real, tmp_path / "m.safetensors"), torch.tensor([[1, 5, 8]])
    read = stepwell.read(meta, example_inputs=(ids,), weights_from=path)
    assert all(value.device.type == "meta" for value in meta.parameters())
    assert meta.head.weight is meta.words.weight
    assert str(read) == str(stepwell.read(real, example_inputs=(ids,)))
    found = read.compile(executor="interpreter")(ids.numpy())
    assert np.allclose(found, real(ids).detach().numpy(), atol=1e-5)
    assert not any(read.weights.get(key).flags.owndata for key in read.weights)


def test_an_llm_has_the_weights_of_shards(tmp_path: Path) -> None:
    without_its_operators("torchvision")
    transformers = needs("transformers")
    config = transformers.LlamaConfig(use_cache=False, **SMALL, num_key_value_heads=2)
    torch.manual_seed(0)
    real = transformers.LlamaForCausalLM(config).eval()
    meta = empty(lambda: transformers.LlamaForCausalLM(config))
    names, places = list(real.state_dict()), dict[str, str]()
    for number in (0, 1):
        part = {name: real.state_dict()[name].clone() for name in names[number::2]}
        needs("safetensors.torch").save_file(part, tmp_path / f"{number}.safetensors")
        places |= dict.fromkeys(part, f"{number}.safetensors")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": places}))
    ids = torch.tensor([[1, 5, 8, 2]])
    texts = [
        str(stepwell.read(First(model, "input_ids").eval(), example_inputs=(ids,), weights_from=file))
        for model, file in ((real, None), (meta, index))
    ]
    assert texts[0] == texts[1]


def test_what_the_file_lacks_is_listed(tmp_path: Path) -> None:
    class Buffer(nn.Module):
        def __init__(self, size: int = 3) -> None:
            super().__init__()
            self.l = nn.Linear(2, size)
            self.register_buffer("scale", torch.ones(3), persistent=False)

        def forward(self, x: Any) -> Any:
            return self.l(x) * self.scale

    example, path = (torch.ones(1, 2),), saved(Buffer(), tmp_path / "m.safetensors")
    with pytest.raises(stepwell.StepwellError, match="1 tensors of the module have no values") as caught:
        stepwell.read(empty(Buffer), example_inputs=example, weights_from=path)
    assert caught.value.code == "bad-model" and "scale" in caught.value.render()
    with pytest.raises(stepwell.StepwellError, match="without values") as caught:
        stepwell.read(empty(Buffer), example_inputs=example)
    assert "weights_from=FILE" in caught.value.render()
    with pytest.raises(stepwell.StepwellError, match="do not fit the module") as caught:
        stepwell.read(empty(lambda: Buffer(4)), example_inputs=example, weights_from=path)
    assert caught.value.code == "bad-model"
