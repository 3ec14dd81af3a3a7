"""Torch version of SGLang's `softcap_inplace_logits`."""

import torch


def softcap_(full_logits: torch.Tensor, final_logit_softcapping: float) -> torch.Tensor:
    """`cap * tanh(logits / cap)` in place, any shape; returns the same tensor."""
    capped = full_logits.div_(final_logit_softcapping).tanh_()
    return capped.mul_(final_logit_softcapping)
