"""Arrays on the device, with a kernel in PTX. tests/test_device.py runs this file."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from ptx_atomics import Error
from ptx_atomics.device import Array, _call

np = pytest.importorskip("numpy")


def launch(ptx: str, out: Any) -> None:
    """Launches the kernel `shift` with an array."""
    _call("cuCtxSynchronize")
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    _call("cuModuleLoadData", ctypes.byref(module), ptx.encode())
    _call("cuModuleGetFunction", ctypes.byref(kernel), module, b"shift")
    address = ctypes.c_uint64(out.data_ptr())
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(address))
    _call("cuLaunchKernel", kernel, 1, 1, 1, 64, 1, 1, 0, None, arguments, None)


def test_a_kernel_writes_the_array(right: str) -> None:
    values = np.zeros(64, np.uint32)
    out = Array(values)
    seen = out.numpy()
    launch(right, out)
    assert list(seen) == [*range(1, 64), 0] and not values.any()
    assert out.clone().zero_().copy_(out).numpy()[5] == 6
    np.testing.assert_array_equal(out, np.roll(np.arange(64), -1))


def test_a_race(wrong: str) -> None:
    launch(wrong, Array(np.zeros(64, np.uint32)))


def test_shapes_and_strides() -> None:
    array = Array(np.zeros((4, 6), np.float16, order="F"))
    assert (array.shape, array.strides, array.stride(), array.stride(1)) == ((4, 6), (2, 8), (1, 4), 4)
    assert (array.numel(), array.dtype, array.data_ptr() % 16) == (24, np.float16, 0)
    assert array.__cuda_array_interface__["typestr"] == "<f2"
    assert Array([]).data_ptr() == 0 and Array(3, np.int32).shape == ()


def test_an_access_after_the_end_is_an_error(right: str) -> None:
    out = Array(np.zeros(63, np.uint32))
    launch(right, out)
    with pytest.raises(Error, match="CUDA_ERROR_ILLEGAL_ADDRESS"):
        out.numpy()
