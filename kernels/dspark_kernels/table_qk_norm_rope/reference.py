"""Torch version of SGLang's `table_qk_norm_rope_` (the bfloat16 path of a draft layer)."""

# ruff: noqa: PLR0913, PLR0917 (the signature is upstream's)

import torch


def table_qk_norm_rope_(
    qkv: torch.Tensor,
    positions: torch.Tensor,
    q_weight: torch.Tensor,
    k_weight: torch.Tensor,
    cos_sin_cache: torch.Tensor,
    num_q_heads: int,
    num_k_heads: int,
    head_dim: int,
    eps: float,
) -> None:
    """Normalise each query and key head of `qkv` `[tokens, columns]` and rotate it (neox style).

    `cos_sin_cache` is `[positions, head_dim]`, cosines first. As upstream, the normalised
    value is rounded to `qkv`'s type before the rotation, and the value columns stay.
    """
    heads = num_q_heads + num_k_heads
    view = qkv[:, : heads * head_dim].view(-1, heads, head_dim)
    x = view.float()
    x = x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + eps)
    x[:, :num_q_heads] *= q_weight.float()
    x[:, num_q_heads:] *= k_weight.float()
    first, second = x.to(qkv.dtype).float().chunk(2, dim=-1)
    cos, sin = cos_sin_cache[positions.long()].float().unsqueeze(1).chunk(2, dim=-1)
    half = head_dim // 2
    view[..., :half] = first * cos - second * sin
    view[..., half:] = second * cos + first * sin
