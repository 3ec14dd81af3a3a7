"""One real SGLang server under one real control service, shared by the tests of this folder."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from dspark_sglang.demo.admin import VERIFIES_ALL, Admin, admin
from dspark_sglang.demo.client import Chat
from dspark_sglang.demo.model import Models, prepared_models
from dspark_sglang.demo.otlp import Receiver, Span, receiver
from dspark_sglang.demo.processes import free_port
from dspark_sglang.demo.prompts import load_prompts
from dspark_sglang.demo.servers import Control, Engine, EngineOptions, control_service, engine

WORKER_ID = "e2e"
APPLY_LIMIT_S = 10.0


class Fleet:
    """A server of ours with its control service, which tests may kill and start again."""

    def __init__(self, server: Engine, folder: Path, port: int, spans: Receiver) -> None:
        self.url = server.url
        self.spans = spans
        self._folder = folder
        self._port = port
        self._stack = ExitStack()
        self.start_service()

    def start_service(self) -> None:
        self.control: Control = self._stack.enter_context(control_service(self._folder, self._port))
        self.control.wait_ready(print)
        self.admin: Admin = self._stack.enter_context(admin(self.control.endpoint))

    def kill_service(self) -> None:
        self.control.child.stop(grace_s=0)

    def apply(self, schedule, reason="test") -> int:
        """Writes a schedule and waits until the worker runs it; the revision that it runs.

        A schedule that runs already is not sent again.
        """
        revision = self.admin.bind(schedule, reason)
        return self.admin.wait_applied(WORKER_ID, revision, APPLY_LIMIT_S)

    def trace(self, trace_id: str, limit_s: float) -> list[Span]:
        """The spans of a finished request, once its root span is there."""

        def mine(spans) -> list[Span]:
            return [span for span in spans if span.trace_id == trace_id]

        def is_complete(spans) -> bool:
            names = [span.name.strip() for span in mine(spans)]
            return "dspark.decode" in names and any(name.startswith("Req") for name in names)

        assert self.spans.wait_for(is_complete, limit_s), mine(self.spans.spans())
        return mine(self.spans.spans())

    def close(self) -> None:
        self._stack.close()


class Setting(NamedTuple):
    models: Models
    texts: list[str]


@pytest.fixture(scope="session")
def setting() -> Setting:
    models = prepared_models()
    chat = Chat(models.target)
    return Setting(models, [chat.render(each.text) for each in load_prompts()])


@pytest.fixture(scope="package")
def fleet(setting, tmp_path_factory) -> Iterator[Fleet]:
    folder, port = tmp_path_factory.mktemp("fleet"), free_port()
    with receiver() as spans:
        options = EngineOptions(
            name="fleet",
            models=setting.models,
            control_endpoint=f"127.0.0.1:{port}",
            worker_id=WORKER_ID,
            trace_endpoint=spans.endpoint,
        )
        with engine(options, folder) as server:
            server.wait_ready(print)  # without the service, which must not be needed
            running = Fleet(server, folder, port, spans)
            try:
                running.apply(VERIFIES_ALL)
                yield running
            finally:
                running.close()
