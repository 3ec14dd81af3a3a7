"""Parts of the trainer against cases worked out by hand."""

import json
import math
from pathlib import Path

import pytest
import torch
from training_helpers import MASK, VOCABULARY, draft_config

from dspark_sglang.reference import Draft
from dspark_sglang.training.accepting import Acceptance, added, walk
from dspark_sglang.training.answers import Answer
from dspark_sglang.training.blocks import all_anchors, blocks_at, drawn_anchors, inputs_at
from dspark_sglang.training.config import FitConfig, read_config
from dspark_sglang.training.course import Course, read_course, swap, whole_checkpoint
from dspark_sglang.training.initial import initialise, start_from_draft
from dspark_sglang.training.learner import Outputs
from dspark_sglang.training.objective import losses
from dspark_sglang.training.prompts import Prompt, read_prompts
from dspark_sglang.training.states import Sample
from dspark_sglang.training.target import spread_layers
from dspark_sglang.training.vocabulary import OUTSIDE, SubVocabulary, frequent_tokens

pytestmark = pytest.mark.integration


def sample(length: int = 10, prompt_length: int = 4) -> Sample:
    ids = torch.arange(length) + 20
    return Sample(ids, prompt_length, torch.zeros(length, 32), torch.zeros(length, 16))


def test_blocks_have_the_layout_of_the_engine() -> None:
    anchors = torch.tensor([4, 8])
    blocks = blocks_at(sample(), anchors, 3)
    inputs = inputs_at(sample(), anchors, draft_config())
    assert inputs.ids.tolist() == [[24, MASK, MASK], [28, MASK, MASK]]
    assert inputs.positions.tolist() == [[4, 5, 6], [8, 9, 10]]
    assert blocks.previous[0].tolist() == [24, 25, 26]
    assert blocks.labels.tolist() == [[25, 26, 27], [29, 0, 0]]
    assert blocks.is_inside.tolist() == [[True] * 3, [True, False, False]]
    assert blocks.sources[0].tolist() == [4, 5, 6]
    assert inputs.mask.shape == (2, 1, 3, 13)
    assert inputs.mask[0, 0, 0].tolist() == [True] * 4 + [False] * 6 + [True] * 3


def test_a_dflash_block_has_one_row_more() -> None:
    config = draft_config(
        architecture="DFlashDraftModel",
        sample_from_anchor=False,
        markov_head_type="none",
        markov_rank=0,
        enable_confidence_head=False,
        confidence_head_with_markov=False,
    )
    inputs = inputs_at(sample(), torch.tensor([4]), config)
    assert inputs.ids.tolist() == [[24, MASK, MASK, MASK]]
    assert blocks_at(sample(), torch.tensor([4]), 3).labels.tolist() == [[25, 26, 27]]


def test_anchors_are_answer_tokens_that_have_a_next_one() -> None:
    assert all_anchors(sample()).tolist() == [4, 5, 6, 7, 8]
    few = drawn_anchors(sample(), 3, torch.Generator().manual_seed(0))
    assert len(set(few.tolist())) == 3
    assert set(few.tolist()) <= {4, 5, 6, 7, 8}


def test_walk_goes_from_round_to_round() -> None:
    accepted = [2, 9, 9, 0, 1, 9, 3, 0, 0, 0]
    assert walk(accepted, 3) == Acceptance(
        rounds=4, tokens=10, reached=(4, 3, 2), accepted=(3, 2, 1)
    )
    assert walk([0, 0], 3).accept_length == 0
    both = added([walk(accepted, 3), walk(accepted, 3)])
    assert both.accept_length == 2.5
    assert both.conditional == pytest.approx([3 / 4, 2 / 3, 1 / 2])


def test_the_loss_is_the_papers() -> None:
    p_d, p_t = torch.tensor([[0.7, 0.3], [0.5, 0.5]]), torch.tensor([[0.5, 0.5], [0.9, 0.1]])
    fit = FitConfig(cross_entropy=0.1, l1=0.9, confidence=1.0, position_decay=4.0)
    out = losses(
        Outputs(p_d.log()[None], torch.zeros(1, 2)),
        p_t.log()[None],
        torch.tensor([[0, 1]]),
        torch.ones(1, 2, dtype=torch.bool),
        fit,
    )
    weights = [1.0, math.exp(-1 / 4)]
    first, second = (w / sum(weights) for w in weights)
    ce = -(first * math.log(0.7) + second * math.log(0.5))
    assert float(out.cross_entropy) == pytest.approx(ce, rel=1e-5)
    assert float(out.l1) == pytest.approx(first * 0.4 + second * 0.8, rel=1e-5)
    assert float(out.confidence) == pytest.approx(math.log(2), rel=1e-5)
    assert float(out.total) == pytest.approx(
        0.1 * ce + 0.9 * float(out.l1) + float(out.confidence), rel=1e-5
    )


def test_positions_without_a_label_do_not_count() -> None:
    logits, labels = torch.randn(1, 2, 4), torch.tensor([[1, OUTSIDE]])
    counts = labels != OUTSIDE
    changed = logits.clone()
    changed[:, 1] += torch.randn(4)
    fit, wanted = FitConfig(), torch.randn(1, 2, 4)
    one, two = (
        losses(Outputs(x, None), wanted, labels, counts, fit).total for x in (logits, changed)
    )
    assert torch.equal(one, two)


