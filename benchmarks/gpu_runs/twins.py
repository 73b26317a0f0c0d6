"""Twins of the zoo's models in torch: the same architectures, with random weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

Twin: TypeAlias = Callable[[int], "tuple[Any, list[Any]] | None"]
"""From a batch size to a network with inputs; None where its package is not installed."""


def _vision(name: str, size: int = 224, **options: Any) -> Twin:
    """A network of torchvision on images."""

    def make(batch: int) -> tuple[Any, list[Any]] | None:
        if find_spec("torchvision") is None:
            return None
        torch: Any = import_module("torch")
        network = getattr(import_module("torchvision.models"), name)(**options)
        return network, [torch.randn(batch, 3, size, size)]

    return make


def _language(kind: str, model: str, length: int, **options: Any) -> Twin:
    """A network of transformers on tokens, with the options of its configuration."""

    def make(batch: int) -> tuple[Any, list[Any]] | None:
        if find_spec("transformers") is None:
            return None
        torch: Any = import_module("torch")
        package: Any = import_module("transformers")
        config = getattr(package, f"{kind}Config")(**options)
        ids = torch.randint(0, options["vocab_size"], (batch, length))
        return getattr(package, f"{kind}{model}")(config), [ids, torch.ones_like(ids)]

    return make


def _bert(layers: int, width: int, heads: int, length: int, vocabulary: int) -> Twin:
    return _language(
        "Bert", "Model", length, vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers,
        num_attention_heads=heads, intermediate_size=4 * width,
    )  # fmt: skip


TWINS: Mapping[str, Twin] = {
    "resnet18": _vision("resnet18"),
    "mobilenet_v2": _vision("mobilenet_v2"),
    "convnext_tiny": _vision("convnext_tiny"),
    "light_resnet50": _vision("resnet50"),
    "light_vgg19": _vision("vgg19"),
    "light_densenet121": _vision("densenet121"),
    "light_squeezenet": _vision("squeezenet1_0"),
    "light_shufflenet": _vision("shufflenet_v2_x1_0"),
    "bert_base_128": _bert(12, 768, 12, 128, 30000),
    "bert_mini_dyn": _bert(4, 256, 4, 64, 8000),
    "vit_tiny": _vision(
        "VisionTransformer",
        image_size=224,
        patch_size=16,
        num_layers=12,
        num_heads=3,
        hidden_dim=192,
        mlp_dim=768,
    ),
    "mobilenet_v3": _vision("mobilenet_v3_large"),
    "efficientnet": _vision("efficientnet_b0"),
    "swin": _vision("swin_t"),
    "llama": _language(
        "Llama",
        "ForCausalLM",
        64,
        vocab_size=8000,
        hidden_size=512,
        num_hidden_layers=6,
        num_attention_heads=8,
        num_key_value_heads=8,
        intermediate_size=2048,
        use_cache=False,
    ),  # fmt: skip
}
"""By the name of the case that each is compared with; the last ones have none in the zoo."""
