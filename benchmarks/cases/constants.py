"""The kernels on which each tuned constant has an effect, and the reasons why some cannot be measured so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TypeAlias

import numpy as np
import onnx

from benchmarks.cases.kernels import (
    CHANNELS_LAST,
    CONV,
    MATMUL,
    RECURRENT,
    SMALL_FLOATS,
    Case,
    Conv,
    node,
    product,
    transposed_conv,
    two_inputs,
)
from benchmarks.cases.movement import ELEMENTWISE, MOVEMENT, ROWS
from stepwell.runtime.files.model_cache import digest_of
from stepwell.runtime.files.weight_check import WeightCheck, checksum
from stepwell.runtime.files.weights import WeightStore
from stepwell.tools.driver.compile import compile

_NAMED = {
    case.name: case
    for case in chain(MATMUL, CONV, CHANNELS_LAST, SMALL_FLOATS, RECURRENT, ROWS, ELEMENTWISE, MOVEMENT)
}

Runs: TypeAlias = dict[str, Callable[[], object]]


@dataclass(frozen=True)
class Way:
    """A way to measure a constant: cases to compile and run, functions to run, or why there is none."""

    named: str = ""
    """Names of cases of `benchmarks.kernels`, with semicolons between."""
    cases: Sequence[Case] = ()
    """More cases, made in place."""
    runs: Callable[[], Runs] = dict[str, Callable[[], object]]
    """Makes functions of the runtime, by name, which use the constant when they run."""
    reason: str = ""
    values: Sequence[float] = ()
    """Values to compare with today's, where half and twice of it are not possible or tell nothing."""
    threads: int = 1
    mcpu: str = "host"

    def all_cases(self) -> Sequence[Case]:
        """The cases of both kinds."""
        return [*(_NAMED[name] for name in self.named.split("; ") if name), *self.cases]


def _opened(case: Case, **shapes: Sequence[int | str]) -> Case:
    """A case whose model leaves dimensions open."""
    return replace(case, name=f"{case.name}, open", open=shapes)


def _conv(channels: int, filters: int, size: Sequence[int], kernel: int, stride: int = 1) -> Case:
    return Conv(channels, filters, size, [kernel] * 2, stride).case()


def _one(op: str, shape: Sequence[int], inputs: str = "x", **attributes: object) -> Case:
    """A node on `x`; further inputs have the same shape."""
    names = inputs.partition(" -> ")[0].split()
    text = f"{op} {'x'.join(map(str, shape))}"
    return Case(text, [node(op, inputs, **attributes)], {name: shape for name in names})


def _attention(heads: int, queries: int, keys: int) -> Case:
    shapes = {"q": [1, heads, queries, 64], "k": [1, heads, keys, 64], "v": [1, heads, keys, 64]}
    return Case(f"attention {heads}x{queries}x{keys}", [node("Attention", "q k v")], shapes)


def _gelu(m: int, n: int, k: int) -> Case:
    nodes = [node("MatMul", "x w -> h"), node("Gelu", "h")]
    return Case(f"{m}x{n}x{k} and Gelu", nodes, {"x": [m, k]}, {"w": [k, n]})


