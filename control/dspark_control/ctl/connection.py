"""The connection to the service: one channel a run, and errors as one sentence."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc

from dspark.control.v1.admin_pb2_grpc import AdminServiceStub
from dspark_control.client import TlsFiles, open_channel
from dspark_control.ctl.errors import CtlError


@dataclass(frozen=True)
class Connection:
    """Where the service is and how long a call may take."""

    server: str
    tls: TlsFiles | None
    deadline_seconds: float


class Refusal(CtlError):
    """The service answered with an error; `code` says which."""

    def __init__(self, message: str, code: grpc.StatusCode) -> None:
        super().__init__(message)
        self.code = code


class Admin:
    """Calls of AdminService by name, with the deadline and readable errors."""

    def __init__(self, connection: Connection, channel: grpc.Channel) -> None:
        self._connection = connection
        self._stub = AdminServiceStub(channel)  # type: ignore[no-untyped-call]

    def call(self, method: str, request: Any) -> Any:
        """The answer to `request`; Refusal when there is none."""
        with self._reporting():
            rpc: Callable[..., Any] = getattr(self._stub, method)
            return rpc(request, timeout=self._connection.deadline_seconds)

    def stream(self, method: str, request: Any) -> Iterator[Any]:
        """The answers to `request` for as long as they come."""
        with self._reporting():
            yield from getattr(self._stub, method)(request)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except grpc.RpcError as error:
            code, details = error.code(), " ".join((error.details() or "").split())
            raise Refusal(_sentence(self._connection, code, details), code) from error


@contextmanager
def connect(connection: Connection) -> Iterator[Admin]:
    """The service behind `connection`; CtlError when the address or TLS files are no good."""
    try:
        channel = open_channel(connection.server, connection.tls)
    except ValueError as error:
        raise CtlError(str(error)) from error
    with channel:
        yield Admin(connection, channel)


def _sentence(connection: Connection, code: grpc.StatusCode, details: str) -> str:
    if code is grpc.StatusCode.UNAVAILABLE:
        return f"the service at {connection.server} is not available: {details}"
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        seconds = connection.deadline_seconds
        return f"no answer from {connection.server} within {seconds:g} s; give a longer --deadline"
    return f"{details or 'the call failed'} ({code.name})"
