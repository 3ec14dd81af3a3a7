"""Attention of packed query rows over a paged KV pool, in torch."""

from dspark_kernels.paged_attention.batched import attend
from dspark_kernels.paged_attention.plan import Group, Plan, build_plan
from dspark_kernels.paged_attention.reference import attend_reference

__all__ = ["Group", "Plan", "attend", "attend_reference", "build_plan"]
