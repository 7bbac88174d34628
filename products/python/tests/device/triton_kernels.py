"""Kernels of Triton on the device, each against NumPy. tests/test_device.py runs this file."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

np = pytest.importorskip("numpy")
triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")

from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: E402

from ptx_atomics import Error  # noqa: E402
from ptx_atomics.device import Array  # noqa: E402


def random(*shape: int, dtype: Any = np.float32) -> Array:
    return Array(np.random.default_rng(len(shape)).standard_normal(shape), dtype)


def empty(*shape: int, dtype: Any = np.float32) -> Array:
    return Array(np.full(shape, np.nan), dtype)


def check(out: Array, expected: Any) -> None:
    tolerance = 1e-2 if out.dtype == np.float16 else 1e-5
    np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance)


def wide(array: Array) -> Any:
    return array.numpy().astype(np.float32)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + index, tl.load(x + index, index < n) + tl.load(y + index, index < n), index < n)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int64, np.uint8])
def test_add(dtype: Any) -> None:
    x, y = (Array(np.arange(1000) % 7 + more, dtype) for more in (0, 1))
    out = Array(np.zeros(1000), dtype)
    add[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, out, 1000, BLOCK=256)
    check(out, x.numpy() + y.numpy())


@triton.jit
def softmax(x, out, stride, rows, columns, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=3):
        values = tl.load(x + row * stride + index, index < columns, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * stride + index, powers / tl.sum(powers, axis=0), index < columns)


def test_softmax() -> None:
    x, out = random(37, 200), empty(37, 200)
    softmax[(8,)](x, out, x.stride(0), 37, 200, BLOCK=256, num_warps=8)
    powers = np.exp(x.numpy() - x.numpy().max(axis=1, keepdims=True))
    check(out, powers / powers.sum(axis=1, keepdims=True))


CONFIGURATIONS = [
    # The first needs more shared memory than a GPU has, and is passed over.
    triton.Config({"M": 256, "N": 256, "K": 256}, num_warps=8, num_stages=4),
    triton.Config({"M": 64, "N": 32, "K": 32}, num_warps=4, num_stages=3),
    triton.Config({"M": 32, "N": 32, "K": 32}, num_warps=2, num_stages=2),
]


@triton.autotune(CONFIGURATIONS, key=["m", "n", "k"])
@triton.jit
def matmul(a, b, c, m, n, k, am, ak, bk, bn, cm, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    total = tl.zeros([M, N], tl.float32)
    for at in range(0, k, K):
        inside = at + depth < k
        left = tl.load(a + rows[:, None] * am + (at + depth)[None, :] * ak, (rows < m)[:, None] & inside, other=0.0)
        right = tl.load(b + (at + depth)[:, None] * bk + columns[None, :] * bn, inside[:, None] & (columns < n), other=0.0)
        total = tl.dot(left, right, total)
    total = tl.where(total >= 0, total, 0.01 * total)
    tl.store(c + rows[:, None] * cm + columns[None, :], total.to(tl.float16), (rows < m)[:, None] & (columns < n))


def test_matmul_with_configurations() -> None:
    m, n, k = 96, 80, 64
    a, b, c = random(m, k, dtype=np.float16), random(n, k, dtype=np.float16), empty(m, n, dtype=np.float16)
    grid = lambda meta: (triton.cdiv(m, meta["M"]), triton.cdiv(n, meta["N"]))
    matmul[grid](a, b, c, m, n, k, *a.stride(), *b.stride()[::-1], c.stride(0))
    product = wide(a) @ wide(b).T
    check(c, np.where(product >= 0, product, 0.01 * product))
    assert matmul.best_config is CONFIGURATIONS[1]


@triton.jit
def layer_norm(x, w, b, out, mean_of, width, eps, BLOCK: tl.constexpr):
    row, index = tl.program_id(0), tl.arange(0, BLOCK)
    inside = index < width
    values = tl.load(x + row * width + index, inside, other=0.0)
    mean = tl.sum(values, axis=0) / width
    away = tl.where(inside, values - mean, 0.0)
    scale = tl.rsqrt(tl.sum(away * away, axis=0) / width + eps)
    tl.store(mean_of + row, mean)
    tl.store(out + row * width + index, away * scale * tl.load(w + index, inside) + tl.load(b + index, inside), inside)


@triton.jit
def sum_with_lock(x, total, lock, width, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    values = tl.load(x + tl.program_id(0) * width + index, index < width)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total + index, tl.load(total + index, index < width) + values, index < width)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def test_layer_norm_and_a_sum_with_a_lock() -> None:
    x, w, b = random(6, 200), random(200), random(200)
    out, mean = empty(6, 200), empty(6)
    layer_norm[(6,)](x, w, b, out, mean, 200, 1e-5, BLOCK=256)
    values = x.numpy()
    away = values - values.mean(axis=1, keepdims=True)
    check(mean, values.mean(axis=1))
    check(out, away / np.sqrt((away**2).mean(axis=1, keepdims=True) + 1e-5) * w.numpy() + b.numpy())
    total, lock = Array(np.zeros(200, np.float32)), Array(np.zeros(1, np.int32))
    sum_with_lock[(6,)](x, total, lock, 200, BLOCK=256)
    check(total, values.sum(axis=0))


@triton.jit
def attention(q, k, v, out, count, scale, CAUSAL: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    queries = q.load([tl.program_id(0) * M, 0])
    most, total = tl.full([M], -float("inf"), tl.float32), tl.zeros([M], tl.float32)
    result = tl.zeros([M, D], tl.float32)
    for at in range(0, count, N):
        scores = tl.dot(queries, k.load([at, 0]).T) * scale
        if CAUSAL:
            scores = tl.where(rows[:, None] >= (at + tl.arange(0, N))[None, :], scores, -1e6)
        new = tl.maximum(most, tl.max(scores, 1))
        powers, old = tl.exp2(scores - new[:, None]), tl.exp2(most - new)
        total, most = total * old + tl.sum(powers, 1), new
        result = tl.dot(powers.to(tl.float16), v.load([at, 0]), result * old[:, None])
    out.store([tl.program_id(0) * M, 0], (result / total[:, None]).to(tl.float16))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_by_descriptors_of_the_host(causal: bool) -> None:
    count, width = 128, 64
    q, k, v = (random(count, width, dtype=np.float16) for _ in range(3))
    out = empty(count, width, dtype=np.float16)
    tensors = [TensorDescriptor.from_tensor(tensor, [64, width]) for tensor in (q, k, v, out)]
    attention[(count // 64,)](*tensors, count, 1.4426950 / 8, CAUSAL=causal, M=64, N=64, D=width)
    scores = wide(q) @ wide(k).T / 8
    if causal:
        scores = np.where(np.tril(np.ones((count, count))) > 0, scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    check(out, powers / powers.sum(axis=1, keepdims=True) @ wide(v))


@triton.jit
def double(x, out, rows, columns, M: tl.constexpr, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [M, N])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [M, N])
    at = [tl.program_id(0) * M, tl.program_id(1) * N]
    target.store(at, source.load(at) * 2)


def test_descriptors_of_the_kernel_have_memory() -> None:
    x, out = random(40, 64), empty(40, 64)
    double[(3, 2)](x, out, 40, 64, M=16, N=32)
    check(out, x.numpy() * 2)


# The autotuner restores the first array before each configuration, and clears the second.
@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 256)], key=[], restore_value=["x"], reset_to_zero=["y"])
@triton.jit
def adds_to_both(x, y, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    tl.store(x + index, tl.load(x + index) + 1)
    tl.store(y + index, tl.load(y + index) + 1)


def test_configurations_of_a_kernel_that_changes_its_input() -> None:
    x, y = Array(np.zeros(256, np.float32)), Array(np.full(256, 5, np.float32))
    adds_to_both[(1,)](x, y)
    check(x, [1] * 128 + [0] * 128)
    check(y, [1] * 128 + [0] * 128)


class HostTensor:
    """The part of a tensor of PyTorch in memory of the host that Triton and the device read."""

    is_cpu = True

    def __init__(self, values: Any, storage: Any) -> None:
        self.values, self.storage, self.dtype = values, storage, values.dtype

    def data_ptr(self) -> int:
        return int(self.values.ctypes.data)

    def untyped_storage(self) -> Any:
        return SimpleNamespace(data_ptr=lambda: self.storage.ctypes.data, nbytes=lambda: self.storage.nbytes)


def test_tensors_of_the_host() -> None:
    # Two tensors share their memory, and the kernel gets the address of each.
    storage = np.arange(512, dtype=np.float32)
    x, y = (HostTensor(part, storage) for part in (storage[:256], storage[256:]))
    out = np.zeros(256, np.float32)
    for _ in range(2):
        add[(1,)](x, y, HostTensor(out, out), 256, BLOCK=256)
    np.testing.assert_array_equal(out, storage[:256] + storage[256:])
    # An access after the end of the memory is an error of the launch.
    with pytest.raises(Error, match="CUDA_ERROR_ILLEGAL_ADDRESS"):
        add[(2,)](x, y, HostTensor(out, out), 512, BLOCK=256)
