"""A kernel of Numba on the device, against NumPy. tests/test_device.py runs this file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, float32

from ptx_atomics.device import Array


@cuda.jit
def total(x, out):
    part = cuda.shared.array(128, float32)
    thread, index = cuda.threadIdx.x, cuda.grid(1)
    part[thread] = x[index] if index < x.size else 0.0
    cuda.syncthreads()
    half = 64
    while half > 0:
        if thread < half:
            part[thread] += part[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        cuda.atomic.add(out, 0, part[0])


def test_total() -> None:
    values: Any = np.arange(1000, dtype=np.float32)
    out = Array(np.zeros(1, np.float32))
    total[8, 128](Array(values), out)
    assert out.numpy()[0] == values.sum()
    # Memory that Numba allocates, and a copy of it.
    device = cuda.to_device(np.zeros(1, np.float32))
    total[8, 128](cuda.to_device(values), device)
    assert device.copy_to_host()[0] == values.sum()
