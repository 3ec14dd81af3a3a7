"""Log lines go out on a thread of their own.

Whoever reads the service's stderr may stop reading; the pipe then fills up, and a log call
on the event loop would stop every stream. Lines that do not fit the queue are dropped.
"""

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import QueueHandler, QueueListener
from queue import Full, Queue

QUEUED_LINES = 10_000
FLUSH_SECONDS = 1.0


class _DroppingHandler(QueueHandler):
    """The standard library asks for a subclass to change what a full queue means."""

    def enqueue(self, record: logging.LogRecord) -> None:
        try:
            self.queue.put_nowait(record)
        except Full:
            return


@contextmanager
def logging_to_stderr() -> Iterator[None]:
    """Log to stderr without ever waiting for it."""
    writer = logging.StreamHandler(sys.stderr)
    writer.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    queue: Queue[logging.LogRecord] = Queue(QUEUED_LINES)
    listener = QueueListener(queue, writer)
    logging.basicConfig(level=logging.INFO, handlers=[_DroppingHandler(queue)])
    logging.getLogger("alembic").setLevel(logging.WARNING)
    listener.start()
    try:
        yield
    finally:
        flush = threading.Thread(target=listener.stop, daemon=True)
        flush.start()
        flush.join(FLUSH_SECONDS)
        if flush.is_alive():  # nobody reads stderr, and a normal exit would wait for them
            os._exit(0 if sys.exc_info()[0] is None else 1)
