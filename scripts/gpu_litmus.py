"""Chooses the litmus tests of scripts/gpu, and writes their kernels and plan.json: gpu_litmus.py FOLDER

gpu_run.py launches the kernels. PTX_ATOMICS names the command.

The tests follow from SHAPES by a rule. Each shape has its threads in one CTA, or each thread in its own. With every access
acquiring or releasing and a fence.sc between every two accesses, the model forbids the outcome of the shape. From there,
orderings and scopes become weaker one step at a time, as long as the outcome stays forbidden: two walks differ in their
first steps. Each further step from the last test allows the outcome. The last test and the weakest further step are chosen.
"""

import collections
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMAND = os.environ.get("PTX_ATOMICS", str(ROOT / "target/debug/ptx-atomics"))
# The accesses of each thread, and the outcome: `x=1` stores 1 to x, and `x` loads x. An outcome has a value for each
# load in its order, and final values of variables.
SHAPES = {
    "MP": (["x=1 y=1", "y x"], "1 0"),
    "SB": (["x=1 y", "y=1 x"], "0 0"),
    "LB": (["x y=1", "y x=1"], "1 1"),
    "S": (["x=2 y=1", "y x=1"], "1 x=2"),
    "R": (["x=1 y=1", "y=2 x"], "0 y=2"),
    "2+2W": (["x=1 y=2", "y=1 x=2"], "x=1 y=1"),
    "CoRR": (["x=1", "x x"], "1 0"),
    "WRC": (["x=1", "x y=1", "y x"], "1 1 0"),
    "ISA2": (["x=1 y=1", "y z=1", "z x"], "1 1 0"),
    "RWC": (["x=1", "x y", "y=1 x"], "1 0 0"),
    "IRIW": (["x=1", "x y", "y=1", "y x"], "1 0 1 0"),
}
PLACEMENTS = {"one CTA": 0, "own CTAs": 1}
# The orderings of each instruction, the strongest first. A fence without an ordering is left out.
ORDERINGS = {"ld": ["acquire", "relaxed", "weak"], "st": ["release", "relaxed", "weak"], "fence": ["sc", "acq_rel", None]}
SCOPES = ["gpu", "cta"]
# The first steps of each walk: fences, or each fence.sc to a fence.acq_rel and then accesses.
WALKS = [lambda one: one.kind != "fence", lambda one: (one.ordering != "sc", one.kind == "fence")]

Instruction = collections.namedtuple("Instruction", "kind ordering scope variable value", defaults=(None, None))
Test = collections.namedtuple("Test", "shape placement threads")


def strongest(shape, placement):
    def instructions(accesses):
        for index, access in enumerate(accesses.split()):
            if index:
                yield Instruction("fence", "sc", "gpu")
            variable, _, value = access.partition("=")
            kind = "st" if value else "ld"
            yield Instruction(kind, ORDERINGS[kind][0], "gpu", variable, value)

    return Test(shape, placement, tuple(tuple(instructions(accesses)) for accesses in SHAPES[shape][0]))


def weaker(one):
    """An instruction with the next ordering or scope."""
    orderings = ORDERINGS[one.kind]
    if one.ordering != orderings[-1]:
        below = orderings[orderings.index(one.ordering) + 1]
        yield one._replace(ordering=below, scope=None if below == "weak" else one.scope)
        if one.scope != SCOPES[-1]:
            yield one._replace(scope=SCOPES[SCOPES.index(one.scope) + 1])


def steps(test, rank):
    """The tests with one step less, in the order of a walk."""
    places = [(thread, index) for thread, code in enumerate(test.threads) for index in range(len(code))]
    for thread, index in sorted(places, key=lambda place: rank(test.threads[place[0]][place[1]])):
        for one in weaker(test.threads[thread][index]):
            code = list(test.threads[thread])
            code[index : index + 1] = [one] if one.ordering else []
            yield test._replace(threads=(*test.threads[:thread], tuple(code), *test.threads[thread + 1 :]))


def strength(test):
    """The steps that a test is above the weakest, and among equals the number of its fences."""
    code = list(itertools.chain(*test.threads))
    below = [len(ORDERINGS[one.kind]) - ORDERINGS[one.kind].index(one.ordering) for one in code]
    return sum(below) + sum(one.scope == SCOPES[0] for one in code), sum(one.kind == "fence" for one in code)


