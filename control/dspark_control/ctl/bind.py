"""`dsparkctl bind` and `unbind`: which artifacts serve which workers."""

# ruff: noqa: PLR0913, PLR0917 - each parameter of a command is one of its options

from typing import Annotated

import typer

from dspark.control.v1 import admin_pb2
from dspark_control.ctl.connection import connect
from dspark_control.ctl.errors import CtlError
from dspark_control.ctl.loading import parse_selector
from dspark_control.ctl.options import Author, Expect, Reason, top_level, who_writes
from dspark_control.ctl.output import Format, print_document, print_table
from dspark_control.ctl.plain import to_plain
from dspark_control.ctl.rows import BINDING_COLUMNS, binding_row
from dspark_control.ctl.writing import Edit, edit_binding

BindingName = Annotated[str, typer.Argument(help="Name of the binding.")]
Selector = Annotated[
    list[str] | None,
    typer.Option("--selector", help="Label key=value that a worker must have; repeat for more."),
]


def bind_command(
    context: typer.Context,
    name: BindingName,
    selector: Selector = None,
    match_all: Annotated[bool, typer.Option(help="Select every worker again.")] = False,
    policy: Annotated[str, typer.Option(help="Policy: name, digest or digest prefix.")] = "",
    sts: Annotated[str, typer.Option(help="STS table: name, digest or digest prefix.")] = "",
    no_sts: Annotated[bool, typer.Option("--no-sts", help="Identity temperatures.")] = False,
    sps: Annotated[str, typer.Option(help="SPS table: name, digest or digest prefix.")] = "",
    no_sps: Annotated[bool, typer.Option("--no-sps", help="No cost table.")] = False,
    author: Author = None,
    reason: Reason = None,
    expect: Expect = 0,
) -> None:
    """Create or change a binding; what is not given stays as it is."""
    if (sts and no_sts) or (sps and no_sps) or (selector and match_all):
        raise CtlError("give a value or its --no-/--match-all flag, not both")
    labels = {} if match_all else parse_selector(selector) if selector else None
    changes = {
        "policy_digest": policy or None,
        "sts_digest": "" if no_sts else sts or None,
        "sps_digest": "" if no_sps else sps or None,
    }
    top = top_level(context)
    with connect(top.connection) as admin:
        who = who_writes(author, reason, expect)
        binding = edit_binding(admin, who, name, _edit(labels, changes))
    if top.form is Format.TABLE:
        print_table(BINDING_COLUMNS, [binding_row(binding)])
    else:
        print_document({"binding": to_plain(binding)}, top.form)


def unbind_command(
    context: typer.Context,
    name: BindingName,
    author: Author = None,
    reason: Reason = None,
    expect: Expect = 0,
) -> None:
    """Remove a binding; its workers fall to the next match or to verify-all."""
    top = top_level(context)
    who = who_writes(author, reason, expect)
    with connect(top.connection) as admin:
        request = admin_pb2.DeleteBindingRequest(context=who.context(), name=name)
        revision = admin.call("DeleteBinding", request).revision
    if top.form is Format.TABLE:
        print(f"binding {name} removed in revision {revision}")
    else:
        print_document({"name": name, "revision": revision}, top.form)


def _edit(labels: dict[str, str] | None, changes: dict[str, str | None]) -> Edit:
    def edit(binding: admin_pb2.Binding) -> None:
        if labels is not None:
            binding.selector.clear()
            binding.selector.update(labels)
        for field, value in changes.items():
            if value is not None:
                setattr(binding, field, value)

    return edit
