"""The tables, as queries see them; `migrations/` is what creates them."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData, Table, Text

metadata = MetaData()

head = Table(
    "head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("revision", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
)
"""One row (id 1): the newest revision; writers lock it, so revisions have no gaps."""

revisions = Table(
    "revisions",
    metadata,
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("trace_id", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("detail_json", Text, nullable=False),
    Column("hash", Text, nullable=False),
)
"""The audit log; rows are never changed."""

artifacts = Table(
    "artifacts",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("content_json", Text, nullable=False),
    Column("measured_on_json", Text, nullable=False),
)
"""Contents by digest; rows are never changed."""

versions = Table(
    "versions",
    metadata,
    Column(
        "revision",
        BigInteger,
        ForeignKey("revisions.revision"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("digest", Text, ForeignKey("artifacts.digest"), nullable=False),
    Index("ix_versions_kind_name", "kind", "name", "revision"),
    Index("ix_versions_digest", "digest"),
)
"""Which digest a name meant since which revision; rows are never changed."""

bindings = Table(
    "bindings",
    metadata,
    Column("name", Text, primary_key=True),
    Column("selector_json", Text, nullable=False),
    Column("policy_digest", Text, nullable=False),
    Column("sts_digest", Text, nullable=False),
    Column("sps_digest", Text, nullable=False),
    Column("revision", BigInteger, ForeignKey("revisions.revision"), nullable=False),
)
"""The bindings in force; the audit log has all that ever were."""
