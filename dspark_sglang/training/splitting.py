"""Which answers a run learns from, and which it is judged on."""

from collections.abc import Sequence
from typing import NamedTuple

from dspark_sglang.training.answers import Answer

LARGEST_SHARE = 5
"""At most one in so many usable answers of a domain is held out."""


class Split(NamedTuple):
    """Indices of answers; no prompt is in both."""

    train: list[int]
    held_out: dict[str, list[int]]
    """Greedy answers by domain."""


def split(answers: Sequence[Answer], cached: Sequence[int], held_out: int, gamma: int) -> Split:
    """Splits the `cached` answers; ValueError when nothing is left for one of the two."""
    domains = sorted({answers[index].domain for index in cached})
    usable = {
        name: [i for i in cached if answers[i].domain == name and _can_judge(answers[i], gamma)]
        for name in domains
    }
    each = max(held_out // len(domains), 1)
    judges = {name: _spread(part, each) for name, part in usable.items() if part}
    if not judges:
        raise ValueError(
            f"fit.held_out: no greedy answer is longer than 2 gamma = {2 * gamma} tokens; have 0 "
            "in answers.temperatures and raise answers.max_new_tokens"
        )
    prompts = {answers[i].prompt for part in judges.values() for i in part}
    train = [
        i for i in cached if len(answers[i].answer_ids) > 1 and answers[i].prompt not in prompts
    ]
    if not train:
        raise ValueError(
            "prompts: no answer is left to train on beside the held-out ones; add some"
        )
    return Split(train, judges)


def _can_judge(answer: Answer, gamma: int) -> bool:
    return answer.temperature == 0 and len(answer.answer_ids) > 2 * gamma


def _spread(indices: list[int], count: int) -> list[int]:
    """At most `count` of them, evenly over the whole."""
    count = min(count, max(len(indices) // LARGEST_SHARE, 1))
    return indices[:: len(indices) // count][:count]
