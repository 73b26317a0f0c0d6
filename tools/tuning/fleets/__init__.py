"""Fleets: processes and machines that try candidates of kernels, by one interface."""

from __future__ import annotations

from stepwell.tools.tuning.fleet import LocalRunner
from stepwell.tools.tuning.fleets.cluster import Cluster, Security
from stepwell.tools.tuning.fleets.interface import RPC, Batch, Fleet
from stepwell.tools.tuning.fleets.local_fleet import LocalFleet
from stepwell.tools.tuning.fleets.rpc_cluster import RpcCluster


def fleet(where: int | str, security: Security | None = None, clock: str = "machine") -> Fleet:
    """
    The fleet of some processes here, or at an address.

    Args: `where` is the number of processes of this machine that compile candidates, or an address as
    `--cluster` has it: `local:N` and `tls://HOST:PORT` for workers of Dask, `rpc://HOST:PORT` for servers of
    sessions; `security` are the files of TLS; with `clock` "model" times are estimates.
    Raises: StepwellError `bad-option`, `insecure-address`, `missing-package`, `no-server`.
    """
    if isinstance(where, int):
        return LocalFleet(LocalRunner(jobs=where, clock=clock))
    return RpcCluster(where, clock) if where.startswith(RPC) else Cluster(where, security, clock)


__all__ = ["Batch", "Cluster", "Fleet", "LocalFleet", "RpcCluster", "Security", "fleet"]
