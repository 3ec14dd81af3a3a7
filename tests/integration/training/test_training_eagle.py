"""The Eagle3 baseline: what it trains on is what it does when it drafts, and it learns."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional as F  # noqa: N812
from training_helpers import MASK, VOCABULARY, run_config, tiny_llama
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb, repeat_kv

from dspark_sglang.reference.hf_target import HFTarget
from dspark_sglang.training.accepting import drafted
from dspark_sglang.training.blocks import all_anchors, blocks_at
from dspark_sglang.training.config import EagleSettings, TrainingConfig, read_config
from dspark_sglang.training.eagle.checkpoint import read_eagle
from dspark_sglang.training.eagle.config import eagle_config
from dspark_sglang.training.eagle.draft import EagleDraft
from dspark_sglang.training.eagle.initial import start_eagle_from_draft
from dspark_sglang.training.eagle.trainee import EagleTrainee
from dspark_sglang.training.initial import initialise
from dspark_sglang.training.learner import Frozen
from dspark_sglang.training.progress import Progress
from dspark_sglang.training.run import Run
from dspark_sglang.training.states import Sample
from dspark_sglang.training.vocabulary import OUTSIDE, SubVocabulary

pytestmark = pytest.mark.integration

LAYERS = (0, 1, 3)
GAMMA = 4


class Plain:
    """Drafts one token at a time with a growing list of cells, as an engine does."""

    def __init__(self, draft: EagleDraft, model: Any) -> None:
        self.draft, self.model = draft, model
        self.embed, self.rope = model.get_input_embeddings(), model.model.rotary_emb
        self.keys, self.values = list[Tensor](), list[Tensor]()

    def prefill(self, ids: Sequence[int]) -> Tensor:
        """Fills the step-0 cells of all tokens but the first; the last one's state `[H]`."""
        step = HFTarget(self.model).forward(torch.tensor([ids[:-1]]), None, LAYERS)
        features = self.draft.fc(torch.cat(step.captured, dim=-1))[0]
        for place, feature in enumerate(features):
            hidden = self.append(ids[place + 1], feature)
        return hidden

    def append(self, token: int, state: Tensor) -> Tensor:
        """The state `[H]` after one more token, given the state before it."""
        layer, attention = self.draft.midlayer, self.draft.midlayer.self_attn
        embedding = layer.input_layernorm(self.embed(torch.tensor(token)))
        cell = torch.cat([embedding, layer.hidden_norm(state)])
        heads = [
            projection(cell).view(1, -1, 1, attention.head_dim)
            for projection in (attention.q_proj, attention.k_proj, attention.v_proj)
        ]
        angles = self.rope(cell, torch.tensor([[len(self.keys)]]))
        query, key = apply_rotary_pos_emb(heads[0], heads[1], *angles)
        self.keys.append(key)
        self.values.append(heads[2])
        groups = query.shape[1] // key.shape[1]
        seen = [repeat_kv(torch.cat(each, dim=2), groups) for each in (self.keys, self.values)]
        out = F.scaled_dot_product_attention(query, *seen)
        state = state + attention.o_proj(out.flatten())
        mlp, inner = layer.mlp, layer.post_attention_layernorm(state)
        return state + mlp.down_proj(F.silu(mlp.gate_proj(inner)) * mlp.up_proj(inner))


class Tiny(NamedTuple):
    """A random draft of a random target, with an answer that the target did not choose."""

    model: Any
    trainee: EagleTrainee
    sample: Sample

    def chain(self, anchor: int, tokens: Sequence[int] | None) -> list[Tensor]:
        """Logits of each step of a chain, fed with `tokens`, or with its own choices."""
        plain = Plain(self.trainee.draft, self.model)
        state, logits = plain.prefill(self.sample.ids[: anchor + 1].tolist()), list[Tensor]()
        for step in range(GAMMA):
            logits.append(self.trainee.lm_head[:-1] @ self.trainee.draft.norm(state))
            own = int(self.trainee.vocabulary.ids[logits[-1].argmax()])
            state = plain.append(tokens[step] if tokens else own, state)
        return logits


