"""The `linalg_ext` dialect: ops of level 2 beyond `linalg`, which `expand-forms` writes as loops."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from xdsl.ir import Dialect

from stepwell.dialects.linalg_ext.forms import Form as Form
from stepwell.dialects.linalg_ext.forms import FormsOp as FormsOp
from stepwell.dialects.linalg_ext.forms import Size as Size
from stepwell.dialects.linalg_ext.forms import bad_schedule as bad_schedule
from stepwell.dialects.linalg_ext.forms import form_of as form_of
from stepwell.dialects.linalg_ext.forms import scheduled_ops as scheduled_ops

if TYPE_CHECKING:
    from stepwell.dialects.linalg_ext.attention import AttentionOp as AttentionOp
    from stepwell.dialects.linalg_ext.grid import GridOp as GridOp
    from stepwell.dialects.linalg_ext.grids import GridAttentionOp as GridAttentionOp
    from stepwell.dialects.linalg_ext.grids import GridScanOp as GridScanOp
    from stepwell.dialects.linalg_ext.matmul_nbits import MatmulNbitsOp as MatmulNbitsOp
    from stepwell.dialects.linalg_ext.ordering import ScanOp as ScanOp
    from stepwell.dialects.linalg_ext.ordering import TopKOp as TopKOp
    from stepwell.dialects.linalg_ext.pool import PoolOp as PoolOp
    from stepwell.dialects.linalg_ext.recurrent import RnnOp as RnnOp
    from stepwell.dialects.linalg_ext.resize import ResizeOp as ResizeOp
    from stepwell.dialects.linalg_ext.trees import TreeEnsembleOp as TreeEnsembleOp
    from stepwell.dialects.linalg_ext.winograd import WinogradConvOp as WinogradConvOp

    LinalgExt: Dialect

_FILES: Mapping[str, str] = {
    "AttentionOp": "attention",
    "MatmulNbitsOp": "matmul_nbits",
    "ScanOp": "ordering",
    "TopKOp": "ordering",
    "PoolOp": "pool",
    "RnnOp": "recurrent",
    "ResizeOp": "resize",
    "TreeEnsembleOp": "trees",
    "WinogradConvOp": "winograd",
    "GridAttentionOp": "grids",
    "GridScanOp": "grids",
    "GridOp": "grid",
}
"""The files of the op classes, and of a base class."""


def __getattr__(name: str) -> object:
    """A class of ops, imported when it is first used: few models have more than two; or the whole dialect."""
    if name == "LinalgExt":
        classes = [getattr(sys.modules[__name__], each) for each in _FILES if each != "GridOp"]
        value: object = Dialect("linalg_ext", classes, [])
    elif name in _FILES:
        value = getattr(import_module(f"{__name__}.{_FILES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value
