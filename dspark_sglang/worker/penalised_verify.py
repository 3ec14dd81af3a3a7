"""Where penalties enter SGLang's DSPARK step: between the target pass and the acceptance."""

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from dspark_sglang.worker.penalties import Penalties, Step, has_penalty

UNFOLDED = torch.zeros(())
"""What SGLang finds where it asks whether a step may accept inside a graph."""


def wants_penalties(sampling_info: Any) -> bool:
    """Whether a request of the batch asks for a penalty; SGLang keeps count."""
    return sampling_info is not None and (
        sampling_info.acc_additive_penalties is not None
        or sampling_info.acc_scaling_penalties is not None
    )


class PenalisedVerify:
    """Penalises what the target says of a step with penalties; other steps are untouched.

    `executor` is the worker's `TargetVerifyExecutor`, whose three steps are wrapped.
    """

    def __init__(self, executor: Any, make_tables: Callable[[], Penalties]) -> None:
        self._make_tables = make_tables
        self._tables: Penalties | None = None
        self._step: Step | None = None
        self._compact, executor.run_compact = executor.run_compact, self._run_compact
        self._uniform, executor.run_non_compact = executor.run_non_compact, self._run_uniform
        self._accept, executor.accept_and_finalize = executor.accept_and_finalize, self._finalize

    def begin_prefill(self, batch: Any) -> None:
        """Requests enter their slots; those without penalties too, once there are tables."""
        reqs = batch.reqs or ()
        if self._tables is None and any(map(has_penalty, reqs)):
            self._tables = self._make_tables()
        if self._tables is not None:
            for req in reqs:
                self._tables.enter(req)

    def begin_decode(self, batch: Any) -> None:
        """Keeps a step with penalties out of the graphs that accept before they could apply."""
        if self._tables_for(batch.sampling_info) is not None:
            # SGLang still asks for this field, by its former name, before it folds the acceptance.
            batch.sampling_info.acc_linear_penalties = UNFOLDED

    def _run_compact(self, *, sampling_info: Any, **facts: Any) -> Any:
        if (tables := self._tables_for(sampling_info)) is None:
            return self._compact(sampling_info=sampling_info, **facts)
        done = self._compact(sampling_info=without_bias(sampling_info), **facts)
        ids = torch.cat([facts["draft_block_ids"][:, :1], facts["draft_tokens"]], dim=1)
        self._step = Step(facts["batch"].req_pool_indices[: len(ids)], ids)
        _penalise(tables, done[0], self._step, sampling_info.logit_bias)
        return done

    def _run_uniform(self, *, sampling_info: Any, **facts: Any) -> Any:
        if (tables := self._tables_for(sampling_info)) is None:
            return self._uniform(sampling_info=sampling_info, **facts)
        done = self._uniform(sampling_info=without_bias(sampling_info), **facts)
        ids = facts["verify_ids_2d"]
        self._step = Step(facts["batch"].req_pool_indices[: len(ids)], ids)
        _penalise(tables, done, self._step, sampling_info.logit_bias)
        return done

    def _tables_for(self, sampling_info: Any) -> Penalties | None:
        """The tables when the step is penalised. None too where no prefill ever made them."""
        return self._tables if wants_penalties(sampling_info) else None

    def _finalize(self, **facts: Any) -> Any:
        accepted = self._accept(**facts)
        if self._step is not None and self._tables is not None:
            self._tables.commit(self._step, accepted.commit_lens)
            self._step = None
        return accepted


def _penalise(tables: Penalties, done: Any, step: Step, bias: Tensor | None) -> None:
    logits = done.logits_output.next_token_logits
    tables.apply(logits, step)
    if bias is not None:
        logits.view(*step.ids.shape, -1).add_(bias[:, None].to(logits.dtype))


def without_bias(sampling_info: Any) -> Any:
    """The same without a logit bias, which follows the penalties."""
    return dataclasses.replace(sampling_info, logit_bias=None)
