"""Ops with operands, one or more for each derivative, of three sizes that a sweep varies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import f64
from xdsl.ir import Operation

from stepwell.dialects import graph
from stepwell.dialects.types import element_of

Array: TypeAlias = npt.NDArray[Any]
Build: TypeAlias = Callable[..., Operation]
Case: TypeAlias = tuple[Build, Sequence[Array]]
SIZES = [(2, 3, 4), (1, 3, 2), (3, 1, 5), (4, 6, 3), (2, 7, 8)]
"""The five triples of the sweep; tests in `make test` use the first."""


def of(kind: Any, *args: Any, **keywords: Any) -> Build:
    """An op on all given operands, with more arguments."""
    return lambda *values: kind(*values, *args, **keywords)


@dataclass(frozen=True)
class Cases:
    """The cases for three sizes; numbers keep away from 0, where functions have kinks."""

    a: int
    b: int
    c: int

    @property
    def _rng(self) -> np.random.Generator:
        return self.__dict__.setdefault("rng", np.random.default_rng([7, self.a, self.b, self.c]))

    def real(self, *shape: int, low: float = -2.0, high: float = 2.0) -> Array:
        values = self._rng.uniform(low, high, shape)
        return np.where(np.abs(values) < 0.05, 0.3, values)

    def positive(self, *shape: int) -> Array:
        return self.real(*shape, low=0.3, high=2.5)

    def indices(self, size: int, *shape: int) -> Array:
        return self._rng.integers(-size, size, shape)

    def distinct(self, *shape: int) -> Array:
        """Numbers no two of which are closer than steps of central differences."""
        count = int(np.prod(shape))
        return ((self._rng.permutation(count) - count / 2 + 0.3) / max(count, 4) * 3).reshape(shape)

    def all(self) -> dict[str, Case]:
        """All cases by name, which begins with that of the op."""
        parts = (
            self.unary,
            self.binary,
            self.reductions,
            self.views,
            self.movements,
            self.gathers,
            self.scatters,
            self.products,
            self.convolutions,
            self.pools,
            self.resizes,
            self.norms,
            self.recurrent,
        )
        return {name: case for part in parts for name, case in part().items()}

    def unary(self) -> dict[str, Case]:
        plain = [
            *(graph.NegOp, graph.AbsOp, graph.ExpOp, graph.Expm1Op, graph.SinOp, graph.CosOp, graph.AtanOp),
            *(graph.SinhOp, graph.CoshOp, graph.TanhOp, graph.AsinhOp, graph.ErfOp, graph.ReluOp),
            *(graph.LeakyReluOp, graph.EluOp, graph.SigmoidOp, graph.SoftplusOp, graph.SiluOp, graph.GeluOp),
        ]
        steps = [graph.FloorOp, graph.CeilOp, graph.RoundOp, graph.TruncOp, graph.SignOp]
        of_positive = [graph.LogOp, graph.Log1pOp, graph.SqrtOp, graph.RsqrtOp]
        within_one = [graph.AsinOp, graph.AcosOp, graph.AtanhOp, graph.TanOp]
        b, c = self.b, self.c
        lo, hi = np.array(-0.7), np.array(0.9)
        return {
            **{op.name: (of(op), [self.real(b, c)]) for op in plain},
            **{op.name: (of(op), [0.25 + np.rint(self.real(b, c))]) for op in steps},
            **{op.name: (of(op), [self.positive(b, c)]) for op in of_positive},
            **{op.name: (of(op), [self.real(c, low=-0.9, high=0.9)]) for op in within_one},
            "graph.acosh": (of(graph.AcoshOp), [1.1 + self.positive(c)]),
            "graph.gelu tanh": (of(graph.GeluOp, "tanh"), [self.real(b, c)]),
            "graph.leaky_relu": (of(graph.LeakyReluOp, 0.2), [self.real(c)]),
            "graph.elu": (of(graph.EluOp, 0.5), [self.real(c)]),
            "graph.clip": (of(graph.ClipOp), [self.real(b, c), lo, hi]),
            "graph.clip hi": (lambda x, hi: graph.ClipOp(x, None, hi), [self.real(c), hi]),
            "graph.clip lo above hi": (of(graph.ClipOp), [self.real(b, c), hi, lo]),
            "graph.cast": (lambda x: graph.CastOp(x, element_of(np.dtype(np.float64))), [self.real(c)]),
            "graph.scan": (of(graph.ScanOp, "sum", 1, reverse=True), [self.real(b, c)]),
            **{
                f"graph.scan {kind} {exclusive} {reverse}": (
                    of(graph.ScanOp, kind, 1, exclusive=exclusive, reverse=reverse),
                    [self.distinct(self.a, b, c)],
                )
                for kind in ("sum", "prod", "max", "min")
                for exclusive in (False, True)
                for reverse in (False, True)
                if not (exclusive and kind in ("max", "min"))
            },
        }

    def binary(self) -> dict[str, Case]:
        a, b, c = self.a, self.b, self.c
        plain = (graph.AddOp, graph.SubtractOp, graph.MultiplyOp, graph.MaximumOp, graph.MinimumOp)
        powers = self._rng.integers(0, 4, c)
        return {
            **{op.name: (of(op), [self.real(a, b, c), self.real(b, 1)]) for op in plain},
            "graph.divide": (of(graph.DivideOp), [self.real(b, 1), self.positive(a, b, c)]),
            "graph.power": (of(graph.PowerOp), [self.positive(b, c), self.real(c)]),
            "graph.power of an integer": (of(graph.PowerOp), [self.real(c), powers]),
            **{
                f"graph.remainder {kind}": (
                    of(graph.RemainderOp, kind),
                    [self.real(b, c, low=-7, high=7), self.positive(b, 1)],
                )
                for kind in ("floor", "trunc")
            },
            "graph.where": (
                of(graph.WhereOp),
                [self._rng.uniform(size=(b, c)) > 0.5, self.real(c), self.real(b, 1)],
            ),
            "graph.bias_add": (of(graph.BiasAddOp, 1), [self.real(a, b, c), self.real(b)]),
            "graph.range": (of(graph.RangeOp), [np.array(0.5), np.array(c + 0.1), np.array(0.75)]),
        }

    def reductions(self) -> dict[str, Case]:
        a, b, c = self.a, self.b, self.c
        kinds = ("sum", "mean", "sum_square", "l1", "l2", "log_sum_exp", "max", "min", "prod")
        zeros = self.real(b, c)
        zeros[0, 0] = zeros[-1, -1] = 0
        return {
            **{
                f"graph.reduce {kind} {keep}": (
                    of(graph.ReduceOp, kind, [0, 2], keep_dims=keep),
                    [1.7 + self.distinct(a, b, c)],
                )
                for kind in kinds
                for keep in (False, True)
            },
            "graph.reduce prod with zeros": (of(graph.ReduceOp, "prod", [0, 1]), [zeros]),
            "graph.scan prod with zeros": (of(graph.ScanOp, "prod", 1), [zeros]),
            "graph.softmax": (of(graph.SoftmaxOp, 1), [self.real(a, b, c)]),
            "graph.log_softmax": (of(graph.LogSoftmaxOp, 2), [self.real(a, b, c)]),
            "graph.lp_norm": (of(graph.LpNormOp, 1, 2), [self.real(a, b, c)]),
            "graph.lp_norm 1": (of(graph.LpNormOp, 1, 1), [self.real(a, b, c)]),
            "graph.top_k": (of(graph.TopKOp, min(2, c), 1, True), [self.distinct(b, c)]),
            "graph.top_k least": (of(graph.TopKOp, 1, 0, False), [self.distinct(b, c)]),
        }

    def views(self) -> dict[str, Case]:
        a, b, c = self.a, self.b, self.c
        return {
            "graph.transpose": (of(graph.TransposeOp, [2, 0, 1]), [self.real(a, b, c)]),
            "graph.reshape": (of(graph.ReshapeOp, [c, a * b]), [self.real(a, b, c)]),
            "graph.expand_dims": (of(graph.ExpandDimsOp, [0, 2]), [self.real(a, b)]),
            "graph.squeeze": (of(graph.SqueezeOp, [0, 2]), [self.real(1, b, 1, c)]),
            "graph.broadcast_to": (of(graph.BroadcastToOp, [a, b, c]), [self.real(b, 1)]),
            "graph.full": (of(graph.FullOp, [a, b]), [self.real()]),
            "graph.reverse": (of(graph.ReverseOp, [0]), [self.real(b, c)]),
            "graph.tile": (of(graph.TileOp, [2, 3]), [self.real(b, c)]),
            "graph.layout_transform": (
                of(graph.LayoutTransformOp, "NCHW", "NCHW4c"),
                [self.real(a, b, 2, c)],
            ),
            "graph.layout_transform back": (
                of(graph.LayoutTransformOp, "NCHW2c", "NHWC"),
                [self.real(a, b, 2, c, 2)],
            ),
            "graph.reverse_sequence": (
                of(graph.ReverseSequenceOp, 0, 1),
                [self.real(b, c), self._rng.integers(0, c + 1, b)],
            ),
        }

    def movements(self) -> dict[str, Case]:
        a, b, c = self.a, self.b, self.c
        pads = np.array([1, 0, 2, 3])
        steps = of(graph.SliceOp, [1, c + 3], [6, -1], [2, -3])
        value = [self.real(b, c), self.real()]
        cases: dict[str, Case] = {
            "graph.concat": (
                lambda *v: graph.ConcatOp(v, 1),
                [self.real(a, b), self.real(a, 1), self.real(a, c)],
            ),
            "graph.split": (of(graph.SplitOp, 1, [b, 1, c]), [self.real(a, b + 1 + c)]),
            "graph.slice": (of(graph.SliceOp, [1, 0], [b + 1, c], [1, 1]), [self.real(b + 2, c + 1)]),
            "graph.slice by steps": (steps, [self.real(7, c + 5)]),
            "graph.slice at data": (
                lambda x, s, e: graph.SliceOp(x, s, e, [1, 1]),
                [self.real(7, c + 2), np.array([1, 2]), np.array([4, c + 1])],
            ),
            "graph.slice at data by steps": (
                lambda x, s, e: graph.SliceOp(x, s, e, [2, -1]),
                [self.real(7, c + 2), np.array([1, c]), np.array([6, 0])],
            ),
            "graph.insert_slice": (
                of(graph.InsertSliceOp, [1, 0]),
                [self.real(b + 2, c + 1), self.real(b, c)],
            ),
            "graph.insert_slice at data": (
                of(graph.InsertSliceOp),
                [self.real(b + 2, c), self.real(b, c), np.array([2, 0])],
            ),
            "graph.pad": (of(graph.PadOp, [1, 0, 2, 3]), [self.real(b, c)]),
            "graph.pad and crop": (of(graph.PadOp, [-1, 2, 0, -1]), [self.real(b + 1, c + 1)]),
            "graph.pad with a value": (lambda x, v: graph.PadOp(x, [1, 0, -1, 2], value=v), value),
            "graph.pad by data": (lambda x, p: graph.PadOp(x, p), [self.real(b, c), pads]),
        }
        for mode in ("reflect", "edge", "wrap"):
            cases[f"graph.pad {mode}"] = of(graph.PadOp, [1, 0, 1, 2], mode), [self.real(b + 2, c + 2)]
        return cases

    def gathers(self) -> dict[str, Case]:
        a, b, c = self.a, self.b, self.c
        of_nd = np.stack([self.indices(a, 5), self.indices(b, 5)], -1)
        return {
            "graph.gather": (of(graph.GatherOp, 0), [self.real(b, c), self.indices(b, 2, 3)]),
            "graph.gather in the middle": (
                of(graph.GatherOp, 1),
                [self.real(a, b, c), self.indices(b, 2, 3)],
            ),
            "graph.gather of one": (of(graph.GatherOp, 1), [self.real(a, b), np.array(b - 1)]),
            "graph.gather in batches": (
                of(graph.GatherOp, 1, 1),
                [self.real(a, b, c), self.indices(b, a, 3)],
            ),
            "graph.gather clipped": (
                of(graph.GatherOp, 0, 0, "clip"),
                [self.real(b, c), np.array([-9, 0, b + 4, -1])],
            ),
            "graph.gather_elements": (
                of(graph.GatherElementsOp, 1),
                [self.real(b, c), self.indices(c, b, 3)],
            ),
            "graph.gather_nd": (of(graph.GatherNdOp), [self.real(a, b, c), of_nd]),
            "graph.gather_nd in batches": (
                of(graph.GatherNdOp, 1),
                [self.real(a, b, c), self.indices(b, a, 4, 1)],
            ),
        }

    def scatters(self) -> dict[str, Case]:
        b, c = self.b, self.c
        at = self.indices(c, b, 3)
        cases: dict[str, Case] = {}
        for combine in ("none", "add", "mul", "max", "min"):
            pool = self.distinct(b, c + 3)
            x, updates = pool[:, :c], pool[:, c:]
            if combine == "mul":
                updates[0, 0] = 0
            cases[f"graph.scatter_elements {combine}"] = (
                of(graph.ScatterElementsOp, 1, combine),
                [x, at, updates],
            )
            cases[f"graph.scatter_nd {combine}"] = (
                of(graph.ScatterNdOp, combine),
                [self.distinct(b + 4, c)[:b], self.indices(b, 4, 1), self.distinct(b + 4, c)[b:] + 0.01],
            )
        return cases

    def products(self) -> dict[str, Case]:
        a, b, c = self.a, self.b, self.c
        q, k, v = self.real(a, b, c), self.real(a, 5, c), self.real(a, 5, b)
        hidden = np.where(self._rng.uniform(size=(b, 5)) > 0.7, -np.inf, self.real(b, 5))
        hidden[0] = -np.inf
        einsums = {"bqd,bkd->bqk": [q, k], "ab,b,c->ca": [self.real(a, b), self.real(b), self.real(c)]}
        einsums |= {"iij->ji": [self.real(b, b, c)], "ab->": [self.real(a, b)]}
        einsums |= {"ab,ab->a": [self.real(a, b), self.real(a, 1)]}
        return {
            **{
                f"graph.matmul {ta} {tb}": (
                    of(graph.MatmulOp, transpose_a=ta, transpose_b=tb),
                    [self.real(*((c, b) if ta else (b, c))), self.real(*((5, c) if tb else (c, 5)))],
                )
                for ta in (False, True)
                for tb in (False, True)
            },
            "graph.matmul rows": (of(graph.MatmulOp), [self.real(a, 6, b, c), self.real(c, 5)]),
            "graph.matmul rows transposed": (
                of(graph.MatmulOp, transpose_b=True),
                [self.real(a, b, c), self.real(5, c)],
            ),
            "graph.matmul batches": (of(graph.MatmulOp), [self.real(a, 1, b, c), self.real(6, c, 5)]),
            "graph.matmul vector": (of(graph.MatmulOp), [self.real(c), self.real(a, c, 5)]),
            "graph.matmul by vector": (of(graph.MatmulOp), [self.real(a, b, c), self.real(c)]),
            "graph.matmul of vectors": (of(graph.MatmulOp), [self.real(c), self.real(c)]),
            "graph.attention": (of(graph.AttentionOp, scale=0.5), [q, k, v]),
            "graph.attention of shared keys": (
                of(graph.AttentionOp, scale=0.5),
                [self.real(a, 2, b, c), self.real(a, 1, 5, c), self.real(a, 1, 5, b), self.real(5)],
            ),
            "graph.attention masked": (of(graph.AttentionOp, scale=0.7, zero_masked=True), [q, k, v, hidden]),
            **{
                f"graph.einsum {text}": ((lambda *v, text=text: graph.EinsumOp(v, text)), given)
                for text, given in einsums.items()
            },
        }

    def convolutions(self) -> dict[str, Case]:
        a, b, c = self.a, self.b, self.c
        return {
            "graph.conv": (of(graph.ConvOp), [self.real(a, b, 5, 6), self.real(c, b, 3, 2)]),
            "graph.conv strided": (
                of(graph.ConvOp, strides=[2, 3], dilations=[1, 2], pads=[1, 0, 2, 1]),
                [self.real(a, b, 8, 9), self.real(c, b, 3, 2)],
            ),
            "graph.conv by groups": (
                of(graph.ConvOp, groups=2, pads=[1, 1]),
                [self.real(a, 2 * b, 7), self.real(2 * c, b, 3)],
            ),
            "graph.conv of channels": (
                of(graph.ConvOp, groups=b, strides=[2, 2], pads=[1, 1, 1, 1]),
                [self.real(a, b, 6, 7), self.real(2 * b, 1, 3, 3)],
            ),
            "graph.conv_transpose": (
                of(graph.ConvTransposeOp, strides=[2, 1], pads=[1, 0, 0, 1], output_padding=[1, 0]),
                [self.real(a, b, 4, 5), self.real(b, c, 3, 3)],
            ),
            "graph.conv_transpose by groups": (
                of(graph.ConvTransposeOp, groups=2, strides=[2], dilations=[2], output_padding=[3]),
                [self.real(a, 2 * b, 4), self.real(2 * b, c, 3)],
            ),
            "graph.conv_transpose with more cells": (
                of(graph.ConvTransposeOp, pads=[-1, 1]),
                [self.real(a, b, 4), self.real(b, c, 3)],
            ),
        }

    def pools(self) -> dict[str, Case]:
        a, b = self.a, self.b
        return {
            "graph.pool": (
                of(graph.PoolOp, "max", [3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
                [self.distinct(a, b, 7, 6)],
            ),
            "graph.pool max ceil": (
                of(graph.PoolOp, "max", [3], strides=[2], ceil=True, indices="column"),
                [self.distinct(a, b, 8)],
            ),
            **{
                f"graph.pool avg {inside} {ceil}": (
                    of(
                        graph.PoolOp,
                        "avg",
                        [3, 2],
                        strides=[2, 2],
                        pads=[1, 0, 1, 1],
                        ceil=ceil,
                        count_include_pad=inside,
                    ),
                    [self.real(a, b, 8, 6)],
                )
                for inside in (False, True)
                for ceil in (False, True)
            },
            "graph.pool lp": (of(graph.PoolOp, "lp", [3], strides=[2], p=3), [self.real(a, b, 8)]),
        }

    def resizes(self) -> dict[str, Case]:
        a, b, c = self.a, self.b, self.c
        x = self.real(a, b, c + 1, 4)

        def resized(mode: str, sizes: Sequence[int], **options: Any) -> Case:
            return of(graph.ResizeOp, [a, b, *sizes], mode=mode, **options), [x]

        crop = [0.0, 0.0, 0.1, -0.3, 1.0, 1.0, 0.8, 1.2]
        return {
            "graph.resize repeated": resized("nearest", [2 * c + 2, 12], coordinate="asymmetric"),
            "graph.resize nearest": resized("nearest", [c + 3, 3]),
            "graph.resize linear": resized("linear", [c + 4, 9]),
            "graph.resize linear down": resized("linear", [2, 3], antialias=True),
            "graph.resize cubic": resized("cubic", [c + 4, 3], coordinate="align_corners"),
            "graph.resize cubic inside": resized("cubic", [c + 4, 9], exclude_outside=True),
            "graph.resize by scales": resized("linear", [c + 2, 10], scales=[1, 1, 1.3, 2.5]),
            "graph.resize cropped": resized(
                "linear", [5, 7], coordinate="tf_crop_and_resize", roi=crop, extrapolation=3.0
            ),
        }

    def norms(self) -> dict[str, Case]:
        a, b, c = self.a, self.b, self.c
        return {
            "graph.layer_norm": (
                lambda x, s, t: graph.LayerNormOp(x, s, t, axis=1, eps=1e-3, compute_type=f64),
                [self.real(b, c), self.positive(c), self.real(c)],
            ),
            "graph.lrn": (of(graph.LrnOp, 3, alpha=0.3), [self.real(a, b, c)]),
            "graph.lrn even": (of(graph.LrnOp, 2, alpha=0.3, bias=2.0), [self.real(a, b + 1, 2, c)]),
        }

    def recurrent(self) -> dict[str, Case]:
        a, b, c = self.a, self.b, self.c
        cases: dict[str, Case] = {}
        lengths = self._rng.integers(0, 5, a)

        def case(name: str, cell: str, activations: Sequence[str], *, d: int = 1, **options: Any) -> None:
            gates = {"lstm": 4, "gru": 3, "rnn": 1}[cell]
            names = [*activations] * d
            state = self.real(d, a, b)
            given: dict[str, Array] = {
                "bias": self.real(d, 2 * gates * b),
                "lengths": lengths,
                "h0": state,
                "c0": 0.5 * state,
                "peepholes": self.real(d, 3 * b),
            }
            given = {key: given[key] for key in options.pop("operands")}
            zeros = [0.3] * len(names)

            def build(x: Any, w: Any, r: Any, *rest: Any) -> Operation:
                more = dict(zip(given, rest, strict=True))
                return graph.RnnOp(
                    x, w, r, cell=cell, activations=names, alphas=zeros, betas=zeros, **more, **options
                )

            x, w, r = self.real(4, a, c), self.real(d, gates * b, c), self.real(d, gates * b, b)
            cases[f"graph.rnn {name}"] = build, [x, w, r, *given.values()]

        lstm = ["sigmoid", "tanh", "tanh"]
        case("lstm", "lstm", lstm, operands=["bias", "h0", "c0", "peepholes"])
        case("lstm both", "lstm", lstm, d=2, direction="bidirectional", operands=["lengths"])
        case("lstm clipped", "lstm", ["hard_sigmoid", "softsign", "elu"], clip=1.1, operands=["bias"])
        case("lstm coupled", "lstm", ["sigmoid", "affine", "tanh"], input_forget=True, operands=["c0"])
        case("gru", "gru", ["sigmoid", "tanh"], direction="reverse", operands=["bias", "lengths", "h0"])
        case("gru linear", "gru", ["sigmoid", "softplus"], linear_before_reset=True, operands=["bias"])
        case("plain", "rnn", ["scaled_tanh"], operands=[])
        case("plain leaky", "rnn", ["leaky_relu"], operands=["h0"])
        return cases
