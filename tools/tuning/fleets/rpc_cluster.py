"""Machines of `stepwell rpc serve` that try candidates, which are built here; they need the runtime alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from queue import Queue
from threading import Thread
from typing import Any

from stepwell.runtime import rpc
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import Frame
from stepwell.runtime.rpc import Connection
from stepwell.tools.tuning.fleet import Failed, LocalRunner, Process
from stepwell.tools.tuning.fleets.cluster_worker import Bench
from stepwell.tools.tuning.fleets.interface import LOST, Answer, Batch, Fleet, Verdicts, lost

_ENDS = {"session-died": "crash", "session-timeout": "timeout"}


class RemoteProcess(Process):
    """A session on another machine; a candidate that ends it has the next one in a new session."""

    def __init__(self, connect: Callable[[], Connection]):
        self._connect = connect
        self._session: Connection | None = None

    def ask(self, head: Mapping[str, object], body: bytes = b"", seconds: float = 15.0) -> Frame:
        """The answer to a request. Raises: Failed where the session ends; StepwellError of the request."""
        if self._session is None:
            self._session = self._connect()
        try:
            return self._session.trial(head, body, seconds)
        except StepwellError as error:
            if error.code not in _ENDS:
                raise
            self.close()
            raise Failed(_ENDS[error.code], error.message) from None

    @property
    def is_alive(self) -> bool:
        """Whether there is a session, with all earlier requests."""
        return self._session is not None

    def close(self) -> None:
        """End the session."""
        if self._session is not None:
            self._session.close()
            self._session = None


class RemoteRunner(LocalRunner):
    """Builds candidates here, and measures them in sessions on another machine."""

    def __init__(self, connect: Callable[[], Connection], clock: str = "machine"):
        super().__init__(clock=clock)
        self._connect = connect

    def new_process(self, limit: int) -> Process:
        """A session, whose server bounds its memory."""
        return RemoteProcess(self._connect)


class RpcCluster(Fleet):
    """Servers of sessions, or devices of a tracker, each of which tries a candidate at a time."""

    def __init__(
        self, address: str, clock: str = "machine", connect: Callable[[str], Connection] = rpc.connect
    ):
        """
        Args: `address` is `rpc://HOST:PORT`, or `rpc://HOST:PORT?key=KEY`; or several, with commas between.

        Raises: StepwellError `no-server`, `bad-token`, `bad-certificate`, `unknown-key`, `device-busy`.
        """
        self._clock, self._verdicts, self._connect = clock, Verdicts(), connect
        self._runners: list[LocalRunner] = []
        self._benches = [self._bench(url) for url in address.split(",")]

    def _bench(self, url: str) -> Bench:
        """The bench of a server, for the target that the server reports."""

        def connect() -> Connection:
            return self._connect(url)

        with connect() as session:
            machine, target = session.machine()
        runner = RemoteRunner(connect, self._clock)
        self._runners.append(runner)
        return Bench(runner, machine, target)

    def close(self) -> None:
        """End the sessions."""
        super().close()
        for runner in self._runners:
            runner.close()

    def tried(self, batch: Batch) -> Iterator[Answer]:
        """The verdicts on a batch, as machines finish. Raises: StepwellError."""
        jobs: Queue[tuple[dict[str, Any], int] | None] = Queue()
        answers: Queue[Answer | StepwellError] = Queue()
        for job in batch.jobs(self._clock):
            jobs.put((job, 0))
        threads = [Thread(target=self._work, args=(b, jobs, answers), daemon=True) for b in self._benches]
        for thread in threads:
            thread.start()
        try:
            for _ in batch.scripts:
                if isinstance(answer := answers.get(), StepwellError):
                    raise answer
                yield answer
        finally:
            with suppress(Exception):
                while not jobs.empty():
                    jobs.get_nowait()
            for _ in threads:
                jobs.put(None)
            for thread in threads:
                thread.join()

    def _work(
        self,
        bench: Bench,
        jobs: Queue[tuple[dict[str, Any], int] | None],
        answers: Queue[Answer | StepwellError],
    ) -> None:
        """Try candidates on a machine; one that is lost with the machine goes out again, to any."""
        while (taken := jobs.get()) is not None:
            job, losses = taken
            try:
                answers.put(self._verdicts.of(job["number"], job["script"], bench.tried(job)))
            except StepwellError as error:
                if losses < LOST:
                    jobs.put((job, losses + 1))
                else:
                    answers.put(lost(job["number"], job["script"], "machine was lost", error.message))
            except Exception as error:  # of this program: reported by the thread that waits
                answers.put(StepwellError("internal", None, f"a worker of the cluster failed: {error}"))
