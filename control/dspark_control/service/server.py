"""The gRPC server: both services, health, reflection, and a clean end."""

import asyncio
import logging
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from dspark.control.v1 import admin_pb2, worker_pb2
from dspark.control.v1.admin_pb2_grpc import add_AdminServiceServicer_to_server
from dspark.control.v1.worker_pb2_grpc import add_WorkerServiceServicer_to_server
from dspark_control.client import (
    KEEPALIVE_SECONDS,
    KEEPALIVE_TIMEOUT_SECONDS,
    MAX_MESSAGE_BYTES,
    read_pem,
)
from dspark_control.net import parse_address
from dspark_control.service.admin import AdminServicer
from dspark_control.service.async_store import AsyncStore
from dspark_control.service.fleet import Fleet
from dspark_control.service.settings import ServerTls, ServiceSettings
from dspark_control.service.snapshots import SnapshotCache
from dspark_control.service.watch import WatchServicer
from dspark_control.store import Store

log = logging.getLogger(__name__)

SERVICES = (
    worker_pb2.DESCRIPTOR.services_by_name["WorkerService"].full_name,
    admin_pb2.DESCRIPTOR.services_by_name["AdminService"].full_name,
)

_OPTIONS = [
    ("grpc.so_reuseport", 0),  # a second service on the port must fail, not share it
    ("grpc.keepalive_time_ms", KEEPALIVE_SECONDS * 1000),
    ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_SECONDS * 1000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", KEEPALIVE_SECONDS * 500),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
]


class ControlServer:
    """One running service."""

    def __init__(self, settings: ServiceSettings, store: Store) -> None:
        """Must be created on the event loop that will run it."""
        self._settings = settings
        self._store = AsyncStore(store)
        self._fleet = Fleet(self._store)
        self._stopping = asyncio.Event()
        self._health = health.aio.HealthServicer()  # type: ignore[attr-defined]
        self._server = grpc.aio.server(options=_OPTIONS)
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> int:
        """Bind and serve; the port. ValueError for TLS files, OSError for the address."""
        await self._fleet.refresh()
        self._add_services()
        port = self._bind()
        await self._server.start()
        self._following = asyncio.create_task(self._fleet.follow(self._settings.poll_seconds))
        for name in ("", *SERVICES):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        return port

    async def stop(self) -> None:
        """End the streams, give calls a few seconds, close the store."""
        await self._health.enter_graceful_shutdown()
        self._stopping.set()
        self._fleet.bus.wake_all()
        if self._following is not None:
            self._following.cancel()
        await self._server.stop(self._settings.drain_seconds)
        self._store.close()

    @property
    def revision(self) -> int:
        """The newest revision that this service has seen."""
        return self._fleet.history.revision

    def _add_services(self) -> None:
        watch = WatchServicer(
            self._fleet,
            SnapshotCache(self._store),
            self._settings.heartbeat_seconds,
            self._stopping,
        )
        add_WorkerServiceServicer_to_server(watch, self._server)  # type: ignore[no-untyped-call]
        admin = AdminServicer(self._store, self._fleet, self._stopping)
        add_AdminServiceServicer_to_server(admin, self._server)  # type: ignore[no-untyped-call]
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)

    def _bind(self) -> int:
        listen = self._settings.listen
        parse_address(listen)
        try:
            if self._settings.tls is None:
                return self._server.add_insecure_port(listen)
            return self._server.add_secure_port(listen, _credentials(self._settings.tls))
        except RuntimeError as error:
            raise OSError(f"cannot listen on {listen}; is it in use?") from error


def _credentials(tls: ServerTls) -> Any:
    client_ca = read_pem(tls.client_ca) if tls.client_ca else None
    return grpc.ssl_server_credentials(
        [(read_pem(tls.key), read_pem(tls.cert))],
        root_certificates=client_ca,
        require_client_auth=client_ca is not None,
    )
