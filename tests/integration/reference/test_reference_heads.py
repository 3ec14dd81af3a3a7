"""Heads and confidence against loops over single numbers, written from the paper's equations."""

import math

import pytest
import torch
from reference_helpers import HEADS, VOCAB, random_draft, tiny_config
from torch import Tensor

from dspark_sglang.reference.confidence import calibrated
from dspark_sglang.reference.heads import BlockRows, teacher_forced_logits

BATCH = 2


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def affine(weights: dict[str, Tensor], name: str, inputs: list[float]) -> list[float]:
    rows, bias = weights[f"{name}.weight"].tolist(), weights[f"{name}.bias"].tolist()
    return [
        sum(w * x for w, x in zip(row, inputs, strict=True)) + b
        for row, b in zip(rows, bias, strict=True)
    ]


def project(weights: dict[str, Tensor], latent: list[float]) -> list[float]:
    """W2 of (5) and (6): the bias over the vocabulary."""
    rows = weights["markov_w2.weight"].tolist()
    return [sum(w * x for w, x in zip(row, latent, strict=True)) for row in rows]


def by_hand(
    kind: str, weights: dict[str, Tensor], tokens: list[int], hidden: list[list[float]]
) -> list[list[float]]:
    """B_1..B_gamma of one sequence."""
    rank = 0 if kind == "none" else weights["markov_w1.weight"].shape[1]
    state, biases = [0.0] * rank, []
    for token, h in zip(tokens, hidden, strict=True):
        if kind == "none":
            biases.append([0.0] * VOCAB)
            continue
        embedding = weights["markov_w1.weight"][token].tolist()
        if kind == "vanilla":
            latent = embedding
        elif kind == "gated":
            gate = [sigmoid(x) for x in affine(weights, "gate_proj", h + embedding)]
            latent = [g * e for g, e in zip(gate, embedding, strict=True)]
        else:
            raw = affine(weights, "joint_proj", state + embedding + h)
            gate = [sigmoid(x) for x in raw[:rank]]
            candidate = [math.tanh(x) for x in raw[rank : 2 * rank]]
            state = [g * s + (1 - g) * c for g, s, c in zip(gate, state, candidate, strict=True)]
            latent = [math.tanh(x) for x in raw[2 * rank :]]
        biases.append(project(weights, latent))
    return biases


@pytest.mark.parametrize("kind", HEADS)
def test_biases_are_those_of_the_equations(kind: str) -> None:
    draft = random_draft(tiny_config(markov_head_type=kind))
    gamma = draft.config.gamma
    hidden = torch.randn(BATCH, gamma, draft.config.hidden_size, dtype=torch.float64)
    rows = BlockRows(hidden, torch.randn(BATCH, gamma, VOCAB, dtype=torch.float64))
    previous = torch.randint(VOCAB, (BATCH, gamma))
    logits = teacher_forced_logits(draft.head, rows, previous)
    weights = dict(draft.markov_head.state_dict())
    wanted = torch.tensor(
        [by_hand(kind, weights, previous[b].tolist(), hidden[b].tolist()) for b in range(BATCH)],
        dtype=torch.float64,
    )
    torch.testing.assert_close(logits - rows.logits, wanted, rtol=1e-9, atol=1e-9)


def test_rnn_bias_depends_on_earlier_tokens() -> None:
    """What tells (6) from (5): the same previous token after another history."""
    for kind, remembers in (("vanilla", False), ("rnn", True)):
        draft = random_draft(tiny_config(markov_head_type=kind))
        hidden = torch.randn(1, 3, draft.config.hidden_size, dtype=torch.float64)
        rows = BlockRows(hidden, torch.zeros(1, 3, VOCAB, dtype=torch.float64))
        one = teacher_forced_logits(draft.head, rows, torch.tensor([[1, 2, 3]]))[0, 2]
        other = teacher_forced_logits(draft.head, rows, torch.tensor([[4, 2, 3]]))[0, 2]
        assert torch.equal(one, other) != remembers


@pytest.mark.parametrize("with_markov", [True, False])
def test_confidence_is_that_of_the_equation(with_markov: bool) -> None:
    draft = random_draft(tiny_config(confidence_head_with_markov=with_markov))
    hidden = torch.randn(BATCH, 3, draft.config.hidden_size, dtype=torch.float64)
    anchors, tokens = torch.tensor([3, 9]), torch.randint(VOCAB, (BATCH, 3))
    with torch.no_grad():
        logits = draft.confidence_logits(hidden, anchors, tokens)
    assert logits is not None
    assert logits.dtype == torch.float32
    weights = draft.state_dict()
    w, b = weights["confidence_head.proj.weight"][0], weights["confidence_head.proj.bias"][0]
    table = weights["markov_head.markov_w1.weight"]
    for row in range(BATCH):
        history = [int(anchors[row]), *tokens[row].tolist()]
        for k in range(3):
            inputs = [hidden[row, k], table[history[k]]] if with_markov else [hidden[row, k]]
            wanted = float(w @ torch.cat(inputs) + b)
            assert float(logits[row, k]) == pytest.approx(wanted, abs=1e-4)


def test_sts_temperatures_are_per_position() -> None:
    logits = torch.tensor([[2.0, -1.0, 0.5]])
    wanted = [[sigmoid(2.0 / 2), sigmoid(-1.0 / 0.5), sigmoid(0.5)]]
    found = calibrated(logits, torch.tensor([2.0, 0.5, 1.0]))
    torch.testing.assert_close(found, torch.tensor(wanted))
    torch.testing.assert_close(calibrated(logits), torch.sigmoid(logits))


def test_no_confidence_head() -> None:
    draft = random_draft(tiny_config(enable_confidence_head=False))
    hidden = torch.zeros(1, 3, draft.config.hidden_size, dtype=torch.float64)
    assert draft.confidence_logits(hidden, torch.tensor([1]), torch.tensor([[1, 2, 3]])) is None
