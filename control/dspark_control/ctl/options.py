"""Options that several commands share, and what the commands get from the top level."""

import getpass
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from dspark_control.core.names import MAX_REASON
from dspark_control.ctl.connection import Connection
from dspark_control.ctl.errors import CtlError
from dspark_control.ctl.loading import Who
from dspark_control.ctl.output import Format, clean

Author = Annotated[
    str | None,
    typer.Option(help="Who writes (default: the user).", envvar="DSPARKCTL_AUTHOR"),
]
Reason = Annotated[str | None, typer.Option(help="Why (default: the command line).")]
Expect = Annotated[
    int, typer.Option(min=0, help="Refuse unless this is the current revision; 0: any.")
]
Name = Annotated[str | None, typer.Option(help="Name to store under (default: the file's).")]
Bind = Annotated[str | None, typer.Option(help="Binding to point at it, in a second write.")]
MeasuredOn = Annotated[
    Path | None, typer.Option(help="YAML file of the deployment it was measured on.")
]
MeasuredOnWorker = Annotated[
    str | None, typer.Option(help="Worker whose deployment it was measured on.")
]


@dataclass(frozen=True)
class TopLevel:
    """What the options before the command say."""

    connection: Connection
    form: Format


def top_level(context: typer.Context) -> TopLevel:
    """The top-level options of this run."""
    found = context.find_object(TopLevel)
    if found is None:
        raise CtlError("the top-level options were not parsed")
    return found


def who_writes(author: str | None, reason: str | None, expect: int) -> Who:
    """The write context, with defaults from the user and the command line."""
    return Who(author or _user(), reason or _command_line(), expect)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        raise CtlError("the user has no name here; give --author") from error


def _command_line() -> str:
    return clean("dsparkctl " + shlex.join(sys.argv[1:]))[:MAX_REASON]
