"""Grouped attention against attention by definition, on random batches."""

import random

import pytest
import torch

from dspark_kernels.paged_attention import attend, attend_reference, build_plan, plan

DIM = 16


class Batch:
    """A random pool with requests whose slots are scattered over it."""

    def __init__(self, query_lens, kv_lens, heads=6, kv_heads=2, dtype=torch.float32):
        generator = torch.Generator().manual_seed(sum(kv_lens) + len(kv_lens))
        slots = sum(kv_lens) + 8
        self.query_lens, self.kv_lens = query_lens, kv_lens
        shape = (slots, kv_heads, DIM)
        self.keys = torch.randn(shape, generator=generator).to(dtype)
        self.values = torch.randn(shape, generator=generator).to(dtype)
        self.query = torch.randn(sum(query_lens), heads, DIM, generator=generator).to(dtype)
        self.table = torch.randint(slots, (len(kv_lens) + 2, max(kv_lens) + 3), dtype=torch.int32)
        self.rows = torch.randperm(len(kv_lens) + 2, generator=generator)[: len(kv_lens)]
        free = torch.randperm(slots, generator=generator).int()
        for row, length in zip(self.rows.tolist(), kv_lens, strict=True):
            self.table[row, :length], free = free[:length], free[length:]

    def lens(self):
        return self.table, self.rows, self.query_lens, self.kv_lens

    def check(self, tolerance=2e-6, **options):
        options = {"scale": 0.3, "causal": True, **options}
        pools = (self.query, self.keys, self.values)
        result = attend(*pools, build_plan(*self.lens()), **options)
        expected = attend_reference(*pools, *self.lens(), **options)
        error = (result.double() - expected).abs().max()
        assert error < tolerance, float(error)


SHAPES = {
    "decode one": ([1], [37]),
    "decode equal": ([1] * 4, [20] * 4),
    "decode uneven": ([1] * 5, [3, 40, 17, 1, 90]),
    "verify one": ([8], [50]),
    "verify uniform": ([8] * 3, [20, 31, 64]),
    "verify ragged": ([1, 8, 3, 5], [20, 31, 64, 5]),
    "prefill": ([33, 64], [33, 64]),
    "chunk of a prefill": ([33, 40], [50, 90]),
    "mixed": ([40, 1, 1, 2], [40, 7, 600, 30]),
}


@pytest.mark.parametrize("causal", [True, False], ids=["causal", "block"])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape: str, causal: bool) -> None:
    Batch(*SHAPES[shape]).check(causal=causal)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("window", [0, 7])
def test_sliding_window(shape: str, window: int) -> None:
    Batch(*SHAPES[shape]).check(window=window)


@pytest.mark.parametrize("shape", ["decode uneven", "verify ragged", "chunk of a prefill"])
def test_soft_cap_and_sinks(shape: str) -> None:
    batch = Batch(*SHAPES[shape])
    batch.check(logit_cap=2.0)
    batch.check(sinks=torch.randn(6), window=5)
    batch.check(sinks=torch.randn(6), logit_cap=1.5, causal=False)


@pytest.mark.parametrize("heads", [(1, 1), (4, 4), (9, 3), (8, 1)])
def test_grouped_heads(heads: tuple[int, int]) -> None:
    for shape in ("decode uneven", "verify ragged", "prefill"):
        Batch(*SHAPES[shape], *heads).check()


def test_bfloat16_stays_within_its_rounding() -> None:
    for shape in ("decode uneven", "verify ragged"):
        Batch(*SHAPES[shape], dtype=torch.bfloat16).check(tolerance=0.03)


def test_random_batches() -> None:
    draw = random.Random(5)
    for _ in range(30):
        query_lens = [draw.randint(1, 9) for _ in range(draw.randint(1, 9))]
        kv_lens = [length + draw.choice([0, 1, 30, 200]) for length in query_lens]
        Batch(query_lens, kv_lens).check(causal=draw.random() < 0.7)


def test_consecutive_slots_are_read_without_a_gather() -> None:
    batch = Batch([1], [30])
    batch.table[batch.rows[0], :30] = torch.arange(5, 35)
    assert build_plan(*batch.lens()).groups[0].slots == slice(5, 35)
    batch.check()
    batch.table[batch.rows[0], 29] = 35
    assert isinstance(build_plan(*batch.lens()).groups[0].slots, torch.Tensor)
    batch.check()


def test_groups_are_bounded_and_cover_every_row() -> None:
    batch = Batch([1, 2, 8, 1, 1, 4, 1], [300] * 7)
    bytes_per_slot = plan.MAX_GROUP_BYTES // 900
    groups = build_plan(*batch.lens(), bytes_per_slot=bytes_per_slot).groups
    assert [len(group.kv_lens) for group in groups] == [3, 3, 1]
    rows = [row for group in groups for row in range(group.rows.start, group.rows.stop)]
    assert rows == list(range(18))


def test_a_long_request_is_not_padded_onto_short_ones() -> None:
    groups = build_plan(*Batch([1] * 5, [4, 5, 3000, 6, 5]).lens()).groups
    assert [group.kv_lens for group in groups] == [(4, 5), (3000,), (6, 5)]


def test_rows_beyond_the_plan_are_zero() -> None:
    batch = Batch([2, 3], [10, 9])
    query = torch.cat([batch.query, torch.randn(3, 6, DIM)])
    out = attend(query, batch.keys, batch.values, build_plan(*batch.lens()), scale=1.0, causal=True)
    assert out[5:].abs().max() == 0
    assert out[:5].abs().min() > 0


def test_masks_are_shared_by_the_layers_of_a_forward() -> None:
    batch = Batch([1, 2], [10, 9])
    shared = build_plan(*batch.lens())
    for _ in range(3):
        attend(batch.query, batch.keys, batch.values, shared, scale=1.0, causal=True)
    assert len(shared.groups[0].masks) == 1


def test_slots_are_translated_for_another_pool() -> None:
    batch = Batch([1, 1], [10, 9])
    moved = torch.randperm(batch.keys.shape[0])
    place = torch.empty_like(moved)
    place[moved] = torch.arange(moved.numel())
    other = build_plan(*batch.lens(), translate=lambda slots: place[slots.long()].int())
    options = {"scale": 0.3, "causal": True}
    expected = attend(batch.query, batch.keys, batch.values, build_plan(*batch.lens()), **options)
    result = attend(batch.query, batch.keys[moved], batch.values[moved], other, **options)
    torch.testing.assert_close(result, expected)
