"""Alembic's entry point: runs the versions on the connection that `store.migrate` opened.

The connection is already inside a transaction that holds the migration lock, so several
services may start at once.
"""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