def choose(is_forbidden):
    """The tests and whether the outcome of each is forbidden; `is_forbidden` answers for a list of tests."""
    pending = [(strongest(shape, placement), rank) for shape in SHAPES for placement in PLACEMENTS for rank in WALKS]
    last = []
    while pending:
        below = [list(steps(*walk)) for walk in pending]
        answers = iter(is_forbidden([test for tests in below for test in tests]))
        moved = []
        for (test, rank), tests in zip(pending, below):
            forbidden = [step for step, answer in zip(tests, answers) if answer]
            if forbidden:
                moved.append((forbidden[0], rank))
            else:
                last.append((test, min(tests, key=strength)))
        pending = moved
    chosen = {}
    for forbidden, allowed in sorted(last, key=lambda pair: list(SHAPES).index(pair[0].shape)):
        chosen.update({forbidden: True, allowed: False})
    return chosen


def text(one, variable=str, register=None):
    """An instruction; `variable` gives the operand of a variable."""
    weak = one.ordering == "weak"
    name = f"{one.kind}.weak" if weak else f"{one.kind}.{one.ordering}.{one.scope}"
    if one.kind == "fence":
        return name
    return f"{name} {register}, {variable(one.variable)}" if one.kind == "ld" else f"{name} {variable(one.variable)}, {one.value}"


def registers(test):
    """For each thread, each instruction with the register of a load; registers of a thread are numbered."""
    for code in test.threads:
        count = itertools.count()
        yield [(one, f"r{next(count)}" if one.kind == "ld" else None) for one in code]


def observed(test):
    """The names of the values of an outcome: registers, then variables."""
    loads = [f"P{thread}:{register}" for thread, code in enumerate(registers(test)) for _, register in code if register]
    return loads, sorted({one.variable for code in test.threads for one in code if one.variable})


def condition(test):
    """The outcome of the shape: a value for each name that it has."""
    loads, _ = observed(test)
    values = SHAPES[test.shape][1].split()
    return {**dict(zip(loads, values)), **dict(value.split("=") for value in values if "=" in value)}


def litmus(test):
    """The test in the notation of `ptx-atomics litmus`."""
    columns = [[f"P{thread}@cta {thread * PLACEMENTS[test.placement]},gpu 0", *(text(one, register=register) for one, register in code)]
               for thread, code in enumerate(registers(test))]
    rows = itertools.zip_longest(*columns, fillvalue="")
    variables = "".join(f"{variable}=0; " for variable in observed(test)[1])
    formula = " /\\ ".join(f"{name} == {value}" for name, value in condition(test).items())
    return f"PTX {test.shape}\n{{ {variables}}}\n" + "".join(f" {' | '.join(row)} ;\n" for row in rows) + f"~exists ({formula})\n"


def ask(tests, *options):
    """The answer of the command about tests."""
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / f"{number:05}.litmus" for number in range(len(tests))]
        for file, test in zip(files, tests):
            file.write_text(litmus(test))
        return subprocess.run([COMMAND, "litmus", *options, *files], check=True, capture_output=True, text=True).stdout


def is_forbidden(tests):
    return [answer["holds"] for answer in json.loads(ask(tests, "--format", "json"))]


def outcomes(printed):
    """The outcomes of each test: a list of values for each, in the order of `observed`."""
    tables = re.findall(r"^Outcomes .*\n\n.*\n((?:  [\d ]+\*?\n)+)", printed, re.M)
    return [[[int(value) for value in row.strip("* ").split()] for row in table.splitlines()] for table in tables]


# An instance is one execution of a test. A group of threads has the same instances: in one CTA, the warps take the
# roles in turn; in own CTAs, each CTA has one role. One CTA more for each group only loads and stores, as stress.
# Variables of an instance have distant places in memory, which a multiplication chooses.
WARP = 32
LINE = 32
VARIABLES = 4
BITS = 2


def sizes(test):
    """The threads of a CTA, the CTAs of a group with its stress, and the instances of a group in a round."""
    roles = len(test.threads)
    return (256, roles + 1, 256) if PLACEMENTS[test.placement] else (2 * WARP * roles, 2, 2 * WARP)


