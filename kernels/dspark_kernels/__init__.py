"""Device operations, one folder each: a torch reference and what is faster."""
