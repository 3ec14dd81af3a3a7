"""SGLang's DSPARK worker under run-time control.

Drafting, attention, CUDA graphs, parallelism, grammar and KV stay SGLang's. What is
ours: where the verify budget comes from, and that policy, STS and SPS tables can be
replaced between two steps without touching an address that a captured graph has
recorded.
"""

from collections import deque
from typing import Any, NamedTuple

import torch
from sglang.srt.speculative.dspark_components.dspark_worker_v2 import DSparkWorkerV2

from dspark_control.core import VERIFY_ALL, BudgetMode, SchedulingPolicy, SpsTable, StsTable
from dspark_control.planner import BudgetPlanner
from dspark_sglang.worker.bounds import SMALLEST_SURVIVAL, within_bounds
from dspark_sglang.worker.budget import SnapshotBudgetPlanner
from dspark_sglang.worker.filtered_verify import FilteredVerify, differs_from_plain
from dspark_sglang.worker.observers import StepObservers
from dspark_sglang.worker.penalised_verify import PenalisedVerify
from dspark_sglang.worker.penalties import Penalties
from dspark_sglang.worker.tables import from_upstream


class Schedule(NamedTuple):
    """What decides the verify lengths of a step."""

    planner: BudgetPlanner
    temperatures: torch.Tensor
    """Shape [gamma], float32, on the host."""


class Prepared(NamedTuple):
    """A snapshot turned into what a step reads; made before any rank commits to it."""

    revision: int
    schedule: Schedule | None
    """None on a rank that schedules nothing."""


