"""What every server of this folder must answer, whatever drafts for it."""

from collections.abc import Mapping, Sequence

from . import requests
from .client import post_all
from .conftest import Reference, Server, output_ids, specials

SAMPLING: Sequence[Mapping[str, float]] = (
    {"temperature": 1.0},
    {"temperature": 0.8, "top_k": 20},
    {"temperature": 0.8, "top_p": 0.9},
    {"temperature": 0.7, "top_k": 30, "top_p": 0.8},
)
"""Parameters that SGLang's own speculative workers sample by."""


def same_features(server: Server, reference: Reference) -> None:
    """One feature a request, all in one batch, as in plain decoding."""
    for name, answer in specials(server.url).items():
        assert output_ids(answer) == output_ids(reference.special[name]), name


def shared_batch(
    server: Server, reference: Reference, sampling: Sequence[Mapping[str, float]]
) -> None:
    """The sampled ones finish; the greedy one among them is still token for token plain."""
    text = requests.chat(requests.QUESTIONS[0])
    sampled = [requests.greedy(text, 32, ignore_eos=True, **params) for params in sampling]
    answers = post_all(server.url, [*sampled, requests.all_questions(32)[1]])
    assert output_ids(answers[-1]) == output_ids(reference.questions[1])[:32]
    assert all(len(output_ids(answer)) == 32 for answer in answers)
    assert len({tuple(output_ids(answer)) for answer in answers}) == len(answers)
