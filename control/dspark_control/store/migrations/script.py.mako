"""${message}"""

from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Apply."""
    ${upgrades if upgrades else "raise NotImplementedError"}


def downgrade() -> None:
    """Revert."""
    ${downgrades if downgrades else "raise NotImplementedError"}
