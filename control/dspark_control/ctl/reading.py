"""`dsparkctl history`, `workers` and `watch`: what happened and what runs."""

import json
from contextlib import suppress
from typing import Annotated

import typer
import yaml

from dspark.control.v1 import admin_pb2
from dspark_control.ctl.connection import Admin, connect
from dspark_control.ctl.options import top_level
from dspark_control.ctl.output import Format, clean, print_document, print_table
from dspark_control.ctl.plain import to_plain
from dspark_control.ctl.rows import (
    HISTORY_COLUMNS,
    WORKER_COLUMNS,
    entry_line,
    history_row,
    worker_line,
    worker_row,
)

PAGE = 500


def history_command(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="How many revisions at most.")] = 20,
) -> None:
    """Show the audit log, newest first."""
    top = top_level(context)
    with connect(top.connection) as admin:
        entries = _entries(admin, limit)
    if top.form is Format.TABLE:
        print_table(HISTORY_COLUMNS, [history_row(entry) for entry in entries])
    else:
        print_document({"entries": [to_plain(entry) for entry in entries]}, top.form)


def workers_command(context: typer.Context) -> None:
    """Show the workers and what each runs."""
    top = top_level(context)
    with connect(top.connection) as admin:
        workers = admin.call("ListWorkers", admin_pb2.ListWorkersRequest()).workers
    if top.form is Format.TABLE:
        print_table(WORKER_COLUMNS, [worker_row(worker) for worker in workers])
    else:
        print_document({"workers": [to_plain(worker) for worker in workers]}, top.form)


def watch_command(
    context: typer.Context,
    after: Annotated[int, typer.Option(min=0, help="Start after this revision; 0: now.")] = 0,
) -> None:
    """Print changes as they happen, until interrupted."""
    top = top_level(context)
    request = admin_pb2.WatchEventsRequest(after_revision=after)
    with connect(top.connection) as admin, suppress(KeyboardInterrupt):
        for event in admin.stream("WatchEvents", request):
            print(_event_text(event, top.form), flush=True)


def _entries(admin: Admin, limit: int) -> list[admin_pb2.HistoryEntry]:
    found: list[admin_pb2.HistoryEntry] = []
    while len(found) < limit:
        request = admin_pb2.ListHistoryRequest(
            page_size=min(PAGE, limit - len(found)),
            before_revision=found[-1].revision if found else 0,
        )
        page = admin.call("ListHistory", request).entries
        found.extend(page)
        if not page or found[-1].revision == 1:
            break
    return found


def _event_text(event: admin_pb2.WatchEventsResponse, form: Format) -> str:
    if form is Format.JSON:
        return json.dumps(to_plain(event))
    if form is Format.YAML:
        return "---\n" + yaml.safe_dump(to_plain(event), sort_keys=False).rstrip()
    is_entry = event.WhichOneof("event") == "entry"
    return clean(entry_line(event.entry) if is_entry else worker_line(event.worker))
