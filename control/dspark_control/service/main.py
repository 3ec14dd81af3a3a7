"""`dspark-control`: the service as a process."""

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

from dspark_control.service.logs import logging_to_stderr
from dspark_control.service.server import ControlServer
from dspark_control.service.settings import ServiceSettings, parse_settings
from dspark_control.store import Store, StoreCorrupt, StoreError

log = logging.getLogger("dspark_control")


def main() -> None:
    """Run until SIGTERM or SIGINT; exits with 1 and one line when it cannot start."""
    settings = parse_settings()
    os.umask(0o077)  # the database is nobody else's
    try:
        with logging_to_stderr():
            asyncio.run(serve(settings))
    except (OSError, ValueError, StoreError) as error:
        print(f"dspark-control: {error}", file=sys.stderr)
        sys.exit(1)


async def serve(settings: ServiceSettings) -> None:
    """Serve until a signal asks to stop."""
    store = Store(settings.database)
    _check_history(store, settings.accept_broken_audit_chain)
    server = ControlServer(settings, store)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    port = await server.start()
    if settings.port_file is not None:
        _write_port(settings.port_file, port)
    log.info("ready: port %d, revision %d (listen %s)", port, server.revision, settings.listen)
    await stopped.wait()
    log.info("stopping")
    await server.stop()
    log.info("stopped")


def _check_history(store: Store, accept_broken: bool) -> None:
    """StoreCorrupt where the audit log does not fit the database, unless that is accepted."""
    fault = store.verify_chain()
    if fault is None:
        return
    if not accept_broken:
        store.close()
        raise StoreCorrupt(
            f"the audit chain is broken: {fault}. Restore a backup of the database, or start "
            "with --accept-broken-audit-chain"
        )
    log.error("serves a database whose audit chain is broken: %s", fault)


def _write_port(path: Path, port: int) -> None:
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(f"{port}\n")
    temporary.replace(path)


if __name__ == "__main__":
    main()
