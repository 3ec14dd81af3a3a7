"""`dsparkctl`: the command line of operators.

Exit codes: 0 done, 1 refused or failed (one line on stderr), 2 wrong usage.
"""

# ruff: noqa: PLR0913, PLR0917 - each parameter of a command is one of its options

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from dspark_control.client import TlsFiles
from dspark_control.ctl.apply import policy_app, sps_app, sts_app
from dspark_control.ctl.bind import bind_command, unbind_command
from dspark_control.ctl.connection import Connection
from dspark_control.ctl.errors import CtlError
from dspark_control.ctl.get import get_app
from dspark_control.ctl.options import TopLevel
from dspark_control.ctl.output import Format, clean
from dspark_control.ctl.reading import history_command, watch_command, workers_command
from dspark_control.files import FileFault

TOP_LEVEL_OPTIONS = (
    "--server",
    "--tls-ca",
    "--tls-cert",
    "--tls-key",
    "--tls-server-name",
    "--deadline",
    "--output",
    "-o",
)
"""Options of `dsparkctl` itself; each takes a value and may also stand after the command."""

app = typer.Typer(
    name="dsparkctl",
    help="Store DSpark policies and tables, bind them to workers, and see what runs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(policy_app, name="policy")
app.add_typer(sts_app, name="sts")
app.add_typer(sps_app, name="sps")
app.add_typer(get_app, name="get")
app.command("bind")(bind_command)
app.command("unbind")(unbind_command)
app.command("history")(history_command)
app.command("workers")(workers_command)
app.command("watch")(watch_command)


@app.callback()
def top_level_options(
    context: typer.Context,
    server: Annotated[
        str, typer.Option(envvar="DSPARKCTL_SERVER", help="host:port of the service.")
    ] = "127.0.0.1:7400",
    output: Annotated[Format, typer.Option("--output", "-o", help="Form.")] = Format.TABLE,
    deadline: Annotated[float, typer.Option(min=0.1, help="Seconds a call may take.")] = 10.0,
    tls_ca: Annotated[Path | None, typer.Option(help="PEM CA of the service.")] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="PEM certificate to show.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM key of that certificate.")] = None,
    tls_server_name: Annotated[str, typer.Option(help="Name in its certificate.")] = "",
) -> None:
    """Store DSpark policies and tables, bind them to workers, and see what runs."""
    if tls_ca is None and (tls_cert or tls_key or tls_server_name):
        raise CtlError("TLS needs --tls-ca, the CA that signed the service's certificate")
    tls = TlsFiles(tls_ca, tls_cert, tls_key, tls_server_name) if tls_ca else None
    context.obj = TopLevel(Connection(server, tls, deadline), output)


def main() -> None:
    """Run the command line and exit."""
    try:
        app(args=hoist(sys.argv[1:]), prog_name="dsparkctl")
    except (CtlError, FileFault) as error:
        print(f"dsparkctl: {clean(str(error))}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # the reader of our output left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def hoist(arguments: Sequence[str]) -> list[str]:
    """The arguments with the top-level options moved to the front, where they belong."""
    front: list[str] = []
    rest: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        if argument == "--":
            rest.extend((argument, *remaining))
        elif argument in TOP_LEVEL_OPTIONS:
            front.extend((argument, *_take(remaining)))
        elif argument.partition("=")[0] in TOP_LEVEL_OPTIONS and "=" in argument:
            front.append(argument)
        else:
            rest.append(argument)
    return [*front, *rest]


def _take(arguments: Iterator[str]) -> list[str]:
    value = next(arguments, None)
    return [] if value is None else [value]


if __name__ == "__main__":
    main()
