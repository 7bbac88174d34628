"""Where Triton keeps its listener."""

from types import SimpleNamespace

compilation = SimpleNamespace(listener=None)
