"""Hooks that install a watch, or the device, when another package is imported. They load no module of the package
before that import.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import warnings
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, Iterable, List, Optional

from . import device

#: The packages that compile kernels, each with the module of this package that watches it.
PACKAGES = {
    "triton": "ptx_atomics.triton",
    "numba.cuda": "ptx_atomics.numba",
    "warp": "ptx_atomics.warp",
    "tilelang": "ptx_atomics.tilelang",
}

#: A receiver of the module that watches a package.
Then = Callable[[ModuleType], None]


class _Finder(MetaPathFinder):
    """Finds a package by the other finders, and calls back when the package is loaded."""

    def __init__(self, then: Then, packages: Iterable[str]) -> None:
        self.then = then
        self.left = set(packages)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        if fullname not in self.left:
            return None
        self.left.discard(fullname)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, lambda: _install(fullname, self.then))
        return spec


class _Loader(Loader):
    """The loader of a package, followed by a callback."""

    def __init__(self, own: Any, then: Callable[[], None]) -> None:
        self.own = own
        self.then = then

    def create_module(self, spec: ModuleSpec) -> Any:
        return self.own.create_module(spec)

    def exec_module(self, module: Any) -> None:
        # Code that asks the module for its loader gets the package's own loader.
        module.__spec__.loader = module.__loader__ = self.own
        self.own.exec_module(module)
        self.then()


def _install(package: str, then: Then) -> None:
    then(importlib.import_module(PACKAGES[package]))


def when_imported(then: Then, packages: Iterable[str] = tuple(PACKAGES)) -> None:
    """Calls ``then`` with the module that watches each package, now or when the package is imported."""
    found: List[str] = [package for package in packages if package in sys.modules]
    for package in found:
        _install(package, then)
    finder = _Finder(then, packages)
    finder.left.difference_update(found)
    sys.meta_path.insert(0, finder)


def use_device() -> None:
    """Makes Triton and Numba use the device of ``ptx-atomics exec``, now or when they are imported."""

    def use(module: ModuleType) -> None:
        try:
            module.use_device()
        # A program may import the package without running a kernel.
        except Exception as error:
            warnings.warn(f"{module.__name__} cannot use the device: {error}", stacklevel=2)

    when_imported(use, ["triton", "numba.cuda"])


def from_environment() -> None:
    """Installs the checks that the environment's ``PTX_ATOMICS`` asks for: ``check`` warns, ``raise`` raises. Other
    values are for compilers. A program of ``ptx-atomics exec`` gets the device.
    """
    modes = {"check": "warn", "warn": "warn", "raise": "raise"}
    mode = modes.get(os.environ.get("PTX_ATOMICS", ""))
    if mode:
        when_imported(lambda module: module.install(mode))
    if device.is_present():
        use_device()
