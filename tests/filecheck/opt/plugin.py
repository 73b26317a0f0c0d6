"""A plugin for the tests of `--load`: a dialect with one op, and a pass that talks about it."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition

from stepwell.passes import Pass, count, remark


@irdl_op_definition
class PingOp(IRDLOperation):
    """An op that does nothing."""

    name = "ping.ping"
    assembly_format = "attr-dict"


Ping = Dialect("ping", [PingOp])


class TalkPass(Pass):
    """Remarks on every ping."""

    name = "ping-talk"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, PingOp):
                remark(inner, "not ponged: nobody is there")
                count("pings")
