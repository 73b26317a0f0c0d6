"""The signature of a failure: what has to stay the same while a program becomes smaller."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from stepwell.runtime.errors import StepwellError
from stepwell.tools.json_facts import Facts

_QUOTED = re.compile(r"""(["'`])(.+?)\1""")
_VALUE = re.compile(r"%[\w.$-]+|@[\w.$-]+|\^\w+")
_WITH_BODY = re.compile(r"(, )?\b(onnx\.)?(If|Loop|Scan)\b")
"""Op types in a message that is about a node in their body, which a reduction takes out of it."""
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Signature:
    """The kind of a failure with its distinctions: of two signatures, `node` is not compared."""

    kind: str
    code: str = ""
    """Of an error; of a crash, the signal's name."""
    pass_name: str = ""
    """Of wrong values, the pass that makes them."""
    detail: str = ""
    """The message of an error without names of values and numbers; of a wrong rewrite, its rule."""
    node: str = field(default="", compare=False)

    def facts(self) -> Facts:
        """The signature as JSON values."""
        return {
            "kind": self.kind,
            "code": self.code or None,
            "pass": self.pass_name or None,
            "node": self.node or None,
        }

    def __str__(self) -> str:
        at = f" at {self.node}" if self.node else ""
        match self.kind:
            case "wrong":
                return f"{self.pass_name} differs{at}"
            case "error" | "crash":
                return f"{self.kind} {self.code}{at}"
            case _:
                return f"{self.kind}{at}"


def of_error(error: StepwellError, op_types: Mapping[str, str]) -> Signature:
    """
    The signature of an error: its code, and its message with types of ops instead of names.

    Args: `op_types` has the op type of each node's name, and `value` for each value's.
    """

    def by_type(match: re.Match[str]) -> str:
        return op_types.get(match[2], match[0])

    message = _VALUE.sub("value", _QUOTED.sub(by_type, error.message))
    types = [op_types[name] for _, name in _QUOTED.findall(error.where) if name in op_types]
    detail = ": ".join([*(type for type in types if type not in message), message])
    detail = _NUMBER.sub("#", _WITH_BODY.sub("", detail))
    return Signature("error", error.code, detail=detail, node=error.where)
