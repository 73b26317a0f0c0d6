"""A benchmark's decoder in llama.cpp: the same weights as a file with Q4_0, and calls of it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from benchmarks.low_precision.decoder_model import BLOCK, VOCABULARY, Shape
from benchmarks.low_precision.measuring import is_installed
from stepwell.runtime.rpc.interleaved import Runner

Weights = Mapping[str, npt.NDArray[Any]]
_CONTEXT = 2048
_PRODUCTS = {
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "out": "attn_output",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}
"""Names of a layer's products, here and in its files."""


@cache
def missing_package() -> str | None:
    """The first package that this peer needs and that is not installed; None if all are."""
    return next((name for name in ("llama_cpp", "gguf") if not is_installed(name)), None)


def write_gguf(model: onnx.ModelProto, shape: Shape, path: Path) -> None:
    """
    Write the weights of a decoder for llama.cpp: products in Q4_0, the table of tokens and the norms in f32.

    Source: the specification of GGUF, and `block_q4_0` of ggml: a scale in f16 and 16 bytes, each with
    the codes of elements i and i + 16.
    """
    gguf: Any = importlib.import_module("gguf")
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    writer = gguf.GGUFWriter(path, "llama")
    _add_sizes(writer, shape)
    writer.add_tensor("token_embd.weight", weights["table"])
    writer.add_tensor("output_norm.weight", weights["norm.gain"])
    _add_product(writer, "output", _q4_0(weights, "logits"))
    for layer in range(shape.layers):
        ours, theirs = f"layer.{layer}", f"blk.{layer}"
        writer.add_tensor(f"{theirs}.attn_norm.weight", weights[f"{ours}.norm.gain"])
        writer.add_tensor(f"{theirs}.ffn_norm.weight", weights[f"{ours}.norm2.gain"])
        for name, their_name in _PRODUCTS.items():
            rows = _q4_0(weights, f"{ours}.{name}")
            if name in ("q", "k"):
                rows = _with_pairs_side_by_side(rows, shape.size)
            _add_product(writer, f"{theirs}.{their_name}", rows)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_sizes(writer: Any, shape: Shape) -> None:
    writer.add_block_count(shape.layers)
    writer.add_context_length(_CONTEXT)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.inner)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.shared)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(shape.size)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("no_vocab")


def _add_product(writer: Any, name: str, rows: npt.NDArray[np.uint8]) -> None:
    kind = importlib.import_module("gguf").GGMLQuantizationType.Q4_0
    writer.add_tensor(f"{name}.weight", rows, raw_dtype=kind)


def _q4_0(weights: Weights, name: str) -> npt.NDArray[np.uint8]:
    """The bytes of each column of a MatMulNBits, [columns, bytes]."""
    # There elements 2i and 2i + 1 share a byte.
    codes, scales = weights[f"{name}.codes"], weights[f"{name}.scales"].astype(np.float16)
    elems = np.stack((codes & 15, codes >> 4), axis=-1).reshape(*codes.shape[:2], BLOCK)
    packed = (elems[..., : BLOCK // 2] | elems[..., BLOCK // 2 :] << 4).astype(np.uint8)
    blocks = np.concatenate((scales[..., None].view(np.uint8), packed), axis=-1)
    return np.ascontiguousarray(blocks.reshape(len(codes), -1))


def _with_pairs_side_by_side(rows: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.uint8]:
    """Rows of heads for rotations of neighbours; here element i of a head turns with i + size / 2."""
    heads = rows.reshape(-1, 2, size // 2, rows.shape[1])
    return np.ascontiguousarray(heads.swapaxes(1, 2).reshape(rows.shape))


class LlamaCpp:
    """A file in llama.cpp with its defaults, which keep keys and values in f16."""

    def __init__(self, path: Path, threads: int):
        self._module: Any = importlib.import_module("llama_cpp")
        counts = {"n_threads": threads, "n_threads_batch": threads}
        self._llama = self._module.Llama(str(path), n_ctx=_CONTEXT, verbose=False, **counts)

    def runner(self, length: int, ids: npt.NDArray[np.int64]) -> Runner:
        """
        A call on new tokens [1, N] after `length` others; it is forgotten before the next.

        It gives the logits of the last token, [1, 1, V].
        """
        tokens = ids[0].tolist()
        self._llama.reset()
        self._llama.eval([0] * length)

        def run() -> Sequence[Any]:
            self._llama.n_tokens = length
            self._llama.eval(tokens)
            last = self._module.llama_get_logits_ith(self._llama.ctx, -1)
            return [np.ctypeslib.as_array(last, shape=(1, 1, VOCABULARY))]

        return run