@pytest.fixture
def tiny() -> Tiny:
    model = tiny_llama().eval()
    settings = EagleSettings(architecture="Eagle3", target_layer_ids=LAYERS, gamma=GAMMA)
    vocabulary = SubVocabulary(torch.arange(0, VOCABULARY, 2), VOCABULARY)
    embedding = model.get_input_embeddings().weight.detach()
    frozen = Frozen(embedding, vocabulary.lm_head(model.get_output_embeddings().weight.detach()))
    trainee = EagleTrainee(eagle_config(model.config, settings), vocabulary, frozen)
    initialise(trainee.draft, 0)
    with torch.no_grad():
        for parameter in trainee.draft.parameters():
            parameter.mul_(3).add_(0.05 * torch.randn_like(parameter))
    ids = torch.randint(0, VOCABULARY, (14,))
    with torch.no_grad():
        out = model(ids[None], output_hidden_states=True)
    captured = torch.cat([out.hidden_states[layer + 1][0] for layer in LAYERS], dim=-1)
    return Tiny(model, trainee, Sample(ids, 3, captured, out.hidden_states[-1][0]))


@torch.no_grad()
def test_unrolled_training_is_step_by_step_drafting(tiny: Tiny) -> None:
    blocks = blocks_at(tiny.sample, all_anchors(tiny.sample), GAMMA)
    logits = tiny.trainee(tiny.sample, blocks).logits
    assert float(logits.std()) > 0.1
    for row, (anchor, tokens) in enumerate(
        zip(blocks.anchors.tolist(), blocks.previous.tolist(), strict=True)
    ):
        wanted = torch.stack(tiny.chain(anchor, [*tokens[1:], 0]))
        inside = blocks.is_inside[row]
        torch.testing.assert_close(logits[row][inside], wanted[inside], rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_proposals_are_step_by_step_drafting(tiny: Tiny) -> None:
    blocks = blocks_at(tiny.sample, all_anchors(tiny.sample), GAMMA)
    proposed = tiny.trainee.proposed(tiny.sample, blocks).tokens
    accepted = drafted(tiny.trainee, tiny.sample).accepted
    for row, anchor in enumerate(blocks.anchors.tolist()):
        own = [int(logits.argmax()) for logits in tiny.chain(anchor, None)]
        assert proposed[row].tolist() == own
        labels = tiny.trainee.vocabulary.labels(blocks.labels[row])
        is_right = (torch.tensor(own) == labels) & blocks.is_inside[row] & (labels != OUTSIDE)
        assert int(accepted[row]) == int(is_right.long().cumprod(0).sum())


def test_every_weight_learns_and_targets_are_the_targets(tiny: Tiny) -> None:
    blocks = blocks_at(tiny.sample, all_anchors(tiny.sample), GAMMA)
    tiny.trainee(tiny.sample, blocks).logits.logsumexp(-1).sum().backward()
    for name, parameter in tiny.trainee.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name
    with torch.no_grad():
        whole = tiny.model(tiny.sample.ids[None]).logits[0, blocks.sources]
    wanted = whole[..., tiny.trainee.vocabulary.ids]
    torch.testing.assert_close(tiny.trainee.target_logits(tiny.sample, blocks), wanted)


def test_a_draft_is_read_as_it_was_written(tiny: Tiny, tmp_path: Path) -> None:
    tiny.trainee.write(tmp_path)
    stored = read_eagle(tmp_path)
    assert stored.draft.config == tiny.trainee.draft.config
    assert torch.equal(stored.vocabulary.ids, tiny.trainee.vocabulary.ids)
    ours = tiny.trainee.draft.state_dict()
    assert all(torch.equal(ours[name], each) for name, each in stored.draft.state_dict().items())
    weights = load_file(tmp_path / "model.safetensors")
    head = tiny.model.get_output_embeddings().weight
    assert weights["t2d"].nonzero().flatten().tolist() == stored.vocabulary.ids.tolist()
    assert torch.equal(weights["lm_head.weight"], head[stored.vocabulary.ids])
    start_eagle_from_draft(tiny.trainee.draft, stored.draft)
    other = replace(stored.draft.config, target_layer_ids=(0,))
    with pytest.raises(ValueError, match="does not fit"):
        start_eagle_from_draft(EagleDraft(other), stored.draft)
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace('"silu"', '"gelu"'))
    with pytest.raises(ValueError, match="hidden_act"):
        read_eagle(tmp_path)


SGLANG_NAMES = {
    "lm_head.weight": 1,
    "model.fc.weight": 1,
    "model.norm.weight": 1,
    "model.layers.0.input_layernorm.weight": 1,
    "model.layers.0.hidden_norm.weight": 1,
    "model.layers.0.post_attention_layernorm.weight": 1,
    "model.layers.0.self_attn.qkv_proj.weight": 3,
    "model.layers.0.self_attn.o_proj.weight": 1,
    "model.layers.0.mlp.gate_up_proj.weight": 2,
    "model.layers.0.mlp.down_proj.weight": 1,
}
"""Parameters of SGLang's class but the embedding, with how many weights of a file each takes."""


