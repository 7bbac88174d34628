"""Arrays of NumPy that kernels of a CUDA device read and write, without PyTorch and CuPy.

    from ptx_atomics.device import Array

    x = Array(np.arange(1000, dtype=np.float32))
    kernel[(4,)](x, 1000)                # a kernel of Triton or Numba
    print(x.numpy())

The device is the library ``libcuda.so.1`` that the process loads. ``ptx-atomics exec -- python program.py`` provides a
device on the CPU.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import weakref
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple, Union

from ._command import Error

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Array", "is_present"]

#: The environment variable that ``ptx-atomics exec`` sets for a program.
OPTIONS = "PTX_ATOMICS_EXEC"
ABSENT = "expected a CUDA device: run the program by `ptx-atomics exec -- python program.py`"


def is_present() -> bool:
    """Whether ``ptx-atomics exec`` started the process, or a process above it."""
    return OPTIONS in os.environ


def require() -> None:
    """Raises ``Error`` if the process has no device of ``ptx-atomics exec``."""
    if not is_present():
        raise Error(ABSENT)


def options() -> Dict[str, Any]:
    """The options of the command."""
    return dict(json.loads(os.environ[OPTIONS]))


class Array:
    """A copy of an array of NumPy, in memory that the host and the device access.

    The array has the attributes that Triton needs of a tensor, and the interface of CUDA arrays that Numba and CuPy
    read.
    """

    def __init__(self, values: Any, dtype: Any = None) -> None:
        import numpy as np

        self._values = np.array(values, dtype=dtype, order="K")
        address, size = self._values.ctypes.data, self._values.nbytes
        self._pointer = register(address, size, self._values) if size else 0

    def data_ptr(self) -> int:
        """The address on the device."""
        return self._pointer

    def numpy(self) -> "np.ndarray[Any, Any]":
        """The values, after all kernels. They are not a copy: a later kernel changes them.

        Raises ``Error`` if a kernel has failed.
        """
        synchronize()
        return self._values

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> "np.ndarray[Any, Any]":
        values = self.numpy()
        return values.astype(dtype or values.dtype, copy=copy is True)

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        values = self._values
        data = (self._pointer, False)
        return {"shape": values.shape, "strides": values.strides, "typestr": values.dtype.str, "data": data, "version": 3}

    @property
    def dtype(self) -> "np.dtype[Any]":
        return self._values.dtype

    @property
    def shape(self) -> Tuple[int, ...]:
        return self._values.shape

    @property
    def strides(self) -> Tuple[int, ...]:
        """The strides in bytes, as NumPy counts them."""
        return self._values.strides

    def stride(self, axis: Optional[int] = None) -> Union[int, Tuple[int, ...]]:
        """The strides in elements, as PyTorch counts them."""
        strides = tuple(stride // self.dtype.itemsize for stride in self.strides)
        return strides if axis is None else strides[axis]

    def numel(self) -> int:
        """The number of elements."""
        return int(self._values.size)

    def zero_(self) -> "Array":
        """Fills the array with zeros."""
        self.numpy().fill(0)
        return self

    def copy_(self, other: Any) -> "Array":
        """Takes the values of another array."""
        self.numpy()[...] = other
        return self

    def clone(self) -> "Array":
        """A copy with memory of its own."""
        return Array(self.numpy())

    def __repr__(self) -> str:
        return f"Array({self._values!r})"


def synchronize() -> None:
    """Waits for all kernels. Raises ``Error`` if a kernel has failed."""
    _call("cuCtxSynchronize")


def register(address: int, size: int, owner: Any) -> int:
    """Lets the device access memory of the host as long as the owner lives. The result is its address on the device."""
    _call("cuMemHostRegister_v2", ctypes.c_void_p(address), ctypes.c_size_t(size), 0)
    # After a fault of a kernel, the device refuses the call, and the memory is not needed any more.
    weakref.finalize(owner, _driver().cuMemHostUnregister, ctypes.c_void_p(address)).atexit = False
    return pointer_of(address)


def pointer_of(address: int) -> int:
    """The address on the device of registered memory of the host. 0 if the memory is not registered."""
    pointer = ctypes.c_uint64()
    _driver().cuMemHostGetDevicePointer_v2(ctypes.byref(pointer), ctypes.c_void_p(address), 0)
    return pointer.value


def _call(name: str, *arguments: Any) -> None:
    """Calls a function of the driver. Raises ``Error`` if the function fails."""
    code = getattr(_driver(), name)(*arguments)
    if code:
        text = ctypes.c_char_p()
        _driver().cuGetErrorName(code, ctypes.byref(text))
        raise Error(f"{name}: {(text.value or str(code).encode()).decode()}")


@functools.lru_cache(maxsize=None)
def _driver() -> ctypes.CDLL:
    """The driver, with a current context."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise Error(f"{ABSENT} ({error})") from None
    context = ctypes.c_void_p()
    for code in (
        driver.cuInit(0),
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
        driver.cuCtxSetCurrent(context),
    ):
        if code:
            raise Error(f"expected a CUDA device, found the error {code} of the driver")
    return driver