class DSparkControlWorker(DSparkWorkerV2):  # type: ignore[misc]
    """`DSparkWorkerV2` whose schedule can be replaced between two steps.

    Starts from the files of SGLang's own flags, else verifying everything.
    `prepare` may raise and changes nothing; `commit` does not fail.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._revisions: deque[tuple[int, int]] = deque([(0, 0)], maxlen=64)
        if self._hosts_draft:
            self._observers: Any = StepObservers(self._observers)
            self._filtered = FilteredVerify(self._verify_executor)
            self._penalised = PenalisedVerify(self._verify_executor, self._penalty_tables)
        if self.can_schedule:
            self._temperatures = self._own_temperatures()
            self._bounds = (1, self.gamma + 1)
            self._rank_all = self._verify_planner._schedule_verify_lens
            self._verify_planner._schedule_verify_lens = self._rank_within_bounds

    @property
    def hosts_draft(self) -> bool:
        """False on pipeline stages that run only the target."""
        return bool(self._hosts_draft)

    @property
    def revision(self) -> int:
        """Revision in force; 0 for SGLang's own files or the default."""
        return self._revisions[-1][1]

    def revision_at(self, step: int) -> int:
        """Revision that forward pass `step` ran under, of the last 64."""
        return next((r for first, r in reversed(self._revisions) if first <= step), 0)

    @property
    def can_schedule(self) -> bool:
        """Whether this rank verifies ragged batches, ranked by the draft's confidences."""
        return bool(
            self._hosts_draft
            and self._verify_planner.schedules_verify_budget
            and self._verify_planner.is_compact_mode
            and self._simulate_acc_len <= 1
        )

    def alloc_memory_pool(
        self,
        memory_pool_config: Any = None,
        req_to_token_pool: Any = None,
        token_to_kv_pool_allocator: Any = None,
    ) -> None:
        """As upstream, then start the schedule, which the size of the pool bounds."""
        super().alloc_memory_pool(
            memory_pool_config=memory_pool_config,
            req_to_token_pool=req_to_token_pool,
            token_to_kv_pool_allocator=token_to_kv_pool_allocator,
        )
        if self.can_schedule:
            self._max_requests = int(req_to_token_pool.req_to_token.shape[0])
            self._start_from_files()

    def _forward_prefill(self, batch: Any, *args: Any, **kwargs: Any) -> Any:
        """As upstream; requests with penalties enter their slots."""
        self._penalised.begin_prefill(batch)
        return super()._forward_prefill(batch, *args, **kwargs)

    def _forward_decode(self, batch: Any, *args: Any, **kwargs: Any) -> Any:
        """As upstream; a batch with penalties runs outside the graphs that would drop them."""
        self._penalised.begin_decode(batch)
        return super()._forward_decode(batch, *args, **kwargs)

    def _sampling_graph_eligible(self, *, sampling_info: Any, **facts: Any) -> bool:
        """As upstream; a batch whose filters we apply is accepted outside the graphs."""
        eligible = super()._sampling_graph_eligible(sampling_info=sampling_info, **facts)
        return bool(eligible) and not differs_from_plain(sampling_info)

    def _penalty_tables(self) -> Penalties:
        runner = self.model_runner
        slots = int(runner.req_to_token_pool.req_to_token.shape[0])
        return Penalties(slots, int(runner.model_config.vocab_size), self.device)

    def prepare(
        self, revision: int, policy: SchedulingPolicy, sts: StsTable | None, sps: SpsTable | None
    ) -> Prepared:
        """Build what `commit` installs. Raises ValueError if a table does not fit gamma.

        VERIFY_ALL needs no table, so it ignores them: the kill switch fits every worker.
        """
        if not self.can_schedule:
            return Prepared(revision, None)
        if policy.mode is BudgetMode.VERIFY_ALL:
            policy, sts, sps = VERIFY_ALL, None, None
        temperatures = sts.temperatures if sts else (1.0,) * self.gamma
        if len(temperatures) != self.gamma:
            raise ValueError(
                f"sts.temperatures has {len(temperatures)} values, the draft has gamma "
                f"{self.gamma}: fit the table for this gamma."
            )
        planner = BudgetPlanner(policy, sps, gamma=self.gamma, max_requests=self._max_requests)
        schedule = Schedule(planner, torch.tensor(temperatures, dtype=torch.float32))
        return Prepared(revision, schedule)

    def commit(self, prepared: Prepared, *, step: int) -> None:
        """Use `prepared` from forward pass `step`, the next one, on.

        Must run on the stream of the forward passes: a captured graph reads the
        temperatures, and every rank must see them change between the same two steps.
        """
        self._revisions.append((step, prepared.revision))
        if prepared.schedule is not None:
            self._install(*prepared.schedule)

    def _install(self, planner: BudgetPlanner, temperatures: torch.Tensor) -> None:
        upstream, policy = self._verify_planner, planner.policy
        self._temperatures.copy_(temperatures)
        upstream._budget_planner.planner = planner
        upstream._is_verify_all = planner.verifies_all
        upstream._schedule_cfg.min_verify_len = policy.min_verify_length
        upstream._schedule_cfg.max_verify_len = policy.max_verify_length
        upstream._schedule_cfg.survival_eps = max(policy.survival_floor, SMALLEST_SURVIVAL)
        self._bounds = (policy.min_verify_length, policy.max_verify_length or self.gamma + 1)

    def _rank_within_bounds(self, *, confidence: torch.Tensor | None, **facts: Any) -> Any:
        """SGLang's ranking of draft tokens, which knows no bounds on verify lengths."""
        if confidence is not None and self._bounds != (1, self.gamma + 1):
            confidence = within_bounds(confidence, *self._bounds)
        return self._rank_all(confidence=confidence, **facts)

    def _own_temperatures(self) -> torch.Tensor:
        """A [gamma] buffer in place of upstream's scalar, before any graph is captured."""
        head = self._verify_planner._confidence_head
        buffer = torch.ones(self.gamma, dtype=torch.float32, device=self.device)
        buffer.copy_(head.sts_temperatures)
        head.sts_temperatures = buffer
        return buffer

    def _start_from_files(self) -> None:
        planner = self._verify_planner
        table = from_upstream(planner._budget_planner.sps_table)
        sts = StsTable(temperatures=tuple(self._temperatures.tolist()))
        planner._budget_planner = SnapshotBudgetPlanner(planner._budget_planner)
        self.commit(self.prepare(0, SchedulingPolicy(), sts, table), step=0)
