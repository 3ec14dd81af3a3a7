"""Decides what happens to each snapshot: refuse it, hand it to the engine, remember it.

A snapshot that this worker cannot run never reaches the engine, so it cannot disturb
the one that runs there.
"""

import logging
import time
from typing import NamedTuple

from google.protobuf.message import DecodeError

from dspark.control.v1 import worker_pb2 as pb
from dspark_control.codec import has_unknown_fields, rejection_to_proto, snapshot_from_proto
from dspark_control.core import Rejection, RejectReason, Snapshot, incompatibility
from dspark_sglang.agent.board import StatusBoard
from dspark_sglang.agent.cache import SnapshotCache
from dspark_sglang.agent.deliveries import Deliveries, Delivery, Settled, Verdict
from dspark_sglang.agent.mailbox import Outcome, PendingUpdate
from dspark_sglang.agent.status import Source
from dspark_sglang.agent.worker import Worker

logger = logging.getLogger(__name__)

FROM_DISK = 0
"""Stream number of the last known good snapshot; streams count from 1."""


class Answer(NamedTuple):
    """An ack and the number of the stream that the update came by."""

    stream: int
    ack: pb.SnapshotAck


class Updates:
    """The snapshots of one worker, over all its streams; used by the agent's thread only."""

    def __init__(
        self, worker: Worker, deliveries: Deliveries, cache: SnapshotCache, board: StatusBoard
    ) -> None:
        self._worker = worker
        self._deliveries = deliveries
        self._cache = cache
        self._board = board

    def is_done(self, stream: int) -> bool:
        """True when every update that came by this stream has its answer."""
        return self._deliveries.is_done(stream)

    def next_deadline(self) -> float | None:
        """Monotonic time at which `expire` has something to do, None for never."""
        return self._deliveries.next_deadline()

    def load_last_known_good(self) -> None:
        """Hands the snapshot on disk to the engine, if this worker can run it."""
        payload = self._cache.load()
        snapshot = None if payload is None else self._decode_from_disk(payload)
        if payload is None or snapshot is None:
            return
        if rejection := incompatibility(snapshot, self._worker.identity, self._worker.capabilities):
            logger.warning("last known good snapshot ignored: %s", rejection.message)
            return
        logger.warning("runs last known good revision %d until told otherwise", snapshot.revision)
        update = PendingUpdate(f"disk-{self._worker.incarnation}", snapshot)
        self._deliveries.post(Delivery(update, payload, FROM_DISK), time.monotonic())

    def _decode_from_disk(self, payload: bytes) -> Snapshot | None:
        try:
            message = pb.Snapshot.FromString(payload)
            if not has_unknown_fields(message):
                return snapshot_from_proto(message)
            logger.warning("last known good snapshot ignored: a newer version wrote it")
        except (DecodeError, ValueError) as error:
            self._cache.put_aside(str(error))
        return None

    def receive(self, update: pb.SnapshotUpdate, stream: int) -> list[Answer]:
        """Refuses an update or hands it to the engine; the answers that are due now."""
        if self._deliveries.adopt(update.nonce, stream):
            return []
        snapshot = self._checked(update)
        if isinstance(snapshot, Rejection):
            return [self._refused(update.nonce, update.snapshot.revision, snapshot, stream)]
        payload = update.snapshot.SerializeToString(deterministic=True)
        delivery = Delivery(PendingUpdate(update.nonce, snapshot), payload, stream)
        replaced = self._deliveries.post(delivery, time.monotonic())
        return [] if replaced is None else self._answers(replaced)

    def _checked(self, update: pb.SnapshotUpdate) -> Snapshot | Rejection:
        """The snapshot of an update, or why this worker cannot run it."""
        if not update.nonce:
            return Rejection(RejectReason.MALFORMED, "nonce is empty; set it", ("nonce",))
        if has_unknown_fields(update):
            message = (
                "the snapshot has fields that this worker's version "
                f"({self._worker.capabilities.version}) does not know; update the worker first"
            )
            return Rejection(RejectReason.MALFORMED, message, ("snapshot",))
        try:
            snapshot = snapshot_from_proto(update.snapshot)
        except ValueError as error:
            return Rejection(RejectReason.MALFORMED, str(error), ("snapshot",))
        worker = self._worker
        return incompatibility(snapshot, worker.identity, worker.capabilities) or snapshot

    def settle(self, outcome: Outcome) -> list[Answer]:
        """Takes note of what the engine reports; the answers that are due now."""
        settled = self._deliveries.settle(outcome)
        return [] if settled is None else self._answers(settled)

    def expire(self, now: float) -> list[Answer]:
        """Gives up what the engine has not answered in time; the answers that are due now."""
        return [answer for each in self._deliveries.expire(now) for answer in self._answers(each)]

    def _answers(self, settled: Settled) -> list[Answer]:
        """Takes note of a verdict; the answer to it, unless the service cannot want one."""
        delivery = settled.delivery
        nonce, snapshot = delivery.update
        if settled.verdict is Verdict.APPLIED:
            self._note_applied(settled)
            answer = Answer(delivery.stream, _applied_ack(settled))
            return [] if settled.is_late else [answer]
        rejection = Rejection(RejectReason.APPLY_FAILED, settled.message, ())
        if settled.verdict is Verdict.SUPERSEDED:
            ack = rejection_to_proto(rejection, nonce=nonce, revision=snapshot.revision)
            return [Answer(delivery.stream, ack)]
        return [self._refused(nonce, snapshot.revision, rejection, delivery.stream)]

    def _note_applied(self, settled: Settled) -> None:
        """Publishes and stores what runs now, before the service hears of it."""
        delivery = settled.delivery
        snapshot = delivery.update.snapshot
        is_from_disk = delivery.stream == FROM_DISK
        source = Source.LAST_KNOWN_GOOD if is_from_disk else Source.SERVICE
        self._board.applied(snapshot, source)
        steps = sorted(set(settled.rank_steps))
        logger.info("runs revision %d from %s since step %s", snapshot.revision, source, steps)
        if is_from_disk:
            return
        try:
            self._cache.save(delivery.payload)
        except OSError as error:
            logger.warning(
                "revision %d runs but could not be kept at %s: %s",
                snapshot.revision,
                self._cache.path,
                error,
            )

    def _refused(self, nonce: str, revision: int, rejection: Rejection, stream: int) -> Answer:
        message = f"revision {revision} refused ({rejection.reason}): {rejection.message}"
        logger.warning("%s; runs on as before", message)
        self._board.rejected(message)
        return Answer(stream, rejection_to_proto(rejection, nonce=nonce, revision=revision))


def _applied_ack(settled: Settled) -> pb.SnapshotAck:
    nonce, snapshot = settled.delivery.update
    return pb.SnapshotAck(
        nonce=nonce,
        revision=snapshot.revision,
        result=pb.ACK_RESULT_APPLIED,
        ranks=[
            pb.RankApplied(tp_rank=rank, step=step) for rank, step in enumerate(settled.rank_steps)
        ],
    )
