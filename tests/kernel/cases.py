"""Randomised inputs of the kernels under test, the same in every process."""

import torch

Case = tuple[str, dict[str, torch.Tensor]]


def all_cases() -> list[Case]:
    torch.manual_seed(11)
    chains = [chain_case(batch, slots, vocab, mix) for batch, slots, vocab, mix in CHAINS]
    blocks = [(name, {**case, "block": torch.tensor(True)}) for name, case in chains]
    return [*chains, *blocks, *slot_cases(), *norm_rope_cases(), *draft_chain_cases()]


CHAINS = ((1, 2, 5, 0.0), (3, 8, 17, 0.3), (8, 4, 300, 0.9), (4, 8, 4100, 0.98), (5, 3, 64, 1.0))
"""Batch, slots, vocabulary, and how near the draft is to the target (1: equal)."""


def chain_case(batch: int, slots: int, vocab: int, nearness: float) -> Case:
    target = torch.softmax(3 * torch.randn(batch, slots, vocab), dim=-1)
    noise = torch.softmax(3 * torch.randn(batch, slots - 1, vocab), dim=-1)
    draft = nearness * target[:, :-1] + (1 - nearness) * noise
    drafted = torch.multinomial(draft.view(-1, vocab), 1).view(batch, slots - 1)
    anchor = torch.randint(vocab, (batch, 1))
    return "chain", {
        "candidates": torch.cat([anchor, drafted], dim=1),
        "target_probs": target,
        "draft_probs": draft,
        "coins": torch.rand(batch, slots - 1),
        "final_coins": torch.rand(batch),
        "block": torch.tensor(False),
    }


def slot_cases() -> list[Case]:
    cases: list[Case] = []
    for batch in (1, 3, 8):
        table = torch.randint(1000, (12, 96), dtype=torch.int32)
        rows = torch.randperm(12)[:batch]
        start = torch.randint(40, (batch,))
        end = start + torch.randint(0, 41, (batch,))
        total = int((end - start).sum())
        common = {"rows": rows, "table": table, "start": start, "end": end}
        cases.append(("write_slots", {**common, "slots": torch.randint(9999, (total,))}))
        cases.append(("read_slots", {**common, "size": torch.tensor(total + 5)}))
    return cases


def norm_rope_cases() -> list[Case]:
    cases: list[Case] = []
    for tokens, q_heads, k_heads, dim in ((1, 2, 1, 16), (7, 9, 3, 64), (5, 4, 4, 32)):
        columns = (q_heads + 2 * k_heads) * dim
        angle = torch.rand(50, dim // 2) * 6
        cases.append(
            (
                "norm_rope",
                {
                    "qkv": torch.randn(tokens, columns).bfloat16(),
                    "positions": torch.randint(50, (tokens,)),
                    "q_weight": (1 + 0.1 * torch.randn(dim)).bfloat16(),
                    "k_weight": (1 + 0.1 * torch.randn(dim)).bfloat16(),
                    "cos_sin": torch.cat([angle.cos(), angle.sin()], dim=-1),
                    "q_heads": torch.tensor(q_heads),
                    "k_heads": torch.tensor(k_heads),
                    "dim": torch.tensor(dim),
                },
            )
        )
    return cases


def draft_chain_cases() -> list[Case]:
    """Chains of which a part is what the target predicts."""
    cases: list[Case] = []
    for batch, tokens in ((1, 2), (3, 8), (8, 5)):
        drafted = torch.randint(4, (batch, tokens))
        predicted = drafted.roll(-1, dims=1)
        is_other = torch.rand(batch, tokens) < 1 / tokens
        predicted = torch.where(is_other, predicted + 1, predicted)
        case = {"candidates": drafted, "target_predict": predicted}
        cases.append(("draft_chain", {**case, "seq_lens": torch.randint(1, 40, (batch,))}))
    return cases
