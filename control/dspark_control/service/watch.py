"""WorkerService: one stream per engine, snapshots down, acknowledgements up."""

# ruff: noqa: N802 - methods have the names of the API

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc

from dspark.control.v1 import worker_pb2 as pb
from dspark.control.v1.worker_pb2_grpc import WorkerServiceServicer
from dspark_control.service.fleet import Fleet, FleetFull, Stream
from dspark_control.service.requests import hello_fault
from dspark_control.service.responses import heartbeat_message
from dspark_control.service.snapshots import SnapshotCache
from dspark_control.store import StoreError

log = logging.getLogger(__name__)

HELLO_TIMEOUT_SECONDS = 10.0

MAX_ACK_BYTES = 65_536
"""The last ack of each worker is kept, so its size is bounded."""

Requests = AsyncIterator[pb.WatchRequest]
Context = grpc.aio.ServicerContext[Any, Any]


class BadMessage(ValueError):
    """A message that breaks the protocol; ends the stream."""


class WatchServicer(WorkerServiceServicer):
    """Serves `Watch`."""

    def __init__(
        self,
        fleet: Fleet,
        snapshots: SnapshotCache,
        heartbeat_seconds: float,
        stopping: asyncio.Event,
    ) -> None:
        self._fleet = fleet
        self._snapshots = snapshots
        self._heartbeat_seconds = heartbeat_seconds
        self._stopping = stopping

    async def Watch(self, requests: Requests, context: Context) -> None:
        """Hold the stream of one worker until either side ends it."""
        try:
            async with asyncio.timeout(HELLO_TIMEOUT_SECONDS):
                hello = await _read_hello(requests)
            stream = self._fleet.attach(hello)
        except BadMessage as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except TimeoutError:
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "no hello came; send it first")
        except FleetFull as error:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
        log.info("worker %s connected", hello.worker_id)
        try:
            status, message = await self._run(stream, requests, context)
        finally:
            self._fleet.detach(stream)
            log.info("worker %s left", hello.worker_id)
        if status is not grpc.StatusCode.OK:
            await context.abort(status, message)

    async def _run(
        self, stream: Stream, requests: Requests, context: Context
    ) -> tuple[grpc.StatusCode, str]:
        reader = asyncio.create_task(self._read(stream, requests))
        others = [
            asyncio.create_task(self._write(stream, context)),
            asyncio.create_task(stream.superseded.wait()),
            asyncio.create_task(self._stopping.wait()),
        ]
        try:
            await asyncio.wait([reader, *others], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (reader, *others):
                task.cancel()
            ends = await asyncio.gather(reader, *others, return_exceptions=True)
        return self._verdict(stream, [end for end in ends if isinstance(end, Exception)])

    def _verdict(self, stream: Stream, errors: list[Exception]) -> tuple[grpc.StatusCode, str]:
        if stream.superseded.is_set():
            message = f"a newer stream of worker {stream.worker.worker_id!r} took over"
            return grpc.StatusCode.ABORTED, message
        if self._stopping.is_set():
            return grpc.StatusCode.UNAVAILABLE, "the service is stopping; connect again"
        for error in errors:
            if isinstance(error, BadMessage):
                return grpc.StatusCode.INVALID_ARGUMENT, str(error)
            if not isinstance(error, grpc.RpcError | grpc.aio.BaseError):
                log.error("stream of worker %s failed", stream.worker.worker_id, exc_info=error)
                return grpc.StatusCode.INTERNAL, "the service failed; connect again"
        return grpc.StatusCode.OK, ""

    async def _read(self, stream: Stream, requests: Requests) -> None:
        async for request in requests:
            kind = request.WhichOneof("message")
            if kind == "ack":
                self._take_ack(stream, request.ack)
            elif kind == "heartbeat":
                stream.worker.reported_revision = request.heartbeat.applied_revision
            else:
                raise BadMessage(f"{kind or 'an empty message'} came, but hello comes once, first")
            self._fleet.touch(stream.worker)

    def _take_ack(self, stream: Stream, ack: pb.SnapshotAck) -> None:
        if ack.ByteSize() > MAX_ACK_BYTES:
            raise BadMessage(f"an ack has {ack.ByteSize()} bytes, but at most {MAX_ACK_BYTES}")
        try:
            is_awaited = stream.worker.acknowledge(ack, time.monotonic())
        except ValueError as error:
            raise BadMessage(str(error)) from error
        if not is_awaited:
            log.info("worker %s answered a superseded update", stream.worker.worker_id)
        elif ack.result == pb.ACK_RESULT_REJECTED:
            log.warning(
                "worker %s rejected revision %d: %r",
                stream.worker.worker_id,
                ack.revision,
                ack.message,
            )
        stream.wake.set()

    async def _write(self, stream: Stream, context: Context) -> None:
        if not await self._send_update(stream, context):
            await self._beat(context)  # the worker learns at once that it runs the right thing
        while True:
            stream.wake.clear()
            if await self._send_update(stream, context):
                continue
            try:
                async with asyncio.timeout(self._heartbeat_seconds):
                    await stream.wake.wait()
            except TimeoutError:
                await self._beat(context)

    async def _beat(self, context: Context) -> None:
        heartbeat = heartbeat_message(self._fleet.history.revision)
        await context.write(pb.WatchResponse(heartbeat=heartbeat))

    async def _send_update(self, stream: Stream, context: Context) -> bool:
        worker = stream.worker
        desired = worker.next_update(time.monotonic())
        if desired is None:
            return False
        try:
            snapshot = await self._snapshots.get(desired)
        except StoreError as error:
            log.warning("cannot load the snapshot of %s: %s", worker.worker_id, error)
            return False
        if worker.desired != desired:  # it changed while loading: send the newer one only
            return True
        nonce = secrets.token_hex(8)
        worker.mark_sent(nonce, desired, time.monotonic())
        self._fleet.bus.worker_changed(worker.worker_id)
        update = pb.SnapshotUpdate(nonce=nonce, snapshot=snapshot)
        await context.write(pb.WatchResponse(update=update))
        return True


async def _read_hello(requests: Requests) -> pb.WorkerHello:
    try:
        request = await anext(requests)
    except StopAsyncIteration:
        raise BadMessage("the stream ended before a hello came") from None
    if request.WhichOneof("message") != "hello":
        raise BadMessage("the first message must be a hello")
    if fault := hello_fault(request.hello):
        raise BadMessage(fault)
    return request.hello
