import os
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

# A copy of the tests beside an installed package has no build of the command.
BUILT = Path(__file__).parents[3] / "target" / "debug" / "ptx-atomics"
if BUILT.exists():
    os.environ.setdefault("PTX_ATOMICS_COMMAND", str(BUILT))

#: Each of 64 threads reads the word of the next thread, with a barrier before the read at the comment `barrier`.
SHIFT = """
.version 8.0
.target sm_90
.address_size 64
.shared .align 4 .b8 words[256];
.visible .entry shift(.param .u64 out) .reqntid 64
{
  .reg .b32 %r<9>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r3, words;
  add.u32 %r4, %r3, %r2;
  st.shared.u32 [%r4], %r1;
  add.u32 %r8, %r2, 4;
  and.b32 %r8, %r8, 255;
  add.u32 %r8, %r3, %r8;
  // barrier
  ld.shared.u32 %r5, [%r8];
  mov.u32 %r6, %ctaid.x;
  mad.lo.u32 %r7, %r6, 64, %r1;
  mul.wide.u32 %rd2, %r7, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r5;
  ret;
}
"""


@pytest.fixture
def wrong() -> str:
    """A kernel with a race."""
    return SHIFT


@pytest.fixture
def right(wrong: str) -> str:
    """The same kernel without the race."""
    return wrong.replace("// barrier", "bar.sync 0;")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the reports of the user."""
    monkeypatch.setenv("PTX_ATOMICS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PTX_ATOMICS", raising=False)
