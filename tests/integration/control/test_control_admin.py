"""AdminService over real sockets: validation, statuses, pages, events, trace ids."""

import queue
import threading
from pathlib import Path
from typing import Any

import grpc
import pytest
from control_helpers import (
    SECONDS,
    Service,
    context,
    hello,
    put_request,
    service_here,
    until,
    worker,
)
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from dspark.control.v1 import admin_pb2, artifacts_pb2
from dspark_control.codec import policy_from_proto
from dspark_control.core import (
    VERIFY_ALL,
    Capabilities,
    DeploymentIdentity,
    SchedulingPolicy,
    SpsStepTable,
    StsTable,
)

STEEP = SchedulingPolicy(min_predicted_gain=0.5)
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
UNKNOWN = b"\xa2\x3f\x03abc"


def refusal(call: Any, request: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call(request, timeout=SECONDS)
    assert "\n" not in caught.value.details()
    return caught.value.code(), caught.value.details()


def changed(request: Any, path: str, value: object) -> Any:
    """`request` with the field at `path` set."""
    *parents, name = path.split(".")
    target = request
    for parent in parents:
        target = getattr(target, parent)
    setattr(target, name, value)
    return request


def test_an_artifact_comes_back_by_name_and_digest(service: Service) -> None:
    put = service.put("steep", STEEP)
    assert put.created
    assert put.artifact.revision == 1
    for ref in ("steep", put.artifact.digest, put.artifact.digest[:12]):
        request = admin_pb2.GetArtifactRequest(kind=artifacts_pb2.ARTIFACT_KIND_POLICY, ref=ref)
        artifact = service.admin.GetArtifact(request, timeout=SECONDS).artifact
        assert artifact == put.artifact
        assert policy_from_proto(artifact.policy) == STEEP
    assert not service.put("steep", STEEP).created
    assert service.revision() == 1


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("artifact.name", "", "name is ''"),
        ("artifact.name", "Bad Name", "name is 'Bad Name'"),
        ("artifact.kind", 0, "kind is not set"),
        ("artifact.kind", 9, "kind is 9"),
        ("artifact.kind", artifacts_pb2.ARTIFACT_KIND_STS, "does not agree"),
        ("artifact.policy.mode", 0, "mode is not set"),
        ("artifact.policy.search", 77, "search is 77"),
        ("artifact.policy.min_verify_length", 0, "min_verify_length is 0"),
        ("artifact.policy.survival_floor", float("nan"), "survival_floor is nan"),
        ("artifact.policy.min_predicted_gain", float("inf"), "min_predicted_gain is inf"),
        ("artifact.measured_on.gpu", "H200", "a policy is not measured"),
        ("context.author", "", "author is ''"),
        ("context.author", "x" * 101, "author is 'xxx"),
        ("context.author", "a\x1b[31m", "author is"),
        ("context.reason", " ", "reason is ' '"),
        ("context.reason", "x" * 501, "reason is 'xxx"),
    ],
)
def test_bad_policies_are_refused(
    service: Service, path: str, value: object, expected: str
) -> None:
    request = changed(put_request("p", STEEP), path, value)
    code, message = refusal(service.admin.PutArtifact, request)
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert expected in message
    assert service.revision() == 0


def test_bad_tables_are_refused(service: Service) -> None:
    step = SpsStepTable((1, 2), (2.0, 1.0), 2)
    for content, expected in (
        (StsTable((1.0, -1.0)), "temperatures[1] is -1.0"),
        (StsTable((float("nan"),)), "temperatures[0] is nan"),
        (StsTable(()), "temperatures has 0 values"),
        (SpsStepTable((2, 1), (2.0, 1.0), 2), "strictly increasing"),
    ):
        code, message = refusal(service.admin.PutArtifact, put_request("t", content))
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert expected in message
    request = put_request("t", step, DeploymentIdentity(gamma=65))
    assert "measured_on.gamma is 65" in refusal(service.admin.PutArtifact, request)[1]
    request = put_request("t", step)
    request.artifact.ClearField("sps")
    assert "content is not set" in refusal(service.admin.PutArtifact, request)[1]
    request = put_request("t", step)
    request.artifact.sps.ClearField("step")
    assert "form is not set" in refusal(service.admin.PutArtifact, request)[1]
    assert service.revision() == 0


