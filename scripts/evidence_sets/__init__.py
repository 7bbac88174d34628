"""The sets of scripts/evidence, by name."""

from evidence_sets import cuda_litmus, dat3m, gpuverify, indigo, scor, weft, zluda

SETS = {
    "cuda-litmus": cuda_litmus.SET,
    "dat3m": dat3m.SET,
    "gpuverify": gpuverify.SET,
    "indigo": indigo.SET,
    "scor": scor.SET,
    "weft": weft.SET,
    "zluda": zluda.SET,
}
