"""RMS norm and rotary embedding of the query and key heads, in place."""

from dspark_kernels.table_qk_norm_rope.reference import table_qk_norm_rope_

__all__ = ["table_qk_norm_rope_"]
