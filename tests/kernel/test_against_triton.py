"""Our torch versions against SGLang's Triton kernels on the same inputs."""

import torch

from dspark_kernels.chain_speculative_sampling import chain_speculative_sampling
from dspark_kernels.draft_chain import build_chain, fill_bonus_tokens, verify_chain_greedy
from dspark_kernels.slot_ranges import read_slots, write_slots
from dspark_kernels.table_qk_norm_rope import table_qk_norm_rope_
from tests.kernel import cases


def sample(case: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    batch, slots = case["candidates"].shape
    out = {
        "predicts": torch.full((batch * slots,), -1, dtype=torch.int32),
        "accept_index": torch.full((batch, slots), -1, dtype=torch.int32),
        "accept_token_num": torch.zeros(batch, dtype=torch.int32),
    }
    chain_speculative_sampling(
        **out,
        candidates=case["candidates"],
        retrive_index=torch.arange(batch * slots).view(batch, slots),
        retrive_next_token=torch.empty(0),
        retrive_next_sibling=torch.empty(0),
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


def test_chain_sampling_accepts_and_draws_the_same_tokens(upstream) -> None:
    pairs = upstream("chain")
    assert {bool(case["block"]) for case, _ in pairs} == {False, True}
    for case, expected in pairs:
        result = sample(case)
        for name, value in expected.items():
            assert torch.equal(result[name], value), (name, case["candidates"].shape)


def test_chain_cases_reject_early_late_and_never(upstream) -> None:
    lengths = [
        (int(length), case["candidates"].shape[1] - 1)
        for case, out in upstream("chain")
        for length in out["accept_token_num"]
    ]
    assert any(length == 0 for length, _ in lengths)
    assert any(0 < length < full for length, full in lengths)
    assert any(length == full for length, full in lengths)


def test_a_draft_probability_that_is_none_is_rejected(upstream) -> None:
    case = dict(upstream("chain")[1][0])
    for bad in (float("nan"), float("inf"), -0.5, 0.0):
        draft = case["draft_probs"].clone()
        draft[:, 0] = bad
        result = sample({**case, "draft_probs": draft})
        assert (result["accept_token_num"] == 0).all(), bad
        assert (result["predicts"].view(case["candidates"].shape)[:, 0] >= 0).all()


def run_draft_chain(case: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    batch, tokens = case["candidates"].shape
    names = ("retrieve_index", "retrieve_next_token", "retrieve_next_sibling")
    links = {name: torch.full((batch, tokens), -1) for name in names}
    positions, unused = torch.full((batch * tokens,), -1), torch.empty(0)
    shape = (1, tokens - 1, tokens, 0)
    build_chain(unused, unused, case["seq_lens"], unused, positions, *links.values(), *shape)
    out = (
        torch.zeros(batch * tokens, dtype=torch.int32),
        torch.full((batch, tokens), -1, dtype=torch.int32),
        torch.zeros(batch, dtype=torch.int32),
    )
    verify_chain_greedy(*out, case["candidates"], *links.values(), case["target_predict"])
    predicts, accept_index, accepted = out
    bonus = torch.empty(batch, dtype=torch.int32)
    fill_bonus_tokens(predicts[accept_index.long()], accepted + 1, bonus, tokens, batch)
    named = dict(zip(("predicts", "accept_index", "accept_token_num"), out, strict=True))
    return {**links, "positions": positions, **named, "bonus": bonus}


def test_a_chain_is_built_and_verified_as_upstream_does_with_a_tree(upstream) -> None:
    """What is predicted after the last accepted token is read by nobody."""
    lengths = set[bool]()
    for case, expected in upstream("draft_chain"):
        result = run_draft_chain(case)
        is_kept = expected["accept_index"].flatten() >= 0
        for each in (result, expected):
            each["predicts"] = torch.where(is_kept, each["predicts"], -1)
        assert all(torch.equal(result[name], value) for name, value in expected.items())
        full = case["candidates"].shape[1] - 1
        lengths |= {bool(n) for n in expected["accept_token_num"] == full}
    assert lengths == {True, False}


def test_slots_are_written_as_upstream_does(upstream) -> None:
    for case, expected in upstream("write_slots"):
        table = case["table"].clone()
        write_slots(case["rows"], table, case["start"], case["end"], case["slots"])
        assert torch.equal(table, expected["table"])


def test_slots_are_read_as_upstream_does(upstream) -> None:
    for case, expected in upstream("read_slots"):
        where = (case["rows"], case["table"], case["start"], case["end"])
        assert torch.equal(read_slots(*where, int(case["size"])), expected["slots"])


def run_norm_rope(case: dict[str, torch.Tensor]) -> torch.Tensor:
    qkv = case["qkv"].clone()
    heads = [int(case[name]) for name in ("q_heads", "k_heads", "dim")]
    weights = (case["q_weight"], case["k_weight"])
    table_qk_norm_rope_(qkv, case["positions"], *weights, case["cos_sin"], *heads, 1e-5)
    return qkv


def test_norm_and_rotation_agree_but_for_truncation(upstream) -> None:
    """Triton's interpreter truncates to bfloat16 where hardware and torch round to nearest."""
    for case, expected in upstream("norm_rope"):
        qkv, dim = run_norm_rope(case), int(case["dim"])
        values = (int(case["q_heads"]) + int(case["k_heads"])) * dim
        size = expected["qkv"][:, :values].float().unflatten(1, (-1, dim)).abs().amax(-1)
        error = (qkv - expected["qkv"]).float()[:, :values].unflatten(1, (-1, dim)).abs().amax(-1)
        assert (error <= 6 * 2**-8 * size).all()
        assert torch.equal(qkv[:, values:], case["qkv"][:, values:])


def test_norm_and_rotation_by_definition() -> None:
    for name, case in cases.all_cases():
        if name != "norm_rope":
            continue
        dim = int(case["dim"])
        for column, weight in ((0, "q_weight"), (int(case["q_heads"]) * dim, "k_weight")):
            x = case["qkv"][:, column : column + dim].double()
            x = x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * case[weight].double()
            first, second = x.chunk(2, dim=-1)
            cos, sin = case["cos_sin"][case["positions"]].double().chunk(2, dim=-1)
            wanted = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
            error = (run_norm_rope(case)[:, column : column + dim] - wanted).abs()
            assert (error <= 2 * 2**-8 * x.abs().amax(-1, keepdim=True)).all()
