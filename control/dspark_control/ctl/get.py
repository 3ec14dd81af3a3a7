"""`dsparkctl get`: artifacts and bindings."""

import sys
from typing import Annotated

import typer

from dspark.control.v1 import admin_pb2, artifacts_pb2
from dspark_control.codec import kind_to_proto, policy_from_proto, sps_from_proto, sts_from_proto
from dspark_control.core import ArtifactKind
from dspark_control.ctl.connection import Admin, connect
from dspark_control.ctl.errors import CtlError
from dspark_control.ctl.options import TopLevel, top_level
from dspark_control.ctl.output import Format, print_document, print_table
from dspark_control.ctl.plain import to_plain
from dspark_control.ctl.rows import (
    ARTIFACT_COLUMNS,
    BINDING_COLUMNS,
    artifact_row,
    binding_row,
)
from dspark_control.ctl.writing import list_bindings
from dspark_control.files import dump_policy, dump_sps, dump_sts

get_app = typer.Typer(help="Show artifacts and bindings.", no_args_is_help=True)

Ref = Annotated[
    str | None, typer.Argument(help="Name, digest or digest prefix; without it, list all.")
]
Raw = Annotated[bool, typer.Option("--raw", help="Print the file itself, as `apply` takes it.")]


@get_app.command("policy")
def get_policy(context: typer.Context, ref: Ref = None, raw: Raw = False) -> None:
    """Show a policy, or list them."""
    _get(top_level(context), ArtifactKind.POLICY, ref, raw)


@get_app.command("sts")
def get_sts(context: typer.Context, ref: Ref = None, raw: Raw = False) -> None:
    """Show an STS table, or list them."""
    _get(top_level(context), ArtifactKind.STS, ref, raw)


@get_app.command("sps")
def get_sps(context: typer.Context, ref: Ref = None, raw: Raw = False) -> None:
    """Show an SPS table, or list them."""
    _get(top_level(context), ArtifactKind.SPS, ref, raw)


@get_app.command("bindings")
def get_bindings(context: typer.Context) -> None:
    """List the bindings."""
    top = top_level(context)
    with connect(top.connection) as admin:
        response = list_bindings(admin)
    if top.form is Format.TABLE:
        print_table(BINDING_COLUMNS, [binding_row(b) for b in response.bindings])
    else:
        print_document(to_plain(response), top.form)


def _get(top: TopLevel, kind: ArtifactKind, ref: str | None, raw: bool) -> None:
    with connect(top.connection) as admin:
        if ref is None:
            _print_all(top, kind, admin)
            return
        request = admin_pb2.GetArtifactRequest(kind=kind_to_proto(kind), ref=ref)
        artifact = admin.call("GetArtifact", request).artifact
    if raw:
        sys.stdout.write(_file_text(kind, artifact))
    elif top.form is Format.TABLE:
        print_table(ARTIFACT_COLUMNS, [artifact_row(artifact)])
        sys.stdout.write(_file_text(kind, artifact))
    else:
        print_document({"artifact": to_plain(artifact)}, top.form)


def _print_all(top: TopLevel, kind: ArtifactKind, admin: Admin) -> None:
    if top.form is Format.JSON or top.form is Format.YAML:
        print_document({"artifacts": [to_plain(a) for a in _all(kind, admin)]}, top.form)
    else:
        print_table(ARTIFACT_COLUMNS, [artifact_row(a) for a in _all(kind, admin)])


def _all(kind: ArtifactKind, admin: Admin) -> list[artifacts_pb2.Artifact]:
    found: list[artifacts_pb2.Artifact] = []
    while True:
        before = found[-1].revision if found else 0
        request = admin_pb2.ListArtifactsRequest(kind=kind_to_proto(kind), before_revision=before)
        page = admin.call("ListArtifacts", request).artifacts
        if not page:
            return found
        found.extend(page)


def _file_text(kind: ArtifactKind, artifact: artifacts_pb2.Artifact) -> str:
    if artifact.WhichOneof("content") != kind.value:
        raise CtlError(f"the service answered with something that is no {kind.value}")
    if kind is ArtifactKind.POLICY:
        return dump_policy(policy_from_proto(artifact.policy)).decode()
    if kind is ArtifactKind.STS:
        return dump_sts(sts_from_proto(artifact.sts)).decode() + "\n"
    return dump_sps(sps_from_proto(artifact.sps)).decode() + "\n"
