"""The tests of the engine's answers can fail: wrong rules of acceptance are seen, path by path.

The same statistics, at the sizes of the engine's tests or smaller, with the same target and
draft; the answers are made in this process, by a right rule and by wrong ones.
"""

import pytest
import torch
from torch import Tensor

from tests.chi_square import p_value, window

from . import rules
from .cases import ALPHA, CASES, EACH, LEAST, PLAIN, WINDOWS
from .exact import VOCAB, Probabilities, all_logits, biased, joint, penalised, sampled
from .models import GAMMA, random_draft, random_target
from .paths import CUTS, FULL, REJECTIONS, Path, path_p_value, replayed
from .replay import Replay, Rule

ANSWERS, ROUNDS = 500, 3000
TARGET = random_target()
DRAFT = random_draft(TARGET)
LOGITS = all_logits(TARGET.model)
AFTER_REJECTION = rules.rule(rules.target_after_rejection)
AT_A_CUT = rules.rule(rules.residual_at_a_cut)
AT_THE_END = rules.rule(rules.best_after_acceptance)


def least(answers: Tensor, probabilities: Probabilities) -> float:
    exact = joint(LOGITS, probabilities)
    return min(p_value(answers[:, list(each)], window(exact, each)) for each in WINDOWS)


def of_path(rule: Rule, path: Path, trims: bool) -> float:
    done = Replay(TARGET, DRAFT, seed=5).first_round(PLAIN, rule, ROUNDS, trims)
    answers = replayed(done)[path][: LEAST[path.end]]
    assert len(answers) == LEAST[path.end]
    return path_p_value(TARGET, DRAFT, PLAIN, path, answers)


def test_the_right_rule_passes() -> None:
    answers = Replay(TARGET, DRAFT, seed=5).answers(PLAIN, rules.rule(), ANSWERS)
    assert least(answers, PLAIN.probabilities) > 1e-3
    for path in (*REJECTIONS, FULL):
        assert of_path(rules.rule(), path, trims=False) > 1e-3, path
    for path in CUTS:
        assert of_path(rules.rule(), path, trims=True) > 1e-3, path


@pytest.mark.parametrize(
    "wrong",
    [rules.rule(excess=2.0), rules.rule(excess=1e9), AFTER_REJECTION],
    ids=["accepts too much", "accepts everything", "no residual"],
)
def test_joint_distributions_see_a_wrong_acceptance(wrong: Rule) -> None:
    answers = Replay(TARGET, DRAFT, seed=5).answers(PLAIN, wrong, ANSWERS)
    assert least(answers, PLAIN.probabilities) < ALPHA


@pytest.mark.parametrize("path", REJECTIONS)
def test_each_rejection_is_seen_by_itself(path: Path) -> None:
    wrong = rules.only_at(path.accepted, AFTER_REJECTION)
    assert of_path(wrong, path, trims=False) < ALPHA


@pytest.mark.parametrize("path", CUTS)
def test_each_cut_is_seen_by_itself(path: Path) -> None:
    assert of_path(rules.only_at(path.accepted, AT_A_CUT), path, trims=True) < ALPHA


def test_the_end_of_a_block_is_seen_by_itself() -> None:
    assert of_path(rules.only_at(GAMMA, AT_THE_END), FULL, trims=False) < ALPHA


WRONG_TARGETS = [
    ("top-k", sampled(0.7)),
    ("top-p", sampled(1.3)),
    ("top-p", sampled(1.0, top_p=0.8)),
    ("top-k, top-p", lambda logits, _: in_turn(logits, 4, 0.8)),
    ("min-p", sampled()),
    ("all filters", sampled(0.8, 5, 0.9)),
    ("frequency", penalised()),
    ("frequency", lambda logits, emitted: penalised(frequency=1.2)(logits, emitted[:, :-1])),
    ("presence", penalised()),
    ("repetition", penalised()),
    ("bias", biased({2: 1.0, 0: -1.5})),
    ("grammar", sampled()),
]


@pytest.mark.parametrize(("name", "wrong"), WRONG_TARGETS)
def test_joint_distributions_see_a_wrong_target(name: str, wrong: Probabilities) -> None:
    """A temperature, filter or penalty left out, late, or applied in another order."""
    flat = joint(LOGITS, wrong).flatten()
    generator = torch.Generator().manual_seed(5)
    drawn = torch.multinomial(flat, EACH, replacement=True, generator=generator)
    places = VOCAB ** torch.arange(len(LOGITS) - 1, -1, -1)
    assert least(drawn[:, None] // places % VOCAB, CASES[name].probabilities) < ALPHA


def in_turn(logits: Tensor, top_k: int, top_p: float) -> Tensor:
    """`top_p` of what `top_k` leaves, as SGLang's own worker verifies."""
    kept = sampled(top_k=top_k)(logits, logits).log()
    return sampled(top_p=top_p)(kept, kept)
