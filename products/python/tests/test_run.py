"""Kernels on the CPU."""

import pytest

import ptx_atomics

np = pytest.importorskip("numpy")


def test_arrays_in_and_out(right: str) -> None:
    out = np.zeros(64, dtype=np.uint32)
    done = ptx_atomics.run(right, out, grid=1)
    assert done.ok and done.instructions > 64
    assert list(out) == [*range(1, 64), 0]
    assert (done.outputs["arg0"] == out).all()


def test_a_race(wrong: str) -> None:
    out = np.zeros(64, dtype=np.uint32)
    done = ptx_atomics.run(wrong, out, grid=1)
    assert not done.ok and "race" in str(done)
    assert "race" not in str(ptx_atomics.run(wrong, out, grid=1, races=False))
    with pytest.raises(ptx_atomics.FindingsError):
        done.raise_for_findings()


def test_shapes_types_and_names(right: str) -> None:
    grid = np.zeros((8, 8), dtype=np.float32)
    strided = np.zeros((64, 2), dtype=np.int32)[:, 0]
    fixed = np.zeros(64, dtype=np.uint32)
    fixed.flags.writeable = False
    assert ptx_atomics.run(right, grid, grid=1).outputs["arg0"].shape == (8, 8)
    assert grid.view(np.uint32)[0, 0] == 1
    assert ptx_atomics.run(right, strided, grid=1).ok and strided[5] == 6
    done = ptx_atomics.run(right, grid=1, named={"words": fixed}, expect=["words[5] == 7"])
    assert fixed[5] == 0 and done.outputs["words"][5] == 6
    assert not done.ok and "words[5] is 6" in done.failed[0]
    with pytest.raises(AssertionError, match="words"):
        done.raise_for_findings()


def test_orders_of_threads(wrong: str, right: str) -> None:
    out = np.zeros(64, dtype=np.uint32)
    for progress in (False, True):
        assert ptx_atomics.run(right, out, grid=1, seeds=3, progress=progress).ok
        assert not ptx_atomics.run(wrong, out, grid=1, seeds=3, progress=progress).ok


def test_numbers() -> None:
    store = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry store(.param .u64 out, .param .u32 a, .param .f32 b)
{
  .reg .b64 %rd<2>; .reg .b32 %r<3>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [a];
  ld.param.u32 %r2, [b];
  st.global.u32 [%rd1], %r1;
  st.global.u32 [%rd1+4], %r2;
  ret;
}
"""
    for first, second in [(7, 1.5), (np.uint32(7), np.float32(1.5)), (np.int64(7).astype(np.int32), 1.5)]:
        out = np.zeros(2, dtype=np.uint32)
        assert ptx_atomics.run(store, out, first, second, grid=1, block=1).ok
        assert out[0] == 7 and out.view(np.float32)[1] == 1.5
    out = np.zeros(2, dtype=np.uint32)
    with pytest.raises(ptx_atomics.CommandError, match="3 parameters"):
        ptx_atomics.run(store, out, grid=1, block=1)
    with pytest.raises(TypeError):
        ptx_atomics.run(store, out, np.complex64(1), 1.5, grid=1, block=1)


def test_the_fixture(ptx_run, right: str, wrong: str) -> None:  # type: ignore[no-untyped-def]
    expected = np.arange(1, 65, dtype=np.uint32)
    expected[63] = 0
    ptx_run(right, np.zeros(64, dtype=np.uint32), grid=1, expected={0: expected})
    with pytest.raises(AssertionError, match="argument 0"):
        ptx_run(right, np.zeros(64, dtype=np.uint32), grid=1, expected={0: expected + 1})
    with pytest.raises(pytest.fail.Exception, match="race"):
        ptx_run(wrong, np.zeros(64, dtype=np.uint32), grid=1)
