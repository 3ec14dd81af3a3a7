"""A random target over eight tokens, and a random draft that agrees with it only in part.

So few tokens that every continuation can be enumerated. The draft's Markov head holds how the
target answers on average to each last token; its backbone adds noise of its own, so that drafts
are accepted about half of the time, at every position.
"""

from itertools import product
from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from dspark_sglang.demo.model import Models
from dspark_sglang.reference import Draft, DraftConfig
from dspark_sglang.reference.checkpoint import write_draft
from dspark_sglang.reference.hf_target import HFTarget

LETTERS = "abcdefgh"
VOCAB, GAMMA = len(LETTERS), 3
PROMPT = (3, 1, 4, 1, 5)
SEED = 11
TARGET_STD, HEAD_STD = 0.4, 0.25
NOISE = 0.5
"""Of the final norm of the draft, which scales the logits of its backbone."""
TILT = 0.3
"""Of the draft towards tokens of even number: what it gets wrong does not average out."""
CONFIG = LlamaConfig(
    vocab_size=VOCAB,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=3,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=16,
    max_position_embeddings=4096,
    tie_word_embeddings=False,
    bos_token_id=0,
    eos_token_id=VOCAB - 1,
)


def random_target() -> HFTarget:
    """In float32; its answers depend on more than the last token."""
    torch.manual_seed(SEED)
    model = LlamaForCausalLM(CONFIG).float()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, float(weight.ndim == 1), TARGET_STD)
    torch.nn.init.normal_(model.lm_head.weight, 0.0, HEAD_STD)
    return HFTarget(model)


def random_draft(target: HFTarget) -> Draft:
    torch.manual_seed(SEED + 1)
    draft = Draft(draft_config()).float().eval()
    tilt = TILT * (1 - 2 * (torch.arange(VOCAB) % 2))
    with torch.no_grad():
        for weight in draft.parameters():
            torch.nn.init.normal_(weight, float(weight.ndim == 1), 0.3)
        draft.backbone.norm.weight.fill_(NOISE)
        draft.markov_head.markov_w1.weight.copy_(habits(target) + tilt)
        draft.markov_head.markov_w2.weight.copy_(torch.eye(VOCAB))
        spread_confidences(draft)
    return draft


def spread_confidences(draft: Draft) -> None:
    """Confidences that differ by the last token, so that a budget cuts blocks everywhere."""
    proj, embeddings = draft.confidence_head.proj, draft.markov_head.markov_w1.weight
    of_token = proj.weight[0, -VOCAB:]
    of_token.normal_(0.0, 0.6)
    proj.bias.fill_(1 - float((embeddings @ of_token).mean()))


@torch.no_grad()
def habits(target: HFTarget) -> Tensor:
    """`[V, V]`: how the target answers to each last token, over all pairs of tokens before it."""
    heads = torch.tensor([[*PROMPT, *pair] for pair in product(range(VOCAB), repeat=3)])
    logits = target.model(heads).logits[:, -1].log_softmax(dim=-1)
    return logits.view(-1, VOCAB, VOCAB).mean(dim=0)


def draft_config() -> DraftConfig:
    return DraftConfig(
        hidden_size=CONFIG.hidden_size,
        num_attention_heads=CONFIG.num_attention_heads,
        num_key_value_heads=CONFIG.num_key_value_heads,
        head_dim=CONFIG.head_dim,
        intermediate_size=CONFIG.intermediate_size,
        vocab_size=VOCAB,
        num_hidden_layers=1,
        rms_norm_eps=CONFIG.rms_norm_eps,
        rope_theta=10000.0,
        max_position_embeddings=CONFIG.max_position_embeddings,
        num_target_layers=CONFIG.num_hidden_layers,
        target_layer_ids=(0, 1),
        gamma=GAMMA,
        mask_token_id=2,
        markov_head_type="vanilla",
        markov_rank=VOCAB,
        enable_confidence_head=True,
        confidence_head_with_markov=True,
    )


def write_models(target: HFTarget, draft: Draft, folder: Path) -> Models:
    """Both checkpoints below `folder`; the tokens are letters, which a grammar can speak of."""
    models = Models(target=folder / "target", draft=folder / "draft")
    target.model.save_pretrained(models.target)
    tokenizer = Tokenizer(WordLevel({letter: i for i, letter in enumerate(LETTERS)}, LETTERS[0]))
    tokenizer.pre_tokenizer = Split("", "isolated")
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=LETTERS[-1], unk_token=LETTERS[0]
    ).save_pretrained(models.target)
    write_draft(draft, models.draft)
    return models
