"""Alembic's script location; shipped in the package and run at start."""
