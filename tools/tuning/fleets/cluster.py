"""Workers that try candidates, those of a Dask cluster; the records are written here alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.packages import needed
from stepwell.runtime.rpc.identity import place_of_url
from stepwell.tools.tuning.fleets.cluster_worker import try_candidate
from stepwell.tools.tuning.fleets.interface import LOST, RPC, Answer, Batch, Fleet, Verdicts, lost
from stepwell.tools.tuning.measuring import Measured

_ANSWER_SECONDS = 600.0
"""A cluster without a worker for so long is given up."""


@dataclass(frozen=True)
class Security:
    """The files of TLS: the certificate of the authority, and the own one with its key."""

    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all files are named."""
        return None not in (self.ca, self.cert, self.key)


class Cluster(Fleet):
    """
    A Dask cluster: `local:N` processes here, or a scheduler at `tls://HOST:PORT`.

    What arrives at a worker is code: an address that others reach needs TLS.
    """

    def __init__(self, address: str, security: Security | None = None, clock: str = "machine"):
        """Raises: StepwellError `bad-option`, `insecure-address`, `missing-package`, `no-server`."""
        self._clock, self._local = clock, None
        self._verdicts = Verdicts()
        security = security or Security()
        workers = check_address(address, security)
        with needed("--cluster", install="distributed"):
            self._dask: Any = import_module("distributed")
            dask: Any = import_module("dask")
        dask.config.set({"distributed.scheduler.allowed-failures": LOST})
        if workers is not None:
            self._local = self._dask.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None,
                resources={"measure": 1},
            )  # fmt: skip
            self._client = self._dask.Client(self._local)
        else:
            self._client = self._connected(address, security)

    def _connected(self, address: str, security: Security) -> Any:
        tls = None
        if security.is_whole:
            tls = self._dask.Security(
                tls_ca_file=security.ca, tls_client_cert=security.cert, tls_client_key=security.key,
                require_encryption=True,
            )  # fmt: skip
        try:
            return self._dask.Client(address, security=tls, timeout=10)
        except (OSError, TimeoutError, ValueError) as error:
            raise StepwellError("no-server", address, f"no scheduler answers: {error}") from None

    @property
    def client(self) -> Any:
        """The client of `distributed`."""
        return self._client

    def close(self) -> None:
        """Leave the cluster; end one of this machine."""
        super().close()
        self._client.close()
        if self._local is not None:
            self._local.close()

    def tried(self, batch: Batch) -> Iterator[Answer]:
        """The verdicts on a batch, as workers finish. Raises: StepwellError."""
        futures: dict[Any, tuple[int, str]] = {}
        for job in batch.jobs(self._clock):
            future = self._client.submit(try_candidate, job, pure=False, resources={"measure": 1})
            futures[future] = job["number"], job["script"]
        try:
            for future in self._dask.as_completed(futures, timeout=_ANSWER_SECONDS):
                yield self.answer(*futures[future], future)
        except (TimeoutError, self._dask.TimeoutError):
            raise StepwellError("no-server", None, "the workers of the cluster do not answer") from None

    def answer(self, number: int, script: str, future: Any) -> Answer:
        """The verdict that a future of `try_candidate` has, or will have."""
        error = future.exception()
        if error is not None:
            if "Killed" in type(error).__name__:
                return lost(number, script, "worker died")
            return Answer(number, script, Measured("crash", str(error)[:300]))
        return self._verdicts.of(number, script, cast("Mapping[str, Any]", future.result()))


def check_address(address: str, security: Security | None = None) -> int | None:
    """The workers of `local:N`; None for an address. Raises: `bad-option`, `insecure-address`."""
    if address.startswith(RPC):
        for url in address.split(","):
            place_of_url(url)
        return None
    workers = _local_workers(address)
    if workers is None:
        _expect_secure(address, security or Security())
    return workers


def _local_workers(address: str) -> int | None:
    """The number of workers of `local:N`; None for an address. Raises: StepwellError `bad-option`."""
    word, _, count = address.partition(":")
    if word != "local":
        return None
    if not count.isdecimal() or not 1 <= int(count) <= 256:
        raise StepwellError("bad-option", None, f"expected local:N with N from 1 to 256, found {address!r}")
    return int(count)


def _expect_secure(address: str, security: Security) -> None:
    """Require TLS, but for this machine. Raises: StepwellError `insecure-address`, `bad-option`."""
    parts = urlsplit(address)
    if parts.scheme not in ("tcp", "tls") or not parts.hostname:
        message = f"a cluster is local:N, tls://HOST:PORT or rpc://HOST:PORT, found {address!r}"
        raise StepwellError("bad-option", None, message)
    if parts.scheme == "tls" and security.is_whole:
        return
    if parts.scheme == "tls" or not _is_loopback(parts.hostname):
        raise StepwellError(
            "insecure-address", address, "workers run the code that they are sent: the address needs TLS",
            help="tls://HOST:PORT with --cluster-ca, --cluster-cert and --cluster-key",
        )  # fmt: skip


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