def test_unknown_fields_are_refused_everywhere(service: Service) -> None:
    request = put_request("p", STEEP)
    request.artifact.policy.MergeFromString(UNKNOWN)
    requests = {
        "PutArtifact": request,
        "GetArtifact": admin_pb2.GetArtifactRequest(kind=1, ref="p"),
        "ListArtifacts": admin_pb2.ListArtifactsRequest(),
        "PutBinding": admin_pb2.PutBindingRequest(context=context()),
        "DeleteBinding": admin_pb2.DeleteBindingRequest(context=context(), name="x"),
        "ListBindings": admin_pb2.ListBindingsRequest(),
        "ListHistory": admin_pb2.ListHistoryRequest(),
        "ListWorkers": admin_pb2.ListWorkersRequest(),
    }
    for name, message in requests.items():
        message.MergeFromString(UNKNOWN)
        code, details = refusal(getattr(service.admin, name), message)
        assert code is grpc.StatusCode.INVALID_ARGUMENT, name
        assert "does not know" in details
    events = admin_pb2.WatchEventsRequest()
    events.MergeFromString(UNKNOWN)
    with pytest.raises(grpc.RpcError, match="does not know"):
        next(service.admin.WatchEvents(events, timeout=SECONDS))
    assert service.revision() == 0


def test_compare_and_swap(service: Service) -> None:
    service.put("p", STEEP)
    request = put_request("p", VERIFY_ALL)
    request.context.expected_revision = 9
    code, message = refusal(service.admin.PutArtifact, request)
    assert code is grpc.StatusCode.ABORTED
    assert "current revision is 1" in message
    assert service.bind("b", "p", expect=1) == 2
    with pytest.raises(grpc.RpcError, match="current revision is 2"):
        service.bind("b", "p", expect=1)


def test_bad_bindings_are_refused(service: Service) -> None:
    service.put("p", STEEP)
    for binding, code, expected in (
        (admin_pb2.Binding(policy_digest="p"), grpc.StatusCode.INVALID_ARGUMENT, "binding.name"),
        (admin_pb2.Binding(name="b"), grpc.StatusCode.INVALID_ARGUMENT, "policy_digest is empty"),
        (
            admin_pb2.Binding(name="b", policy_digest="p", selector={"a b": "c"}),
            grpc.StatusCode.INVALID_ARGUMENT,
            "binding.selector",
        ),
        (
            admin_pb2.Binding(name="b", policy_digest="sha256:1"),
            grpc.StatusCode.INVALID_ARGUMENT,
            "too short",
        ),
        (
            admin_pb2.Binding(name="b", policy_digest="p", sts_digest="none"),
            grpc.StatusCode.NOT_FOUND,
            "no sts artifact",
        ),
    ):
        request = admin_pb2.PutBindingRequest(context=context(), binding=binding)
        status, message = refusal(service.admin.PutBinding, request)
        assert status is code
        assert expected in message
    request = admin_pb2.DeleteBindingRequest(context=context(), name="none")
    assert refusal(service.admin.DeleteBinding, request)[0] is grpc.StatusCode.NOT_FOUND
    assert service.revision() == 1


def test_a_binding_that_a_connected_worker_would_reject_is_refused(service: Service) -> None:
    service.put("steep", STEEP)
    service.put("all", VERIFY_ALL)
    service.put("five", StsTable((1.0,) * 5))
    service.put("b200", SpsStepTable((1,), (1.0,), 1), DeploymentIdentity(gpu="B200"))
    service.bind("special", "all", pool="special")
    static = Capabilities(ragged_verify=False, confidence_head=True, version="")
    with (
        worker(service, hello("able")) as able,
        worker(service, hello("static", capabilities=static, labels={"pool": "static"})) as other,
        worker(service, hello("apart", gamma=5, labels={"pool": "special"})) as apart,
    ):
        for client in (able, other, apart):
            client.apply()
        for expected, arguments in (
            (("'able'", "gamma_mismatch"), {"policy": "steep", "sts": "five"}),
            (("'able'", "identity_mismatch", "gpu"), {"policy": "steep", "sps": "b200"}),
            (("'static'", "unsupported"), {"policy": "steep"}),
        ):
            with pytest.raises(grpc.RpcError) as caught:
                service.bind("default", **arguments)
            assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
            for part in expected:
                assert part in caught.value.details()
        assert service.revision() == 5
        # The kill switch passes, whatever tables stay beside it.
        assert service.bind("default", "all", "five", "b200") == 6
        assert service.bind("special", "all", "five", pool="special") == 7
        able.apply()
    until(lambda: not service.worker("able").connected)
    assert service.bind("default", "steep", "five") == 8  # nobody is there who would reject it


