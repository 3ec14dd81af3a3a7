"""The workers and what each should run; lives on the event loop, so it needs no locks."""

import asyncio
import logging
import time
from collections.abc import Iterable

from dspark.control.v1 import worker_pb2 as pb
from dspark_control.service.async_store import AsyncStore
from dspark_control.service.desired import BindingHistory
from dspark_control.service.events import EventBus
from dspark_control.service.session import WorkerState, new_worker
from dspark_control.store import StoreError

log = logging.getLogger(__name__)

MAX_WORKERS = 10_000
"""Workers remembered; the longest-gone make room for new ones."""


class FleetFull(Exception):
    """So many workers are connected that another cannot be served."""


class Stream:
    """One open Watch call of a worker."""

    def __init__(self, worker: WorkerState) -> None:
        self.worker = worker
        self.wake = asyncio.Event()
        """Set when there may be something to send."""
        self.superseded = asyncio.Event()
        """Set when a newer stream of the same worker took over."""


class Fleet:
    """All known workers, the bindings, and the streams between them."""

    def __init__(self, store: AsyncStore) -> None:
        self.history = BindingHistory()
        self.bus = EventBus()
        self._store = store
        self._workers: dict[str, WorkerState] = {}
        self._streams: dict[str, Stream] = {}
        self._refreshing = asyncio.Lock()

    async def refresh(self) -> None:
        """Take over what was written since; StoreError when the store cannot be read."""
        async with self._refreshing:
            known = self.history.revision
            changes = await self._store.read(self._store.store.binding_changes, known)
            if changes.revision == known:
                return
            self.history.extend(changes)
            if changes.bindings:
                self._retarget()
            self.bus.wake_all()

    async def follow(self, every_seconds: float) -> None:
        """Refresh for ever: other services may write to the same database."""
        while True:
            await asyncio.sleep(every_seconds)
            try:
                await self.refresh()
            except StoreError as error:
                log.warning("cannot read the store: %s", error)
            except Exception:  # whatever one row holds, workers must hear of the next write
                log.exception("cannot take over what was written")

    def attach(self, hello: pb.WorkerHello) -> Stream:
        """Register a stream; a stream of the same worker that is still open is superseded."""
        desired = self.history.serving(hello.labels)
        worker = self._workers.get(hello.worker_id)
        if worker is None:
            self._make_room()
            worker = self._workers[hello.worker_id] = new_worker(hello, desired)
        else:
            worker.greet(hello, desired)
        if older := self._streams.get(hello.worker_id):
            older.superseded.set()
        stream = self._streams[hello.worker_id] = Stream(worker)
        self.touch(worker)
        return stream

    def detach(self, stream: Stream) -> None:
        """Unregister a stream; does nothing when a newer one took over."""
        worker = stream.worker
        if self._streams.get(worker.worker_id) is not stream:
            return
        del self._streams[worker.worker_id]
        worker.is_connected = False
        worker.pending = None
        self.bus.worker_changed(worker.worker_id)

    def touch(self, worker: WorkerState) -> None:
        """Note that a worker was heard and may have changed."""
        worker.last_seen_us = time.time_ns() // 1000
        self.bus.worker_changed(worker.worker_id)

    def get(self, worker_id: str) -> WorkerState | None:
        """The worker called `worker_id`."""
        return self._workers.get(worker_id)

    def workers(self) -> Iterable[WorkerState]:
        """All known workers by id."""
        return [self._workers[key] for key in sorted(self._workers)]

    def _retarget(self) -> None:
        for worker in self._workers.values():
            desired = self.history.serving(worker.labels)
            if desired == worker.desired:
                continue
            worker.want(desired)
            self.bus.worker_changed(worker.worker_id)
            if stream := self._streams.get(worker.worker_id):
                stream.wake.set()

    def _make_room(self) -> None:
        if len(self._workers) < MAX_WORKERS:
            return
        gone = [w for w in self._workers.values() if not w.is_connected]
        if not gone:
            raise FleetFull(f"{MAX_WORKERS} workers are connected; start another service")
        del self._workers[min(gone, key=lambda w: w.last_seen_us).worker_id]
