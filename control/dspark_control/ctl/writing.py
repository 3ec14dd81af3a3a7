"""The writes: storing an artifact, pointing a binding at it, and both together."""

from collections.abc import Callable
from typing import NamedTuple

import grpc

from dspark.control.v1 import admin_pb2, artifacts_pb2
from dspark_control.codec import kind_from_proto
from dspark_control.core import ArtifactKind
from dspark_control.ctl.connection import Admin, Refusal
from dspark_control.ctl.errors import CtlError
from dspark_control.ctl.loading import Who
from dspark_control.ctl.precheck import check_workers

ATTEMPTS = 5
"""How often a read-modify-write of a binding is repeated when others write in between."""

Edit = Callable[[admin_pb2.Binding], None]


class Applied(NamedTuple):
    """What `apply` did."""

    artifact: artifacts_pb2.Artifact
    is_new: bool
    binding: admin_pb2.Binding | None


def apply(admin: Admin, who: Who, artifact: artifacts_pb2.Artifact, bind: str | None) -> Applied:
    """Store `artifact` and, with `bind`, point that binding at it in a second write."""
    if bind is not None:
        bindings = list_bindings(admin)
        target = _edited(bindings, bind, _pointer(artifact, artifact.name))
        check_workers(admin, target, artifact, list(bindings.bindings))
    request = admin_pb2.PutArtifactRequest(context=who.context(), artifact=artifact)
    response = admin.call("PutArtifact", request)
    stored, is_new = response.artifact, response.created
    if bind is None:
        return Applied(stored, is_new, None)
    follow_up = who
    if who.expected_revision and is_new:
        follow_up = who._replace(expected_revision=stored.revision)
    try:
        binding = edit_binding(admin, follow_up, bind, _pointer(stored, stored.digest))
    except CtlError as error:
        raise CtlError(f"stored as {stored.digest[:19]}, but not bound: {error}") from error
    return Applied(stored, is_new, binding)


def edit_binding(admin: Admin, who: Who, name: str, edit: Edit) -> admin_pb2.Binding:
    """Change one binding (or create it), leaving what `edit` does not touch as it is."""
    for attempt in range(ATTEMPTS):
        bindings = list_bindings(admin)
        binding = _edited(bindings, name, edit)
        context = who.context(who.expected_revision or bindings.revision)
        request = admin_pb2.PutBindingRequest(context=context, binding=binding)
        try:
            stored: admin_pb2.Binding = admin.call("PutBinding", request).binding
            return stored
        except Refusal as refusal:
            is_conflict = refusal.code is grpc.StatusCode.ABORTED
            if not is_conflict or who.expected_revision or attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def list_bindings(admin: Admin) -> admin_pb2.ListBindingsResponse:
    """All bindings and the revision at which they were read."""
    response: admin_pb2.ListBindingsResponse = admin.call(
        "ListBindings", admin_pb2.ListBindingsRequest()
    )
    return response


def _pointer(artifact: artifacts_pb2.Artifact, ref: str) -> Edit:
    kind: ArtifactKind = kind_from_proto(artifact.kind)

    def edit(binding: admin_pb2.Binding) -> None:
        setattr(binding, f"{kind.value}_digest", ref)

    return edit


def _edited(bindings: admin_pb2.ListBindingsResponse, name: str, edit: Edit) -> admin_pb2.Binding:
    binding = admin_pb2.Binding(name=name)
    for existing in bindings.bindings:
        if existing.name == name:
            binding.CopyFrom(existing)
    binding.revision = 0  # the service sets it
    edit(binding)
    if not binding.policy_digest:
        raise CtlError(f"binding {name!r} does not exist yet; bind a policy to it first")
    return binding
