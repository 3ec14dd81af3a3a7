"""Bindings in force, and every change that was ever made to them."""

import json
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from dspark_control.core import Binding
from dspark_control.store.errors import NotFound
from dspark_control.store.ledger import Head, append, to_entry
from dspark_control.store.records import Action, BindingChange, Entry, WriteContext
from dspark_control.store.schema import bindings, revisions

PUT = "binding.put"
DELETE = "binding.delete"


def put(connection: Connection, current: Head, context: WriteContext, binding: Binding) -> Binding:
    """Create or replace `binding`, whose digests are full; answers with its revision."""
    before = get(connection, binding.name)
    detail = {"before": _plain(before), "after": _plain(binding)}
    entry = append(connection, current, context, Action(PUT, binding.name, detail))
    stored = replace(binding, revision=entry.revision)
    connection.execute(delete(bindings).where(bindings.c.name == binding.name))
    connection.execute(insert(bindings).values(_row(stored)))
    return stored


def remove(connection: Connection, current: Head, context: WriteContext, name: str) -> int:
    """Remove the binding; its revision, or NotFound."""
    before = get(connection, name)
    if before is None:
        raise NotFound(f"no binding is called {name!r}; see `dsparkctl get bindings`")
    detail = {"before": _plain(before), "after": None}
    entry = append(connection, current, context, Action(DELETE, name, detail))
    connection.execute(delete(bindings).where(bindings.c.name == name))
    return entry.revision


def get(connection: Connection, name: str) -> Binding | None:
    """The binding called `name`."""
    row = connection.execute(select(bindings).where(bindings.c.name == name)).first()
    return _to_binding(row) if row is not None else None


def list_all(connection: Connection) -> tuple[Binding, ...]:
    """All bindings by name."""
    rows = connection.execute(select(bindings).order_by(bindings.c.name))
    return tuple(_to_binding(row) for row in rows)


def read_changes(connection: Connection, after: int) -> tuple[BindingChange, ...]:
    """What the revisions above `after` did to bindings, oldest first."""
    query = select(revisions).where(
        revisions.c.revision > after, revisions.c.action.in_((PUT, DELETE))
    )
    rows = connection.execute(query.order_by(revisions.c.revision))
    return tuple(to_change(to_entry(row)) for row in rows)


def to_change(entry: Entry) -> BindingChange:
    """The change that a binding entry of the audit log describes."""
    detail = json.loads(entry.detail_json)
    before, after = detail["before"], detail["after"]
    return BindingChange(
        entry.revision,
        entry.subject,
        Binding(**before) if before else None,
        Binding(**{**after, "revision": entry.revision}) if after else None,
    )


def _plain(binding: Binding | None) -> dict[str, object] | None:
    return {**vars(binding), "selector": dict(binding.selector)} if binding else None


def _row(binding: Binding) -> dict[str, object]:
    values = dict(vars(binding))
    selector = values.pop("selector")
    return {**values, "selector_json": json.dumps(dict(selector), sort_keys=True)}


def _to_binding(row: Row[Any]) -> Binding:
    values = dict(row._mapping)
    return Binding(selector=json.loads(values.pop("selector_json")), **values)
