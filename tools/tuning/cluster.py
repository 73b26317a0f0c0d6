"""Workers that try candidates, those of a Dask cluster; the records are written here alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from ipaddress import ip_address
from math import isfinite
from typing import Any, cast
from urllib.parse import urlsplit

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.packages import needed
from stepwell.runtime.rpc.identity import place_of_url
from stepwell.tools.records.record import TaskRecord
from stepwell.tools.tuning.cluster_worker import try_candidate
from stepwell.tools.tuning.measuring import Measured
from stepwell.tools.tuning.tasks import Task

RPC = "rpc://"
_ANSWER_SECONDS = 600.0
"""A cluster without a worker for so long is given up."""
LOST = 2
"""A candidate whose worker dies goes to other workers so many times."""
_MOST_TIMES_OFF = 3.0
"""The times of a machine's base kernel differ by no larger factor from its first ones."""


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


@dataclass(frozen=True)
class Answer:
    """The verdict of a worker on a candidate, and the machine that it is for."""

    number: int
    script: str
    measured: Measured
    machine: str | None = None
    target: str | None = None


class Cluster:
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
        self._client.close()
        if self._local is not None:
            self._local.close()

    def tried(
        self, task: Task, scripts: Sequence[tuple[int, str]], faults: Mapping[int, str], *, exact: bool
    ) -> Iterator[Answer]:
        """The verdicts on numbered schedules of a task, as workers finish. Raises: StepwellError."""
        futures: dict[Any, tuple[int, str]] = {}
        for job in jobs_of(task, scripts, faults, self._clock, exact):
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
            why = f"its worker died {LOST + 1} times" if "Killed" in type(error).__name__ else str(error)
            return Answer(number, script, Measured("crash", why[:300]))
        return self._verdicts.of(number, script, cast("Mapping[str, Any]", future.result()))


class Verdicts:
    """The verdicts of workers on candidates; times that cannot be are none."""

    def __init__(self) -> None:
        self._first_us: dict[tuple[str, str | None], float] = {}

    def of(self, number: int, script: str, row: Mapping[str, Any]) -> Answer:
        """The verdict that a worker sent."""
        measured = Measured(**row["measured"])
        if row["ratio"] is not None:
            measured = replace(measured, ratio=(row["ratio"][0], row["ratio"][1], row["ratio"][2]))
        machine, target = str(row["machine"]), str(row["target"])
        if (nonsense := self._nonsense(measured, machine, row["task"])) is not None:
            measured = Measured("noisy", f"{machine} reports {nonsense}", code=measured.code)
        return Answer(number, script, measured, machine, target)

    def _nonsense(self, measured: Measured, machine: str, task: str) -> str | None:
        """The fault of the times of a worker; None where nothing is."""
        if measured.ratio is None:
            return None
        times = (*measured.ratio, measured.us, measured.base_us)
        if not all(isfinite(time) and time > 0 for time in times):
            return f"times that are none: {', '.join(f'{time:g}' for time in times)}"
        first = self._first_us.setdefault((machine, task), measured.base_us)
        off = max(first / measured.base_us, measured.base_us / first)
        return f"a base kernel {off:.1f} times as slow or fast as before" if off > _MOST_TIMES_OFF else None


def jobs_of(
    task: Task, scripts: Sequence[tuple[int, str]], faults: Mapping[int, str], clock: str, exact: bool
) -> list[dict[str, Any]]:
    """Numbered schedules of a task as values that travel to workers."""
    record = asdict(TaskRecord(task.digest, task.text, task.flops, task.bytes, task.name[:200]))
    common = {"task": record, "threads": task.threads, "clock": clock, "exact": exact}
    return [
        {**common, "number": number, "script": script, "fault": faults.get(number)}
        for number, script in scripts
    ]


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
