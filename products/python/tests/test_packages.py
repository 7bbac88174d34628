"""Packages that compile kernels without a GPU: the tests watch each package, and check its kernels. Skipped if it is
not installed.
"""

import os
import shutil
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any

import pytest

import ptx_atomics

#: A shared array that is read reversed, with a barrier for the right kernel.
KERNELS = '''
def reverse(out, x):
    i = cuda.threadIdx.x
    words = cuda.shared.array(64, numba.uint32)
    words[i] = x[i]
    {barrier}
    out[cuda.blockIdx.x * 64 + i] = words[63 - i]
'''


def kernel_of_numba(barrier: bool) -> Any:
    numba = pytest.importorskip("numba")
    cuda = pytest.importorskip("numba.cuda")
    scope = {"cuda": cuda, "numba": numba}
    exec(KERNELS.format(barrier="cuda.syncthreads()" if barrier else "pass"), scope)
    try:
        signature = (numba.uint32[::1], numba.uint32[::1])
        return cuda.compile_ptx(scope["reverse"], signature, cc=(9, 0))[0]
    except Exception as error:
        pytest.skip(f"Numba cannot compile here: {error}")


def test_numba() -> None:
    assert "bar.sync" in str(ptx_atomics.check(kernel_of_numba(False), block=64))
    assert ptx_atomics.check(kernel_of_numba(True), block=64).ok
    assert ptx_atomics.races(kernel_of_numba(True), block=64).kernels[0].verdict in ("free", "open")


def test_numba_is_watched() -> None:
    ptx = kernel_of_numba(False)
    import ptx_atomics.numba as watched

    class Library:
        """A kernel's code without a GPU for which machine code would be made."""

        name = "reverse"
        get_asm_str = lambda self, cc=None: ptx
        get_cubin = lambda self, cc=None: b"machine code"

    watched._library = lambda: Library
    watched.install("raise", block=64)
    try:
        with pytest.raises(ptx_atomics.FindingsError):
            Library().get_cubin((9, 0))
    finally:
        watched.uninstall()
    assert Library().get_cubin() == b"machine code"
    from numba.cuda.codegen import CUDACodeLibrary

    assert {"get_asm_str", "get_lto_ptx", "get_cubin"} <= set(dir(CUDACodeLibrary))


WARP = """
    import sys
    import warnings
    import warp as wp
    import ptx_atomics.warp

    wp.config.quiet = True
    ptx_atomics.warp.install(block=64)

    @wp.kernel
    def add(x: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)):
        i = wp.tid()
        {}

    wp.compile_aot_module(add.module, module_dir=sys.argv[1], arch=90, use_ptx={})
"""


