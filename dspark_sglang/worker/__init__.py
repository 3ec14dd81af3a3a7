"""Our speculative worker and what changes its snapshot at run time."""
