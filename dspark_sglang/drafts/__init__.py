"""The draft models that the package ships, compressed; `shipped_draft` gives one as a folder."""

from dspark_sglang.drafts.shipped import SHIPPED, shipped_draft

__all__ = ["SHIPPED", "shipped_draft"]
