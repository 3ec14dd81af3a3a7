"""Stage `evaluate`: what the kept draft does on held-out answers, and its STS table.

Here the draft speaks as when it is served, DSpark's over the whole vocabulary. The STS table is
fitted to every position of the held-out answers, not only to those where a round would begin.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from dspark_control.calibration import Observations, fit_sts
from dspark_control.core.tables import StsTable
from dspark_sglang.training.accepting import Acceptance, Drafted, added, drafted, walk
from dspark_sglang.training.learner import Learner
from dspark_sglang.training.states import Sample

Read = Callable[[int], Sample]


def evaluated(
    trainee: Learner, read: Read, held_out: Mapping[str, Sequence[int]]
) -> tuple[dict[str, Acceptance], StsTable | None]:
    """Acceptance by domain, and the STS table of a draft that has a confidence head."""
    blocks = {name: [drafted(trainee, read(i)) for i in part] for name, part in held_out.items()}
    gamma = trainee.gamma
    by_domain = {
        name: added(walk(each.accepted.tolist(), gamma) for each in part)
        for name, part in blocks.items()
    }
    return by_domain, _sts([each for part in blocks.values() for each in part])


def figures(by_domain: Mapping[str, Acceptance]) -> dict[str, Any]:
    """The acceptances as a JSON object."""
    return {
        name: {
            "accept_length": round(each.accept_length, 4),
            "rounds": each.rounds,
            "conditional_acceptance": [round(share, 4) for share in each.conditional],
        }
        for name, each in by_domain.items()
    }


def _sts(blocks: Sequence[Drafted]) -> StsTable | None:
    logits = [each.confidence_logits for each in blocks if each.confidence_logits is not None]
    if not logits:
        return None
    seen = Observations(
        torch.cat(logits).double().cpu().numpy(),
        torch.cat([each.accepted for each in blocks]).cpu().numpy(),
        torch.cat([each.known for each in blocks]).cpu().numpy(),
    )
    return fit_sts(seen, "held-out answers")
