"""Trains DSpark drafts: `python -m dspark_sglang.training --config FILE`.

Stages, each resumable and with files of its own: `answers` (generate), `states` (cache), `fit`
and `evaluation`.
"""