def test_history_pages_and_carries_the_trace(service: Service) -> None:
    metadata = [("traceparent", f"00-{TRACE}-00f067aa0ba902b7-01")]
    service.admin.PutArtifact(put_request("p0", STEEP), timeout=SECONDS, metadata=metadata)
    for number in range(1, 5):
        service.put(f"p{number}", STEEP)
    pages = []
    before = 0
    while True:
        request = admin_pb2.ListHistoryRequest(page_size=2, before_revision=before)
        entries = service.admin.ListHistory(request, timeout=SECONDS).entries
        if not entries:
            break
        pages.append([entry.revision for entry in entries])
        before = entries[-1].revision
        oldest = entries[-1]
    assert pages == [[5, 4], [3, 2], [1]]
    assert (oldest.trace_id, oldest.author, oldest.reason) == (TRACE, "test", "because")
    assert oldest.action == "artifact.put"
    assert len(oldest.hash) == 64
    request = admin_pb2.ListHistoryRequest(page_size=1001)
    assert refusal(service.admin.ListHistory, request)[0] is grpc.StatusCode.INVALID_ARGUMENT


def test_artifact_pages_fit_a_message(service: Service) -> None:
    count = 60_000
    for number in range(5):
        rates = tuple(1.0 + number for _ in range(count))
        service.put(f"t{number}", SpsStepTable(tuple(range(1, count + 1)), rates, count))
    found: list[str] = []
    before = 0
    while True:
        request = admin_pb2.ListArtifactsRequest(kind=3, before_revision=before, page_size=1000)
        page = service.admin.ListArtifacts(request, timeout=SECONDS).artifacts
        if not page:
            break
        found.extend(artifact.name for artifact in page)
        before = page[-1].revision
    assert found == ["t4", "t3", "t2", "t1", "t0"]


def test_events_follow_revisions_and_workers(service: Service) -> None:
    service.put("p", STEEP)
    seen: queue.Queue[Any] = queue.Queue()
    call = service.admin.WatchEvents(admin_pb2.WatchEventsRequest(after_revision=0))
    after = service.admin.WatchEvents(admin_pb2.WatchEventsRequest(after_revision=1))

    def read() -> None:
        try:
            for event in call:
                seen.put(event)
        except grpc.RpcError:
            pass

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    with worker(service, hello()) as client:
        until(lambda: not seen.empty())
        client.apply()
        service.bind("default", "p")
        client.apply()
        until(lambda: service.worker("w1").applied_revision == 2)
    until(lambda: not service.worker("w1").connected)
    entry = next(event.entry for event in after if event.WhichOneof("event") == "entry")
    assert entry.revision == 2
    events = []

    def has_left() -> bool:
        while not seen.empty():
            events.append(seen.get())
        kinds = [e for e in events if e.WhichOneof("event") == "worker"]
        return bool(kinds) and not kinds[-1].worker.connected

    until(has_left)
    entries = [e.entry.revision for e in events if e.WhichOneof("event") == "entry"]
    assert entries == [2]
    applied = {e.worker.applied_revision for e in events if e.WhichOneof("event") == "worker"}
    assert applied == {0, 2}
    call.cancel()
    after.cancel()
    thread.join(SECONDS)


def test_events_end_when_the_service_stops(tmp_path: Path) -> None:
    codes: list[grpc.StatusCode] = []

    def follow(call: Any) -> None:
        try:
            for _ in call:
                pass
        except grpc.RpcError as error:
            codes.append(error.code())

    with service_here(f"sqlite:///{tmp_path / 'x.db'}") as service:
        service.put("p", STEEP)
        call = service.admin.WatchEvents(admin_pb2.WatchEventsRequest(after_revision=0))
        thread = threading.Thread(target=follow, args=(call,))
        thread.start()
        service.bind("b", "p")
    thread.join(SECONDS)
    assert codes == [grpc.StatusCode.UNAVAILABLE]


def test_health_and_reflection(service: Service) -> None:
    stub = health_pb2_grpc.HealthStub(service.channel)
    names = ("dspark.control.v1.AdminService", "dspark.control.v1.WorkerService")
    for name in ("", *names):
        request = health_pb2.HealthCheckRequest(service=name)
        assert stub.Check(request, timeout=SECONDS).status == 1
    reflected = ProtoReflectionDescriptorDatabase(service.channel)
    assert set(names) <= set(reflected.get_services())
