"""The soft cap by its definition (Triton's interpreter has no tanh to compare with)."""

import pytest
import torch

from dspark_kernels.softcap import softcap_


@pytest.mark.parametrize(("dtype", "error"), [(torch.float32, 1e-6), (torch.bfloat16, 2**-6)])
def test_logits_are_capped_in_place(dtype: torch.dtype, error: float) -> None:
    torch.manual_seed(0)
    logits = 40 * torch.randn(3, 50, dtype=dtype)
    wanted = 30 * torch.tanh(logits.double() / 30)
    capped = softcap_(logits[:, :37], 30.0)
    assert capped.data_ptr() == logits.data_ptr()
    assert (capped.double() - wanted[:, :37]).abs().max() <= 30 * error
    assert logits[:, 37:].abs().max() > 30