def role(test, number, code):
    """The code of a thread of the test."""
    variables = observed(test)[1]
    first = sum(one.kind == "ld" for code in test.threads[:number] for one in code)
    count = len(observed(test)[0])
    yield f"role{number}:"
    for one, register in code:
        generic = text(one, lambda variable: f"[%place{variables.index(variable)}]", register and f"%{register}")
        yield "  " + re.sub(r"^((?:ld|st)\S*)", r"\1.global.u32", generic) + ";"
    yield f"  mad.wide.u32 %address, %instance, {4 * count}, %results;"
    for one, register in code:
        if register:
            yield f"  st.global.u32 [%address+{4 * (first + int(register[1:]))}], %{register};"
    yield "  bra next;"


def places(test):
    """The addresses of the variables of an instance."""
    for number, _ in enumerate(observed(test)[1]):
        yield f"  mad.lo.u32 %index, %instance, {VARIABLES}, {number};"
        yield "  mul.lo.u32 %index, %index, 0x9E3779B1;"
        yield "  and.b32 %index, %index, %mask;"
        yield f"  mad.wide.u32 %place{number}, %index, {LINE}, %memory;"


HEAD = """.version 7.8
.target sm_70
.address_size 64
"""
DECLARED = """{
  .reg .pred %p;
  .reg .b32 %seed, %rounds, %groups, %spins, %mask, %thread, %cta, %kind, %group, %warp, %role, %slot, %round, %instance, %index;
  .reg .b32 %value, %count, %key, %r<4>;
  .reg .b64 %memory, %results, %arrived, %scratch, %bins, %address, %place<4>, %one;
"""
TEST = """.visible .entry test(.param .u64 memory, .param .u64 results, .param .u64 arrived, .param .u64 scratch,
  .param .u32 seed, .param .u32 rounds, .param .u32 groups, .param .u32 spins, .param .u32 mask)
{declared}
  ld.param.u64 %memory, [memory];
  ld.param.u64 %results, [results];
  ld.param.u64 %arrived, [arrived];
  ld.param.u64 %scratch, [scratch];
  ld.param.u32 %seed, [seed];
  ld.param.u32 %rounds, [rounds];
  ld.param.u32 %groups, [groups];
  ld.param.u32 %spins, [spins];
  ld.param.u32 %mask, [mask];
  mov.u32 %thread, %tid.x;
  mov.u32 %cta, %ctaid.x;
  shr.u32 %warp, %thread, 5;
  add.u32 %kind, %cta, %seed;
  rem.u32 %kind, %kind, {ctas};
  div.u32 %group, %cta, {ctas};
  mov.u32 %round, 0;
  setp.eq.u32 %p, %kind, {stress};
  @%p bra stress;
{role}
round:
  mad.lo.u32 %instance, %round, %groups, %group;
  mad.lo.u32 %index, %role, 4, 1;
  mad.lo.u32 %index, %slot, %index, %seed;
  and.b32 %index, %index, {last};
  mad.lo.u32 %instance, %instance, {instances}, %index;
{places}
  bar.sync 0;
{wait}
  mad.lo.u32 %count, %warp, 0x85EBCA6B, %seed;
  mad.lo.u32 %count, %round, 0xC2B2AE35, %count;
  mul.lo.u32 %count, %count, 0x9E3779B1;
  shr.u32 %count, %count, 27;
delay:
  sub.u32 %count, %count, 1;
  setp.gt.s32 %p, %count, 0;
  @%p bra delay;
{branches}
{roles}
next:
  add.u32 %round, %round, 1;
  setp.lt.u32 %p, %round, %rounds;
  @%p bra round;
  ret;
stress:
  mad.lo.u32 %index, %cta, {threads}, %thread;
  mad.lo.u32 %index, %round, 0x85EBCA6B, %index;
  and.b32 %index, %index, %mask;
  mad.wide.u32 %address, %index, 4, %scratch;
  ld.relaxed.gpu.global.u32 %value, [%address];
  add.u32 %value, %value, 1;
  st.relaxed.gpu.global.u32 [%address], %value;
  add.u32 %round, %round, 1;
  mul.lo.u32 %count, %rounds, 8;
  setp.lt.u32 %p, %round, %count;
  @%p bra stress;
  ret;
}}
"""
ROLE = {
    "own CTAs": "  mov.u32 %role, %kind;\n  mov.u32 %slot, %thread;",
    "one CTA": """  rem.u32 %role, %warp, {roles};
  div.u32 %slot, %warp, {roles};
  and.b32 %index, %thread, 31;
  mad.lo.u32 %slot, %slot, 32, %index;""",
}
# The wait is bounded, because the CTAs of a group may not run at the same time.
WAIT = {
    "own CTAs": """  setp.ne.u32 %p, %thread, 0;
  @%p bra together;
  mad.lo.u32 %index, %round, %groups, %group;
  mad.wide.u32 %address, %index, 4, %arrived;
  red.relaxed.gpu.global.add.u32 [%address], 1;
  mov.u32 %count, 0;
spin:
  add.u32 %count, %count, 1;
  setp.gt.u32 %p, %count, %spins;
  @%p bra together;
  ld.relaxed.gpu.global.u32 %value, [%address];
  setp.lt.u32 %p, %value, {roles};
  @%p bra spin;
together:
  bar.sync 0;""",
    "one CTA": "",
}
# Counts the outcomes: the key of an outcome has BITS bits for each value. A larger value counts as the largest.
COLLECT = """.visible .entry collect(.param .u64 memory, .param .u64 results, .param .u64 bins, .param .u32 mask)
{declared}
  ld.param.u64 %memory, [memory];
  ld.param.u64 %results, [results];
  ld.param.u64 %bins, [bins];
  ld.param.u32 %mask, [mask];
  mov.u32 %thread, %tid.x;
  mov.u32 %cta, %ctaid.x;
  mad.lo.u32 %instance, %cta, {warp}, %thread;
  mov.u32 %key, 0;
{places}
  mad.wide.u32 %address, %instance, {bytes}, %results;
{values}
  mad.wide.u32 %address, %key, 8, %bins;
  mov.u64 %one, 1;
  red.relaxed.gpu.global.add.u64 [%address], %one;
  ret;
}}
"""


