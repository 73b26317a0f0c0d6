"""The `graph` dialect, level 1: one version of each operator, types and shapes related, fusion decided."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from xdsl.ir import Dialect, Operation

from stepwell.dialects.type_variables import HoleType, ParamsAttr, VarType
from stepwell.dialects.types import DimsAttr, WeightAttr

if TYPE_CHECKING:
    from stepwell.dialects.graph.activation import ClipOp as ClipOp
    from stepwell.dialects.graph.activation import EluOp as EluOp
    from stepwell.dialects.graph.activation import GeluOp as GeluOp
    from stepwell.dialects.graph.activation import LeakyReluOp as LeakyReluOp
    from stepwell.dialects.graph.activation import ReluOp as ReluOp
    from stepwell.dialects.graph.activation import SigmoidOp as SigmoidOp
    from stepwell.dialects.graph.activation import SiluOp as SiluOp
    from stepwell.dialects.graph.activation import SoftplusOp as SoftplusOp
    from stepwell.dialects.graph.attention import AttentionOp as AttentionOp
    from stepwell.dialects.graph.binary import AddOp as AddOp
    from stepwell.dialects.graph.binary import DivideOp as DivideOp
    from stepwell.dialects.graph.binary import MaximumOp as MaximumOp
    from stepwell.dialects.graph.binary import MinimumOp as MinimumOp
    from stepwell.dialects.graph.binary import MultiplyOp as MultiplyOp
    from stepwell.dialects.graph.binary import PowerOp as PowerOp
    from stepwell.dialects.graph.binary import RemainderOp as RemainderOp
    from stepwell.dialects.graph.binary import SubtractOp as SubtractOp
    from stepwell.dialects.graph.channel_norm import BatchNormOp as BatchNormOp
    from stepwell.dialects.graph.channel_norm import GroupNormOp as GroupNormOp
    from stepwell.dialects.graph.channel_norm import InstanceNormOp as InstanceNormOp
    from stepwell.dialects.graph.channel_norm import LrnOp as LrnOp
    from stepwell.dialects.graph.checks import CheckAccessesOp as CheckAccessesOp
    from stepwell.dialects.graph.checks import CheckIndicesOp as CheckIndicesOp
    from stepwell.dialects.graph.checks import CheckOffsetsOp as CheckOffsetsOp
    from stepwell.dialects.graph.contraction import BiasAddOp as BiasAddOp
    from stepwell.dialects.graph.contraction import MatmulIntegerOp as MatmulIntegerOp
    from stepwell.dialects.graph.contraction import MatmulOp as MatmulOp
    from stepwell.dialects.graph.control_flow import ControlFlowOp as ControlFlowOp
    from stepwell.dialects.graph.control_flow import IfOp as IfOp
    from stepwell.dialects.graph.convolution import ConvOp as ConvOp
    from stepwell.dialects.graph.convolution import ConvTransposeOp as ConvTransposeOp
    from stepwell.dialects.graph.detection import JoinPartsOp as JoinPartsOp
    from stepwell.dialects.graph.detection import NonMaxSuppressionOp as NonMaxSuppressionOp
    from stepwell.dialects.graph.einsum import EinsumOp as EinsumOp
    from stepwell.dialects.graph.elementwise import AbsOp as AbsOp
    from stepwell.dialects.graph.elementwise import BitcastOp as BitcastOp
    from stepwell.dialects.graph.elementwise import CastOp as CastOp
    from stepwell.dialects.graph.elementwise import CeilOp as CeilOp
    from stepwell.dialects.graph.elementwise import FloorOp as FloorOp
    from stepwell.dialects.graph.elementwise import IsInfOp as IsInfOp
    from stepwell.dialects.graph.elementwise import IsNanOp as IsNanOp
    from stepwell.dialects.graph.elementwise import NegOp as NegOp
    from stepwell.dialects.graph.elementwise import NotOp as NotOp
    from stepwell.dialects.graph.elementwise import RoundOp as RoundOp
    from stepwell.dialects.graph.elementwise import SignOp as SignOp
    from stepwell.dialects.graph.elementwise import TruncOp as TruncOp
    from stepwell.dialects.graph.expression import ExpressionOp as ExpressionOp
    from stepwell.dialects.graph.functions import CallOp as CallOp
    from stepwell.dialects.graph.functions import ClosureOp as ClosureOp
    from stepwell.dialects.graph.functions import FunctionOp as FunctionOp
    from stepwell.dialects.graph.functions import LambdaOp as LambdaOp
    from stepwell.dialects.graph.gather import GatherElementsOp as GatherElementsOp
    from stepwell.dialects.graph.gather import GatherNdOp as GatherNdOp
    from stepwell.dialects.graph.gather import GatherOp as GatherOp
    from stepwell.dialects.graph.gather import OneHotOp as OneHotOp
    from stepwell.dialects.graph.gradients import GradientOp as GradientOp
    from stepwell.dialects.graph.gradients import VjpOp as VjpOp
    from stepwell.dialects.graph.host import HostCallOp as HostCallOp
    from stepwell.dialects.graph.integer_products import ConvIntegerOp as ConvIntegerOp
    from stepwell.dialects.graph.integer_products import WordsOp as WordsOp
    from stepwell.dialects.graph.layout import LayoutTransformOp as LayoutTransformOp
    from stepwell.dialects.graph.logic import AndOp as AndOp
    from stepwell.dialects.graph.logic import EqualOp as EqualOp
    from stepwell.dialects.graph.logic import LessEqualOp as LessEqualOp
    from stepwell.dialects.graph.logic import LessOp as LessOp
    from stepwell.dialects.graph.logic import NotEqualOp as NotEqualOp
    from stepwell.dialects.graph.logic import OrOp as OrOp
    from stepwell.dialects.graph.logic import ShiftLeftOp as ShiftLeftOp
    from stepwell.dialects.graph.logic import ShiftRightOp as ShiftRightOp
    from stepwell.dialects.graph.logic import WhereOp as WhereOp
    from stepwell.dialects.graph.logic import XorOp as XorOp
    from stepwell.dialects.graph.loops import ForOp as ForOp
    from stepwell.dialects.graph.loops import LoopOp as LoopOp
    from stepwell.dialects.graph.loops import WhileOp as WhileOp
    from stepwell.dialects.graph.movement import ConcatOp as ConcatOp
    from stepwell.dialects.graph.movement import InsertSliceOp as InsertSliceOp
    from stepwell.dialects.graph.movement import ReverseOp as ReverseOp
    from stepwell.dialects.graph.movement import SliceOp as SliceOp
    from stepwell.dialects.graph.movement import SplitOp as SplitOp
    from stepwell.dialects.graph.movement import TransposeOp as TransposeOp
    from stepwell.dialects.graph.nbits_products import MatmulNbitsOp as MatmulNbitsOp
    from stepwell.dialects.graph.nest import NestOp as NestOp
    from stepwell.dialects.graph.norm import LayerNormOp as LayerNormOp
    from stepwell.dialects.graph.norm import LpNormOp as LpNormOp
    from stepwell.dialects.graph.norm import RmsNormOp as RmsNormOp
    from stepwell.dialects.graph.observers import ObserveOp as ObserveOp
    from stepwell.dialects.graph.ordering import ReverseSequenceOp as ReverseSequenceOp
    from stepwell.dialects.graph.ordering import TopKOp as TopKOp
    from stepwell.dialects.graph.padding import PadOp as PadOp
    from stepwell.dialects.graph.padding import TileOp as TileOp
    from stepwell.dialects.graph.quantized import DequantizeOp as DequantizeOp
    from stepwell.dialects.graph.quantized import QuantizeOp as QuantizeOp
    from stepwell.dialects.graph.quantized import RequantizeOp as RequantizeOp
    from stepwell.dialects.graph.random_bits import RandomBitsOp as RandomBitsOp
    from stepwell.dialects.graph.recurrent import RnnOp as RnnOp
    from stepwell.dialects.graph.reduction import ArgmaxOp as ArgmaxOp
    from stepwell.dialects.graph.reduction import ArgminOp as ArgminOp
    from stepwell.dialects.graph.reduction import LogSoftmaxOp as LogSoftmaxOp
    from stepwell.dialects.graph.reduction import ReduceOp as ReduceOp
    from stepwell.dialects.graph.reduction import ScanOp as ScanOp
    from stepwell.dialects.graph.reduction import SoftmaxOp as SoftmaxOp
    from stepwell.dialects.graph.resize import ResizeOp as ResizeOp
    from stepwell.dialects.graph.scatter import ScatterElementsOp as ScatterElementsOp
    from stepwell.dialects.graph.scatter import ScatterNdOp as ScatterNdOp
    from stepwell.dialects.graph.shape import BroadcastToOp as BroadcastToOp
    from stepwell.dialects.graph.shape import ExpandDimsOp as ExpandDimsOp
    from stepwell.dialects.graph.shape import ExtentsOp as ExtentsOp
    from stepwell.dialects.graph.shape import FullOp as FullOp
    from stepwell.dialects.graph.shape import IotaOp as IotaOp
    from stepwell.dialects.graph.shape import RangeOp as RangeOp
    from stepwell.dialects.graph.shape import ReshapeOp as ReshapeOp
    from stepwell.dialects.graph.shape import ShapeOfOp as ShapeOfOp
    from stepwell.dialects.graph.shape import SqueezeOp as SqueezeOp
    from stepwell.dialects.graph.sizes import BindSizesOp as BindSizesOp
    from stepwell.dialects.graph.sizes import DefineSizesOp as DefineSizesOp
    from stepwell.dialects.graph.structure import AssertOp as AssertOp
    from stepwell.dialects.graph.structure import ClosedRegionOp as ClosedRegionOp
    from stepwell.dialects.graph.structure import CompositeOp as CompositeOp
    from stepwell.dialects.graph.structure import ConstantOp as ConstantOp
    from stepwell.dialects.graph.structure import ExternalOp as ExternalOp
    from stepwell.dialects.graph.structure import FusedOp as FusedOp
    from stepwell.dialects.graph.structure import GetOp as GetOp
    from stepwell.dialects.graph.structure import TupleOp as TupleOp
    from stepwell.dialects.graph.structure import YieldOp as YieldOp
    from stepwell.dialects.graph.transcendental import AcoshOp as AcoshOp
    from stepwell.dialects.graph.transcendental import AcosOp as AcosOp
    from stepwell.dialects.graph.transcendental import AsinhOp as AsinhOp
    from stepwell.dialects.graph.transcendental import AsinOp as AsinOp
    from stepwell.dialects.graph.transcendental import AtanhOp as AtanhOp
    from stepwell.dialects.graph.transcendental import AtanOp as AtanOp
    from stepwell.dialects.graph.transcendental import CoshOp as CoshOp
    from stepwell.dialects.graph.transcendental import CosOp as CosOp
    from stepwell.dialects.graph.transcendental import ErfOp as ErfOp
    from stepwell.dialects.graph.transcendental import Expm1Op as Expm1Op
    from stepwell.dialects.graph.transcendental import ExpOp as ExpOp
    from stepwell.dialects.graph.transcendental import Log1pOp as Log1pOp
    from stepwell.dialects.graph.transcendental import LogOp as LogOp
    from stepwell.dialects.graph.transcendental import RsqrtOp as RsqrtOp
    from stepwell.dialects.graph.transcendental import SinhOp as SinhOp
    from stepwell.dialects.graph.transcendental import SinOp as SinOp
    from stepwell.dialects.graph.transcendental import SqrtOp as SqrtOp
    from stepwell.dialects.graph.transcendental import TanhOp as TanhOp
    from stepwell.dialects.graph.transcendental import TanOp as TanOp
    from stepwell.dialects.graph.trees import TreeEnsembleOp as TreeEnsembleOp
    from stepwell.dialects.graph.window import PoolOp as PoolOp
    from stepwell.dialects.graph.winograd import WinogradConvOp as WinogradConvOp

    OPS: list[type[Operation]]
    Graph: Dialect

_FILES = {
    "activation": "ClipOp EluOp GeluOp LeakyReluOp ReluOp SigmoidOp SiluOp SoftplusOp",
    "attention": "AttentionOp",
    "binary": "AddOp DivideOp MaximumOp MinimumOp MultiplyOp PowerOp RemainderOp SubtractOp",
    "channel_norm": "BatchNormOp GroupNormOp InstanceNormOp LrnOp",
    "checks": "CheckAccessesOp CheckIndicesOp CheckOffsetsOp",
    "contraction": "BiasAddOp MatmulIntegerOp MatmulOp",
    "control_flow": "ControlFlowOp IfOp",
    "convolution": "ConvOp ConvTransposeOp",
    "detection": "JoinPartsOp NonMaxSuppressionOp",
    "einsum": "EinsumOp",
    "elementwise": "AbsOp BitcastOp CastOp CeilOp FloorOp IsInfOp IsNanOp NegOp NotOp RoundOp SignOp TruncOp",
    "expression": "ExpressionOp",
    "functions": "CallOp ClosureOp FunctionOp LambdaOp",
    "gather": "GatherElementsOp GatherNdOp GatherOp OneHotOp",
    "gradients": "GradientOp VjpOp",
    "host": "HostCallOp",
    "integer_products": "ConvIntegerOp WordsOp",
    "layout": "LayoutTransformOp",
    "logic": "AndOp EqualOp LessEqualOp LessOp NotEqualOp OrOp ShiftLeftOp ShiftRightOp WhereOp XorOp",
    "loops": "ForOp LoopOp WhileOp",
    "movement": "ConcatOp InsertSliceOp ReverseOp SliceOp SplitOp TransposeOp",
    "nbits_products": "MatmulNbitsOp",
    "nest": "NestOp",
    "norm": "LayerNormOp LpNormOp RmsNormOp",
    "observers": "ObserveOp",
    "ordering": "ReverseSequenceOp TopKOp",
    "padding": "PadOp TileOp",
    "quantized": "DequantizeOp QuantizeOp RequantizeOp",
    "random_bits": "RandomBitsOp",
    "recurrent": "RnnOp",
    "reduction": "ArgmaxOp ArgminOp LogSoftmaxOp ReduceOp ScanOp SoftmaxOp",
    "resize": "ResizeOp",
    "scatter": "ScatterElementsOp ScatterNdOp",
    "shape": "BroadcastToOp ExpandDimsOp ExtentsOp FullOp IotaOp RangeOp ReshapeOp ShapeOfOp SqueezeOp",
    "sizes": "BindSizesOp DefineSizesOp",
    "structure": "AssertOp ClosedRegionOp CompositeOp ConstantOp ExternalOp FusedOp GetOp TupleOp YieldOp",
    "transcendental": (
        "AcoshOp AcosOp AsinhOp AsinOp AtanhOp AtanOp CoshOp CosOp ErfOp Expm1Op ExpOp Log1pOp "
        "LogOp RsqrtOp SinhOp SinOp SqrtOp TanhOp TanOp"
    ),
    "trees": "TreeEnsembleOp",
    "window": "PoolOp",
    "winograd": "WinogradConvOp",
}


def __getattr__(name: str) -> object:
    """A class of ops, imported when it is first used: a model has ops of a few files; or all of them."""
    if name == "OPS":
        names_in_order = [each for names in _FILES.values() for each in names.split()]
        classes: list[type[Operation]] = [getattr(sys.modules[__name__], each) for each in names_in_order]
        value: object = [cls for cls in classes if hasattr(cls, "name")]  # others are bases
    elif name == "Graph":
        value = Dialect(
            "graph", sys.modules[__name__].OPS, [DimsAttr, WeightAttr, VarType, HoleType, ParamsAttr]
        )
    else:
        file = next((file for file, names in _FILES.items() if name in names.split()), None)
        if file is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{file}"), name)
    globals()[name] = value
    return value
