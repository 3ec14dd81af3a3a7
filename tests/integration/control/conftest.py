"""Databases and services of the control plane's integration tests."""

import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from control_helpers import Service, service_here

POSTGRES = Path("/usr/lib/postgresql")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A service on SQLite, alone."""
    with service_here(f"sqlite:///{tmp_path / 'control.db'}", heartbeat_seconds=0.3) as running:
        yield running


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URL of a PostgreSQL server made for these tests; skips where none is installed."""
    found = sorted(POSTGRES.glob("*/bin/initdb"))
    if not found:
        pytest.skip("PostgreSQL is not installed")
    owner = _unprivileged_user()
    directory = Path(tempfile.mkdtemp(prefix="dspark-pg-"))
    if owner:
        shutil.chown(directory, owner)
    data = directory / "data"
    run = {"user": owner, "cwd": directory, "stdout": subprocess.DEVNULL}
    try:
        subprocess.run(
            [found[-1], "-D", data, "-U", "dspark", "-A", "trust", "--no-sync"], check=True, **run
        )
        options = f"-k {directory} -c listen_addresses='' -c fsync=off -c shared_buffers=16MB"
        control = found[-1].with_name("pg_ctl")
        command = [control, "-D", data, "-w", "-l", directory / "log", "-o", options]
        subprocess.run([*command, "start"], check=True, **run)
        try:
            yield f"postgresql+psycopg://dspark@/{{}}?host={directory}"
        finally:
            subprocess.run([control, "-D", data, "-m", "immediate", "stop"], check=True, **run)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty database, once on each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.db'}"
    pytest.importorskip("psycopg")
    template = request.getfixturevalue("postgres")
    import psycopg

    name = f"t{uuid.uuid4().hex}"
    host = template.partition("host=")[2]
    with psycopg.connect(host=host, user="dspark", dbname="postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
    return str(template.format(name))


def _unprivileged_user() -> str | None:
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)