def ptx(test):
    """The module of a test: the kernel of its threads, and the kernel that counts outcomes."""
    threads, ctas, instances = sizes(test)
    roles = len(test.threads)
    loads, variables = observed(test)
    branches = [f"  setp.eq.u32 %p, %role, {number};\n  @%p bra role{number};" for number in range(1, roles)]
    operands = [f"[%address+{4 * number}]" for number, _ in enumerate(loads)]
    operands += [f"[%place{number}]" for number, _ in enumerate(variables)]
    values = [f"""  ld.global.u32 %value, {operand};
  min.u32 %value, %value, {2**BITS - 1};
  shl.b32 %value, %value, {BITS * number};
  or.b32 %key, %key, %value;""" for number, operand in enumerate(operands)]
    code = [line for number, code in enumerate(registers(test)) for line in role(test, number, code)]
    common = {"declared": DECLARED, "places": "\n".join(places(test)), "warp": WARP}
    return HEAD + TEST.format(
        **common, ctas=ctas, stress=ctas - 1, threads=threads, instances=instances, last=instances - 1,
        role=ROLE[test.placement].format(roles=roles), wait=WAIT[test.placement].format(roles=roles),
        branches="\n".join(branches), roles="\n".join(code),
    ) + COLLECT.format(**common, bytes=4 * len(loads), values="\n".join(values))


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    chosen = choose(is_forbidden)
    allowed = outcomes(ask(list(chosen), "--all-outcomes"))
    numbers, plan = collections.Counter(), []
    for (test, forbidden), allowed in zip(chosen.items(), allowed, strict=True):
        numbers[test.shape] += 1
        name = f"{test.shape}-{numbers[test.shape]}"
        threads, ctas, instances = sizes(test)
        names = list(itertools.chain(*observed(test)))
        plan.append({
            "name": name, "placement": test.placement, "forbidden": forbidden, "litmus": litmus(test), "names": names,
            "loads": len(observed(test)[0]), "condition": {of: int(value) for of, value in condition(test).items()},
            "allowed": allowed, "threads": threads, "ctas": ctas, "instances": instances,
        })
        (folder / f"{name}.ptx").write_text(ptx(test))
    (folder / "plan.json").write_text(json.dumps(plan, indent=1))
    print(f"{len(plan)} litmus tests, {sum(test['forbidden'] for test in plan)} with a forbidden outcome")


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]))
