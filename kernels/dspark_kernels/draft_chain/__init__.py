"""A chain of drafted tokens where SGLang's EAGLE expects a tree, and its verification."""

from dspark_kernels.draft_chain.reference import (
    build_chain,
    fill_bonus_tokens,
    verify_chain_greedy,
    verify_chain_sampled,
)

__all__ = ["build_chain", "fill_bonus_tokens", "verify_chain_greedy", "verify_chain_sampled"]
