"""DSpark on SGLang, operable: worker, agent, tracing and a CPU platform.

Imports nothing heavy: SGLang loads plugin modules in each of its processes.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("dspark-sglang")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0+unknown"
