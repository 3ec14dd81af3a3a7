"""What callers send, checked in full and turned into the core's types.

Every function either answers with something valid or raises `InvalidRequest` with one
sentence.
"""

import re

from google.protobuf.message import Message

from dspark.control.v1 import admin_pb2, artifacts_pb2, worker_pb2
from dspark_control.codec import (
    has_unknown_fields,
    identity_from_proto,
    kind_from_proto,
    policy_from_proto,
    sps_from_proto,
    sts_from_proto,
)
from dspark_control.core import (
    ArtifactKind,
    Binding,
    Content,
    DeploymentIdentity,
    SchedulingPolicy,
    StsTable,
    identity_fault,
    kind_of,
    policy_fault,
    sps_fault,
    sts_fault,
)
from dspark_control.core.names import (
    MAX_AUTHOR,
    MAX_ID,
    MAX_REASON,
    labels_fault,
    name_fault,
    text_fault,
)
from dspark_control.store import Draft, WriteContext

MAX_PAGE = 1000
DEFAULT_PAGE = 100

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")


class InvalidRequest(ValueError):
    """What was sent cannot be used; the text says which field, value and remedy."""


def refuse_unknown(request: Message) -> None:
    """InvalidRequest when the request carries a field that this version does not know."""
    if has_unknown_fields(request):
        raise InvalidRequest(
            "the request has fields that this service does not know; upgrade the service or "
            "leave them out"
        )


def write_context(message: admin_pb2.WriteContext, trace_id: str) -> WriteContext:
    """Who writes and why."""
    _check(text_fault("author", message.author, MAX_AUTHOR))
    _check(text_fault("reason", message.reason, MAX_REASON))
    return WriteContext(message.author, message.reason, message.expected_revision, trace_id)


def draft(message: artifacts_pb2.Artifact) -> Draft:
    """The artifact to store."""
    _check(name_fault("name", message.name))
    content = _content(message)
    if kind_of(content) is not artifact_kind(message.kind):
        held = message.WhichOneof("content")
        raise InvalidRequest(f"kind does not agree with the content, which is a {held}")
    return Draft(message.name, content, _measured_on(message))


def binding(message: admin_pb2.Binding) -> Binding:
    """The binding to write, its digests still refs."""
    _check(name_fault("binding.name", message.name))
    _check(labels_fault("binding.selector", message.selector))
    if not message.policy_digest:
        raise InvalidRequest("binding.policy_digest is empty; give a policy (name or digest)")
    return Binding(
        name=message.name,
        selector=dict(message.selector),
        policy_digest=message.policy_digest,
        sts_digest=message.sts_digest,
        sps_digest=message.sps_digest,
    )


def binding_name(name: str) -> str:
    """The name of a binding."""
    _check(name_fault("name", name))
    return name


def artifact_kind(value: int) -> ArtifactKind:
    """The kind that is named."""
    try:
        return kind_from_proto(value)
    except ValueError as error:
        raise InvalidRequest(str(error)) from error


def artifact_ref(ref: str) -> str:
    """A digest, digest prefix or name."""
    if not ref:
        raise InvalidRequest("ref is empty; give a name, a digest or a digest prefix")
    return ref


def page_size(size: int) -> int:
    """How many items a page holds."""
    if size > MAX_PAGE:
        raise InvalidRequest(f"page_size is {size}, but may be at most {MAX_PAGE}")
    return size or DEFAULT_PAGE


def hello_fault(hello: worker_pb2.WorkerHello) -> str | None:
    """Why a worker cannot be registered, or None."""
    return (
        text_fault("hello.worker_id", hello.worker_id, MAX_ID)
        or text_fault("hello.incarnation", hello.incarnation, MAX_ID)
        or labels_fault("hello.labels", hello.labels)
        or identity_fault(identity_from_proto(hello.identity))
    )


def trace_id_of(traceparent: str) -> str:
    """The trace id of a W3C `traceparent` header, empty when there is none."""
    match = _TRACEPARENT.fullmatch(traceparent)
    return match[1] if match and match[1].strip("0") else ""


def _content(message: artifacts_pb2.Artifact) -> Content:
    try:
        content = _decode(message)
    except ValueError as error:
        raise InvalidRequest(str(error)) from error
    if isinstance(content, SchedulingPolicy):
        _check(policy_fault(content))
    elif isinstance(content, StsTable):
        _check(sts_fault(content))
    else:
        _check(sps_fault(content))
    return content


def _decode(message: artifacts_pb2.Artifact) -> Content:
    held = message.WhichOneof("content")
    if held == "policy":
        return policy_from_proto(message.policy)
    if held == "sts":
        return sts_from_proto(message.sts)
    if held == "sps":
        return sps_from_proto(message.sps)
    raise InvalidRequest("artifact.content is not set; set policy, sts or sps")


def _measured_on(message: artifacts_pb2.Artifact) -> DeploymentIdentity | None:
    identity = identity_from_proto(message.measured_on)
    if fault := identity_fault(identity):
        raise InvalidRequest(f"measured_on.{fault}")
    if identity == DeploymentIdentity():  # says nothing, so it matches every worker
        return None
    if message.WhichOneof("content") == "policy":
        raise InvalidRequest("measured_on is set, but a policy is not measured; leave it out")
    return identity


def _check(fault: str | None) -> None:
    if fault is not None:
        raise InvalidRequest(fault)
