"""Soft cap of the final logits, as Gemma's models have it."""

from dspark_kernels.softcap.reference import softcap_

__all__ = ["softcap_"]
