"""The `linalg_ext` dialect: ops of level 2 beyond `linalg`, which `expand-forms` writes as loops."""

from __future__ import annotations

import sys

from xdsl.ir import Dialect

from stepwell.dialects.linalg_ext.attention import AttentionOp as AttentionOp
from stepwell.dialects.linalg_ext.forms import Form as Form
from stepwell.dialects.linalg_ext.forms import FormsOp as FormsOp
from stepwell.dialects.linalg_ext.forms import Size as Size
from stepwell.dialects.linalg_ext.forms import bad_schedule as bad_schedule
from stepwell.dialects.linalg_ext.forms import form_of as form_of
from stepwell.dialects.linalg_ext.forms import scheduled_ops as scheduled_ops
from stepwell.dialects.linalg_ext.grids import GridAttentionOp as GridAttentionOp
from stepwell.dialects.linalg_ext.grids import GridOp as GridOp
from stepwell.dialects.linalg_ext.grids import GridScanOp as GridScanOp
from stepwell.dialects.linalg_ext.matmul_nbits import MatmulNbitsOp as MatmulNbitsOp
from stepwell.dialects.linalg_ext.ordering import ScanOp as ScanOp
from stepwell.dialects.linalg_ext.ordering import TopKOp as TopKOp
from stepwell.dialects.linalg_ext.pool import PoolOp as PoolOp
from stepwell.dialects.linalg_ext.recurrent import RnnOp as RnnOp
from stepwell.dialects.linalg_ext.resize import ResizeOp as ResizeOp
from stepwell.dialects.linalg_ext.trees import TreeEnsembleOp as TreeEnsembleOp
from stepwell.dialects.linalg_ext.winograd import WinogradConvOp as WinogradConvOp
from stepwell.dialects.op_classes import ops_in

LinalgExt = Dialect("linalg_ext", ops_in(sys.modules[__name__]), [])
