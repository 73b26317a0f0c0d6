"""The options of a quantization, and the nodes that they name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

from stepwell.dialects.quantization.ranges import Calibration
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.tools.driver.options import CompileOptions


class Scheme(NamedTuple):
    """A scheme: the least opset of files, methods for weights, the default first, and needs."""

    opset: int
    methods: Sequence[str]
    needs_ranges: bool = False
    """Whether it quantizes activations, by ranges from samples."""
    has_blocks: bool = False
    """Whether weights have a scale for each block of the sum."""
    form: str = "qdq"
    to: str = "s8"
    """The form and the type of weights, as in plans."""
    operators: Sequence[str] = ("Conv", "ConvTranspose", "Gemm", "MatMul")
    """The operators whose weights it writes."""

    @property
    def is_simulated(self) -> bool:
        """Whether the simulation knows the codes of the scheme."""
        return self.form == "qdq" and (self.has_blocks or self.to == "s8")


SCHEMES: Mapping[str, Scheme] = {
    "int8": Scheme(13, ("rtn",), needs_ranges=True),
    "w8": Scheme(13, ("rtn", "mse")),
    "int8-dynamic": Scheme(13, ("rtn", "mse"), form="dynamic", operators=("MatMul",)),
    "f16": Scheme(13, ("rtn",), to="f16"),
    "bf16": Scheme(13, ("rtn",), to="bf16"),
    "f8": Scheme(19, ("rtn",), to="f8"),
    "w4": Scheme(21, ("mse", "rtn", "gptq", "awq"), has_blocks=True, operators=("Gemm", "MatMul")),
}
FORMATS = ("qdq", "matmulnbits")
_BLOCKS = (16, 32, 64, 128, 256)


@dataclass(frozen=True)
class QuantizeOptions:
    """The options of a quantization; the command line has the same names."""

    scheme: str = "int8"
    calibration: str = "minmax"
    """The ranges of activations: `minmax`, `percentile`, `entropy`, `mse` or `global`."""
    percentile: float = 99.99
    global_scale: float = 8.0
    keep_f32: Sequence[str] = ()
    """Names and patterns of nodes that stay in f32."""
    only: Sequence[str] = ()
    """Names and patterns of the only nodes to quantize."""
    keep_size: bool = False
    """Whether layers are quantized that are no faster, for the sake of the file's size."""
    samples: int | None = None
    """The most samples that are used; default: all."""
    seed: int = 0
    """That of samples that are made up."""
    activation_type: str = "u8"
    reduce_range: bool = False
    """Whether weights have 7 bits, for engines whose sums of bytes saturate."""
    smooth: float | None = None
    """The exponent of `smooth`, from 0 to 1: noise of activations moves to weights through norms before."""
    bias_correction: bool = False
    """Whether biases make up for the mean error of results that the codes of weights cause."""
    method: str | None = None
    """The codes of weights: `rtn`, `mse`, `gptq` or `awq`; default: by the scheme, and `gptq` with data."""
    act_order: bool = True
    """Whether `gptq` begins with the channels of the largest activations."""
    block: int = 32
    symmetric: bool = False
    """Whether codes of 4 bits have no zero point."""
    format: str = "qdq"
    """The form of weights of 4 bits: `qdq`, or `matmulnbits`, an operator of com.microsoft."""
    read_calibration: str | Path | None = None
    write_calibration: str | Path | None = None
    rank: bool = False
    """Whether each layer is measured alone, for a report, where the budget does not need it."""
    threads: int | None = None
    compile: CompileOptions = field(default_factory=CompileOptions)

    @property
    def about(self) -> Scheme:
        """The scheme."""
        return SCHEMES[self.scheme]

    @property
    def ranges(self) -> Calibration:
        """The calibration with its numbers."""
        return Calibration(self.calibration, self.percentile, self.global_scale)

    @property
    def weight_method(self) -> str:
        """The method for the codes of weights."""
        return self.method or self.about.methods[0]

    @property
    def needs_channels(self) -> str | None:
        """The option that needs statistics of channels, which no calibration file has; None without one."""
        if self.weight_method in ("gptq", "awq"):
            return self.weight_method
        return "smooth" if self.smooth is not None else "bias correction" if self.bias_correction else None

    def with_data(self) -> QuantizeOptions:
        """The options where there are samples."""
        is_free = self.method is None and "gptq" in self.about.methods
        return replace(self, method="gptq") if is_free else self

    @property
    def weight_type(self) -> str:
        """The type of codes of blocks, as in plans."""
        return "s4" if self.symmetric else "u4"

    @property
    def needs_table(self) -> bool:
        """Whether ranges of activations come from statistics."""
        return self.about.needs_ranges and self.ranges.needs_data

    def check(self) -> None:
        """Require options that there are, and go together. Raises: StepwellError `bad-option`."""
        _expect(self.scheme, SCHEMES, "scheme")
        _expect(self.weight_method, self.about.methods, f"method of {self.scheme}")
        _expect(self.format, FORMATS, "format")
        _expect(self.activation_type, ("u8", "s8"), "activation type")
        self.ranges.check()
        if self.smooth is not None and not 0 <= self.smooth <= 1:
            raise StepwellError("bad-option", None, f"smooth is from 0 to 1, found {self.smooth}")
        for option, is_set in (
            ("smooth", self.smooth is not None),
            ("bias correction", self.bias_correction),
        ):
            if is_set and not self.about.needs_ranges:
                raise StepwellError("bad-option", None, f"{option} is of int8, not of {self.scheme}")
        if self.format != "qdq" and not self.about.has_blocks:
            raise StepwellError(
                "bad-option", None, f"the format {self.format} is of w4, not of {self.scheme}"
            )
        if self.about.has_blocks and self.block not in _BLOCKS:
            message = f"a block has {', '.join(map(str, _BLOCKS[:-1]))} or {_BLOCKS[-1]} elements"
            raise StepwellError("bad-option", None, f"{message}, found {self.block}")


class QuantizeKeywords(TypedDict, total=False):
    """The fields of `QuantizeOptions` but the scheme, as keywords."""

    calibration: Literal["minmax", "percentile", "entropy", "mse", "global"]
    percentile: float
    global_scale: float
    keep_f32: Sequence[str]
    only: Sequence[str]
    keep_size: bool
    samples: int | None
    seed: int
    activation_type: Literal["u8", "s8"]
    reduce_range: bool
    smooth: float | None
    bias_correction: bool
    method: str | None
    act_order: bool
    block: int
    symmetric: bool
    format: Literal["qdq", "matmulnbits"]
    read_calibration: str | Path | None
    write_calibration: str | Path | None
    rank: bool
    threads: int | None
    compile: CompileOptions


def quantize_options(scheme: str, keywords: Mapping[str, Any]) -> QuantizeOptions:
    """Options from keywords. Raises: StepwellError `bad-option`."""
    known = [option.name for option in fields(QuantizeOptions)]
    if unknown := [name for name in keywords if name not in known]:
        help = f"{did_you_mean(unknown[0], known)}the options are {', '.join(known)}"
        raise StepwellError("bad-option", None, f"there is no option {unknown[0]!r}", help=help)
    made = replace(QuantizeOptions(scheme), **keywords)
    made.check()
    return made


def _expect(value: str, known: Collection[str], what: str) -> None:
    if value not in known:
        help = f"{did_you_mean(value, known)}there is {', '.join(known)}"
        raise StepwellError("bad-option", None, f"there is no {what} {value!r}", help=help)
