"""The control plane of DSpark: policies, tables, storage, service and CLI.

Engine-free on purpose: imports neither torch nor sglang, so that it installs in
seconds next to anything.
"""
