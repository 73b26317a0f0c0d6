"""Models with random weights: parts of `torch.nn`, and models of timm and transformers, none downloaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.support.components import needs

torch = needs("torch")
nn = torch.nn


class Case(NamedTuple):
    """A module in inference mode, with arguments of a first and of another batch."""

    module: Any
    inputs: tuple[Any, ...]
    others: tuple[Any, ...]
    shapes: Any = None
    """The open sizes for an export; None for one of fixed sizes."""


class Recurrent(nn.Module):
    """Two bidirectional layers of LSTM cells, without their last states."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.LSTM(6, 8, 2, batch_first=True, bidirectional=True)

    def forward(self, x: Any) -> Any:
        return self.cells(x)[0]


class First(nn.Module):
    """The first result of a model of transformers."""

    def __init__(self, model: Any, *names: str) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *values: Any) -> Any:
        return self.model(**dict(zip(self.names, values, strict=True)))[0]


def batches(make: Callable[[int], tuple[Any, ...]], module: Any, shapes: Any = None) -> Case:
    """A case with inputs of the batches 2 and 3."""
    return Case(module.eval(), make(2), make(3), shapes)


def of_timm(name: str, size: int) -> Case:
    without_its_operators("torchvision")
    model = needs("timm").create_model(name, pretrained=False)
    return batches(lambda n: (torch.randn(n, 3, size, size),), model, {"x": {0: "N"}})


def of_transformers(model: str, config: str, *names: str, **sizes: Any) -> Case:
    """A model on token ids by name, with an open batch."""
    without_its_operators("torchvision")
    transformers = needs("transformers")
    made = getattr(transformers, model)(getattr(transformers, config)(use_cache=False, **sizes))
    names = names or ("input_ids",)
    shapes = {"values": tuple({0: "N"} for _ in names)}
    return batches(lambda n: tuple(torch.randint(0, 90, (n, 7)) for _ in names), First(made, *names), shapes)


def whisper() -> Case:
    """The encoder of whisper, on a spectrogram."""
    without_its_operators("torchvision")
    transformers = needs("transformers")
    config = transformers.WhisperConfig(
        d_model=32,
        encoder_layers=2,
        encoder_attention_heads=4,
        encoder_ffn_dim=64,
        num_mel_bins=8,
        max_source_positions=20,
        vocab_size=99,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    encoder = transformers.models.whisper.modeling_whisper.WhisperEncoder(config)
    shapes = {"values": ({0: "N"},)}
    return batches(lambda n: (torch.randn(n, 8, 40),), First(encoder, "input_features"), shapes)


_LIBRARIES: list[Any] = []


def without_its_operators(name: str) -> None:
    """Declare operators of torchvision, which a wheel for CUDA does not load beside torch for CPUs."""
    loads = torch.version.cuda is not None  # torchvision of PyPI is such a wheel; defining twice aborts
    if name != "torchvision" or loads or _LIBRARIES or hasattr(torch.ops.torchvision, "nms"):
        return
    library = torch.library.Library("torchvision", "DEF")
    library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _LIBRARIES.append(library)


SMALL = dict(num_hidden_layers=2, num_attention_heads=4, hidden_size=32, intermediate_size=64, vocab_size=99)
T5 = dict(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=99, decoder_start_token_id=0)
CASES: dict[str, Callable[[], Case]] = {
    "lstm": lambda: batches(lambda n: (torch.randn(n, 5, 6),), Recurrent(), {"x": {0: "N"}}),
    "gru": lambda: batches(lambda n: (torch.randn(5, n, 6),), nn.GRU(6, 8)),
    "transformer": lambda: batches(
        lambda n: (torch.randn(n, 5, 16), torch.randn(n, 4, 16)),
        nn.Transformer(16, 2, 1, 1, 32, batch_first=True),
        {"src": {0: "N"}, "tgt": {0: "N"}},
    ),
    "bert": lambda: of_transformers("BertModel", "BertConfig", **SMALL),
    "gpt2": lambda: of_transformers(
        "GPT2LMHeadModel", "GPT2Config", n_embd=32, n_layer=2, n_head=2, vocab_size=99
    ),
    "llama": lambda: of_transformers("LlamaForCausalLM", "LlamaConfig", **SMALL, num_key_value_heads=2),
    "t5": lambda: of_transformers(
        "T5ForConditionalGeneration", "T5Config", "input_ids", "decoder_input_ids", **T5
    ),
    "whisper": whisper,
    "resnet18": lambda: of_timm("resnet18", 64),
    "mobilenetv3": lambda: of_timm("mobilenetv3_small_050", 64),
    "efficientnet": lambda: of_timm("efficientnet_lite0", 64),
    "vit": lambda: of_timm("vit_tiny_patch16_224", 224),
    "convnext": lambda: of_timm("convnext_atto", 64),
    "swin": lambda: of_timm("swin_tiny_patch4_window7_224", 224),
}


def tensors_of(value: Any) -> list[Any]:
    """The tensors of a result, in order."""
    from torch.utils._pytree import tree_flatten

    value = value.to_tuple() if hasattr(value, "to_tuple") else value
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]
