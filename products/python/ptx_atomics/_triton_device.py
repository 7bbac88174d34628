"""The driver of Triton for the device of ``ptx-atomics exec``: Triton's own driver, with PTX as its binaries."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np
import triton
from triton import knobs
from triton.backends import backends
from triton.backends.nvidia.driver import CudaDriver, CudaLauncher, CudaUtils

from . import device
from .device import Array


def install() -> None:
    """Makes Triton use the device. The first kernel starts it."""
    backends["nvidia"] = dataclasses.replace(backends["nvidia"], driver=Driver)
    # Triton makes its driver once; a driver that it has already made is forgotten.
    triton.runtime.driver._default = triton.runtime.driver._active = None
    triton.set_allocator(_scratch)
    knobs.runtime.add_stages_inspection_hook = _Stages(knobs.runtime.add_stages_inspection_hook)


class Launcher(CudaLauncher):  # type: ignore[misc]
    """Triton's launcher. It also takes tensors of PyTorch in memory of the host, and raises a fault of the kernel."""

    #: The number of arguments before the arguments of the kernel.
    FIRST = 9

    def __call__(self, *given: Any) -> None:
        super().__call__(*given[: self.FIRST], *map(_on_device, given[self.FIRST :]))
        device.synchronize()


def _on_device(argument: Any) -> Any:
    """The argument with addresses of the device."""
    if isinstance(argument, tuple):
        return tuple(map(_on_device, argument))
    if getattr(argument, "is_cpu", False):
        return _HostTensor(argument)
    if hasattr(argument, "base"):
        descriptor = copy.copy(argument)
        descriptor.base = _on_device(argument.base)
        return descriptor
    return argument


class _HostTensor:
    """A tensor of PyTorch in memory of the host."""

    def __init__(self, tensor: Any) -> None:
        storage = tensor.untyped_storage()
        address, size = storage.data_ptr(), storage.nbytes()
        start = device.pointer_of(address) or (device.register(address, size, tensor) if size else 0)
        self._pointer: int = start + tensor.data_ptr() - address

    def data_ptr(self) -> int:
        return self._pointer


class Driver(CudaDriver):  # type: ignore[misc]
    """Triton's driver for CUDA. It never asks PyTorch, which would need a CUDA of its own."""

    def __init__(self) -> None:
        self.utils = CudaUtils()
        self.launcher_cls = Launcher
        self._tuning = _Tuning()
        self.get_device_capability = self.utils.get_device_capability
        self.get_current_stream = self.utils.get_default_stream
        self.get_current_device = self.utils.get_current_device
        self.set_current_device = self.utils.set_current_device
        # The device of PyTorch is the host, which has no index.
        properties = self.utils.get_device_properties
        self.utils.get_device_properties = lambda index: properties(index or 0)

    @staticmethod
    def is_active() -> bool:
        return True

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: Any) -> Array:
        return _scratch(size, alignment, stream)

    def get_benchmarker(self) -> Callable[..., List[float]]:
        return self._tuning


def _scratch(size: int, alignment: int, stream: Any) -> Array:
    """Memory for the kernel itself. Each array of the device has an alignment of 4 GiB."""
    return Array(np.empty(size, np.uint8))


class _Tuning:
    """The choice of a configuration of ``triton.autotune``. A time on the CPU says nothing about a GPU, so the first
    configuration that fits is chosen. With ``--every-launch``, each configuration runs, so that each is checked.
    """

    def __init__(self) -> None:
        self._is_chosen = False
        self._before = knobs.autotuning.listener
        knobs.autotuning.listener = self._end

    def __call__(self, kernel_call: Callable[[], Any], quantiles: Sequence[float] = (0.5,), **_: Any) -> List[float]:
        time = math.inf if self._is_chosen else 1.0
        if not self._is_chosen or device.options()["every"]:
            kernel_call()
            self._is_chosen = True
        return [time] * len(quantiles)

    def _end(self, **told: Any) -> None:
        self._is_chosen = False
        if self._before:
            self._before(**told)


class _Stages:
    """The stages of a compilation, in which the PTX takes the place of the machine code."""

    def __init__(self, before: Any) -> None:
        # A program that installs the device again has one hook.
        self._before: Any = before._before if isinstance(before, _Stages) else before

    def __call__(self, *given: Any) -> Optional[Tuple[str, str]]:
        if not given:
            key, digest = self._before() if self._before else ("", "")
            return f"{key}-ptx-atomics", f"{digest}-ptx-atomics"
        if self._before:
            self._before(*given)
        stages: Dict[str, Any] = given[1]
        stages["cubin"] = lambda ptx, metadata: ptx.encode()
        return None
