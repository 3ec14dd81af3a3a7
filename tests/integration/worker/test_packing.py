"""Packed weights: the same products, row by row, and never those of weights that are gone."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 (its usual name)

from dspark_sglang.platforms.cpu import packing


def linear(dtype: torch.dtype = torch.float32) -> nn.Linear:
    torch.manual_seed(1)
    return nn.Linear(96, 160, bias=False, dtype=dtype).requires_grad_(requires_grad=False)


def refused(*_args: object) -> torch.Tensor:
    raise AssertionError("the plain product was taken")


def plain(_method: object, layer: nn.Linear, x: torch.Tensor, bias: torch.Tensor | None) -> str:
    return "plain"


@pytest.mark.parametrize("dtype", packing.DTYPES)
@pytest.mark.parametrize("shape", [(0, 96), (1, 96), (8, 96), (300, 96), (2, 5, 96)])
def test_products_are_those_of_the_plain_weight(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    layer, x = linear(dtype), torch.randn(shape).to(dtype)
    bias = torch.randn(160).to(dtype)
    for each in (None, bias):
        found = packing.packed_apply(refused, None, layer, x, each)
        expected = F.linear(
            x.double(), layer.weight.double(), each if each is None else each.double()
        )
        assert found.shape == expected.shape
        assert found.dtype == dtype
        bound = 1e-4 if dtype == torch.float32 else 0.1
        torch.testing.assert_close(found.double(), expected, atol=bound, rtol=0.02)


def test_a_row_is_the_same_in_every_batch() -> None:
    layer, x = linear(), torch.randn(8, 96)
    whole = packing.packed_apply(refused, None, layer, x)
    for rows in (1, 3):
        assert torch.equal(packing.packed_apply(refused, None, layer, x[:rows]), whole[:rows])


def test_replaced_weights_are_packed_anew() -> None:
    layer, x = linear(), torch.randn(4, 96)
    before = packing.packed_apply(refused, None, layer, x)
    layer.weight.data.copy_(2 * layer.weight)
    packing.forget_packed("arguments of the update", of="upstream")
    torch.testing.assert_close(packing.packed_apply(refused, None, layer, x), 2 * before)


@pytest.mark.parametrize("case", ["dtype of x", "dtype of weight", "no memory", "strides"])
def test_what_cannot_be_packed_is_left_to_upstream(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer, x = linear(), torch.randn(4, 96)
    if case == "dtype of x":
        x = x.double()
    elif case == "dtype of weight":
        layer.weight.data = layer.weight.double()
    elif case == "strides":
        layer.weight.data = torch.randn(96, 160).T
    else:
        memory = SimpleNamespace(available=100, total=1000)
        monkeypatch.setattr(packing.psutil, "virtual_memory", lambda: memory)
    assert packing.packed_apply(plain, None, layer, x) == "plain"


def head_of(layer: nn.Linear, method: str) -> SimpleNamespace:
    return SimpleNamespace(weight=layer.weight, quant_method=type(method, (), {})())


def test_a_head_is_packed_only_where_upstream_takes_its_weight_as_it_is() -> None:
    layer, x = linear(), torch.randn(2, 96)
    processor = SimpleNamespace(use_fp32_lm_head=False, rl_on_policy_target=None)
    head = head_of(layer, "UnquantizedEmbeddingMethod")
    expected = F.linear(x, layer.weight)
    torch.testing.assert_close(packing.packed_lm_head(refused, processor, x, head), expected)
    torch.testing.assert_close(packing.packed_draft_head(refused, x, head), expected)
    upstream = "upstream"
    left = lambda *_args, **_kwargs: upstream  # noqa: E731
    odd = SimpleNamespace(use_fp32_lm_head=True, rl_on_policy_target=None)
    assert packing.packed_lm_head(left, odd, x, head) == upstream
    assert packing.packed_lm_head(left, processor, x, head, torch.ones(160)) == upstream
    quantized = head_of(layer, "ModelOptFp8LinearMethod")
    assert packing.packed_lm_head(left, processor, x, quantized) == upstream
    assert packing.packed_draft_head(left, x, quantized) == upstream
