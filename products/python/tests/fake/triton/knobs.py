"""The module in which Triton keeps its listener."""

from types import SimpleNamespace

compilation = SimpleNamespace(listener=None)
