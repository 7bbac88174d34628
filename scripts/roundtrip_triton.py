"""Compiles kernels with many kinds of instructions to PTX with Triton, for scripts/roundtrip. No GPU is needed."""

import pathlib
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@triton.jit
def softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + i, i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * stride + i, e / tl.sum(e, axis=0), i < n)


@triton.jit
def layer_norm(x, w, b, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for at in range(0, n, BLOCK):
        i = at + tl.arange(0, BLOCK)
        total += tl.load(x + row * n + i, i < n, other=0.0)
    mean = tl.sum(total, axis=0) / n
    for at in range(0, n, BLOCK):
        i = at + tl.arange(0, BLOCK)
        v = (tl.load(x + row * n + i, i < n, other=0.0) - mean) * tl.rsqrt(eps + mean * mean)
        tl.store(out + row * n + i, v * tl.load(w + i, i < n) + tl.load(b + i, i < n), i < n)


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    sum = tl.zeros([M, N], tl.float32)
    for at in range(0, k, K):
        left = tl.load(a + rows[:, None] * k + at + depth[None, :])
        right = tl.load(b + (at + depth)[:, None] * n + columns[None, :])
        sum = tl.dot(left, right, sum)
    tl.store(c + rows[:, None] * n + columns[None, :], sum.to(tl.float16))


@triton.jit
def matmul_by_descriptors(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [m, k], [k, 1], [M, K])
    right = tl.make_tensor_descriptor(b, [n, k], [k, 1], [N, K])
    out = tl.make_tensor_descriptor(c, [m, n], [n, 1], [M, N])
    i, j = tl.program_id(0) * M, tl.program_id(1) * N
    sum = tl.zeros([M, N], tl.float32)
    for at in tl.range(0, k, K):
        sum = tl.dot(left.load([i, at]), right.load([j, at]).T, sum)
    out.store([i, j], sum.to(tl.float16))


@triton.jit
def attention(q, k, v, out, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    i, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    queries = tl.load(q + i[:, None] * D + d[None, :])
    most, sum, acc = tl.full([M], -float("inf"), tl.float32), tl.zeros([M], tl.float32), tl.zeros([M, D], tl.float32)
    for at in range(0, n, N):
        j = at + tl.arange(0, N)
        s = tl.dot(queries, tl.trans(tl.load(k + j[:, None] * D + d[None, :]))) * scale
        new = tl.maximum(most, tl.max(s, 1))
        p, old = tl.exp2(s - new[:, None]), tl.exp2(most - new)
        sum = sum * old + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + j[:, None] * D + d[None, :]), acc * old[:, None])
        most = new
    tl.store(out + i[:, None] * D + d[None, :], (acc / sum[:, None]).to(tl.float16))


@triton.jit
def scan(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.cumsum(tl.load(x + i), axis=0))


@triton.jit
def sort(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.sort(tl.load(x + i)))


@triton.jit
def histogram(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.arange(0, 64), tl.histogram(tl.load(x + i), 64), sem="relaxed", scope="gpu")


@triton.jit
def atomics(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    tl.atomic_add(out + v % 16, v, i < n, sem="acq_rel", scope="sys")
    tl.atomic_max(out + 16 + v % 16, v, i < n, sem="release", scope="cta")
    tl.atomic_xor(out + 32 + v % 16, v, i < n)
    tl.store(out + 48 + i, tl.atomic_xchg(out + 47, 1, sem="acquire"))


@triton.jit
def lock(mutex, count):
    while tl.atomic_cas(mutex, 0, 1, sem="acquire") == 1:
        pass
    tl.store(count, tl.load(count) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(mutex, 0, sem="release")


@triton.jit
def dropout(x, out, seed, p, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.where(tl.rand(seed, i) > p, tl.load(x + i) / (1 - p), 0.0))


@triton.jit
def arg_max(x, out, N: tl.constexpr, M: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    tl.store(out + i, tl.argmax(tl.load(x + i[:, None] * N + j[None, :]), axis=1))


@triton.jit
def transpose(x, out, N: tl.constexpr, M: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    tl.store(out + j[:, None] * M + i[None, :], tl.load(x + i[:, None] * N + j[None, :]).T)


@triton.jit
def narrow(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + i, v.to(tl.float8e4nv))
    tl.device_print("first", v)


@triton.jit
def by_hand(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.inline_asm_elementwise(
        "{ .reg .b32 t<2>; and.b32 t0, $1, 0xF; shl.b32 t1, t0, 2; or.b32 $0, t1, 1; }", "=r,r", [tl.load(x + i)],
        dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out + i, v)


@triton.jit
def mathematics(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + i, tl.sin(v) + tl.log(v) * tl.sqrt(v) + tl.erf(v) + tl.floor(v) + tl.fma(v, v, v))


BLOCK = {"BLOCK": 1024}
HALVES = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "m": "i32", "n": "i32", "k": "i32"}
F32 = {"x": "*fp32", "out": "*fp32"}
I32 = {"x": "*i32", "out": "*i32"}
KERNELS = [
    (add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, BLOCK),
    (softmax, F32 | {"stride": "i32", "n": "i32"}, BLOCK),
    (layer_norm, F32 | {"w": "*fp32", "b": "*fp32", "n": "i32", "eps": "fp32"}, BLOCK),
    (matmul, HALVES, {"M": 128, "N": 128, "K": 64}),
    (matmul_by_descriptors, HALVES, {"M": 128, "N": 128, "K": 64}),
    (attention, {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp16", "n": "i32", "scale": "fp32"},
     {"M": 64, "N": 64, "D": 64}),
    (scan, F32, BLOCK),
    (sort, I32, BLOCK),
    (histogram, I32, BLOCK),
    (atomics, I32 | {"n": "i32"}, {"BLOCK": 256}),
    (lock, {"mutex": "*i32", "count": "*i32"}, {}),
    (dropout, F32 | {"seed": "i32", "p": "fp32"}, BLOCK),
    (arg_max, {"x": "*fp32", "out": "*i32"}, {"N": 128, "M": 32}),
    (transpose, F32, {"N": 64, "M": 64}),
    (narrow, {"x": "*fp32", "out": "*fp8e4nv"}, BLOCK),
    (by_hand, I32, BLOCK),
    (mathematics, F32, BLOCK),
]


def main():
    folder = pathlib.Path(sys.argv[1])
    for capability in (90, 100):
        for kernel, types, constants in KERNELS:
            names = kernel.arg_names
            signature = {name: types.get(name, "constexpr") for name in names}
            source = ASTSource(fn=kernel, signature=signature, constexprs={(names.index(n),): v for n, v in constants.items()})
            name = f"{kernel.__name__}.sm_{capability}"
            try:
                compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32))
            except Exception as error:
                print(f"triton cannot compile {name}: {str(error).splitlines()[0] if str(error) else type(error)}", file=sys.stderr)
                continue
            (folder / f"triton.{name}.ptx").write_text(compiled.asm["ptx"])


main()
