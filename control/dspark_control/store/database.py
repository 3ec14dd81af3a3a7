"""Engines and transactions: one way to write, one way to read, on SQLite and PostgreSQL.

SQLite runs in WAL mode with `synchronous=FULL`, so that a commit that was answered
survives a crash, and a write starts with BEGIN IMMEDIATE, so that it never fails half-way
on a lock that it could have waited for.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from dspark_control.store.errors import StoreUnavailable

BUSY_SECONDS = 5.0
"""How long a SQLite connection waits for another writer."""

WAL_RETRY_SECONDS = 0.01
"""Between two tries to enter WAL mode."""

_WRITE = "dspark_write"


def open_engine(url: str) -> Engine:
    """The engine for `url`; ValueError for a URL that cannot work."""
    parsed = _parse(url)
    if parsed.get_backend_name() == "sqlite":
        return _open_sqlite(parsed)
    if parsed.get_backend_name() == "postgresql":
        return create_engine(parsed, pool_pre_ping=True)
    raise ValueError(
        f"database is {_safe(parsed)}, but must be a sqlite:/// or postgresql+psycopg:// URL"
    )


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that commits at the end; SQLite locks the database from the start."""
    with _reporting(), engine.connect() as connection:
        connection.execution_options(**{_WRITE: True})
        with connection.begin():
            yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that sees one state of the database."""
    with _reporting(), engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            connection.execution_options(isolation_level="REPEATABLE READ")
        with connection.begin():
            yield connection


@contextmanager
def _reporting() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        cause = " ".join(str(error.orig).split())
        raise StoreUnavailable(
            f"the database does not work now ({cause}); nothing was written, try again later"
        ) from error


def _parse(url: str) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, NoSuchModuleError) as error:
        raise ValueError(
            "database is no URL (not shown, it may hold a password); give one such as "
            "sqlite:////var/lib/dspark/control.db"
        ) from error


def _safe(url: URL) -> str:
    return url.render_as_string(hide_password=True)


def _open_sqlite(url: URL) -> Engine:
    if not url.database or url.database == ":memory:":
        raise ValueError("database has no file; use sqlite:////absolute/path or sqlite:///relative")
    Path(url.database).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS})
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver must not begin transactions by itself
    _enter_wal(connection)
    for pragma in ("synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _enter_wal(connection: Any) -> None:
    """SQLite does not wait by itself where several connections enter WAL mode at once."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
            return
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > deadline:
                raise
        time.sleep(WAL_RETRY_SECONDS)


def _begin_sqlite(connection: Connection) -> None:
    is_write = connection.get_execution_options().get(_WRITE, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_write else "BEGIN")
