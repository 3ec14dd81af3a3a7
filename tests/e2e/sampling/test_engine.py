"""Sampled answers of the real server have the target's own distribution, on every path.

The engine accepts draft token x with probability min(1, p_t(x) / p_d(x)) and samples the token
after the accepted ones. Where that happens, and what shows that it was tested:

- a rejection after 0, 1 or 2 drafts, whose next token is of the residual max(p_t - p_d, 0):
  answers that end with that token are compared with the residual, one path at a time;
- the end of the block after all 3 drafts, whose next token is of p_t: likewise;
- compact mode: a cut by the budget after 0, 1 or 2 drafts, whose next token is of p_t. SGLang
  tests the first draft past the cut too: that draft or its residual is the token. Likewise, with
  a cost table that cuts most blocks;
- p_t with a temperature, top-k, top-p, min-p, penalties, a logit bias and a grammar, which
  change the target and not the draft: joint distributions of whole answers, later rounds included;
- greedy and sampled requests in one batch: all kinds are asked for together, shuffled;
- batches of one: a long answer, with more than a hundred rounds in one context.

Not here: SGLang allows block verification on GPUs alone; `tests/kernel` tests its torch version.
`test_power` shows that wrong rules on each path do not pass. The bound on p-values, and how often
right answers miss it, stand at `cases.ALPHA`.
"""

from collections import Counter
from itertools import chain

import pytest
import torch

from tests.chi_square import conditional_p_value, p_value, window

from .asking import LONG, Kind, Served, served
from .cases import ALPHA, CASES, EACH, LEAST, PLAIN, WINDOWS
from .exact import LENGTH, all_logits, joint
from .models import GAMMA, PROMPT, VOCAB
from .paths import CUTS, FULL, REJECTIONS, histogram, path_p_value
from .paths import served as by_path

pytestmark = pytest.mark.timeout(900)
PLAIN_LENGTHS = tuple(Kind("plain", accepted + 2) for accepted in range(GAMMA + 1))
"""Answers of a length show rounds that accepted two drafts less."""
COUNTS = {
    "static": dict(zip(PLAIN_LENGTHS, (250, 800, 1500, 1000), strict=True))
    | {Kind(name): EACH for name in CASES if name not in ("plain", "greedy")},
    "compact": dict(zip(PLAIN_LENGTHS, (2000, 1800, 3200, 300), strict=True))
    | {Kind(name): EACH for name in ("all filters", "frequency", "grammar")},
}
GREEDY = {Kind("greedy"): 100}
PATHS = {"static": {*REJECTIONS, FULL}, "compact": {*REJECTIONS[:-1], *CUTS}}
"""Paths that are taken often; others have too few answers to tell."""


@pytest.fixture(scope="module", params=["static", "compact"])
def answered(request, tmp_path_factory) -> Served:
    folder = tmp_path_factory.mktemp(request.param)
    return served(request.param, COUNTS[request.param] | GREEDY, folder)


def test_answers_have_the_exact_joint_distribution(answered: Served) -> None:
    logits = all_logits(answered.target.model)
    for kind in answered.answers:
        if kind.length == LENGTH:
            tokens, exact = answered.tokens(kind), joint(logits, CASES[kind.case].probabilities)
            for places in WINDOWS:
                p = p_value(tokens[:, list(places)], window(exact, places))
                print(f"{kind.case} {places}: p = {p:.2g}")
                assert p > ALPHA, (kind, places)


def test_every_path_gives_the_token_that_belongs_to_it(answered: Served) -> None:
    taken = by_path([*chain.from_iterable(map(answered.answers.get, PLAIN_LENGTHS))])
    for path in PATHS[answered.mode]:
        tokens = taken[path]
        p = path_p_value(answered.target, answered.draft, PLAIN, path, tokens)
        print(f"{path.end} after {path.accepted}: p = {p:.2g} of {len(tokens)}")
        assert len(tokens) >= LEAST[path.end], path
        assert p > ALPHA, path


def test_drafts_are_accepted_in_part(answered: Served) -> None:
    answers = answered.answers[Kind("plain")]
    accepted = Counter(
        count
        for answer in answers
        for count in histogram(answer["meta_info"], "spec_correct_drafts_histogram", GAMMA)
    )
    print(sorted(accepted.items()))
    assert set(accepted) == set(range(GAMMA + 1))
    rate = sum(count * times for count, times in accepted.items()) / accepted.total() / GAMMA
    assert 0.15 < rate < 0.8


def test_an_answer_alone_has_the_conditional_distribution(answered: Served) -> None:
    tokens = torch.tensor([answered.alone["output_ids"]])
    ids = torch.cat([torch.tensor([PROMPT]), tokens], dim=1)
    with torch.no_grad():
        logits = answered.target.model(ids).logits[0, len(PROMPT) - 1 : -1]
    law = PLAIN.probabilities(logits, tokens)
    p = conditional_p_value(tokens[0], law, torch.arange(VOCAB).expand_as(law), VOCAB)
    print(f"alone: p = {p:.2g} in {answered.alone['meta_info']['spec_verify_ct']} rounds")
    assert tokens.shape[1] == LONG
    assert p > ALPHA
