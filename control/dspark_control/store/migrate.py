"""Brings a database to the schema of this version, once, however many services start."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Engine, text

from dspark_control.store.database import writing
from dspark_control.store.errors import StoreCorrupt

_LOCK_KEY = 0x44535041524B
"""Advisory lock of PostgreSQL; on SQLite the write transaction itself is the lock."""


def migrate(engine: Engine) -> None:
    """Run the pending migrations in one transaction.

    StoreCorrupt when the database was written by a newer version.
    """
    with writing(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
        config = Config()
        config.set_main_option("script_location", _script_location())
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise StoreCorrupt(
                f"the database has a schema that this version does not know ({error}); "
                f"start the version that wrote it, or a newer one"
            ) from error


def _script_location() -> str:
    return str(Path(__file__).parent / "migrations").replace("%", "%%")