def _dequantized(rows: int, block: int = 8) -> Case:
    """A product with weights of 8 bits, which stay packed if a scale is for 16 or more."""
    nodes = [node("DequantizeLinear", "w s -> f", axis=0, block_size=block), node("MatMul", "x f")]
    weights = np.random.default_rng(0).integers(-128, 127, (1024, 1024), np.int8)
    held = {"w": weights, "s": np.full((1024 // block, 1024), 0.01, np.float32)}
    return Case(f"{rows}x1024x1024, {block} to a scale", nodes, {"x": [rows, 1024]}, constants=held)


def _bytes(rows: int, columns: int, steps: int) -> Case:
    """A product of activations as bytes."""
    nodes = [node("QuantizeLinear", "x s z -> q"), node("QuantizeLinear", "w s z -> v")]
    nodes += [node("MatMulInteger", "q v -> i"), node("Cast", "i", to=onnx.TensorProto.FLOAT)]
    held = {"s": np.array(0.01, np.float32), "z": np.array(0, np.uint8)}
    shapes = {"x": [rows, steps], "w": [steps, columns]}
    return Case(f"{rows}x{columns}x{steps} of bytes", nodes, shapes, constants=held)


def _both_transposed(m: int, n: int, k: int) -> Case:
    gemm = node("Gemm", "x w", transA=1, transB=1)
    return Case(f"{m}x{n}x{k} AᵀBᵀ", [gemm], {"x": [k, m], "w": [n, k]}, flops=2 * m * n * k)


def _top_k(k: int, shape: Sequence[int]) -> Case:
    nodes = [node("TopK", "x k -> y i", axis=1)]
    return Case(
        f"topk {k} of {'x'.join(map(str, shape))}", nodes, {"x": shape}, constants={"k": np.array([k])}
    )


def _suppression(boxes: int, classes: int) -> Case:
    """Boxes that cover most of each other, half of them candidates of a class."""
    nodes = [
        node("Sigmoid", "s -> p"),
        node("NonMaxSuppression", "x p most half half -> rows", center_point_box=1),
        node("Cast", "rows -> y", to=onnx.TensorProto.FLOAT),
    ]
    half = np.array([0.5], np.float32)
    return Case(
        f"{boxes} boxes in {classes} classes",
        nodes,
        {"x": [1, boxes, 4], "s": [1, classes, boxes]},
        constants={"most": np.array([boxes]), "half": half},
    )


def _trees(depth: int, rows: int) -> Case:
    """100 complete trees of 20 features."""
    inner, count = 2**depth - 1, 2 ** (depth + 1) - 1
    rng, number = np.random.default_rng(0), 100 * count
    attributes = {
        "n_targets": 1,
        "nodes_treeids": [tree for tree in range(100) for _ in range(count)],
        "nodes_nodeids": [*range(count)] * 100,
        "nodes_featureids": rng.integers(0, 20, number).tolist(),
        "nodes_values": rng.uniform(0.1, 1.1, number).tolist(),
        "nodes_modes": (["BRANCH_LEQ"] * inner + ["LEAF"] * (count - inner)) * 100,
        "nodes_truenodeids": [2 * i + 1 if i < inner else 0 for i in range(count)] * 100,
        "nodes_falsenodeids": [2 * i + 2 if i < inner else 0 for i in range(count)] * 100,
        "target_treeids": [tree for tree in range(100) for _ in range(inner, count)],
        "target_nodeids": [*range(inner, count)] * 100,
        "target_ids": [0] * (100 * (count - inner)),
        "target_weights": rng.uniform(0.1, 1.1, 100 * (count - inner)).tolist(),
    }
    trees = node("TreeEnsembleRegressor", "x -> t", domain="ai.onnx.ml", **attributes)
    return Case(f"trees of depth {depth}, {rows} rows", [trees, node("Identity", "t")], {"x": [rows, 20]})


def _checks(total: int) -> Runs:
    """The check of weights of a total of bytes."""
    arrays = [np.ones(total // 8, np.uint8) for _ in range(8)]
    sums = [checksum(array) for array in arrays]
    return {f"check {total >> 20} MiB": lambda: WeightCheck(arrays, sums, "").wait()}


def _hashes(total: int) -> Runs:
    arrays = [np.full(total // 8, i, np.uint8) for i in range(8)]
    return {f"hash {total >> 20} MiB": lambda: WeightStore().add_all(arrays)}


def _digests(total: int) -> Runs:
    data = memoryview(bytes(total))
    return {f"digest of {total >> 20} MiB": lambda: digest_of(data)}


def _rows_of(columns: int, stride: int) -> Case:
    """Every `stride`-th element of short rows, as many as `columns`, and a function of it."""
    held = {n: np.array([v]) for n, v in (("s", 0), ("e", stride * columns), ("a", 1), ("t", stride))}
    nodes = [node("Slice", "x s e a t -> h"), node("Exp", "h")]
    return Case(f"every {stride}. of {columns}", nodes, {"x": [4096, stride * columns]}, constants=held)


def _sum(shape: Sequence[int]) -> Case:
    """The sum over the last dimension but one."""
    reduce = node("ReduceSum", "x a", keepdims=0)
    return Case(
        f"sum of rows {'x'.join(map(str, shape))}", [reduce], {"x": shape}, constants={"a": np.array([-2])}
    )


def _beside_padding(size: int) -> Case:
    """A convolution whose columns read much padding, and whose rows read none."""
    return Conv(64, 64, [size] * 2, [1, 3], dilation=size // 2 - 1).case()


def _gathered(count: int) -> Case:
    """Columns at computed positions."""
    nodes = [node("Cast", "z -> i", to=onnx.TensorProto.INT64), node("Gather", "x i", axis=1)]
    return Case(f"gather {count} columns", nodes, {"x": [512, 1024], "z": [count]})


def _greatest(columns: int) -> Case:
    """The greatest element of short rows."""
    reduce = node("ReduceMax", "x a", keepdims=0)
    shape = [4096, columns]
    return Case(f"greatest of {columns}", [reduce], {"x": shape}, constants={"a": np.array([1])})


def _transposed(shape: Sequence[int]) -> Case:
    return _one("Transpose", shape, perm=[*range(len(shape) - 2), len(shape) - 1, len(shape) - 2])


def _expanded(copies: int) -> Case:
    shape = np.array([512, copies, 256])
    return Case(
        f"expand {copies} times", [node("Expand", "x s")], {"x": [512, 1, 256]}, constants={"s": shape}
    )


def _pool(shape: Sequence[int], size: int = 3) -> Case:
    return _one("MaxPool", shape, kernel_shape=[size] * 2, pads=[size // 2] * 4)


def _depthwise_chain(channels: int, size: int) -> Case:
    """A depthwise convolution between dense ones, whose feature maps are in blocks."""
    nodes = [
        node("Conv", "x v -> h", kernel_shape=[1, 1]),
        node("Conv", "h w -> g", kernel_shape=[3, 3], pads=[1] * 4, group=channels),
        node("Conv", "g u", kernel_shape=[1, 1]),
    ]
    weights = {"v": [channels, 24, 1, 1], "w": [channels, 1, 3, 3], "u": [24, channels, 1, 1]}
    return Case(f"depthwise 3x3 of {channels} @{size}, in blocks", nodes, {"x": [1, 24, size, size]}, weights)


def _grouped(groups: int) -> Case:
    return Conv(32 * groups, 32 * groups, [28, 28], [3, 3], groups=groups).case()


def _wide_depthwise(size: int) -> Case:
    return Conv(32, 32, [size] * 2, [3, 3], groups=32).case()


def _calls(shapes: Sequence[Sequence[int]]) -> Runs:
    """Calls of a model, by the shape of its result."""
    runs: dict[str, Callable[[], object]] = {}
    for shape in shapes:
        case = _one("Relu", shape)
        model, feeds = compile(case.model(), threads=1), case.feeds()
        runs[case.name] = partial(model, feeds["x"])
    return runs


_CONV3 = "3x3 64->64 @56x56; 3x3 128->128 @28x28; 3x3 256->256 @14x14; 3x3 512->512 @7x7"
_SMALL_CONV3 = [_conv(n, n, [size, size], 3) for n in (48, 96) for size in (6, 10)]
_FIRST = "7x7 3->64 @224x224, stride 2; 3x3 3->32 @224x224, stride 2; 3x3 3->64 @112x112"
_PRODUCTS = "196x1024x256; 784x128x1152; 513x129x257; 100x1000x2048; 4x4096x1024"
_DEPTHWISE = "3x3 192->192 @56x56, groups 192; 5x5 480->480 @28x28, groups 480"
_CALIBRATED = "decides about calibrated tiles only: `stepwell calibrate` measures those"
_POOLS = "maxpool 3x3/2 1x64x112x112; maxpool 2x2/2 1x64x112x112; avgpool 3x3 1x64x56x56"
_SHORT_SUMS = [product(*sizes) for sizes in ((513, 64, 27), (196, 48, 9), (128, 64, 64), (49, 100, 16))]
_OPEN_PRODUCT = _opened(product(100, 768, 768), x=["n", 768])
_OPEN_CONV = _opened(_conv(64, 64, [56, 56], 3), x=[1, 64, "h", "w"])
_OPEN_TOP_K = _opened(_top_k(5, [512, 1000]), x=[512, "n"])
_SUMS = "Sum over [0] 64x128x256; Sum over [1] 64x128x256; Max over [0] 64x128x256"
_TRANSPOSED = "transpose [1, 0] of 1000x333; transpose [0, 2, 3, 1] of 1x64x56x56"
_ALTERNATING = "transpose [0, 2, 3, 1] of 1x3x224x224; transpose [0, 3, 1, 2] of 1x224x224x3"
_PARALLEL = "Add 192x256 to 192x256; Relu 192x256; 16x768x768"

_REMARKS = "remarks say estimates by it, of forms that are chosen otherwise: `stepwell-opt --remarks`"

WAYS: Mapping[str, Way] = {
    "machine.multiply_adds": Way(_PRODUCTS),
    "machine.loads": Way(_PRODUCTS),
    "machine.fma_latency": Way(f"{_PRODUCTS}; 12544x64x32; 3x3 512->512 @7x7"),
    "machine.l2_rate": Way(_PRODUCTS),
    "machine.memory_rate": Way(_CONV3),
    "machine.result_cycles": Way("", _SHORT_SUMS),
    "machine.start_cycles": Way("", _SHORT_SUMS),
    "machine.streams": Way("100x1000x2048", [product(280, 512, 2000)]),
    "machine.panel_bytes": Way(reason=_CALIBRATED),
    "machine.l2_share": Way("3x3 128->128 @56x56, stride 2", [_conv(64, n, [28, 28], 5) for n in (48, 96)]),
    "machine.shuffled_stride": Way(
        "slice axis 3 step 2 of 1x64x112x112", [_conv(3, 96, [224, 224], 11, 4)], values=(1, 8)
    ),
    "machine.least_lanes": Way("", [_rows_of(4, 2), _rows_of(2, 2), _rows_of(6, 2)]),
    "machine.cheap_stride": Way(_FIRST, [_conv(3, 96, [224, 224], 11, 4)]),
    "machine.shuffled_read": Way(_FIRST, [_conv(3, 24, [224, 224], 3, 2)], values=(0.9, 1.4, 2)),
    "machine.gathered_read": Way("", [_conv(3, n, [224, 224], 7, 4) for n in (4, 8, 20)], values=(1, 2)),
    "machine.small_vector": Way("1x1 512->2048 @7x7; 1x1 2048->512 @7x7", mcpu="x86-64-v3", values=(4,)),
    "layouts.result_steps": Way(_FIRST, [_conv(3, 16, [224, 224], 3, 2)], values=(2, 16, 32)),
    "layouts.conversion_steps": Way(
        "1x1 512->2048 @7x7; 1x1 2048->512 @7x7", [_conv(n, n, [7, 7], 1) for n in (48, 64, 128)]
    ),
    "layouts.most_waste": Way("1x1 512->2048 @7x7", [_conv(64, 64, [17, 17], 1), _conv(64, 64, [9, 9], 1)]),
    "layouts.useful_channels": Way("", [_conv(n, n, [56, 56], 3) for n in (20, 24, 40)], values=(0.6, 0.8)),
    "layouts.transposed_points": Way(
        "transposed 4x4 128->64 @28, stride 2",
        [transposed_conv(64, 64, 28, 3, 2), transposed_conv(64, 64, 28, 5, 2)],
        values=(0.4, 1.0),
    ),
    "layouts.panel_padding": Way("", [product(128, n, 768) for n in (237, 245)]),
    "layouts.padding_steps": Way("", [product(128, 1001, k) for k in (192, 256, 512)]),
    "layouts.float_parts": Way("", [_bytes(64, 64, k) for k in (1024, 3072, 6144)]),
    "layouts.dequantized_rows": Way("", [_dequantized(n) for n in (4, 6, 8, 12, 16)]),
    "winograd.direct_share": Way(_CONV3),
    "winograd.product_share": Way(_CONV3),
    "winograd.worth": Way(_CONV3, values=(0.4, 0.6, 1.2)),
    "winograd.input_steps_2": Way("", _SMALL_CONV3, values=(32, 160)),
    "winograd.result_steps_2": Way("", _SMALL_CONV3, values=(22, 110)),
    "winograd.input_steps_4": Way("", _SMALL_CONV3, values=(54, 432)),
    "winograd.result_steps_4": Way("", _SMALL_CONV3, values=(22, 304)),
    "winograd.open_size": Way("", [_OPEN_CONV], values=(6, 64)),
    "winograd.block_bytes": Way(f"{_CONV3}; 3x3 64->64 @28x28, batch 4"),
    "winograd.enough_tiles": Way(_CONV3, [_conv(512, 512, [14, 14], 3), _conv(512, 512, [28, 28], 3)]),
    "winograd.open_tiles": Way("", [_OPEN_CONV]),
    "winograd.enough_blocks": Way(_CONV3, threads=2),
    "winograd.looped_uses": Way(f"{_CONV3}; 3x3 64->64 @56x56", [_conv(128, 32, [56, 56], 3)]),
    "winograd.max_groups": Way("3x3 64->64 @56x56", [_conv(64, 64, [112, 112], 3)], threads=2),
    "attention.fewest_queries": Way("", [_attention(12, n, 256) for n in (4, 6, 8, 12)]),
    "attention.fewest_scores": Way("", [_attention(12, 16, keys) for keys in (16, 32, 48)]),
    "attention.scores_bytes": Way("", [_attention(4, 512, 1024), _attention(4, 512, 4096)]),
    "attention.most_queries": Way("", [_attention(12, 197, 197), _attention(12, 128, 128)]),
    "attention.least_queries": Way("", [_attention(4, 512, 4096), _attention(4, 512, 2048)]),
    "attention.enough_items": Way("", [_attention(1, 128, 512), _attention(2, 128, 128)], threads=2),
    "attention.max_groups": Way("", [_attention(12, 128, 128), _attention(4, 512, 1024)], threads=2),
    "attention.softmax_lanes": Way("", [_attention(12, 128, 128), _attention(12, 197, 197)]),
    "attention.softmax_chains": Way("", [_attention(12, 128, 128), _attention(12, 197, 197)]),
    **dict.fromkeys(
        [f"nbits.{name}" for name in ("panel_registers", "digit_registers", "chains", "few_rows")],
        Way("", [_dequantized(rows, 32) for rows in (1, 2, 4)]),
    ),
    **dict.fromkeys(
        [f"nbits.{name}" for name in ("parts", "strip_registers", "byte_rows", "unrolled")],
        Way(reason="of int8 activations: `python -m benchmarks.low_precision.products --activations int8`"),
    ),
    "nbits.digit_rows": Way("", [_dequantized(16, 32)]),
    **dict.fromkeys(
        ["nbits.unpacked_ops", "nbits.digit_ops"],
        Way(reason="decides about no code: remarks have the estimate"),
    ),
    **dict.fromkeys(
        [f"nbits.{name}" for name in ("panel_steps", "groups")], Way("", [_dequantized(16, 32)], threads=2)
    ),
    "tiles.max_rows": Way("2048x16x2048", [product(2048, 16, 256)]),
    "tiles.max_vectors": Way("4x4096x1024; 1x4096x4096; 16x768x768"),
    "tiles.measured_sums": Way(reason=_CALIBRATED),
    "tiles.typical_extent": Way("", [_OPEN_PRODUCT, _OPEN_CONV]),
    "tiles.copy_penalty": Way(f"{_PRODUCTS}; 1 x 256x256x256 AB; 49x2048x512", values=(0, 0.01, 0.04, 0.1)),
    "tiles.tail_lanes": Way("", [_opened(_one("Exp", [100, 1000]), x=[100, "n"])]),
    "products.enough_rows": Way("", [_conv(64, 64, [96, width], 5) for width in (2, 3, 6)]),
    "products.mostly_inside": Way(
        "3x3 256->256 @28x28, dilation 2",
        [Conv(240, 240, [144, 5], [1, 7], dilation=2).case(), _conv(128, 128, [40, 7], 5)],
        values=(0.4, 0.6, 1.0),
    ),
    "products.unrolled_steps": Way(_DEPTHWISE),
    "products.unrolled_sums": Way(_DEPTHWISE, [_depthwise_chain(144, 56)]),
    "products.unrolled_registers": Way(_DEPTHWISE),
    "products.widening": Way("", [product(m, 64, 768, "f16") for m in (28, 32)], mcpu="x86-64-v3"),
    "products.near_bytes": Way("128x768x768 f16", [product(100, 1000, 2048, "f16")], values=(64, 4096)),
    "products.lone_registers": Way("", [two_inputs([], 1, 1, 65536, "b"), two_inputs([], 1, 1, 4096, "b")]),
    "products.transposing_rows": Way("", [two_inputs([], m, 256, 256, "b") for m in (24, 32, 48, 64, 96)]),
    "products.gapless_uses": Way("", [_conv(512, n, [14, 14], 1, 2) for n in (64, 256, 2048)]),
    "products.gathering_rows": Way("", [_both_transposed(m, 208, 623) for m in (2, 3, 4, 6)]),
    "products.uncached_rows": Way("", [two_inputs([], m, 768, 768, "b") for m in (128, 192, 256, 384)]),
    "products.widening_columns": Way(
        "12 x 128x128x64 ABᵀ f16", [two_inputs([12], 128, n, 64, "", "f16") for n in (32, 48, 64, 96)]
    ),
    "products.transposed_rows": Way(
        "", [two_inputs([], 256, 2048, 256, "b"), two_inputs([], 256, 512, 256, "b")]
    ),
    "products.pairing_uses": Way("", [product(m, 768, 768, "bf16") for m in (16, 24, 32, 48, 64)]),
    "products.computing_rows": Way("", [_dequantized(n) for n in (2, 3, 4, 6, 8)]),
    "products.amx_rows": Way(reason="needs tile registers: an Intel CPU with AMX"),
    "products.repeated_panels": Way("", [_conv(1024, n, [14, 14], 1) for n in (256, 2048)], values=(1, 64)),
    "products.padded_rows": Way("", [_beside_padding(size) for size in (12, 24, 40)]),
    "rows.whole_row": Way("", [_one("Softmax", [591, n], axis=-1) for n in (128, 197, 320)]),
    "rows.together": Way("", [_one("Softmax", [3072, n], axis=-1) for n in (32, 40, 48)], values=(0.5, 1.0)),
    "rows.most_rows": Way("", [_one("Softmax", [3072, n], axis=-1) for n in (8, 16)], values=(2, 8)),
    "rows.function_registers": Way(
        "", [_one("Softmax", [1536, n], axis=-1) for n in (64, 96, 128)], values=(12, 24)
    ),
    "rows.long_rows": Way("LayerNormalization 128x768; softmax 512x1024", values=(1, 2, 4)),
    "rows.registers": Way(f"softmax 512x1024; {_SUMS}"),
    "rows.long_row_bytes": Way(_SUMS, [_sum([64, 32768]), _sum([64, 128, 128])]),
    "rows.least_rows": Way("", [_sum([n, 32768]) for n in (4, 6, 8, 12)]),
    "rows.least_tiles": Way("", [_sum([64, 512]), _sum([64, 1024]), _sum([64, 256])]),
    "elementwise.function_ops": Way("Gelu 192x256; Erf 192x256; Tanh 192x256; Exp 192x256"),
    "elementwise.epilogue_ops": Way("", [_gelu(128, 768, 768), _gelu(196, 1024, 256)]),
    "elementwise.small_tile_ops": Way(reason="bounds the size of code for browsers and microcontrollers"),
    "elementwise.tile_ops": Way("Gelu 192x256; Softplus 192x256; Tanh 192x256; Exp 192x256"),
    "elementwise.registers": Way("Add 192x256 to 192x256; Relu 192x256; Sqrt 192x256"),
    "elementwise.function_registers": Way("Gelu 192x256; Sigmoid 192x256; Mish 192x256; Exp 192x256"),
    "elementwise.copy_registers": Way(
        "transpose [0, 2, 1, 3] of 1x128x12x64; slice axis 1 step 1 of 3136x192; concat last of 2 3136x64"
    ),
    "elementwise.small_registers": Way(reason="a time of the compiler: `python -m benchmarks.compiler`"),
    "elementwise.small_vectors": Way(reason="a time of the compiler: `python -m benchmarks.compiler`"),
    "elementwise.least_block": Way("", [_transposed([64, columns, 3000]) for columns in (3, 4, 6)]),
    "elementwise.largest_block": Way(_TRANSPOSED),
    "elementwise.most_copies": Way(
        "resize nearest by 2, asymmetric, 1x64x56x56; tile 64x3136", [_expanded(8)]
    ),
    "vectors.alternating_reads": Way(_ALTERNATING, [_transposed([64, 3000, 4])]),
    "vectors.alternating_rows": Way(_ALTERNATING, [_rows_of(6, 2), _transposed([64, 3000, 5])]),
    "vectors.computed_reads": Way("", [_gathered(500), _gathered(12)], values=(4, 128)),
    "vectors.mask_lanes": Way("", [_greatest(n) for n in (4, 8)], values=(2, 8, 16)),
    "buffers.padded_least_bytes": Way("", [_wide_depthwise(size) for size in (6, 8, 12, 16)]),
    "buffers.padded_most_bytes": Way(_DEPTHWISE, [_wide_depthwise(224), _wide_depthwise(288)]),
    "buffers.stack_bytes": Way("", [_conv(4, 16, [n, n], 5) for n in (20, 24, 32, 40)]),
    "buffers.loop_stack_bytes": Way("", [_wide_depthwise(192), _wide_depthwise(224)]),
    "buffers.prefetched_bytes": Way("", [_one("Softmax", [4096, n], axis=-1) for n in (240, 300, 400)]),
    "buffers.prefetch_share": Way("softmax 64x32000", [_one("Softmax", [64, 96000], axis=-1)]),
    "pools.lanes": Way(_POOLS),
    "pools.least_columns": Way("", [_pool([1, 64, n, n]) for n in (3, 4, 6)]),
    "pools.least_planes": Way("", [_pool([1, n, 56, 56]) for n in (4, 6, 8, 12)], threads=2),
    "pools.unrolled_rows": Way("", [_pool([1, 64, n, n]) for n in (12, 16, 24)]),
    "pools.kept_vectors": Way(_POOLS),
    "pools.most_points": Way("", [_pool([1, 64, 56, 56], n) for n in (9, 15, 21)]),
    "searches.search_block": Way("", [_top_k(8, [16, 32000]), _top_k(2, [16, 32000])]),
    "searches.rank_lanes": Way("topk 5 512x1000; topk 50 16x32000"),
    "searches.one_block": Way("", [_top_k(5, [512, n]) for n in (100, 200, 400)]),
    "searches.open_block": Way("", [_OPEN_TOP_K]),
    "searches.many": Way("", [_top_k(k, [16, 32000]) for k in (8, 12, 20, 30)]),
    **dict.fromkeys(
        [f"searches.{name}" for name in ("rank_ops", "round_ops", "compare_ops", "shift_ops")],
        Way(reason=_REMARKS),
    ),
    "searches.scanned_bytes": Way("cumsum first of 512x1024"),
    "searches.kept_block": Way("", [_suppression(2000, 20), _suppression(200, 80)]),
    "searches.digit_bits": Way("", [_suppression(2000, 20), _suppression(200, 80)]),
    **dict.fromkeys(
        [f"trees.{name}" for name in ("walks", "block_rows", "bit_registers", "step_cycles")],
        Way("", [_trees(depth, 1000) for depth in (5, 8)]),
    ),
    **dict.fromkeys(
        [f"trees.{name}" for name in ("cut_cycles", "leaf_cycles", "column_cycles")],
        Way("", [_trees(5, rows) for rows in (8, 16, 24, 32)]),
    ),
    "threads.worth": Way("", [_one("Exp", [n, 256]) for n in (32, 64, 128, 256)], threads=2),
    "threads.start_cycles": Way(reason=_REMARKS),
    "threads.unknown_trips": Way(
        "", [_opened(_one("Exp", [n, 256]), x=[n, "n"]) for n in (8, 12, 24, 48)], threads=2
    ),
    "threads.memory_cost": Way(f"{_PARALLEL}; Add 64 to 3136x64", [_one("Relu", [320, 256])], threads=2),
    "threads.slow_cost": Way("", [_one("Div", [n, 256], "x z") for n in (96, 192, 320)], threads=2),
    "threads.chunks": Way(f"{_PARALLEL}; softmax 512x1024", threads=2),
    "threads.few": Way("", [_grouped(n) for n in (2, 3, 6)], threads=2),
    "threads.caller_spins": Way(_PARALLEL, threads=2),
    "threads.spins_a_yield": Way(_PARALLEL, threads=2),
    "cells.block_bytes": Way(reason=_REMARKS),
    "compiler.least_shared": Way(reason="a time of the compiler: `python -m benchmarks.compiler`"),
    "compiler.large_main": Way(reason="a time of the compiler: `python -m benchmarks.compiler --chain`"),
    "compiler.least_divided": Way(reason="a time of the compiler: `python -m benchmarks.compiler`"),
    "compiler.worker_pays": Way(reason="a time of the compiler: `python -m benchmarks.compiler`"),
    "compiler.early_cores": Way(reason="a time of the compiler: `python -m benchmarks.first_answer`"),
    "compiler.freed_objects": Way(reason="a time of the compiler: `python -m benchmarks.first_answer`"),
    "compiler.fork_pays": Way(reason="a time of the compiler: `python -m benchmarks.first_answer`"),
    "compiler.nodes_a_worker": Way(reason="a time of the compiler: `python -m benchmarks.compiler`"),
    "runtime.machine.pool_state.WORKER_SPINS": Way(
        reason="read once in a process, for all models: `python -m benchmarks.threads` with another value"
    ),
    "runtime.memory.ALIGNED_BYTES": Way(
        reason="other modules have copies of it: edit it, and run `python -m benchmarks.kernels`"
    ),
    "runtime.memory._KEPT_BYTES": Way(runs=lambda: _calls([[2048, 768], [2048, 2048]])),
    "runtime.files.weights.PARALLEL_BYTES": Way(runs=lambda: _hashes(3 << 20) | _hashes(6 << 20)),
    "runtime.files.model_cache._PARALLEL_BYTES": Way(runs=lambda: _digests(3 << 20) | _digests(6 << 20)),
    "runtime.files.weight_check._AT_ONCE_BYTES": Way(runs=lambda: _checks(3 << 19) | _checks(3 << 20)),
    "runtime.files.weight_check._BYTES_A_THREAD": Way(runs=lambda: _checks(192 << 20)),
    "runtime.files.weight_check._MOST_THREADS": Way(runs=lambda: _checks(768 << 20)),
}
