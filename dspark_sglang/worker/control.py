"""How a snapshot enters the scheduler: as a control request, on every rank at once.

The agent leaves an update in the mailbox of the entry rank. The entry rank takes it
where it takes requests, SGLang broadcasts it with them, and every rank handles it in
the same loop iteration. There all ranks prepare, agree, and only then commit, so
that two ranks never schedule with different tables (which would be a hang).
"""

import logging
from typing import Any, NamedTuple

import torch
from sglang.srt.runtime_context import get_exec, get_parallel, get_spec

from dspark_sglang.agent import Agent, Mailbox, Outcome, PendingUpdate, Source
from dspark_sglang.settings import load_settings
from dspark_sglang.worker.identity import capabilities_of, engine_id, identity_of
from dspark_sglang.worker.worker import DSparkControlWorker, Prepared

logger = logging.getLogger(__name__)

_mailbox = Mailbox()


class SnapshotControl(NamedTuple):
    """The control request that carries an update to every rank."""

    update: PendingUpdate


class RankVote(NamedTuple):
    """What one rank says before anybody commits."""

    tp_rank: int
    step: int
    """Number of the first forward pass that would use the snapshot."""
    fault: str | None


def add_to_dispatcher(_result: None, scheduler: Any) -> None:
    """After `Scheduler.init_request_dispatcher`: let it handle our control request."""
    if isinstance(scheduler.draft_worker, DSparkControlWorker):
        scheduler._request_dispatcher._mapping[SnapshotControl] = lambda request: _apply(
            scheduler, request.update
        )


def append_update(requests: list[Any] | None, _receiver: Any) -> list[Any] | None:
    """After `SchedulerRequestReceiver._pull_raw_reqs`: add a waiting update, if any."""
    if requests is not None and (update := _mailbox.take()) is not None:
        requests.append(SnapshotControl(update))
    return requests


def start_agent(scheduler: Any) -> None:
    """Before `Scheduler.run_event_loop`: start the engine's one agent, on the entry rank.

    Whatever is wrong here, serving goes on without run-time control.
    """
    worker = scheduler.draft_worker
    if not isinstance(worker, DSparkControlWorker) or not _is_entry_rank():
        return
    if reason := _uncontrollable(worker):
        logger.warning("No run-time control of DSPARK: %s", reason)
        return
    try:
        scheduler.dspark_agent = _agent_of(worker)
        scheduler.dspark_agent.start()
    except Exception:
        logger.exception("No run-time control of DSPARK: its agent could not be started")


def _agent_of(worker: DSparkControlWorker) -> Agent:
    settings = load_settings()
    return Agent(
        settings=settings,
        identity=identity_of(worker),
        capabilities=capabilities_of(worker),
        mailbox=_mailbox,
        worker_id=engine_id(settings),
        source=Source.FILES if _has_files() else Source.DEFAULT,
    )


def _is_entry_rank() -> bool:
    parallel = get_parallel()
    return not parallel.tp_rank and not parallel.pp_rank


def _uncontrollable(worker: DSparkControlWorker) -> str | None:
    """Why updates could not reach every rank of this engine, None when they can."""
    if not worker.hosts_draft:
        return "this pipeline stage drafts nothing"
    parallel = get_parallel()
    if parallel.attn_dp_enabled and (
        parallel.enable_dp_attention_local_control_broadcast or get_exec().moe.is_ep_scale_joiner
    ):
        return "control requests are broadcast only within an attention group of this engine"
    return None


def _has_files() -> bool:
    spec = get_spec()
    return bool(
        spec.speculative_dspark_sps_table_path or spec.speculative_dspark_confidence_sts_path
    )


def _apply(scheduler: Any, update: PendingUpdate) -> None:
    """Apply `update` on this rank together with all others, or on none."""
    worker: DSparkControlWorker = scheduler.draft_worker
    prepared, fault = _prepare(worker, update)
    step = int(scheduler.forward_ct) + 1
    vote = RankVote(int(get_parallel().tp_rank), step, fault)
    votes = _exchange(vote, scheduler.tp_cpu_group)
    faults = [vote.fault for vote in votes if vote.fault]
    if prepared is not None and not faults:
        note_in_flight(scheduler, worker.revision)
        with scheduler.forward_stream_ctx:
            worker.commit(prepared, step=step)
    if get_parallel().tp_rank == 0:
        message = faults[0] if faults else ""
        steps = tuple(vote.step for vote in votes)
        _mailbox.report(Outcome(update.nonce, not faults, message, steps))


def _prepare(
    worker: DSparkControlWorker, update: PendingUpdate
) -> tuple[Prepared | None, str | None]:
    snapshot = update.snapshot
    try:
        prepared = worker.prepare(snapshot.revision, snapshot.policy, snapshot.sts, snapshot.sps)
    except Exception as error:  # the running snapshot must survive whatever this one holds
        logger.exception("Snapshot of revision %d was refused", snapshot.revision)
        return None, str(error)
    return prepared, None


def _exchange(vote: RankVote, group: Any) -> list[RankVote]:
    """The votes of all ranks by rank. Ends the engine's loop if a rank is gone."""
    size = torch.distributed.get_world_size(group)
    if size == 1:
        return [vote]
    votes: list[Any] = [None] * size
    torch.distributed.all_gather_object(votes, vote, group=group)
    return sorted(votes)


def note_in_flight(scheduler: Any, revision: int) -> None:
    """Remember on each request that has decoded, or is decoding, that `revision` served it."""
    last = scheduler.last_batch
    launched = last.reqs if last is not None and last.forward_mode.is_decode() else ()
    decoding = {id(req) for req in launched}
    for req in (*scheduler.running_batch.reqs, *scheduler.waiting_queue):
        if req.spec_verify_ct or id(req) in decoding:
            req.dspark_revisions = (*getattr(req, "dspark_revisions", ()), revision)
