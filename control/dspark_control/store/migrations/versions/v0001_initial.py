"""Revisions, artifacts, their versions, and bindings."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

IMMUTABLE = ("revisions", "artifacts", "versions")


def upgrade() -> None:
    """Create the tables, the head row and the guards against changes of history."""
    _create_log()
    _create_artifacts()
    _create_bindings()
    op.execute("INSERT INTO head (id, revision, hash) VALUES (1, 0, '')")
    guard = _guard_sqlite if op.get_bind().dialect.name == "sqlite" else _guard_postgresql
    guard()


def downgrade() -> None:
    """Drop everything, history included."""
    for table in ("bindings", "versions", "artifacts", "revisions", "head"):
        op.drop_table(table)


def _create_log() -> None:
    op.create_table(
        "head",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.CheckConstraint("id = 1", name="ck_head_single"),
    )
    op.create_table(
        "revisions",
        sa.Column("revision", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.Column("at_us", sa.BigInteger, nullable=False),
        sa.Column("detail_json", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
    )


def _create_artifacts() -> None:
    op.create_table(
        "artifacts",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("content_json", sa.Text, nullable=False),
        sa.Column("measured_on_json", sa.Text, nullable=False),
    )
    op.create_table(
        "versions",
        sa.Column(
            "revision",
            sa.BigInteger,
            sa.ForeignKey("revisions.revision"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, sa.ForeignKey("artifacts.digest"), nullable=False),
    )
    op.create_index("ix_versions_kind_name", "versions", ["kind", "name", "revision"])
    op.create_index("ix_versions_digest", "versions", ["digest"])


def _create_bindings() -> None:
    op.create_table(
        "bindings",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("selector_json", sa.Text, nullable=False),
        sa.Column("policy_digest", sa.Text, nullable=False),
        sa.Column("sts_digest", sa.Text, nullable=False),
        sa.Column("sps_digest", sa.Text, nullable=False),
        sa.Column("revision", sa.BigInteger, sa.ForeignKey("revisions.revision"), nullable=False),
    )


def _guard_sqlite() -> None:
    for table in IMMUTABLE:
        for event in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{event.lower()} BEFORE {event} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
            )


def _guard_postgresql() -> None:
    op.execute(
        "CREATE FUNCTION dspark_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$"
    )
    for table in IMMUTABLE:
        op.execute(
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
            f"FOR EACH ROW EXECUTE FUNCTION dspark_append_only()"
        )
