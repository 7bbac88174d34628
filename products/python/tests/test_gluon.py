"""Kernels of Gluon in pairs, after the tests of Triton's sanitizer: a right kernel, and a wrong one that lacks a
part. The tests need no GPU, and are skipped if Triton is not installed. docs/evidence/python-gluon.md has the table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

import ptx_atomics
import ptx_atomics.triton

triton = pytest.importorskip("triton")
gluon = pytest.importorskip("triton.experimental.gluon")
gl = pytest.importorskip("triton.experimental.gluon.language")
nvidia = pytest.importorskip("triton.experimental.gluon.language.nvidia")
from triton.experimental.gluon.language.nvidia import ampere, blackwell, hopper  # noqa: E402
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma  # noqa: E402

SHARED = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
DESC = f"tensordesc<fp16[64, 64],{SHARED!r}>"
DESC128 = f"tensordesc<fp16[128, 64],{SHARED!r}>"


@gluon.jit
def copy_wait(x, out, RIGHT: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    words = gl.allocate_shared_memory(gl.float32, [512], gl.SwizzledSharedLayout(1, 1, 1, order=[0]))
    at = gl.arange(0, 512, layout=layout)
    ampere.async_copy.async_load(words, x + at)
    ampere.async_copy.commit_group()
    if RIGHT:
        ampere.async_copy.wait_group(0)
    gl.store(out + at, words.load(layout))


@gluon.jit
def copy_group(x, out, RIGHT: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    words = gl.allocate_shared_memory(gl.float32, [2, 512], gl.SwizzledSharedLayout(1, 1, 1, order=[0]))
    at = gl.arange(0, 512, layout=layout)
    ampere.async_copy.async_load(words.index(0), x + at)
    ampere.async_copy.commit_group()
    ampere.async_copy.async_load(words.index(1), x + 512 + at)
    ampere.async_copy.commit_group()
    ampere.async_copy.wait_group(1)
    if RIGHT:
        gl.store(out + at, words.index(0).load(layout))
    else:
        gl.store(out + at, words.index(1).load(layout))


@gluon.jit
def copy_twice(x, out, RIGHT: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    words = gl.allocate_shared_memory(gl.float32, [512], gl.SwizzledSharedLayout(1, 1, 1, order=[0]))
    at = gl.arange(0, 512, layout=layout)
    ampere.async_copy.async_load(words, x + at)
    ampere.async_copy.commit_group()
    if RIGHT:
        ampere.async_copy.wait_group(0)
    ampere.async_copy.async_load(words, x + 512 + at)
    ampere.async_copy.commit_group()
    ampere.async_copy.wait_group(0)
    gl.store(out + at, words.load(layout))


@gluon.jit
def copy_uncommitted(x, out, RIGHT: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    words = gl.allocate_shared_memory(gl.float32, [512], gl.SwizzledSharedLayout(1, 1, 1, order=[0]))
    at = gl.arange(0, 512, layout=layout)
    ampere.async_copy.async_load(words, x + at)
    if RIGHT:
        ampere.async_copy.commit_group()
    ampere.async_copy.wait_group(0)
    gl.store(out + at, words.load(layout))


@gluon.jit
def out_of(out, value, layout: gl.constexpr, M: gl.constexpr, N: gl.constexpr):
    m = gl.arange(0, M, gl.SliceLayout(1, layout))[:, None]
    n = gl.arange(0, N, gl.SliceLayout(0, layout))[None, :]
    gl.store(out + m * N + n, value)


@gluon.jit
def tma_wait(desc, out, RIGHT: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [1, 32], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(gl.float16, [64, 64], desc.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, desc.nbytes_per_cta)
    tma.async_load(desc, [0, 0], bar, tile)
    mbarrier.wait(bar, 0, pred=RIGHT, deps=[tile])
    value = tile.load(layout)
    mbarrier.wait(bar, 0, pred=not RIGHT, deps=[tile])
    mbarrier.invalidate(bar)
    out_of(out, value, layout, 64, 64)


@gluon.jit
def tma_phase(desc, out, RIGHT: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [1, 32], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(gl.float16, [64, 64], desc.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, desc.nbytes_per_cta)
    tma.async_load(desc, [0, 0], bar, tile)
    if RIGHT:
        mbarrier.wait(bar, 0, deps=[tile])
    else:
        mbarrier.wait(bar, 1, deps=[tile])
    value = tile.load(layout)
    mbarrier.invalidate(bar)
    out_of(out, value, layout, 64, 64)


@gluon.jit
def tma_reuse(desc, out, RIGHT: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [1, 32], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(gl.float16, [64, 64], desc.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, desc.nbytes_per_cta)
    tma.async_load(desc, [0, 0], bar, tile)
    if RIGHT:
        mbarrier.wait(bar, 0, deps=[tile])
        mbarrier.expect(bar, desc.nbytes_per_cta)
        tma.async_load(desc, [0, 64], bar, tile)
        mbarrier.wait(bar, 1, deps=[tile])
    else:
        tma.async_load(desc, [0, 64], bar, tile)
        mbarrier.wait(bar, 0, deps=[tile])
    value = tile.load(layout)
    mbarrier.invalidate(bar)
    out_of(out, value, layout, 64, 64)


@gluon.jit
def tma_store_fence(desc, RIGHT: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [1, 32], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(gl.float16, [64, 64], desc.layout)
    tile.store(gl.full([64, 64], 1.0, gl.float16, layout))
    if RIGHT:
        hopper.fence_async_shared()
    tma.async_store(desc, [0, 0], tile)
    tma.store_wait(0)


@gluon.jit
def tma_store_reuse(desc, RIGHT: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [1, 32], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(gl.float16, [64, 64], desc.layout)
    tile.store(gl.full([64, 64], 1.0, gl.float16, layout))
    hopper.fence_async_shared()
    tma.async_store(desc, [0, 0], tile)
    if RIGHT:
        tma.store_wait(0)
    tile.store(gl.full([64, 64], 2.0, gl.float16, layout))
    hopper.fence_async_shared()
    tma.async_store(desc, [64, 0], tile)
    tma.store_wait(0)


@gluon.jit
def tma_store_end(desc, RIGHT: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [1, 32], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(gl.float16, [64, 64], desc.layout)
    tile.store(gl.full([64, 64], 1.0, gl.float16, layout))
    hopper.fence_async_shared()
    tma.async_store(desc, [0, 0], tile)
    if RIGHT:
        tma.store_wait(0)


@gluon.jit
def wgmma_wait(a_desc, out, RIGHT: gl.constexpr):
    acc_layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 64, 16])
    a = gl.allocate_shared_memory(gl.float16, [64, 64], a_desc.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, a_desc.nbytes_per_cta)
    tma.async_load(a_desc, [0, 0], bar, a)
    mbarrier.wait(bar, 0, deps=[a])
    acc = gl.zeros([64, 64], gl.float32, acc_layout)
    acc = hopper.warpgroup_mma(a, a.permute((1, 0)), acc, is_async=True)
    if RIGHT:
        acc = hopper.warpgroup_mma_wait(0, deps=[acc])
    mbarrier.expect(bar, a_desc.nbytes_per_cta)
    tma.async_load(a_desc, [64, 0], bar, a)
    mbarrier.wait(bar, 1, deps=[a])
    if not RIGHT:
        acc = hopper.warpgroup_mma_wait(0, deps=[acc])
    acc = hopper.warpgroup_mma(a, a.permute((1, 0)), acc)
    mbarrier.invalidate(bar)
    out_of(out, acc, acc_layout, 64, 64)


@gluon.jit
def wgmma_fence(x, out, RIGHT: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    shared: gl.constexpr = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
    acc_layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 64, 16])
    m = gl.arange(0, 64, gl.SliceLayout(1, layout))[:, None]
    n = gl.arange(0, 64, gl.SliceLayout(0, layout))[None, :]
    a = gl.allocate_shared_memory(gl.float16, [64, 64], shared)
    a.store(gl.load(x + m * 64 + n))
    if RIGHT:
        hopper.fence_async_shared()
    acc = gl.zeros([64, 64], gl.float32, acc_layout)
    acc = hopper.warpgroup_mma(a, a.permute((1, 0)), acc)
    out_of(out, acc, acc_layout, 64, 64)


@gluon.jit
def tcgen05_wait(a_desc, out, RIGHT: gl.constexpr):
    a = gl.allocate_shared_memory(gl.float16, [128, 64], a_desc.layout)
    acc_layout: gl.constexpr = blackwell.TensorMemoryLayout([128, 128], col_stride=1)
    acc = blackwell.allocate_tensor_memory(gl.float32, [128, 128], acc_layout)
    bar = mbarrier.allocate_mbarrier()
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.init(done, count=1)
    mbarrier.expect(bar, a_desc.nbytes_per_cta)
    tma.async_load(a_desc, [0, 0], bar, a)
    mbarrier.wait(bar, 0, deps=[a])
    blackwell.tcgen05_mma(a, a.permute((1, 0)), acc, use_acc=False)
    blackwell.tcgen05_commit(done)
    mbarrier.wait(done, 0, pred=RIGHT, deps=[a])
    value = acc.load()
    mbarrier.wait(done, 0, pred=not RIGHT, deps=[a])
    mbarrier.invalidate(bar)
    mbarrier.invalidate(done)
    out_of(out, value, value.type.layout, 128, 128)


@gluon.jit
def tcgen05_reuse(a_desc, out, RIGHT: gl.constexpr):
    a = gl.allocate_shared_memory(gl.float16, [128, 64], a_desc.layout)
    acc_layout: gl.constexpr = blackwell.TensorMemoryLayout([128, 128], col_stride=1)
    acc = blackwell.allocate_tensor_memory(gl.float32, [128, 128], acc_layout)
    bar = mbarrier.allocate_mbarrier()
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.init(done, count=1)
    mbarrier.expect(bar, a_desc.nbytes_per_cta)
    tma.async_load(a_desc, [0, 0], bar, a)
    mbarrier.wait(bar, 0, deps=[a])
    blackwell.tcgen05_mma(a, a.permute((1, 0)), acc, use_acc=False)
    blackwell.tcgen05_commit(done)
    if RIGHT:
        mbarrier.wait(done, 0, deps=[a])
    mbarrier.expect(bar, a_desc.nbytes_per_cta)
    tma.async_load(a_desc, [128, 0], bar, a)
    mbarrier.wait(bar, 1, deps=[a])
    if not RIGHT:
        mbarrier.wait(done, 0, deps=[a])
    blackwell.tcgen05_mma(a, a.permute((1, 0)), acc)
    blackwell.tcgen05_commit(done)
    mbarrier.wait(done, 1, deps=[a])
    value = acc.load()
    mbarrier.invalidate(bar)
    mbarrier.invalidate(done)
    out_of(out, value, value.type.layout, 128, 128)


@gluon.jit
def tcgen05_fence(x, out, RIGHT: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    shared: gl.constexpr = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
    m = gl.arange(0, 128, gl.SliceLayout(1, layout))[:, None]
    n = gl.arange(0, 64, gl.SliceLayout(0, layout))[None, :]
    a = gl.allocate_shared_memory(gl.float16, [128, 64], shared)
    acc_layout: gl.constexpr = blackwell.TensorMemoryLayout([128, 128], col_stride=1)
    acc = blackwell.allocate_tensor_memory(gl.float32, [128, 128], acc_layout)
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(done, count=1)
    a.store(gl.load(x + m * 64 + n))
    if RIGHT:
        hopper.fence_async_shared()
    blackwell.tcgen05_mma(a, a.permute((1, 0)), acc, use_acc=False)
    blackwell.tcgen05_commit(done)
    mbarrier.wait(done, 0, deps=[a])
    value = acc.load()
    mbarrier.invalidate(done)
    out_of(out, value, value.type.layout, 128, 128)


@gluon.jit
def producer(desc, bars, tiles, RIGHT: gl.constexpr):
    for i in range(8):
        slot = i % 2
        if RIGHT:
            mbarrier.wait(bars.index(2 + slot), (i // 2 + 1) & 1)
        mbarrier.expect(bars.index(slot), desc.nbytes_per_cta)
        tma.async_load(desc, [i * 64, 0], bars.index(slot), tiles.index(slot))


@gluon.jit
def consumer(out, bars, tiles):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [1, 32], [4, 1], [1, 0])
    total = gl.zeros([64, 64], gl.float16, layout)
    for i in range(8):
        slot = i % 2
        mbarrier.wait(bars.index(slot), (i // 2) & 1)
        total += tiles.index(slot).load(layout)
        mbarrier.arrive(bars.index(2 + slot), count=1)
    out_of(out, total, layout, 64, 64)


@gluon.jit
def ring(desc, out, RIGHT: gl.constexpr):
    tiles = gl.allocate_shared_memory(gl.float16, [2, 64, 64], desc.layout)
    bars = mbarrier.allocate_mbarrier(batch=4)
    for i in gl.static_range(4):
        mbarrier.init(bars.index(i), count=1)
    gl.warp_specialize([(consumer, (out, bars, tiles)), (producer, (desc, bars, tiles, RIGHT))], [1], [24])


#: The kernel, the types of its parameters, the GPU, and the result for the wrong kernel: an error, a warning, or a
#: repair by the compiler.
PAIRS: Dict[str, Tuple[Any, List[str], int, str]] = {
    "copy_wait": (copy_wait, ["*fp32", "*fp32"], 80, "error"),
    "copy_group": (copy_group, ["*fp32", "*fp32"], 80, "error"),
    "copy_twice": (copy_twice, ["*fp32", "*fp32"], 80, "error"),
    "copy_uncommitted": (copy_uncommitted, ["*fp32", "*fp32"], 80, "error"),
    "tma_wait": (tma_wait, [DESC, "*fp16"], 90, "error"),
    "tma_phase": (tma_phase, [DESC, "*fp16"], 90, "error"),
    "tma_reuse": (tma_reuse, [DESC, "*fp16"], 90, "error"),
    "tma_store_fence": (tma_store_fence, [DESC], 90, "mended"),
    "tma_store_reuse": (tma_store_reuse, [DESC], 90, "error"),
    "tma_store_end": (tma_store_end, [DESC], 90, "warning"),
    "wgmma_wait": (wgmma_wait, [DESC, "*fp32"], 90, "error"),
    "wgmma_fence": (wgmma_fence, ["*fp16", "*fp32"], 90, "mended"),
    "tcgen05_wait": (tcgen05_wait, [DESC128, "*fp32"], 100, "error"),
    "tcgen05_reuse": (tcgen05_reuse, [DESC128, "*fp32"], 100, "error"),
    "tcgen05_fence": (tcgen05_fence, ["*fp16", "*fp32"], 100, "mended"),
    "ring": (ring, [DESC, "*fp16"], 90, "error"),
}


def report(name: str, right: bool) -> ptx_atomics.Report:
    function, signature, capability, _ = PAIRS[name]
    kernel = ptx_atomics.triton.compile(function, signature, {"RIGHT": right}, capability=capability)
    return ptx_atomics.check(kernel)


@pytest.mark.parametrize("name", PAIRS)
def test_the_right_one_is_no_error(name: str) -> None:
    found = report(name, True)
    assert not {finding.verdict for finding in found.findings} & {"error", "possible"}, found


@pytest.mark.parametrize("name", PAIRS)
def test_the_wrong_one_is_found(name: str) -> None:
    expected = PAIRS[name][3]
    verdicts = [finding.verdict for finding in report(name, False).findings]
    worst = next((verdict for verdict in ("error", "possible", "warning") if verdict in verdicts), "silent")
    assert worst == {"mended": "silent"}.get(expected, expected)


def test_the_table_of_the_book() -> None:
    page = Path(__file__).parents[3] / "docs" / "evidence" / "python-gluon.md"
    if not page.exists():
        pytest.skip("the book is not here")
    rows = re.findall(r"^\| `(\w+)` \|.*\| (\w+) \|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert dict(rows) == {name: pair[3] for name, pair in PAIRS.items()}
