"""A test of the package's types: mypy checks this file, and no test runs it."""

from typing import Any, List, Optional

import numpy as np

import ptx_atomics
import ptx_atomics.triton
from ptx_atomics.device import Array

report: ptx_atomics.Report = ptx_atomics.check("k.ptx", block=(64, 1), grid=2, strict=True)
findings: List[ptx_atomics.Finding] = report.wrong
verdict: str = ptx_atomics.races("k.ptx", may_alias=True).kernels[0].verdict
words: "np.ndarray[Any, Any]" = np.zeros(4, dtype=np.uint32)
done: ptx_atomics.Run = ptx_atomics.run("k.ptx", words, 1, np.float32(1), "f32[4]=random", grid=1, named={"n": 2})
outcomes: Optional[int] = ptx_atomics.litmus("t.litmus").outcomes
sequence: str = ptx_atomics.table("sm_90")["rmw.acq_rel"].sequence
lost: List[ptx_atomics.Operation] = ptx_atomics.judge("k.ll", "k.ptx").lost
ptx_atomics.triton.install("raise", time_limit=1)
ptx_atomics.triton.use_device()
after: "np.ndarray[Any, Any]" = Array(words, np.float32).clone().zero_().numpy()
ptx_atomics.check("k.ptx", blocks=64)  # type: ignore[call-arg]
ptx_atomics.check("k.ptx", block="64")  # type: ignore[arg-type]
