"""`dsparkctl policy|sts|sps apply FILE`: validate a file and store it."""

# ruff: noqa: PLR0913, PLR0917 - each parameter of a command is one of its options

from pathlib import Path
from typing import Annotated

import typer

from dspark_control.core import ArtifactKind
from dspark_control.ctl.connection import connect
from dspark_control.ctl.loading import (
    artifact_message,
    artifact_name,
    load_content,
    measured_identity,
)
from dspark_control.ctl.options import (
    Author,
    Bind,
    Expect,
    MeasuredOn,
    MeasuredOnWorker,
    Name,
    Reason,
    TopLevel,
    top_level,
    who_writes,
)
from dspark_control.ctl.output import Format, print_document, print_table
from dspark_control.ctl.plain import to_plain
from dspark_control.ctl.rows import (
    ARTIFACT_COLUMNS,
    BINDING_COLUMNS,
    artifact_row,
    binding_row,
)
from dspark_control.ctl.writing import Applied, apply

policy_app = typer.Typer(help="Scheduling policies (YAML).", no_args_is_help=True)
sts_app = typer.Typer(help="STS tables (SGLang's JSON).", no_args_is_help=True)
sps_app = typer.Typer(help="SPS tables (SGLang's JSON).", no_args_is_help=True)

File = Annotated[Path, typer.Argument(help="The file to store.")]


@policy_app.command("apply")
def apply_policy(
    context: typer.Context,
    file: File,
    name: Name = None,
    bind: Bind = None,
    author: Author = None,
    reason: Reason = None,
    expect: Expect = 0,
) -> None:
    """Validate a policy file and store it; --bind also points a binding at it."""
    who = who_writes(author, reason, expect)
    top = top_level(context)
    content = load_content(ArtifactKind.POLICY, file)
    message = artifact_message(artifact_name(name, file), content, None)
    with connect(top.connection) as admin:
        _print(top, apply(admin, who, message, bind))


def _add_apply_table(app: typer.Typer, kind: ArtifactKind, title: str) -> None:
    """Give `app` the command that stores a table of `kind`."""
    help_text = f"Validate an {title} and store it; --bind also points a binding at it."

    @app.command("apply", help=help_text)
    def apply_table(
        context: typer.Context,
        file: File,
        name: Name = None,
        measured_on: MeasuredOn = None,
        measured_on_worker: MeasuredOnWorker = None,
        bind: Bind = None,
        author: Author = None,
        reason: Reason = None,
        expect: Expect = 0,
    ) -> None:
        who = who_writes(author, reason, expect)
        top = top_level(context)
        content = load_content(kind, file)
        chosen = artifact_name(name, file)
        with connect(top.connection) as admin:
            identity = measured_identity(admin, measured_on, measured_on_worker)
            message = artifact_message(chosen, content, identity)
            _print(top, apply(admin, who, message, bind))


_add_apply_table(sts_app, ArtifactKind.STS, "STS table")
_add_apply_table(sps_app, ArtifactKind.SPS, "SPS table")


def _print(top: TopLevel, applied: Applied) -> None:
    if top.form is not Format.TABLE:
        document = {"artifact": to_plain(applied.artifact), "created": applied.is_new}
        if applied.binding is not None:
            document["binding"] = to_plain(applied.binding)
        print_document(document, top.form)
        return
    row = (*artifact_row(applied.artifact), "yes" if applied.is_new else "no, it was there")
    print_table((*ARTIFACT_COLUMNS, "NEW"), [row])
    if applied.binding is not None:
        print_table(BINDING_COLUMNS, [binding_row(applied.binding)])
