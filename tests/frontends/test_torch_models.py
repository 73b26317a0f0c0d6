"""Modules of `torch.nn`, and models of timm and transformers with random weights, against eager mode."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stepwell
from tests.support.components import needs
from tests.support.imports import ROOT

torch = needs("torch")
nn = torch.nn
pytestmark = pytest.mark.slow

Case = tuple[Any, Any, Any]


class Recurrent(nn.Module):
    """Two bidirectional layers of LSTM cells, without their last states."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.LSTM(6, 8, 2, batch_first=True, bidirectional=True)

    def forward(self, x: Any) -> Any:
        return self.cells(x)[0]


def of_transformers(model: str, config: str, **sizes: Any) -> Case:
    transformers = needs("transformers")
    made = getattr(transformers, model)(getattr(transformers, config)(**sizes))
    return made, {"input_ids": torch.randint(0, 90, (2, 7))}, None


def of_timm(name: str, size: int) -> Case:
    timm = needs("timm")
    return timm.create_model(name, pretrained=False), (torch.randn(2, 3, size, size),), {"x": {0: "N"}}


SMALL = dict(num_hidden_layers=2, num_attention_heads=4, hidden_size=32, intermediate_size=64, vocab_size=99)
CASES: dict[str, Callable[[], Case]] = {
    "lstm": lambda: (Recurrent(), (torch.randn(2, 5, 6),), {"x": {0: "N"}}),
    "gru": lambda: (nn.GRU(6, 8), (torch.randn(5, 2, 6),), None),
    "encoder": lambda: (
        nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2),
        (torch.randn(2, 5, 16),),
        {"src": {0: "N"}},
    ),
    "transformer": lambda: (
        nn.Transformer(16, 2, 1, 1, 32, batch_first=True),
        (torch.randn(2, 5, 16), torch.randn(2, 4, 16)),
        None,
    ),
    "bert": lambda: of_transformers("BertModel", "BertConfig", **SMALL),
    "llama": lambda: of_transformers(
        "LlamaForCausalLM", "LlamaConfig", **SMALL, num_key_value_heads=2, use_cache=False
    ),
    "gpt2": lambda: of_transformers(
        "GPT2LMHeadModel", "GPT2Config", n_embd=32, n_layer=2, n_head=2, vocab_size=99, use_cache=False
    ),
    "resnet18": lambda: of_timm("resnet18", 64),
    "mobilenetv3": lambda: of_timm("mobilenetv3_small_050", 64),
    "efficientnet": lambda: of_timm("efficientnet_lite0", 64),
    "vit": lambda: of_timm("vit_tiny_patch16_224", 224),
    "convnext": lambda: of_timm("convnext_atto", 64),
}


def tensors_of(value: Any) -> list[Any]:
    from torch.utils._pytree import tree_flatten

    value = value.to_tuple() if hasattr(value, "to_tuple") else value
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


@pytest.mark.parametrize("name", CASES)
def test_a_model_is_equal_to_eager_mode(name: str) -> None:
    torch.manual_seed(0)
    module, given, shapes = CASES[name]()
    module = module.eval()
    model = stepwell.compile(module, example_inputs=given, dynamic_shapes=shapes)
    with torch.no_grad():
        wanted = tensors_of(module(**given) if isinstance(given, dict) else module(*given))
    feeds = [each.numpy() for each in (given.values() if isinstance(given, dict) else given)]
    found = model(*feeds)
    arrays = list(found) if isinstance(found, tuple | list) else [found]
    for array, tensor in zip(arrays, wanted, strict=True):
        scale = max(float(tensor.abs().max()), 1e-6)
        assert np.abs(array - tensor.numpy()).max() <= 1e-4 * scale


class Branches(nn.Module):
    """Control flow that depends on data."""

    def forward(self, x: Any) -> Any:
        return x if x.sum() > 0 else -x


def test_a_module_that_cannot_be_exported_is_refused_with_its_line() -> None:
    with pytest.raises(stepwell.StepwellError) as caught:
        stepwell.compile(Branches(), example_inputs=(torch.randn(3),))
    assert caught.value.code == "export-failed"
    assert "test_torch_models.py:" in str(caught.value.where)


def test_a_module_without_examples_is_refused() -> None:
    with pytest.raises(stepwell.StepwellError, match="example_inputs is missing") as caught:
        stepwell.compile(Recurrent())
    assert caught.value.code == "bad-model"


def test_unsupported_operators_are_listed_with_module_and_line() -> None:
    class Spectrum(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.fft.rfft(x).abs()

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mel = Spectrum()

        def forward(self, x: Any) -> Any:
            return self.mel(x) + torch.special.erfcx(x[..., :3])

    with pytest.raises(stepwell.StepwellError) as caught:
        stepwell.compile(Model().eval(), example_inputs=(torch.randn(2, 4),))
    text = caught.value.render()
    assert caught.value.code == "unsupported-op"
    assert "aten._fft_r2c.default" in text and "erfcx" in text
    assert "in mel (" in text and "test_torch_models.py:" in text


def test_weights_share_their_memory_with_the_module() -> None:
    module = nn.Linear(8, 8).eval()
    read = stepwell.read(module, example_inputs=(torch.randn(2, 8),))
    (key,) = [each for each in read.weights if read.weights.get(each).shape == (8, 8)]
    assert read.weights.get(key).ctypes.data == module.weight.data_ptr()


def test_two_exports_of_a_module_give_the_same_text() -> None:
    module, args = nn.Linear(4, 2).eval(), (torch.randn(3, 4),)
    texts = {str(stepwell.read(torch.export.export(module, args))) for _ in range(2)}
    assert len(texts) == 1


def test_the_page_of_docs_runs(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "frontends" / "pytorch.md").read_text(encoding="utf-8")
    block = r"<!-- not run: needs torch[^\n]*-->\n```python\n(.*?)```\n(?:```text\n(.*?)```)?"
    space: dict[str, Any] = {}
    for code, shown in re.findall(block, text, re.DOTALL):
        exec(code, space)
        printed = capsys.readouterr().out
        assert not shown or printed == shown


def test_the_tables_are_those_of_the_installed_torch() -> None:
    from stepwell.tools.generators.generate_torch import CONVERTED, SIGNATURES, converted_text, signatures

    assert CONVERTED.read_text(encoding="utf-8") == converted_text()
    known = set(SIGNATURES.read_text(encoding="utf-8").splitlines())
    assert not {line for line in signatures() if line not in known}