@pytest.mark.parametrize("use_ptx", [True, False])
def test_warp(tmp_path: Path, use_ptx: bool) -> None:
    pytest.importorskip("warp")
    for body, is_wrong in [("out[i % 4] = out[i % 4] + x[i]", True), ("wp.atomic_add(out, i % 4, x[i])", False)]:
        script = tmp_path / "kernel.py"
        script.write_text(textwrap.dedent(WARP).format(body, use_ptx))
        folder = tmp_path / str(is_wrong)
        folder.mkdir()
        done = subprocess.run([sys.executable, script, folder], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert ("have no order" in done.stderr) == is_wrong, done.stderr


CUTE = """
    import cutlass
    import cutlass.cute as cute
    from cutlass.cute.runtime import make_fake_compact_tensor
    import ptx_atomics

    @cute.kernel
    def kernel(x: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        x[{}] = thread

    @cute.jit
    def launch(x: cute.Tensor):
        kernel(x).launch(grid=(1, 1, 1), block=(64, 1, 1))

    compiled = cute.compile(launch, make_fake_compact_tensor(cutlass.Int32, (64,)))
    print(ptx_atomics.races(compiled, block=64, grid=1).kernels[0].verdict)
"""


@pytest.mark.parametrize("index, verdict", [("0", "race"), ("thread", "free")])
def test_cute(tmp_path: Path, index: str, verdict: str) -> None:
    pytest.importorskip("cutlass.cute")
    script = tmp_path / "kernel.py"
    script.write_text(textwrap.dedent(CUTE).format(index))
    variables = {"CUTE_DSL_ARCH": "sm_90a", "CUTE_DSL_KEEP_PTX": "1", "CUTE_DSL_DUMP_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env={**os.environ, **variables})
    assert done.stdout.split()[-1:] == [verdict], done.stdout + done.stderr


TILELANG = """
    import sys
    import warnings
    import tilelang
    import tilelang.language as T
    import ptx_atomics
    import ptx_atomics.tilelang

    ptx_atomics.tilelang.install(sys.argv[1])

    @T.prim_func
    def reverse(x: T.Tensor((1024,), "float32"), out: T.Tensor((1024,), "float32")):
        with T.Kernel(8, threads=128) as block:
            words = T.alloc_shared((128,), "float32")
            i = T.get_thread_binding()
            words[i] = x[block * 128 + i]
            {}
            out[block * 128 + i] = words[127 - i]

    # TileLang puts barriers in itself.
    options = {{"tl.disable_thread_storage_sync": True}}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ptx_atomics.tilelang.KernelWarning)
        try:
            tilelang.compile(reverse, target={{"kind": "cuda", "arch": "sm_90"}}, pass_configs=options)
        except RuntimeError as error:
            print("raised" if "have no order" in str(error) else error)
    print(sum("have no order" in str(one.message) for one in said))
"""


@pytest.mark.parametrize("mode, body, said", [("warn", "T.sync_threads()", ["0"]), ("warn", "pass", ["1"]), ("raise", "pass", ["raised", "0"])])
def test_tilelang(tmp_path: Path, mode: str, body: str, said: "list[str]") -> None:
    pytest.importorskip("tilelang")
    if shutil.which("nvcc") is None and "CUDA_HOME" not in os.environ:
        pytest.skip("TileLang compiles by nvcc, which is not here")
    program = tmp_path / "reverse.py"
    program.write_text(textwrap.dedent(TILELANG).format(body))
    env = {**os.environ, "TILELANG_CACHE_DIR": str(tmp_path / "tilelang"), "PTX_ATOMICS_CACHE": str(tmp_path / "reports")}
    done = subprocess.run([sys.executable, str(program), mode], env=env, capture_output=True, text=True)
    assert done.stdout.split()[-len(said) :] == said, done.stdout + done.stderr


def test_tilelang_is_watched(wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same without TileLang: its compiler writes a bound if it launches a number of threads."""
    import ptx_atomics.tilelang as watched

    monkeypatch.setenv("PTX_ATOMICS_CACHE", str(tmp_path))
    asked = []

    class Nvcc:
        @staticmethod
        def compile_cuda(code: str, target_format: str = "ptx", arch: Any = None, path_target: Any = None) -> bytes:
            asked.append((code.startswith("#line 1 "), target_format, arch))
            bound = wrong.replace(".reqntid", "\n.maxntid").replace("%tid.x", "%tid.y" if ".y" in code else "%tid.x")
            return bound.encode() if target_format == "ptx" else b"machine code"

    monkeypatch.setattr(watched._compile, "_owner", lambda: Nvcc)
    own = Nvcc.compile_cuda
    code = 'extern "C" __global__ void __launch_bounds__(64, 1) shift(int *out) { out[threadIdx.x] = 0; }'
    watched.install("raise")
    try:
        with pytest.raises(ptx_atomics.FindingsError) as raised:
            Nvcc.compile_cuda(code, "cubin", arch="sm_90")
        # With two dimensions, the number of threads in each dimension is unknown.
        assert Nvcc.compile_cuda(code.replace(".x", ".y"), "cubin") == b"machine code"
    finally:
        watched.uninstall()
    assert raised.value.report.wrong
    assert asked == [(False, "cubin", "sm_90"), (True, "ptx", "sm_90"), (False, "cubin", None), (True, "ptx", None)]
    assert Nvcc.compile_cuda is own
    assert [path.read_text() for path in sorted(tmp_path.glob("shift.*.cu"))].count(code) == 1
