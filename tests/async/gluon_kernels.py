"""Kernels with explicit asynchronous operations in Gluon, Triton's lower-level language. triton_kernels.py compiles
them."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy, mbarrier as ampere_mbarrier
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout, TensorMemoryScalesLayout, allocate_tensor_memory, async_store, clc, fence_async_shared, mbarrier,
    tcgen05_commit, tcgen05_copy, tcgen05_mma, tcgen05_mma_scaled, tma)
from triton.experimental.gluon.language.nvidia.hopper import cluster, warpgroup_mma, warpgroup_mma_init, warpgroup_mma_wait
from triton.experimental.gluon.language.nvidia.hopper import tma as hopper_tma


@gluon.constexpr_function
def rows(warps):
    """A layout of tiles, warp by warp."""
    return gl.BlockedLayout([1, 4], [4, 8], [warps, 1], [1, 0])


@gluon.jit
def barriers(number: gl.constexpr, count: gl.constexpr):
    bars = mbarrier.allocate_mbarrier(batch=number)
    for i in gl.static_range(number):
        mbarrier.init(bars.index(i), count)
    return bars


@gluon.jit
def invalidate(bars):
    number: gl.constexpr = bars.shape[0]
    for i in gl.static_range(number):
        mbarrier.invalidate(bars.index(i))


@gluon.jit
def tma_copy(x, y):
    tile = gl.allocate_shared_memory(x.dtype, x.block_shape, x.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, 1)
    i = gl.program_id(0) * x.block_shape[0]
    mbarrier.expect(bar, x.nbytes_per_cta)
    tma.async_load(x, [i, 0], bar, tile)
    mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)
    tma.async_store(y, [i, 0], tile)
    tma.store_wait(0)


@gluon.jit
def tma_add(x, y, n, STAGES: gl.constexpr):
    """Loads are some iterations ahead, and two stores are in flight."""
    M: gl.constexpr = x.block_shape[0]
    N: gl.constexpr = x.block_shape[1]
    tiles = gl.allocate_shared_memory(x.dtype, [STAGES, M, N], x.layout)
    sums = gl.allocate_shared_memory(y.dtype, [2, M, N], y.layout)
    bars = barriers(STAGES, 1)
    i, rounds = gl.program_id(0) * M, gl.cdiv(n, N)
    for at in gl.static_range(STAGES - 1):
        mbarrier.expect(bars.index(at), x.nbytes_per_cta, pred=at < rounds)
        tma.async_load(x, [i, at * N], bars.index(at), tiles.index(at), pred=at < rounds)
    for at in range(rounds):
        ahead = at + STAGES - 1
        mbarrier.expect(bars.index(ahead % STAGES), x.nbytes_per_cta, pred=ahead < rounds)
        tma.async_load(x, [i, ahead * N], bars.index(ahead % STAGES), tiles.index(ahead % STAGES), pred=ahead < rounds)
        mbarrier.wait(bars.index(at % STAGES), at // STAGES & 1)
        value = tiles.index(at % STAGES).load(rows(gl.num_warps())) + 1.0
        tma.store_wait(1)
        sums.index(at % 2).store(value)
        fence_async_shared()
        tma.async_store(y, [i, at * N], sums.index(at % 2))
    tma.store_wait(0)
    invalidate(bars)


@gluon.jit
def add_loader(x, tiles, full, empty, i, rounds):
    STAGES: gl.constexpr = tiles.shape[0]
    for at in range(rounds):
        slot = at % STAGES
        mbarrier.wait(empty.index(slot), (at // STAGES & 1) ^ 1)
        mbarrier.expect(full.index(slot), x.nbytes_per_cta)
        tma.async_load(x, [i, at * x.block_shape[1]], full.index(slot), tiles.index(slot))


@gluon.jit
def add_worker(tiles, full, empty, sums, stored_full, stored_empty, rounds):
    STAGES: gl.constexpr = tiles.shape[0]
    for at in range(rounds):
        slot = at % STAGES
        mbarrier.wait(full.index(slot), at // STAGES & 1)
        value = tiles.index(slot).load(rows(gl.num_warps()))
        fence_async_shared()
        mbarrier.arrive(empty.index(slot), count=1)
        mbarrier.wait(stored_empty.index(at % 2), (at // 2 & 1) ^ 1)
        sums.index(at % 2).store(value + 1.0)
        fence_async_shared()
        mbarrier.arrive(stored_full.index(at % 2), count=1)


@gluon.jit
def add_storer(y, sums, full, empty, i, rounds):
    for at in range(rounds):
        mbarrier.wait(full.index(at % 2), at // 2 & 1)
        tma.async_store(y, [i, at * y.block_shape[1]], sums.index(at % 2))
        tma.store_wait(0)
        mbarrier.arrive(empty.index(at % 2), count=1)


@gluon.jit
def tma_add_specialized(x, y, n, STAGES: gl.constexpr):
    """Separate warps load, add and store."""
    M: gl.constexpr = x.block_shape[0]
    N: gl.constexpr = x.block_shape[1]
    tiles = gl.allocate_shared_memory(x.dtype, [STAGES, M, N], x.layout)
    sums = gl.allocate_shared_memory(y.dtype, [2, M, N], y.layout)
    full, empty = barriers(STAGES, 1), barriers(STAGES, 1)
    stored_full, stored_empty = barriers(2, 1), barriers(2, 1)
    i, rounds = gl.program_id(0) * M, gl.cdiv(n, N)
    gl.warp_specialize([
        (add_worker, (tiles, full, empty, sums, stored_full, stored_empty, rounds)),
        (add_loader, (x, tiles, full, empty, i, rounds)),
        (add_storer, (y, sums, stored_full, stored_empty, i, rounds)),
    ], [1, 1], [24, 24])


@gluon.jit
def tma_reduce(x, y, n):
    tile = gl.allocate_shared_memory(x.dtype, x.block_shape, x.layout)
    i = gl.program_id(0) * x.block_shape[0]
    for at in range(0, n, x.block_shape[1]):
        tma.store_wait(0)
        tile.store(gl.full(x.block_shape, 1.0, x.dtype, rows(gl.num_warps())) * at)
        fence_async_shared()
        tma.async_atomic_add(y, [i, at], tile)
    tma.store_wait(0)


@gluon.jit
def tma_refill(x, y, n):
    """One tile, which all threads read before it is filled again."""
    tile = gl.allocate_shared_memory(x.dtype, x.block_shape, x.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, 1)
    M: gl.constexpr = x.block_shape[0]
    N: gl.constexpr = x.block_shape[1]
    sum = gl.zeros([M, N], x.dtype, rows(gl.num_warps()))
    for at in range(n):
        mbarrier.expect(bar, x.nbytes_per_cta)
        tma.async_load(x, [at * M, 0], bar, tile)
        mbarrier.wait(bar, at & 1)
        sum += tile.load(rows(gl.num_warps()))
        fence_async_shared()
        gl.barrier()
    mbarrier.invalidate(bar)
    tile.store(sum)
    fence_async_shared()
    tma.async_store(y, [0, 0], tile)
    tma.store_wait(0)


@gluon.jit
def tma_gather_scatter(x, y, at, n, M: gl.constexpr):
    N: gl.constexpr = x.block_shape[1]
    tile = gl.allocate_shared_memory(x.dtype, [M, N], x.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, 1)
    lanes: gl.constexpr = gl.SliceLayout(0, gl.BlockedLayout([1, 4], [32, 1], [1, gl.num_warps()], [1, 0]))
    i = gl.load(at + gl.arange(0, M, lanes))
    for round in range(gl.cdiv(n, N)):
        tma.store_wait(0)
        mbarrier.expect(bar, M * N * 2)
        tma.async_gather(x, i, round * N, bar, tile)
        mbarrier.wait(bar, round & 1)
        tma.async_scatter(y, i, round * N, tile)
    tma.store_wait(0)
    mbarrier.invalidate(bar)


@gluon.jit
def tensor_maps(x, y, m, n, M: gl.constexpr, N: gl.constexpr):
    """The kernel makes the tensor maps."""
    layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([M, N], gl.float16)
    left = tma.make_tensor_descriptor(x, [m, n], [n, 1], [M, N], layout)
    right = tma.make_tensor_descriptor(y, [m, n], [n, 1], [M, N], layout)
    tile = gl.allocate_shared_memory(gl.float16, [M, N], layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, 1)
    for at in range(gl.cdiv(n, N)):
        tma.store_wait(0)
        mbarrier.expect(bar, left.nbytes_per_cta)
        tma.async_load(left, [gl.program_id(0) * M, at * N], bar, tile)
        mbarrier.wait(bar, at & 1)
        tma.async_store(right, [gl.program_id(0) * M, at * N], tile)
    tma.store_wait(0)
    mbarrier.invalidate(bar)


@gluon.jit
def im2col(x, y):
    tile = gl.allocate_shared_memory(x.dtype, x.block_shape, x.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, 1)
    mbarrier.expect(bar, x.nbytes_per_cta)
    hopper_tma.async_load_im2col(x, [0, gl.program_id(0), 0, 0], [1, 1], bar, tile)
    mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)
    tma.async_store(y, [0, 0], tile)
    tma.store_wait(0)


@gluon.jit
def cp_async(x, y, n, BLOCK: gl.constexpr, STAGES: gl.constexpr):
    """Groups of cp.async, some iterations ahead."""
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0])
    tiles = gl.allocate_shared_memory(gl.float32, [STAGES, BLOCK], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    lane = gl.arange(0, BLOCK, layout)
    rounds = gl.cdiv(n, BLOCK)
    for at in gl.static_range(STAGES - 1):
        async_copy.async_load(tiles.index(at), x + at * BLOCK + lane, mask=at * BLOCK + lane < n)
        async_copy.commit_group()
    for at in range(rounds):
        async_copy.wait_group(STAGES - 2)
        gl.barrier()
        value = tiles.index(at % STAGES).load(layout)
        ahead = at + STAGES - 1
        async_copy.async_load(tiles.index(ahead % STAGES), x + ahead * BLOCK + lane, mask=ahead * BLOCK + lane < n)
        async_copy.commit_group()
        gl.store(y + at * BLOCK + lane, value + 1.0, at * BLOCK + lane < n)
    async_copy.wait_group(0)


@gluon.jit
def cp_async_mbarrier(x, y, n, BLOCK: gl.constexpr):
    """An mbarrier that counts threads whose copies are complete."""
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0])
    tile = gl.allocate_shared_memory(gl.float32, [BLOCK], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    bar = mbarrier.allocate_mbarrier()
    ampere_mbarrier.init(bar, 1)
    lane = gl.arange(0, BLOCK, layout)
    for at in range(n):
        async_copy.async_load(tile, x + at * BLOCK + lane)
        async_copy.mbarrier_arrive(bar)
        # The mbarrier must count all threads before the last arrival.
        gl.barrier()
        ampere_mbarrier.arrive(bar)
        ampere_mbarrier.wait(bar, at & 1)
        value = tile.load(layout)
        gl.barrier()
        gl.store(y + at * BLOCK + lane, value)
    ampere_mbarrier.invalidate(bar)


@gluon.jit
def wgmma_generic(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    """Operands that threads have stored to shared memory."""
    layout: gl.constexpr = rows(gl.num_warps())
    i, j = gl.arange(0, M, gl.SliceLayout(1, layout)), gl.arange(0, N, gl.SliceLayout(0, layout))
    d, depth = gl.arange(0, K, gl.SliceLayout(0, layout)), gl.arange(0, K, gl.SliceLayout(1, layout))
    left = gl.allocate_shared_memory(gl.float16, [M, K], gl.NVMMASharedLayout.get_default_for([M, K], gl.float16))
    right = gl.allocate_shared_memory(gl.float16, [K, N], gl.NVMMASharedLayout.get_default_for([K, N], gl.float16))
    left.store(gl.load(a + i[:, None] * K + d[None, :]))
    right.store(gl.load(b + depth[:, None] * N + j[None, :]))
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, N, 16])
    fence_async_shared()
    gl.barrier()
    sum = warpgroup_mma(left, right, gl.zeros([M, N], gl.float32, mma), is_async=True)
    sum = warpgroup_mma_wait(0, deps=(sum, ))
    out = gl.convert_layout(sum.to(gl.float16), layout)
    gl.store(c + i[:, None] * N + j[None, :], out)


@gluon.jit
def wgmma_pipelined(a, b, c, k, STAGES: gl.constexpr):
    M: gl.constexpr = a.block_shape[0]
    K: gl.constexpr = a.block_shape[1]
    N: gl.constexpr = b.block_shape[0]
    lefts = gl.allocate_shared_memory(a.dtype, [STAGES, M, K], a.layout)
    rights = gl.allocate_shared_memory(b.dtype, [STAGES, N, K], b.layout)
    bars = barriers(STAGES, 1)
    i, j, rounds = gl.program_id(0) * M, gl.program_id(1) * N, gl.cdiv(k, K)
    for at in gl.static_range(STAGES - 2):
        mbarrier.expect(bars.index(at), a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_load(a, [i, at * K], bars.index(at), lefts.index(at))
        tma.async_load(b, [j, at * K], bars.index(at), rights.index(at))
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, N, 16])
    sum = warpgroup_mma_init(gl.zeros([M, N], gl.float32, mma))
    for at in range(rounds):
        ahead, slot = at + STAGES - 2, at % STAGES
        more = ahead < rounds
        # The product of two iterations ago has completed in all warps before its tiles are filled again.
        sum = warpgroup_mma_wait(1, deps=(sum, ))
        gl.barrier()
        mbarrier.expect(bars.index(ahead % STAGES), a.nbytes_per_cta + b.nbytes_per_cta, pred=more)
        tma.async_load(a, [i, ahead * K], bars.index(ahead % STAGES), lefts.index(ahead % STAGES), pred=more)
        tma.async_load(b, [j, ahead * K], bars.index(ahead % STAGES), rights.index(ahead % STAGES), pred=more)
        mbarrier.wait(bars.index(slot), at // STAGES & 1)
        sum = warpgroup_mma(lefts.index(slot), rights.index(slot).permute((1, 0)), warpgroup_mma_init(sum), is_async=True)
    sum = warpgroup_mma_wait(0, deps=(sum, ))
    invalidate(bars)
    out = gl.allocate_shared_memory(c.dtype, c.block_shape, c.layout)
    out.store(sum.to(c.dtype))
    fence_async_shared()
    tma.async_store(c, [i, j], out)
    tma.store_wait(0)


@gluon.jit
def gemm_loader(a, b, lefts, rights, full, empty, i, j, rounds):
    STAGES: gl.constexpr = lefts.shape[0]
    K: gl.constexpr = a.block_shape[1]
    for at in range(rounds):
        slot = at % STAGES
        mbarrier.wait(empty.index(slot), (at // STAGES & 1) ^ 1)
        mbarrier.expect(full.index(slot), a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_load(a, [i, at * K], full.index(slot), lefts.index(slot))
        tma.async_load(b, [j, at * K], full.index(slot), rights.index(slot))


@gluon.jit
def wgmma_worker(c, lefts, rights, full, empty, i, j, rounds):
    STAGES: gl.constexpr = lefts.shape[0]
    M: gl.constexpr = c.block_shape[0]
    N: gl.constexpr = c.block_shape[1]
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, N, 16])
    sum = gl.zeros([M, N], gl.float32, mma)
    for at in range(rounds):
        slot = at % STAGES
        mbarrier.wait(full.index(slot), at // STAGES & 1)
        flight = warpgroup_mma(lefts.index(slot), rights.index(slot).permute((1, 0)), sum, is_async=True)
        sum = warpgroup_mma_wait(0, deps=(flight, ))
        mbarrier.arrive(empty.index(slot), count=1)
    out = gl.allocate_shared_memory(c.dtype, c.block_shape, c.layout)
    out.store(sum.to(c.dtype))
    fence_async_shared()
    tma.async_store(c, [i, j], out)
    tma.store_wait(0)


@gluon.jit
def wgmma_specialized(a, b, c, k, STAGES: gl.constexpr):
    lefts = gl.allocate_shared_memory(a.dtype, [STAGES] + a.block_shape, a.layout)
    rights = gl.allocate_shared_memory(b.dtype, [STAGES] + b.block_shape, b.layout)
    full, empty = barriers(STAGES, 1), barriers(STAGES, 1)
    i, j = gl.program_id(0) * a.block_shape[0], gl.program_id(1) * b.block_shape[0]
    rounds = gl.cdiv(k, a.block_shape[1])
    gl.warp_specialize([
        (wgmma_worker, (c, lefts, rights, full, empty, i, j, rounds)),
        (gemm_loader, (a, b, lefts, rights, full, empty, i, j, rounds)),
    ], [1], [24])


@gluon.jit
def tmem_round(x, y, M: gl.constexpr, N: gl.constexpr):
    """Stores to tensor memory and loads from it."""
    layout: gl.constexpr = rows(gl.num_warps())
    i, j = gl.arange(0, M, gl.SliceLayout(1, layout)), gl.arange(0, N, gl.SliceLayout(0, layout))
    tmem = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], 1))
    at: gl.constexpr = tmem.get_reg_layout()
    tmem.store(gl.convert_layout(gl.load(x + i[:, None] * N + j[None, :]), at))
    gl.store(y + i[:, None] * N + j[None, :], gl.convert_layout(tmem.load(at), layout))


@gluon.jit
def tmem_slices(x, y, n, M: gl.constexpr, N: gl.constexpr):
    """A loop with two alternating accumulators, in halves."""
    layout: gl.constexpr = rows(gl.num_warps())
    i, j = gl.arange(0, M, gl.SliceLayout(1, layout)), gl.arange(0, N // 2, gl.SliceLayout(0, layout))
    tmem = allocate_tensor_memory(gl.float32, [2, M, N], TensorMemoryLayout([M, N], 1))
    for at in range(n):
        turn = tmem.index(at & 1)
        low, high = turn.slice(0, N // 2), turn.slice(N // 2, N // 2)
        regs: gl.constexpr = low.get_reg_layout()
        value = gl.convert_layout(gl.load(x + at * M * N + i[:, None] * N + j[None, :]), regs)
        low.store(value)
        high.store(value * low.load(regs))
        gl.store(y + at * M * N + i[:, None] * N + j[None, :], gl.convert_layout(high.load(regs), layout))


@gluon.jit
def tmem_copy(x, y, M: gl.constexpr, N: gl.constexpr):
    """tcgen05.cp of the data that a bulk copy wrote."""
    tile = gl.allocate_shared_memory(x.dtype, x.block_shape, x.layout)
    tmem = allocate_tensor_memory(x.dtype, x.block_shape, TensorMemoryLayout([M, N], 1))
    loaded, copied = mbarrier.allocate_mbarrier(), mbarrier.allocate_mbarrier()
    mbarrier.init(loaded, 1)
    mbarrier.init(copied, 1)
    mbarrier.expect(loaded, x.nbytes_per_cta)
    tma.async_load(x, [0, 0], loaded, tile)
    mbarrier.wait(loaded, 0)
    tcgen05_copy(tile, tmem)
    tcgen05_commit(copied)
    mbarrier.wait(copied, 0)
    out = gl.allocate_shared_memory(y.dtype, y.block_shape, y.layout)
    out.store(tmem.load())
    fence_async_shared()
    tma.async_store(y, [0, 0], out)
    tma.store_wait(0)
    mbarrier.invalidate(loaded)
    mbarrier.invalidate(copied)


@gluon.jit
def mma_generic(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, LEFT_IN_TMEM: gl.constexpr):
    """Operands that threads have stored to shared memory, or for the left operand optionally to tensor memory."""
    layout: gl.constexpr = rows(gl.num_warps())
    i, j = gl.arange(0, M, gl.SliceLayout(1, layout)), gl.arange(0, N, gl.SliceLayout(0, layout))
    d, depth = gl.arange(0, K, gl.SliceLayout(0, layout)), gl.arange(0, K, gl.SliceLayout(1, layout))
    right = gl.allocate_shared_memory(gl.float16, [K, N], gl.NVMMASharedLayout.get_default_for([K, N], gl.float16))
    right.store(gl.load(b + depth[:, None] * N + j[None, :]))
    value = gl.load(a + i[:, None] * K + d[None, :])
    if LEFT_IN_TMEM:
        left = allocate_tensor_memory(gl.float16, [M, K], TensorMemoryLayout([M, K], 1))
        left.store(gl.convert_layout(value, left.get_reg_layout()))
    else:
        left = gl.allocate_shared_memory(gl.float16, [M, K], gl.NVMMASharedLayout.get_default_for([M, K], gl.float16))
        left.store(value)
    sum = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], 1))
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, 1)
    fence_async_shared()
    tcgen05_mma(left, right, sum, use_acc=False)
    tcgen05_commit(bar)
    mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)
    out = gl.convert_layout(sum.load().to(gl.float16), layout)
    gl.store(c + i[:, None] * N + j[None, :], out)


@gluon.jit
def mma_pipelined(a, b, c, k, STAGES: gl.constexpr):
    M: gl.constexpr = a.block_shape[0]
    K: gl.constexpr = a.block_shape[1]
    N: gl.constexpr = b.block_shape[0]
    lefts = gl.allocate_shared_memory(a.dtype, [STAGES, M, K], a.layout)
    rights = gl.allocate_shared_memory(b.dtype, [STAGES, N, K], b.layout)
    loaded, done = barriers(STAGES, 1), barriers(STAGES, 1)
    sum = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], 1))
    i, j, rounds = gl.program_id(0) * M, gl.program_id(1) * N, gl.cdiv(k, K)
    for at in gl.static_range(STAGES - 1):
        mbarrier.expect(loaded.index(at), a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_load(a, [i, at * K], loaded.index(at), lefts.index(at))
        tma.async_load(b, [j, at * K], loaded.index(at), rights.index(at))
    for at in range(rounds):
        slot = at % STAGES
        mbarrier.wait(loaded.index(slot), at // STAGES & 1)
        tcgen05_mma(lefts.index(slot), rights.index(slot).permute((1, 0)), sum, use_acc=at > 0)
        tcgen05_commit(done.index(slot))
        ahead = at + STAGES - 1
        more, next = ahead < rounds, ahead % STAGES
        # The product of the previous iteration must have completed before its tiles are filled again.
        mbarrier.wait(done.index(next), (at - 1) // STAGES & 1, pred=more & (at > 0))
        mbarrier.expect(loaded.index(next), a.nbytes_per_cta + b.nbytes_per_cta, pred=more)
        tma.async_load(a, [i, ahead * K], loaded.index(next), lefts.index(next), pred=more)
        tma.async_load(b, [j, ahead * K], loaded.index(next), rights.index(next), pred=more)
    mbarrier.wait(done.index((rounds - 1) % STAGES), (rounds - 1) // STAGES & 1)
    invalidate(loaded)
    invalidate(done)
    out = gl.allocate_shared_memory(c.dtype, c.block_shape, c.layout)
    out.store(sum.load().to(c.dtype))
    fence_async_shared()
    tma.async_store(c, [i, j], out)
    tma.store_wait(0)


@gluon.jit
def persistent_loader(a, b, lefts, rights, full, empty, tiles, rounds, columns):
    STAGES: gl.constexpr = lefts.shape[0]
    K: gl.constexpr = a.block_shape[1]
    at = 0
    for tile in range(gl.program_id(0), tiles, gl.num_programs(0)):
        i, j = tile // columns * a.block_shape[0], tile % columns * b.block_shape[0]
        for round in range(rounds):
            slot = at % STAGES
            mbarrier.wait(empty.index(slot), (at // STAGES & 1) ^ 1)
            mbarrier.expect(full.index(slot), a.nbytes_per_cta + b.nbytes_per_cta)
            tma.async_load(a, [i, round * K], full.index(slot), lefts.index(slot))
            tma.async_load(b, [j, round * K], full.index(slot), rights.index(slot))
            at += 1


@gluon.jit
def persistent_multiplier(lefts, rights, full, empty, sums, sum_full, sum_empty, tiles, rounds):
    STAGES: gl.constexpr = lefts.shape[0]
    at, turn = 0, 0
    for _ in range(gl.program_id(0), tiles, gl.num_programs(0)):
        mbarrier.wait(sum_empty.index(turn % 2), (turn // 2 & 1) ^ 1)
        sum = sums.index(turn % 2)
        for round in range(rounds):
            slot = at % STAGES
            mbarrier.wait(full.index(slot), at // STAGES & 1)
            tcgen05_mma(lefts.index(slot), rights.index(slot).permute((1, 0)), sum, use_acc=round > 0)
            tcgen05_commit(empty.index(slot))
            at += 1
        tcgen05_commit(sum_full.index(turn % 2))
        turn += 1


@gluon.jit
def persistent_writer(c, sums, sum_full, sum_empty, tiles, columns):
    out = gl.allocate_shared_memory(c.dtype, c.block_shape, c.layout)
    turn = 0
    for tile in range(gl.program_id(0), tiles, gl.num_programs(0)):
        mbarrier.wait(sum_full.index(turn % 2), turn // 2 & 1)
        value = sums.index(turn % 2).load()
        mbarrier.arrive(sum_empty.index(turn % 2), count=1)
        tma.store_wait(0)
        out.store(value.to(c.dtype))
        fence_async_shared()
        tma.async_store(c, [tile // columns * c.block_shape[0], tile % columns * c.block_shape[1]], out)
        turn += 1
    tma.store_wait(0)


@gluon.jit
def mma_specialized(a, b, c, m, n, k, STAGES: gl.constexpr):
    """A persistent kernel with loading warps, a warp that multiplies into two alternating accumulators, and writing
    warps."""
    M: gl.constexpr = a.block_shape[0]
    N: gl.constexpr = b.block_shape[0]
    lefts = gl.allocate_shared_memory(a.dtype, [STAGES] + a.block_shape, a.layout)
    rights = gl.allocate_shared_memory(b.dtype, [STAGES] + b.block_shape, b.layout)
    sums = allocate_tensor_memory(gl.float32, [2, M, N], TensorMemoryLayout([M, N], 1))
    full, empty = barriers(STAGES, 1), barriers(STAGES, 1)
    sum_full, sum_empty = barriers(2, 1), barriers(2, 1)
    columns = gl.cdiv(n, N)
    tiles, rounds = gl.cdiv(m, M) * columns, gl.cdiv(k, a.block_shape[1])
    gl.warp_specialize([
        (persistent_writer, (c, sums, sum_full, sum_empty, tiles, columns)),
        (persistent_loader, (a, b, lefts, rights, full, empty, tiles, rounds, columns)),
        (persistent_multiplier, (lefts, rights, full, empty, sums, sum_full, sum_empty, tiles, rounds)),
    ], [1, 1], [24, 24])


@gluon.jit
def mma_scaled(a, b, c, x, y, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, COPY: gl.constexpr):
    """Scales in tensor memory, stored by threads or copied there."""
    left = gl.allocate_shared_memory(a.dtype, a.block_shape, a.layout)
    right = gl.allocate_shared_memory(b.dtype, b.block_shape, b.layout)
    bar, done = mbarrier.allocate_mbarrier(), mbarrier.allocate_mbarrier()
    mbarrier.init(bar, 1)
    mbarrier.init(done, 1)
    mbarrier.expect(bar, a.nbytes_per_cta + b.nbytes_per_cta)
    tma.async_load(a, [0, 0], bar, left)
    tma.async_load(b, [0, 0], bar, right)
    sum = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], 1))
    x_tmem = allocate_tensor_memory(gl.int8, [M, K // 32], TensorMemoryScalesLayout())
    y_tmem = allocate_tensor_memory(gl.int8, [N, K // 32], TensorMemoryScalesLayout())
    layout: gl.constexpr = x_tmem.get_reg_layout()
    i, d = gl.arange(0, M, gl.SliceLayout(1, layout)), gl.arange(0, K // 32, gl.SliceLayout(0, layout))
    x_scales = gl.load(x + i[:, None] * (K // 32) + d[None, :])
    y_scales = gl.load(y + i[:, None] * (K // 32) + d[None, :])
    if COPY:
        shared: gl.constexpr = gl.SharedLinearLayout(
            [[0, 1], [0, 2], [32, 0], [64, 0], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]])
        x_smem = gl.allocate_shared_memory(gl.int8, [M, K // 32], shared)
        y_smem = gl.allocate_shared_memory(gl.int8, [N, K // 32], shared)
        x_smem.store(x_scales)
        y_smem.store(y_scales)
        fence_async_shared()
        tcgen05_copy(x_smem, x_tmem)
        tcgen05_copy(y_smem, y_tmem)
    else:
        x_tmem.store(x_scales)
        y_tmem.store(y_scales)
    mbarrier.wait(bar, 0)
    tcgen05_mma_scaled(left, right.permute((1, 0)), sum, x_tmem, y_tmem, "e4m3", "e4m3", use_acc=False)
    tcgen05_commit(done)
    mbarrier.wait(done, 0)
    mbarrier.invalidate(bar)
    mbarrier.invalidate(done)
    out = gl.allocate_shared_memory(c.dtype, c.block_shape, c.layout)
    out.store(sum.load().to(c.dtype))
    fence_async_shared()
    tma.async_store(c, [0, 0], out)
    tma.store_wait(0)


@gluon.jit
def launch_control(x, y, BLOCK: gl.constexpr):
    """Takes over clusters that have not started, until none is left."""
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0])
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, 1)
    answer = gl.allocate_shared_memory(gl.int64, [2], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    tile, going, phase = gl.program_id(0), True, 0
    lane = gl.arange(0, BLOCK, layout)
    while going:
        mbarrier.expect(bar, 16)
        clc.try_cancel(answer, bar)
        gl.store(y + tile * BLOCK + lane, gl.load(x + tile * BLOCK + lane) + 1.0)
        mbarrier.wait(bar, phase)
        result = clc.load_result(answer)
        going = result.is_canceled()
        tile = result.program_id(0)
        phase ^= 1
        fence_async_shared()
        gl.barrier()
    mbarrier.invalidate(bar)


@gluon.jit
def softmax_loader(k, v, ks, vs, k_full, v_full, k_empty, v_empty, rounds):
    N: gl.constexpr = k.block_shape[0]
    for at in range(rounds):
        mbarrier.wait(k_empty.index(at % 2), (at // 2 & 1) ^ 1)
        mbarrier.expect(k_full.index(at % 2), k.nbytes_per_cta)
        tma.async_load(k, [at * N, 0], k_full.index(at % 2), ks.index(at % 2))
        mbarrier.wait(v_empty.index(at % 2), (at // 2 & 1) ^ 1)
        mbarrier.expect(v_full.index(at % 2), v.nbytes_per_cta)
        tma.async_load(v, [at * N, 0], v_full.index(at % 2), vs.index(at % 2))


@gluon.jit
def softmax_multiplier(queries, ks, vs, k_full, v_full, k_empty, v_empty, s, p, acc, s_full, p_full, acc_full, rounds):
    for at in range(rounds):
        mbarrier.wait(k_full.index(at % 2), at // 2 & 1)
        tcgen05_mma(queries, ks.index(at % 2).permute((1, 0)), s, use_acc=False,
                    mbarriers=[k_empty.index(at % 2), s_full.index(0)])
        mbarrier.wait(v_full.index(at % 2), at // 2 & 1)
        mbarrier.wait(p_full.index(0), at & 1)
        tcgen05_mma(p, vs.index(at % 2), acc, mbarriers=[v_empty.index(at % 2), acc_full.index(0)])


@gluon.jit
def softmax_worker(out, s, p, acc, s_full, p_full, acc_full, i, rounds, scale):
    M: gl.constexpr = out.block_shape[0]
    layout: gl.constexpr = s.get_reg_layout()
    lanes: gl.constexpr = gl.SliceLayout(1, layout)
    most, sum = gl.full([M], -float("inf"), gl.float32, lanes), gl.full([M], 0.0, gl.float32, lanes)
    at_acc: gl.constexpr = acc.get_reg_layout()
    acc.store(gl.full(acc.shape, 0.0, gl.float32, at_acc))
    for at in range(rounds):
        mbarrier.wait(s_full.index(0), at & 1)
        value = s.load(layout) * scale
        new = gl.maximum(most, gl.max(value, 1))
        weight, old = gl.exp2(value - new[:, None]), gl.exp2(most - new)
        sum, most = sum * old + gl.sum(weight, 1), new
        # The product of the previous iteration is added before the sum is scaled.
        mbarrier.wait(acc_full.index(0), (at & 1) ^ 1)
        acc.store(acc.load(at_acc) * gl.convert_layout(old, gl.SliceLayout(1, at_acc))[:, None])
        p.store(gl.convert_layout(weight.to(gl.float16), p.get_reg_layout()))
        mbarrier.arrive(p_full.index(0), count=1)
    mbarrier.wait(acc_full.index(0), (rounds & 1) ^ 1)
    value = acc.load(at_acc) / gl.convert_layout(sum, gl.SliceLayout(1, at_acc))[:, None]
    tile = gl.allocate_shared_memory(out.dtype, out.block_shape, out.layout)
    tile.store(value.to(out.dtype))
    fence_async_shared()
    tma.async_store(out, [i, 0], tile)
    tma.store_wait(0)


@gluon.jit
def attention_by_hand(q, k, v, out, n, scale):
    """The softmax warps pass probabilities through tensor memory to the multiplying warp."""
    M: gl.constexpr = q.block_shape[0]
    N: gl.constexpr = k.block_shape[0]
    D: gl.constexpr = q.block_shape[1]
    queries = gl.allocate_shared_memory(q.dtype, q.block_shape, q.layout)
    ks = gl.allocate_shared_memory(k.dtype, [2, N, D], k.layout)
    vs = gl.allocate_shared_memory(v.dtype, [2, N, D], v.layout)
    s = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], 1))
    p = allocate_tensor_memory(gl.float16, [M, N], TensorMemoryLayout([M, N], 1))
    acc = allocate_tensor_memory(gl.float32, [M, D], TensorMemoryLayout([M, D], 1))
    k_full, v_full, k_empty, v_empty = barriers(2, 1), barriers(2, 1), barriers(2, 1), barriers(2, 1)
    s_full, p_full, acc_full, q_full = barriers(1, 1), barriers(1, 1), barriers(1, 1), barriers(1, 1)
    i, rounds = gl.program_id(0) * M, gl.cdiv(n, N)
    mbarrier.expect(q_full.index(0), q.nbytes_per_cta)
    tma.async_load(q, [i, 0], q_full.index(0), queries)
    mbarrier.wait(q_full.index(0), 0)
    gl.warp_specialize([
        (softmax_worker, (out, s, p, acc, s_full, p_full, acc_full, i, rounds, scale)),
        (softmax_loader, (k, v, ks, vs, k_full, v_full, k_empty, v_empty, rounds)),
        (softmax_multiplier, (queries, ks, vs, k_full, v_full, k_empty, v_empty, s, p, acc, s_full, p_full, acc_full, rounds)),
    ], [1, 1], [24, 24])


@gluon.jit
def multicast(x, y):
    """One CTA of two loads a tile into both (multicast)."""
    tile = gl.allocate_shared_memory(x.dtype, x.block_shape, x.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, 1)
    mbarrier.expect(bar, x.nbytes_per_cta)
    tma.async_load(x, [gl.program_id(0) * x.block_shape[0], 0], bar, tile, multicast=True)
    mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)
    value = tile.load(gl.BlockedLayout([1, 4], [4, 8], [gl.num_warps(), 1], [1, 0], cga_layout=[[0, 0]]))
    i = gl.arange(0, x.block_shape[0], gl.SliceLayout(1, value.type.layout))
    j = gl.arange(0, x.block_shape[1], gl.SliceLayout(0, value.type.layout))
    gl.store(y + i[:, None] * x.block_shape[1] + j[None, :], value)


@gluon.jit
def mma_two_ctas(a, b, c, k):
    """tcgen05 with cta_group::2: each of two CTAs has half of the operands."""
    M: gl.constexpr = a.block_shape[0]
    K: gl.constexpr = a.block_shape[1]
    N: gl.constexpr = b.block_shape[1]
    left = gl.allocate_shared_memory(a.dtype, a.block_shape, a.layout)
    right = gl.allocate_shared_memory(b.dtype, b.block_shape, b.layout)
    layout: gl.constexpr = TensorMemoryLayout([128, N], 1, cga_layout=[[1, 0]], two_ctas=True)
    sum = allocate_tensor_memory(gl.float32, [M, N], layout)
    loaded, done = mbarrier.allocate_mbarrier(two_ctas=True), mbarrier.allocate_mbarrier()
    mbarrier.init(loaded, 1)
    mbarrier.init(done, 1)
    for at in range(gl.cdiv(k, K)):
        mbarrier.expect(loaded, a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_load(a, [gl.program_id(0) * M, at * K], loaded, left)
        tma.async_load(b, [at * K, gl.program_id(1) * N], loaded, right)
        mbarrier.wait(loaded, at & 1, deps=[left, right])
        tcgen05_mma(left, right, sum, use_acc=at > 0)
        tcgen05_commit(done)
        mbarrier.wait(done, at & 1, deps=[left, right])
    mbarrier.invalidate(loaded)
    mbarrier.invalidate(done)
    out = gl.allocate_shared_memory(c.dtype, c.block_shape, c.layout)
    out.store(sum.load().to(c.dtype))
    fence_async_shared()
    tma.async_store(c, [gl.program_id(0) * M, gl.program_id(1) * N], out)
    tma.store_wait(0)


@gluon.jit
def remote_store(x, y, M: gl.constexpr, N: gl.constexpr):
    """st.async: each of two CTAs has some rows, and stores half of their columns to the shared memory of the other
    CTA."""
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [gl.num_warps(), 1], [1, 0], cga_layout=[[1, 0]])
    other: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [gl.num_warps(), 1], [1, 0], cga_layout=[[0, 1]])
    i, j = gl.arange(0, M, gl.SliceLayout(1, layout)), gl.arange(0, N, gl.SliceLayout(0, layout))
    tile = gl.allocate_shared_memory(gl.float32, [M, N], gl.SwizzledSharedLayout(1, 1, 1, [1, 0], cga_layout=[[0, 1]]))
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, 1)
    mbarrier.expect(bar, M * N * 2)
    async_store(tile, gl.load(x + i[:, None] * N + j[None, :]), bar)
    mbarrier.wait(bar, 0)
    i, j = gl.arange(0, M, gl.SliceLayout(1, other)), gl.arange(0, N, gl.SliceLayout(0, other))
    gl.store(y + i[:, None] * N + j[None, :], tile.load(other))
    cluster.barrier()
    mbarrier.invalidate(bar)


def tile(kind, *shape, cga=None):
    """The type of a tensor map, with the layout of its tiles."""
    element = {"fp16": gl.float16, "fp32": gl.float32, "fp8e4nv": gl.float8e4nv}[kind]
    layout = gl.NVMMASharedLayout.get_default_for(list(shape), element, cga_layout=cga)
    return f"tensordesc<{kind}[{','.join(map(str, shape))}],{layout!r}>"


XY = {"x": tile("fp32", 64, 64), "y": tile("fp32", 64, 64)}
POINTERS = {"x": "*fp32", "y": "*fp32"}
ABC = {"a": tile("fp16", 128, 64), "b": tile("fp16", 128, 64), "c": tile("fp16", 128, 128)}
POINTERS_ABC = {"a": "*fp16", "b": "*fp16", "c": "*fp16"}
SCALED = {"a": tile("fp8e4nv", 128, 128), "b": tile("fp8e4nv", 128, 128), "c": tile("fp16", 128, 128), "x": "*i8", "y": "*i8"}
QKV = {name: tile("fp16", 128, 64) for name in ("q", "k", "v", "out")} | {"scale": "fp32"}
IMAGE = f"tensordesc_im2col<fp16[64,64],{gl.NVMMASharedLayout.get_default_for([64, 64], gl.float16)!r}>"
BOTH, ALL = (90, 100), (80, 90, 100)
KERNELS = [
    ("gluon_tma_copy", tma_copy, XY, {}, BOTH, {}),
    ("gluon_tma_add", tma_add, XY, {"STAGES": 3}, BOTH, {}),
    ("gluon_tma_add_specialized", tma_add_specialized, XY, {"STAGES": 3}, BOTH, {}),
    ("gluon_tma_reduce", tma_reduce, XY, {}, BOTH, {}),
    ("gluon_tma_refill", tma_refill, XY, {}, BOTH, {}),
    ("gluon_tma_gather_scatter", tma_gather_scatter, {"x": tile("fp16", 1, 64), "y": tile("fp16", 1, 64), "at": "*i32"}, {"M": 32},
     (100,), {}),
    ("gluon_tensor_maps", tensor_maps, {"x": "*fp16", "y": "*fp16"}, {"M": 64, "N": 64}, BOTH, {}),
    ("gluon_im2col", im2col, {"x": IMAGE, "y": tile("fp16", 64, 64)}, {}, BOTH, {}),
    ("gluon_cp_async", cp_async, POINTERS, {"BLOCK": 1024, "STAGES": 3}, ALL, {}),
    ("gluon_cp_async_mbarrier", cp_async_mbarrier, POINTERS, {"BLOCK": 1024}, ALL, {}),
    ("gluon_wgmma_generic", wgmma_generic, POINTERS_ABC, {"M": 64, "N": 64, "K": 64}, (90,), {}),
    ("gluon_wgmma_pipelined", wgmma_pipelined, ABC, {"STAGES": 4}, (90,), {}),
    ("gluon_wgmma_specialized", wgmma_specialized, ABC, {"STAGES": 3}, (90,), {}),
    ("gluon_tmem_round", tmem_round, POINTERS, {"M": 128, "N": 64}, (100,), {}),
    ("gluon_tmem_slices", tmem_slices, POINTERS, {"M": 128, "N": 64}, (100,), {}),
    ("gluon_tmem_copy", tmem_copy, {"x": tile("fp32", 128, 32), "y": tile("fp32", 128, 32)}, {"M": 128, "N": 32}, (100,), {}),
    ("gluon_mma_generic", mma_generic, POINTERS_ABC, {"M": 128, "N": 64, "K": 64, "LEFT_IN_TMEM": False}, (100,), {}),
    ("gluon_mma_from_tmem", mma_generic, POINTERS_ABC, {"M": 128, "N": 64, "K": 64, "LEFT_IN_TMEM": True}, (100,), {}),
    ("gluon_mma_pipelined", mma_pipelined, ABC, {"STAGES": 3}, (100,), {}),
    ("gluon_mma_specialized", mma_specialized, ABC, {"STAGES": 3}, (100,), {}),
    ("gluon_mma_scaled", mma_scaled, SCALED, {"M": 128, "N": 128, "K": 128, "COPY": False}, (100,), {}),
    ("gluon_mma_scaled_copy", mma_scaled, SCALED, {"M": 128, "N": 128, "K": 128, "COPY": True}, (100,), {}),
    ("gluon_launch_control", launch_control, POINTERS, {"BLOCK": 1024}, (100,), {}),
    ("gluon_attention", attention_by_hand, QKV, {}, (100,), {}),
    ("gluon_multicast", multicast, {"x": tile("fp32", 64, 64, cga=[[0, 0]]), "y": "*fp32"}, {}, BOTH, {"num_ctas": 2}),
    ("gluon_mma_two_ctas", mma_two_ctas, {"a": tile("fp16", 256, 64, cga=[[1, 0]]), "b": tile("fp16", 64, 128, cga=[[0, 1]]),
     "c": tile("fp16", 256, 128, cga=[[1, 0]])}, {}, (100,), {"num_ctas": 2}),
    ("gluon_remote_store", remote_store, POINTERS, {"M": 64, "N": 64}, BOTH, {"num_ctas": 2}),
]
