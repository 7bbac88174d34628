"""Tests of scripts/gpu_litmus.py and scripts/gpu_run.py; tests/gpu/tests/it/litmus.rs runs them."""

import itertools
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts"))
import gpu_litmus
from gpu_litmus import litmus, observed, outcomes, ptx, strongest
from gpu_run import decode, faults, judge

# The start of the walk.
STORE_BUFFERING = """PTX SB
{ x=0; y=0; }
 P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
 st.release.gpu x, 1 | st.release.gpu y, 1 ;
 fence.sc.gpu | fence.sc.gpu ;
 ld.acquire.gpu r0, y | ld.acquire.gpu r0, x ;
~exists (P0:r0 == 0 /\\ P1:r0 == 0)
"""
# The output of `ptx-atomics litmus --all-outcomes` for two tests.
PRINTED = """a.litmus: SB does not hold

Outcomes (*: P0:r0 == 0 /\\ P1:r0 == 0):

  P0:r0  P1:r0  x  y
  0      0      1  1  *
  1      0      1  1

b.litmus: SB holds

Outcomes (*: P0:r0 == 0 /\\ P1:r0 == 0):

  P0:r0  P1:r0  x  y
  1      1      1  1

2 tests: 1 hold, 1 do not, 0 unknown
"""


def code(test):
    """The instructions of each thread."""
    return [[gpu_litmus.text(one, register=register) for one, register in code] for code in gpu_litmus.registers(test)]


class Litmus(unittest.TestCase):
    def check_walk(self, shape, is_forbidden, forbidden, allowed):
        """The chosen tests of a shape in own CTAs, if a model forbids the outcome of these tests."""
        chosen = gpu_litmus.choose(lambda tests: [is_forbidden(test) for test in tests])
        found = [(code(test), verdict) for test, verdict in chosen.items() if test[:2] == (shape, "own CTAs")]
        self.assertEqual(found, [(forbidden, True), (allowed, False)])

    def test_walks_end_where_each_step_allows(self):
        def releases(test):
            return any(one.ordering == "release" for one in itertools.chain(*test.threads))

        def releases_and_has_a_fence(test):
            return releases(test) and any(one.kind == "fence" for one in itertools.chain(*test.threads))

        stored, read = ["st.release.cta x, 1"], ["ld.weak r0, x", "ld.weak r1, x"]
        self.check_walk("CoRR", releases, [stored, read], [["st.relaxed.cta x, 1"], read])
        fenced = [read[0], "fence.acq_rel.cta", read[1]]
        self.check_walk("CoRR", releases_and_has_a_fence, [stored, fenced], [stored, read])

    def test_notation(self):
        self.assertEqual(litmus(strongest("SB", "own CTAs")), STORE_BUFFERING)
        self.assertIn("P1@cta 0,", litmus(strongest("SB", "one CTA")))

    def test_kernel_has_the_code_of_each_thread(self):
        for shape, placement in itertools.product(gpu_litmus.SHAPES, gpu_litmus.PLACEMENTS):
            test = strongest(shape, placement)
            module = ptx(test)
            for number, instructions in enumerate(code(test)):
                role = module[module.index(f"role{number}:") :]
                kinds = [line.split(".")[0].strip() for line in role.splitlines()[1 : len(instructions) + 1]]
                self.assertEqual(kinds, [one.split(".")[0] for one in instructions], f"{shape} {number}")
        self.assertIn("ld.acquire.gpu.global.u32 %r0, [%place1];", ptx(strongest("SB", "own CTAs")))

    def test_values_have_places_of_their_own(self):
        module = ptx(strongest("IRIW", "own CTAs"))
        for number in range(4):
            self.assertEqual(module.count(f"st.global.u32 [%address+{4 * number}]"), 1)

    def test_printed_outcomes(self):
        self.assertEqual(outcomes(PRINTED), [[[0, 0, 1, 1], [1, 0, 1, 1]], [[1, 1, 1, 1]]])

    def test_bins(self):
        bins = [0] * 256
        bins[0b01_01_00_01], bins[0b11_00_00_00] = 5, 2
        self.assertEqual(decode(bins, ["P0:r0", "P1:r0", "x", "y"]), {(1, 0, 1, 1): 5, (0, 0, 0, 3): 2})

    def test_an_outcome_that_is_not_allowed_is_a_fault(self):
        test = strongest("SB", "own CTAs")
        names = list(itertools.chain(*observed(test)))
        plan = {"name": "SB-1", "placement": test.placement, "forbidden": True, "litmus": litmus(test), "names": names,
                "condition": {"P0:r0": 0, "P1:r0": 0}, "allowed": [[0, 1, 1, 1], [1, 0, 1, 1]]}
        right = judge(plan, {(0, 1, 1, 1): 7, (1, 0, 1, 1): 2})
        self.assertEqual((right.executions, right.shown, right.forbidden), (9, 0, []))
        wrong = judge(plan, {(0, 1, 1, 1): 7, (0, 0, 1, 1): 3})
        self.assertEqual((wrong.executions, wrong.shown, wrong.forbidden), (10, 3, [(0, 0, 1, 1)]))
        said = next(faults([wrong]))
        self.assertEqual(said, "error: SB-1 showed P0:r0=0 P1:r0=0 x=1 y=1 in 3 executions; expected an allowed outcome")


if __name__ == "__main__":
    unittest.main()