def test_sglang_finds_every_weight(tiny: Tiny, tmp_path: Path) -> None:
    pytest.importorskip("sglang")
    from sglang.srt.models.llama_eagle3 import LlamaForCausalLMEagle3

    tiny.trainee.write(tmp_path)
    loaded = dict.fromkeys(SGLANG_NAMES, 0)

    def parameter(name: str) -> Any:
        def load(*_: Any) -> None:
            loaded[name] += 1

        return SimpleNamespace(weight_loader=load)

    model = SimpleNamespace(named_parameters=lambda: [(n, parameter(n)) for n in SGLANG_NAMES])
    weights = load_file(tmp_path / "model.safetensors")
    LlamaForCausalLMEagle3.load_weights(model, weights.items())
    assert loaded == SGLANG_NAMES
    assert model.hot_token_id.tolist() == tiny.trainee.vocabulary.ids.tolist()


def eagle(config: TrainingConfig, output: Path, **fit: Any) -> TrainingConfig:
    """An Eagle3 run beside `config`, on the same data."""
    changes = {
        "data": config.output,
        "output": output,
        "draft": EagleSettings(architecture="Eagle3"),
        "fit": config.fit.model_copy(update=fit),
    }
    return config.model_copy(update=changes)


def test_it_overfits_the_tiny_target_on_another_runs_data(
    llama_folder: Path, prompt_file: Path, tmp_path: Path
) -> None:
    config = run_config(llama_folder, prompt_file, tmp_path / "dspark")
    first = Run(config, Progress(lambda text: None))
    first.generate()
    first.cache()
    run = Run(eagle(config, tmp_path / "eagle", max_steps=400), Progress(lambda text: None))
    run.generate()
    run.cache()
    assert run.split() == first.split()
    assert not (run.output / "answers.jsonl").exists()
    run.fit()
    run.evaluate()
    fit = run.new_fit()
    assert fit.resume()
    trained = [drafted(fit.trainee, run.sample(i)).accepted for i in run.split()[0][:8]]
    assert float(torch.cat(trained).float().mean()) + 1 > 3
    card = json.loads((run.output / "fit" / "best" / "card.json").read_text())
    kept = [each["accept_length"] for each in card["figures"].values()]
    assert card["course"]["best_accept_length"] == pytest.approx(sum(kept) / len(kept), abs=1e-4)
    assert not (run.output / "fit" / "best" / "sts.json").exists()


def test_a_resumed_run_ends_with_equal_bits(
    llama_folder: Path, prompt_file: Path, tmp_path: Path
) -> None:
    config = run_config(llama_folder, prompt_file, tmp_path / "data", max_steps=20)
    run = Run(eagle(config, tmp_path / "eagle"), Progress(lambda text: None))
    run.generate()
    run.cache()

    def fitted(folder: str, *stops: int) -> dict[str, Tensor]:
        run.output = tmp_path / folder
        for stop in stops:
            fit = run.new_fit()
            assert fit.resume() == (fit.folder / "checkpoint").exists()
            while fit.course.step < stop:
                fit.step()
            fit.save()
        return dict(fit.trainee.draft.state_dict())

    straight, resumed = fitted("straight", 10), fitted("resumed", 4, 10)
    assert all(torch.equal(straight[name], resumed[name]) for name in straight)


@pytest.mark.parametrize(
    "setting",
    [
        f"mask_token_id: {MASK}",
        "markov_head_type: none",
        "markov_rank: 0",
        "enable_confidence_head: false",
        "num_hidden_layers: 2",
    ],
)
def test_settings_without_a_meaning_are_refused(tmp_path: Path, setting: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(
        f"{{target: t, prompts: [p], output: o, draft: {{architecture: Eagle3, {setting}}}}}"
    )
    name = setting.partition(":")[0]
    with pytest.raises(ValueError, match=rf"draft.Eagle3.{name}"):
        read_config(path)


def test_the_data_folder_is_beside_the_config(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    text = "{target: t, prompts: [p], output: o, draft: {architecture: Eagle3}"
    path.write_text(text + ", data: shared}")
    assert read_config(path).data == tmp_path / "shared"
    path.write_text(text + "}")
    assert read_config(path).data is None
