"""Compiles kernels with asynchronous operations to PTX with Triton, for scripts/triton. No GPU is needed."""

import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.experimental.gluon._runtime import GluonASTSource

import gluon_kernels


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    left = a + rows[:, None] * k + depth[None, :]
    right = b + depth[:, None] * n + columns[None, :]
    sum = tl.zeros([M, N], tl.float32)
    for _ in range(0, k, K):
        sum = tl.dot(tl.load(left), tl.load(right), sum)
        left += K
        right += K * n
    tl.store(c + rows[:, None] * n + columns[None, :], sum.to(tl.float16))


@triton.jit
def matmul_masked(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    sum = tl.zeros([M, N], tl.float32)
    for at in range(0, k, K):
        depth = at + tl.arange(0, K)
        left = tl.load(a + rows[:, None] * k + depth[None, :], (rows[:, None] < m) & (depth[None, :] < k), other=0.0)
        right = tl.load(b + depth[:, None] * n + columns[None, :], (depth[:, None] < k) & (columns[None, :] < n), other=0.0)
        sum = tl.dot(left, right, sum)
    tl.store(c + rows[:, None] * n + columns[None, :], sum.to(tl.float16), (rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def matmul_by_descriptors(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SPECIALIZE: tl.constexpr):
    i, j = tl.program_id(0) * M, tl.program_id(1) * N
    sum = tl.zeros([M, N], tl.float32)
    for at in tl.range(0, k, K, warp_specialize=SPECIALIZE):
        sum = tl.dot(a.load([i, at]), b.load([j, at]).T, sum)
    c.store([i, j], sum.to(tl.float16))


@triton.jit
def matmul_persistent(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FLATTEN: tl.constexpr,
                      SPECIALIZE: tl.constexpr):
    rows = tl.cdiv(m, M)
    for tile in tl.range(tl.program_id(0), rows * tl.cdiv(n, N), tl.num_programs(0), flatten=FLATTEN,
                         warp_specialize=SPECIALIZE):
        i, j = tile % rows * M, tile // rows * N
        sum = tl.zeros([M, N], tl.float32)
        for at in range(0, k, K):
            sum = tl.dot(a.load([i, at]), b.load([j, at]).T, sum)
        c.store([i, j], sum.to(tl.float16))


@triton.jit
def matmul_split(a, b, c, k, each, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j, first = tl.program_id(0) * M, tl.program_id(1) * N, tl.program_id(2) * each
    sum = tl.zeros([M, N], tl.float32)
    for at in range(first, min(first + each, k), K):
        sum = tl.dot(a.load([i, at]), b.load([j, at]).T, sum)
    c.atomic_add([i, j], sum)


@triton.jit
def matmul_of_product(a, b, c, k, scale, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """The left operand is computed, thus in registers or in tensor memory."""
    i, j = tl.program_id(0) * M, tl.program_id(1) * N
    sum = tl.zeros([M, N], tl.float32)
    for at in range(0, k, K):
        sum = tl.dot((a.load([i, at]) * scale).to(tl.float16), b.load([j, at]).T, sum)
    c.store([i, j], sum.to(tl.float16))


@triton.jit
def matmul_of_matmul(a, b, c, d, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j = tl.program_id(0) * M, tl.program_id(1) * N
    sum = tl.zeros([M, K], tl.float32)
    for at in range(0, k, N):
        first = tl.dot(a.load([i, 0]), b.load([at, 0]).T)
        sum = tl.dot(first.to(tl.float16), c.load([at, 0]), sum)
    d.store([i, j], sum.to(tl.float16))


@triton.jit
def matmul_grouped(sizes, at_a, at_b, at_c, groups, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Each group has separate matrices, and the kernel makes their descriptors."""
    tile, done = tl.program_id(0), 0
    for group in range(groups):
        m, n, k = tl.load(sizes + 3 * group), tl.load(sizes + 3 * group + 1), tl.load(sizes + 3 * group + 2)
        columns = tl.cdiv(n, N)
        tiles = tl.cdiv(m, M) * columns
        if tile >= done and tile < done + tiles:
            a = tl.make_tensor_descriptor(tl.load(at_a + group).to(tl.pointer_type(tl.float16)), [m, k], [k, 1], [M, K])
            b = tl.make_tensor_descriptor(tl.load(at_b + group).to(tl.pointer_type(tl.float16)), [n, k], [k, 1], [N, K])
            c = tl.make_tensor_descriptor(tl.load(at_c + group).to(tl.pointer_type(tl.float16)), [m, n], [n, 1], [M, N])
            while tile >= done and tile < done + tiles:
                i, j = (tile - done) // columns * M, (tile - done) % columns * N
                sum = tl.zeros([M, N], tl.float32)
                for at in tl.range(0, tl.cdiv(k, K)):
                    sum = tl.dot(a.load([i, at * K]), b.load([j, at * K]).T, sum)
                c.store([i, j], sum.to(tl.float16))
                tile += tl.num_programs(0)
        done += tiles


@triton.jit
def matmul_scaled(a, a_scales, b, b_scales, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                  FORMAT: tl.constexpr, PACK: tl.constexpr, GROUP: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
                  SPECIALIZE: tl.constexpr):
    """Scales are in blocks of 128 rows and four columns, the layout that tcgen05.cp requires."""
    i, j = tl.program_id(0), tl.program_id(1)
    sum = tl.zeros([M, N], tl.float32)
    for at in tl.range(0, k, K, warp_specialize=SPECIALIZE):
        left, right = a.load([i * M, at // PACK]), b.load([j * N, at // PACK])
        column = at // GROUP // 4
        x = a_scales.load([0, i * ROWS, column, 0, 0]).reshape(ROWS, K // GROUP // 4, 32, 4, 4)
        y = b_scales.load([0, j * COLUMNS, column, 0, 0]).reshape(COLUMNS, K // GROUP // 4, 32, 4, 4)
        x = x.trans(0, 3, 2, 1, 4).reshape(M, K // GROUP)
        y = y.trans(0, 3, 2, 1, 4).reshape(N, K // GROUP)
        sum = tl.dot_scaled(left, x, FORMAT, right.T, y, FORMAT, sum)
    c.store([i * M, j * N], sum.to(tl.float16))


@triton.jit
def matmul_scaled_by_pointers(a, a_scales, b, b_scales, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    depth, group = tl.arange(0, K), tl.arange(0, K // 32)
    sum = tl.zeros([M, N], tl.float32)
    for at in range(0, k, K):
        left = tl.load(a + i[:, None] * k + at + depth[None, :])
        right = tl.load(b + j[None, :] * k + at + depth[:, None])
        x = tl.load(a_scales + i[:, None] * (k // 32) + at // 32 + group[None, :])
        y = tl.load(b_scales + j[:, None] * (k // 32) + at // 32 + group[None, :])
        sum = tl.dot_scaled(left, x, "e4m3", right, y, "e4m3", sum)
    tl.store(c + i[:, None] * n + j[None, :], sum.to(tl.float16))


@triton.jit
def attention(q, k, v, out, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
              SPECIALIZE: tl.constexpr):
    i = tl.program_id(0) * M
    queries = q.load([i, 0])
    most, sum, acc = tl.full([M], -float("inf"), tl.float32), tl.zeros([M], tl.float32), tl.zeros([M, D], tl.float32)
    end = i + M if CAUSAL else n
    for at in tl.range(0, end, N, warp_specialize=SPECIALIZE):
        s = tl.dot(queries, k.load([at, 0]).T) * scale
        if CAUSAL:
            s += tl.where(i + tl.arange(0, M)[:, None] >= at + tl.arange(0, N)[None, :], 0, -1.0e6)
        new = tl.maximum(most, tl.max(s, 1))
        p, old = tl.exp2(s - new[:, None]), tl.exp2(most - new)
        sum = sum * old + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v.load([at, 0]), acc * old[:, None])
        most = new
    out.store([i, 0], (acc / sum[:, None]).to(tl.float16))


@triton.jit
def attention_by_pointers(q, k, v, out, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
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
def softmax_of_matmul(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.program_id(0) * M
    sum = tl.zeros([M, N], tl.float32)
    for at in range(0, k, K):
        sum = tl.dot(a.load([i, at]), b.load([0, at]).T, sum)
    e = tl.exp(sum - tl.max(sum, 1)[:, None])
    c.store([i, 0], (e / tl.sum(e, 1)[:, None]).to(tl.float16))


@triton.jit
def copy(x, y, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * M
    for at in range(0, n, N):
        y.store([i, at], x.load([i, at]))


@triton.jit
def reduce(x, y, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * M
    for at in range(0, n, N):
        y.atomic_add([i, at], x.load([i, at]))


@triton.jit
def gather(x, rows, y, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * M
    at = tl.load(rows + i + tl.arange(0, M))
    for j in range(0, n, N):
        y.store([i, j], x.gather(at, j))


@triton.jit
def scatter(x, rows, y, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * M
    at = tl.load(rows + i + tl.arange(0, M))
    for j in range(0, n, N):
        y.scatter(x.load([i, j]), at, j)


@triton.jit
def descriptors(x, y, m, n, M: tl.constexpr, N: tl.constexpr):
    """The kernel makes its own tensor maps, a new one in each iteration."""
    i = tl.program_id(0) * M
    for at in range(0, n, N):
        left = tl.make_tensor_descriptor(x + at, [m, N], [n, 1], [M, N])
        right = tl.make_tensor_descriptor(y + at, [m, N], [n, 1], [M, N])
        right.store([i, 0], left.load([i, 0]))


def block(kind, *shape):
    return f"tensordesc<{kind}{list(shape)}>".replace(" ", "")


def halves(m, n, k):
    return {"a": block("fp16", m, k), "b": block("fp16", n, k), "c": block("fp16", m, n)}


def scaled(format, m, n, k, group=32, specialize=False):
    """Types and constants of matmul_scaled. A byte holds two elements of four bits, and a scale applies to a group of
    elements."""
    pack, element = (2, "u8") if format == "e2m1" else (1, "fp8e4nv")
    scale = "u8" if group == 32 else "fp8e4nv"
    types = {"a": block(element, m, k // pack), "b": block(element, n, k // pack), "c": block("fp16", m, n)}
    types |= {f"{name}_scales": block(scale, 1, size // 128, k // group // 4, 2, 256) for name, size in (("a", m), ("b", n))}
    return types, {"M": m, "N": n, "K": k, "FORMAT": format, "PACK": pack, "GROUP": group, "ROWS": m // 128, "COLUMNS": n // 128,
                   "SPECIALIZE": specialize}


POINTERS = {"a": "*fp16", "b": "*fp16", "c": "*fp16"}
LARGE, SMALL = {"M": 128, "N": 128, "K": 64}, {"M": 64, "N": 64, "K": 32}
QKV = {name: block("fp16", size, 64) for name, size in (("q", 128), ("k", 64), ("v", 64), ("out", 128))} | {"scale": "fp32"}
FLASH = {"M": 128, "N": 64, "D": 64, "CAUSAL": False, "SPECIALIZE": False}
TILE = {"M": 64, "N": 64}
XY = {"x": block("fp32", 64, 64), "y": block("fp32", 64, 64)}
BOTH, ALL = (90, 100), (80, 90, 100)
# The name of a file, the kernel, the types of its arguments (i32 where none is given), its constants, its targets, options.
KERNELS = [
    *((f"matmul_{stages}", matmul, POINTERS, LARGE, ALL, {"num_stages": stages}) for stages in (2, 3, 4)),
    ("matmul_masked", matmul_masked, POINTERS, LARGE, ALL, {}),
    ("matmul_small", matmul, POINTERS, SMALL, ALL, {}),
    ("matmul_tf32", matmul, {"a": "*fp32", "b": "*fp32", "c": "*fp16"}, SMALL, ALL, {}),
    *((f"matmul_tma_{stages}", matmul_by_descriptors, halves(128, 128, 64), LARGE | {"SPECIALIZE": False}, BOTH,
       {"num_stages": stages}) for stages in (1, 2, 3, 4)),
    ("matmul_tma_8_warps", matmul_by_descriptors, halves(128, 256, 64), {"M": 128, "N": 256, "K": 64, "SPECIALIZE": False}, BOTH,
     {"num_warps": 8}),
    ("matmul_specialized", matmul_by_descriptors, halves(128, 128, 64), LARGE | {"SPECIALIZE": True}, (100,), {}),
    ("matmul_persistent", matmul_persistent, halves(128, 128, 64), LARGE | {"FLATTEN": False, "SPECIALIZE": False}, BOTH, {}),
    ("matmul_persistent_flat", matmul_persistent, halves(128, 128, 64), LARGE | {"FLATTEN": True, "SPECIALIZE": False}, BOTH, {}),
    ("matmul_persistent_specialized", matmul_persistent, halves(128, 128, 64), LARGE | {"FLATTEN": True, "SPECIALIZE": True}, BOTH, {}),
    ("matmul_split", matmul_split, halves(128, 128, 64) | {"c": block("fp32", 128, 128)}, LARGE, BOTH, {}),
    ("matmul_of_product", matmul_of_product, halves(128, 128, 64) | {"scale": "fp32"}, LARGE, BOTH, {}),
    ("matmul_of_matmul", matmul_of_matmul, {name: block("fp16", *shape) for name, shape in
     {"a": (128, 64), "b": (64, 64), "c": (64, 64), "d": (128, 64)}.items()}, {"M": 128, "N": 64, "K": 64}, BOTH, {}),
    ("matmul_grouped", matmul_grouped, {"sizes": "*i32", "at_a": "*i64", "at_b": "*i64", "at_c": "*i64"}, LARGE, BOTH, {}),
    ("matmul_mxfp8", matmul_scaled, *scaled("e4m3", 128, 128, 128), (100,), {}),
    ("matmul_mxfp4", matmul_scaled, *scaled("e2m1", 128, 128, 256), (100,), {}),
    ("matmul_nvfp4", matmul_scaled, *scaled("e2m1", 128, 128, 256, 16), (100,), {}),
    ("matmul_mxfp8_specialized", matmul_scaled, *scaled("e4m3", 128, 128, 128, specialize=True), (100,), {}),
    ("matmul_mxfp8_by_pointers", matmul_scaled_by_pointers, {"a": "*fp8e4nv", "b": "*fp8e4nv", "a_scales": "*u8", "b_scales": "*u8",
     "c": "*fp16"}, {"M": 128, "N": 128, "K": 128}, BOTH, {}),
    ("attention", attention, QKV, FLASH, BOTH, {}),
    ("attention_causal", attention, QKV, FLASH | {"CAUSAL": True}, BOTH, {}),
    ("attention_specialized", attention, QKV, FLASH | {"SPECIALIZE": True}, (100,), {}),
    ("attention_by_pointers", attention_by_pointers, {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp16", "scale": "fp32"},
     {"M": 64, "N": 64, "D": 64}, ALL, {}),
    ("softmax_of_matmul", softmax_of_matmul, halves(128, 128, 64), LARGE, BOTH, {}),
    ("copy", copy, XY, TILE, BOTH, {}),
    ("reduce", reduce, {"x": block("fp16", 64, 64), "y": block("fp16", 64, 64)}, TILE, BOTH, {}),
    ("gather", gather, {"x": block("fp16", 1, 64), "y": block("fp16", 64, 64), "rows": "*i32"}, TILE, (100,), {}),
    ("scatter", scatter, {"x": block("fp16", 64, 64), "y": block("fp16", 1, 64), "rows": "*i32"}, TILE, (100,), {}),
    ("descriptors", descriptors, {"x": "*fp16", "y": "*fp16"}, TILE, BOTH, {}),
    *gluon_kernels.KERNELS,
]


def make(folder, row, capability):
    """Writes the PTX of a kernel. Returns the compiler's error if the compilation fails."""
    name, kernel, types, constants, _, options = KERNELS[row]
    file = f"{name}_sm{capability}{'a' if capability >= 90 else ''}.ptx"
    names = kernel.arg_names
    signature = {name: types.get(name, "constexpr" if name in constants else "i32") for name in names}
    # Pointers are aligned and sizes are multiples of 16, as for the tensors of a framework.
    aligned = {(at,): [["tt.divisibility", 16]] for at, name in enumerate(names) if signature[name][0] in "*i"}
    source = (GluonASTSource if kernel.is_gluon() else ASTSource)(
        fn=kernel, signature=signature, constexprs={(names.index(name),): value for name, value in constants.items()}, attrs=aligned)
    try:
        compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    except Exception as error:
        return f"triton cannot compile {file}: {error.__cause__ or error}"
    (folder / file).write_text(compiled.asm["ptx"])


def main():
    folder = pathlib.Path(sys.argv[1])
    jobs = [(folder, row, capability) for row, kernel in enumerate(KERNELS) for capability in kernel[4]
            if not sys.argv[2:] or kernel[0] in sys.argv[2:]]
    with ProcessPoolExecutor(2) as pool:
        failed = list(filter(None, pool.map(make, *zip(*jobs))))
    print(*failed, f"{len(jobs) - len(failed)} kernels, {len(failed)} not compiled", sep="\n", file=sys.stderr)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
