"""AdminService: reads, and writes that each make one revision."""

# ruff: noqa: N802 - methods have the names of the API

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import grpc

from dspark.control.v1 import admin_pb2 as pb
from dspark.control.v1.admin_pb2_grpc import AdminServiceServicer
from dspark_control.service import requests, responses
from dspark_control.service.async_store import AsyncStore
from dspark_control.service.compatibility import binding_check
from dspark_control.service.fleet import Fleet
from dspark_control.store import (
    Conflict,
    InvalidRef,
    NotFound,
    Refused,
    StoreCorrupt,
    StoredArtifact,
    StoreError,
    StoreUnavailable,
    WriteContext,
)

log = logging.getLogger(__name__)

Context = grpc.aio.ServicerContext[Any, Any]

PAGE_BYTES = 2 * 1024 * 1024
"""A page of artifacts ends early rather than outgrow a message."""

_STATUS: dict[type[Exception], grpc.StatusCode] = {
    requests.InvalidRequest: grpc.StatusCode.INVALID_ARGUMENT,
    InvalidRef: grpc.StatusCode.INVALID_ARGUMENT,
    Conflict: grpc.StatusCode.ABORTED,
    NotFound: grpc.StatusCode.NOT_FOUND,
    Refused: grpc.StatusCode.FAILED_PRECONDITION,
    StoreUnavailable: grpc.StatusCode.UNAVAILABLE,
    StoreCorrupt: grpc.StatusCode.DATA_LOSS,
}


@asynccontextmanager
async def _reporting(context: Context) -> AsyncIterator[None]:
    try:
        yield
    except (StoreError, requests.InvalidRequest) as error:
        await context.abort(_STATUS[type(error)], str(error))


class AdminServicer(AdminServiceServicer):
    """Serves operators and controllers."""

    def __init__(self, store: AsyncStore, fleet: Fleet, stopping: asyncio.Event) -> None:
        self._store = store
        self._fleet = fleet
        self._stopping = stopping

    async def PutArtifact(
        self, request: pb.PutArtifactRequest, context: Context
    ) -> pb.PutArtifactResponse:
        """Validate and store an artifact."""
        async with _reporting(context):
            requests.refuse_unknown(request)
            who = _write_context(request.context, context)
            draft = requests.draft(request.artifact)
            result = await self._store.write(self._store.store.put_artifact, who, draft)
        await self._refresh()
        message = responses.artifact_message(result.artifact)
        return pb.PutArtifactResponse(artifact=message, created=result.is_new)

    async def GetArtifact(
        self, request: pb.GetArtifactRequest, context: Context
    ) -> pb.GetArtifactResponse:
        """Read one artifact."""
        async with _reporting(context):
            requests.refuse_unknown(request)
            kind = requests.artifact_kind(request.kind)
            ref = requests.artifact_ref(request.ref)
            artifact = await self._store.read(self._store.store.get_artifact, kind, ref)
        return pb.GetArtifactResponse(artifact=responses.artifact_message(artifact))

    async def ListArtifacts(
        self, request: pb.ListArtifactsRequest, context: Context
    ) -> pb.ListArtifactsResponse:
        """List artifacts, newest first."""
        async with _reporting(context):
            requests.refuse_unknown(request)
            kind = requests.artifact_kind(request.kind) if request.kind else None
            size = requests.page_size(request.page_size)
            found = await self._store.read(
                self._store.store.list_artifacts, kind, request.before_revision, size
            )
        return pb.ListArtifactsResponse(artifacts=_fitting(found))

    async def PutBinding(
        self, request: pb.PutBindingRequest, context: Context
    ) -> pb.PutBindingResponse:
        """Validate a binding against the connected workers and write it."""
        async with _reporting(context):
            requests.refuse_unknown(request)
            who = _write_context(request.context, context)
            binding = requests.binding(request.binding)
            check = binding_check(self._fleet)
            stored = await self._store.write(self._store.store.put_binding, who, binding, check)
        await self._refresh()
        return pb.PutBindingResponse(binding=responses.binding_message(stored))

    async def DeleteBinding(
        self, request: pb.DeleteBindingRequest, context: Context
    ) -> pb.DeleteBindingResponse:
        """Remove a binding."""
        async with _reporting(context):
            requests.refuse_unknown(request)
            who = _write_context(request.context, context)
            name = requests.binding_name(request.name)
            revision = await self._store.write(self._store.store.delete_binding, who, name)
        await self._refresh()
        return pb.DeleteBindingResponse(revision=revision)

    async def ListBindings(
        self, request: pb.ListBindingsRequest, context: Context
    ) -> pb.ListBindingsResponse:
        """List bindings by name."""
        async with _reporting(context):
            requests.refuse_unknown(request)
            revision, bindings = await self._store.read(self._store.store.list_bindings)
        messages = map(responses.binding_message, bindings)
        return pb.ListBindingsResponse(bindings=messages, revision=revision)

    async def ListHistory(
        self, request: pb.ListHistoryRequest, context: Context
    ) -> pb.ListHistoryResponse:
        """List the audit log, newest first."""
        async with _reporting(context):
            requests.refuse_unknown(request)
            size = requests.page_size(request.page_size)
            entries = await self._store.read(
                self._store.store.history, request.before_revision, size
            )
        return pb.ListHistoryResponse(entries=map(responses.entry_message, entries))

    async def ListWorkers(
        self, request: pb.ListWorkersRequest, context: Context
    ) -> pb.ListWorkersResponse:
        """List workers by id."""
        async with _reporting(context):
            requests.refuse_unknown(request)
        workers = map(responses.worker_message, self._fleet.workers())
        return pb.ListWorkersResponse(workers=workers)

    async def WatchEvents(
        self, request: pb.WatchEventsRequest, context: Context
    ) -> AsyncIterator[pb.WatchEventsResponse]:
        """Stream changes until the caller leaves or the service stops."""
        async with _reporting(context):
            requests.refuse_unknown(request)
        subscription = self._fleet.bus.subscribe()
        cursor = request.after_revision or self._fleet.history.revision
        try:
            while not self._stopping.is_set():
                subscription.wake.clear()
                async with _reporting(context):
                    entries = await self._store.read(self._store.store.history_after, cursor)
                for entry in entries:
                    cursor = entry.revision
                    yield pb.WatchEventsResponse(entry=responses.entry_message(entry))
                for worker_id in subscription.take_workers():
                    if worker := self._fleet.get(worker_id):
                        yield pb.WatchEventsResponse(worker=responses.worker_message(worker))
                if not entries:
                    await subscription.wake.wait()
        finally:
            self._fleet.bus.unsubscribe(subscription)
        await context.abort(grpc.StatusCode.UNAVAILABLE, "the service is stopping; connect again")

    async def _refresh(self) -> None:
        try:
            await self._fleet.refresh()
        except StoreError as error:  # the write stands; following the store catches up
            log.warning("cannot read the store after a write: %s", error)


def _write_context(message: pb.WriteContext, context: Context) -> WriteContext:
    metadata = dict(context.invocation_metadata() or ())
    traceparent = metadata.get("traceparent", "")
    text = traceparent if isinstance(traceparent, str) else ""
    return requests.write_context(message, requests.trace_id_of(text))


def _fitting(artifacts: tuple[StoredArtifact, ...]) -> Iterator[Any]:
    total = 0
    for artifact in artifacts:
        message = responses.artifact_message(artifact)
        total += message.ByteSize()
        if total > PAGE_BYTES and total != message.ByteSize():
            return
        yield message
