"""Sampled output of the real server, by chi-square tests against exact distributions."""
