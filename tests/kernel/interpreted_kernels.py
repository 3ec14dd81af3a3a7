"""Runs SGLang's Triton kernels in Triton's interpreter; a program, see `conftest.py`.

`python interpreted_kernels.py cases.pt results.pt`: a list of (name, arguments) becomes a list
of outputs. It is a process of its own since `TRITON_INTERPRET` must be set before Triton is
imported and must not reach the servers that other tests start.
"""

import sys

import torch
from sglang.kernels.ops.attention.table_qk_norm_rope import table_qk_norm_rope_
from sglang.kernels.ops.speculative.cache_locs import assign_extend_cache_locs
from sglang.kernels.ops.speculative.eagle import fill_bonus_tokens
from sglang.kernels.ops.speculative.reject_sampling import chain_speculative_sampling_triton
from sglang.kernels.ops.speculative.spec_tree import (
    sgl_build_tree_kernel_triton,
    verify_tree_greedy_triton,
)
from sglang.srt.mem_cache.allocation import assign_req_to_token_pool

Arguments = dict[str, torch.Tensor]


def chain(case: Arguments) -> Arguments:
    drafted = case["candidates"]
    batch, slots = drafted.shape
    out = {
        "predicts": torch.full((batch * slots,), -1, dtype=torch.int32),
        "accept_index": torch.full((batch, slots), -1, dtype=torch.int32),
        "accept_token_num": torch.zeros(batch, dtype=torch.int32),
    }
    unused = torch.zeros(batch, slots, dtype=torch.int64)
    chain_speculative_sampling_triton(
        **out,
        candidates=drafted,
        retrive_index=torch.arange(batch * slots).view(batch, slots),
        retrive_next_token=unused,
        retrive_next_sibling=unused,
        uniform_samples=case["coins"],
        uniform_samples_for_final_sampling=case["final_coins"],
        target_probs=case["target_probs"],
        draft_probs=case["draft_probs"],
        threshold_single=1.0,
        threshold_acc=1.0,
        deterministic=True,
        block_verification=bool(case["block"]),
    )
    return out


def write_slots(case: Arguments) -> Arguments:
    table = case["table"].clone()
    assign_req_to_token_pool[(case["rows"].numel(),)](
        case["rows"], table, case["start"], case["end"], case["slots"], table.shape[1], 8
    )
    return {"table": table}


def read_slots(case: Arguments) -> Arguments:
    out = torch.zeros(int(case["size"]), dtype=torch.int64)
    table = case["table"]
    assign_extend_cache_locs[(case["rows"].numel(),)](
        case["rows"], table, case["start"], case["end"], out, table.shape[1], 8
    )
    return {"slots": out}


def norm_rope(case: Arguments) -> Arguments:
    qkv = case["qkv"].clone()
    heads = [int(case[name]) for name in ("q_heads", "k_heads", "dim")]
    weights = (case["q_weight"], case["k_weight"])
    table_qk_norm_rope_(qkv, case["positions"], *weights, case["cos_sin"], *heads, 1e-5)
    return {"qkv": qkv}


def draft_chain(case: Arguments) -> Arguments:
    """The tree of a chain of drafts, its verification, and the last token of each request."""
    batch, tokens = case["candidates"].shape
    tree = {
        "positions": torch.full((batch * tokens,), -1),
        "retrieve_index": torch.full((batch, tokens), -1),
        "retrieve_next_token": torch.full((batch, tokens), -1),
        "retrieve_next_sibling": torch.full((batch, tokens), -1),
    }
    scores = torch.arange(tokens - 1).expand(batch, -1).contiguous()
    parents = torch.arange(-1, tokens - 2).expand(batch, -1).contiguous()
    mask = torch.ones(int(case["seq_lens"].sum()) * tokens + batch * tokens**2, dtype=torch.bool)
    shape = {"topk": 1, "depth": tokens - 1, "draft_token_num": tokens}
    sgl_build_tree_kernel_triton(parents, scores, case["seq_lens"], mask, **tree, **shape)
    out = {
        "predicts": torch.zeros(batch * tokens, dtype=torch.int32),
        "accept_index": torch.full((batch, tokens), -1, dtype=torch.int32),
        "accept_token_num": torch.zeros(batch, dtype=torch.int32),
    }
    links = {name: tree[name] for name in tree if name != "positions"}
    drafted = {name: case[name] for name in ("candidates", "target_predict")}
    verify_tree_greedy_triton(**out, **links, **drafted)
    bonus = torch.empty(batch, dtype=torch.int32)
    kept = out["predicts"][out["accept_index"].long()].contiguous()
    fill_bonus_tokens[(batch,)](kept, out["accept_token_num"] + 1, bonus, tokens)
    return {**tree, **out, "bonus": bonus}


KERNELS = {
    "chain": chain,
    "write_slots": write_slots,
    "read_slots": read_slots,
    "norm_rope": norm_rope,
    "draft_chain": draft_chain,
}


if __name__ == "__main__":
    cases = torch.load(sys.argv[1])
    torch.save([KERNELS[name](case) for name, case in cases], sys.argv[2])