def test_a_part_of_the_vocabulary_is_spread_and_narrowed_back() -> None:
    full = draft_config()
    vocabulary = SubVocabulary(torch.tensor([3, 10, 11]), VOCABULARY)
    small = Draft(vocabulary.config(full))
    initialise(small, 0)
    with torch.no_grad():
        small.head.markov_w2.weight.normal_()  # type: ignore[attr-defined]
        small.head.markov_w2.weight[-1] = 0  # type: ignore[attr-defined]
    wide = vocabulary.spread(small, full)
    w1 = wide.state_dict()["markov_head.markov_w1.weight"]
    w2 = wide.state_dict()["markov_head.markov_w2.weight"]
    assert torch.equal(w1[10], small.state_dict()["markov_head.markov_w1.weight"][1])
    assert torch.equal(w1[0], w1[1])
    assert not w2[0].any()
    back = vocabulary.narrowed(wide).state_dict()
    assert all(torch.allclose(back[name], weight) for name, weight in small.state_dict().items())


def test_labels_and_rows_of_a_part_of_the_vocabulary() -> None:
    answers = [Answer("", "", 0.0, [1], [5, 5, 7, 9, 9, 9])]
    vocabulary = frequent_tokens(answers, VOCABULARY, 2)
    assert vocabulary.ids.tolist() == [5, 9]
    assert vocabulary.labels(torch.tensor([9, 7])).tolist() == [1, OUTSIDE]
    assert vocabulary.rows(torch.tensor([9, 7])).tolist() == [1, 2]


def test_a_deeper_draft_starts_as_the_shallower_one() -> None:
    older, newer = Draft(draft_config()), Draft(draft_config(num_hidden_layers=3))
    for draft in (older, newer):
        initialise(draft, 1)
    start_from_draft(newer, older)
    rows, positions = torch.randn(1, 3, 16), torch.arange(5, 8)[None]
    captured, places = [torch.randn(1, 5, 16)] * 2, torch.arange(5)[None]
    outputs = [
        d.backbone(rows, positions, d.backbone.context(captured, places)) for d in (older, newer)
    ]
    assert torch.allclose(*outputs, atol=1e-6)
    with pytest.raises(ValueError, match="depth"):
        start_from_draft(older, newer)


def test_layers_are_spread_as_in_the_paper() -> None:
    assert spread_layers(36) == (1, 9, 17, 25, 33)
    assert spread_layers(3) == (0, 1)


def test_the_learning_rate_rises_and_falls_to_zero() -> None:
    fit = FitConfig(max_steps=100, warmup=0.1, learning_rate=1.0)
    rates = [Course(step=step).learning_rate(fit) for step in range(101)]
    assert rates[10] == pytest.approx(1.0)
    assert rates[0] < 0.02
    assert rates[100] == pytest.approx(0.0)
    assert rates[:11] == sorted(rates[:11])
    assert rates[10:] == sorted(rates[10:], reverse=True)


def test_a_run_ends_by_steps_by_the_clock_or_by_patience() -> None:
    fit = FitConfig(max_steps=100, max_minutes=2, patience=2)
    assert not Course(step=99, seconds=119).is_over(fit)
    assert Course(step=100).is_over(fit)
    assert Course(seconds=120).is_over(fit)
    course = Course()
    assert [course.is_best(x) for x in (2.0, 1.9, 2.1, 2.0, 2.1)] == [
        True,
        False,
        True,
        False,
        False,
    ]
    assert course.is_over(fit)


def test_a_checkpoint_survives_a_crash_while_it_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    for step in (1, 2):
        newer = tmp_path / "checkpoint.new"
        newer.mkdir()
        Course(step=step).write(newer)
        swap(newer, folder)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]
    assert read_course(folder).step == 2
    folder.rename(tmp_path / "checkpoint.old")
    assert whole_checkpoint(folder) == tmp_path / "checkpoint.old"
    assert whole_checkpoint(tmp_path / "other") is None


def test_prompts_may_hold_any_line_separator(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    text = "one\u2028two\x85three"
    path.write_text(json.dumps({"prompt": text}, ensure_ascii=False) + "\n\n", encoding="utf-8")
    assert read_prompts([path]) == [Prompt(text, "any")]


@pytest.mark.parametrize("line", ["{", "[]", '{"prompt": 3}', '{"text": "x"}', '{"prompt": ""}'])
def test_bad_prompts_are_refused_with_their_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"prompt": "fine"}\n' + line + "\n")
    with pytest.raises(ValueError, match=r"prompts.jsonl:2"):
        read_prompts([path])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("fit: {lerning_rate: 1}", "fit.lerning_rate"),
        ("draft: {mask_token_id: 1, markov_rank: 0}", "markov_rank is 0"),
        ("draft: {mask_token_id: -1}", "draft.mask_token_id"),
        ("target: [", "not a YAML file"),
        ("{}", "target: Field required"),
    ],
)
def test_a_wrong_config_names_the_place(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=problem):
        read_config(path)
