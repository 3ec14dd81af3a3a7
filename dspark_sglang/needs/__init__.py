"""Names of SGLang that run-time control relies on, by the part of ours that does."""
