"""Rejection sampling of a drafted chain against the target's distribution."""

from dspark_kernels.chain_speculative_sampling.reference import (
    chain_speculative_sampling as chain_speculative_sampling,
)

__all__ = ["chain_speculative_sampling"]
