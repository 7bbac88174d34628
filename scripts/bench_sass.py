"""The SASS of our output, of llc and of nvcc with libcu++, for the kernels of tests/benches/sass.

    scripts/bench --sass [--markdown FILE] [--keep FOLDER] [KERNEL...]

Each kernel exists twice, as LLVM IR for ptx-atomics and llc, and as CUDA C++ for nvcc. The same assembler translates
all PTX. Our code may have at most as many instructions and heavy instructions, in total and within loops, as each
correct peer. One peer is our own code with `--optimize-atomics off`; compared with this peer, our code may not have
more registers either. A peer that cannot compile a kernel is not correct. `ptx-atomics check` finds the peers that lose
an ordering or a scope; without that command, all peers count as correct. Exit status 1: our code has more in some row.
Needs the tools that scripts/install peers installs.
"""

import argparse
import collections
import concurrent.futures
import datetime
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from sass import NVDISASM, PTXAS, ROOT, TOOLS, functions, opcode

KERNELS = ROOT / "tests/benches/sass"
CUDA = TOOLS / "cuda-13.5/nvidia/cu13/bin"
OURS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/ptx-atomics"

# The newest PTX version that LLVM 22 writes.
PTX_VERSION = "+ptx90"
# The oldest GPU that nvcc 13 and the disassembler support, and a GPU of each later generation.
GPUS = ["sm_75", "sm_80", "sm_90", "sm_100"]


class Error(Exception):
    """The first line of a tool's message."""


def run(*command):
    process = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if process.returncode != 0:
        said = [line for line in (process.stderr + process.stdout).splitlines() if line.strip()]
        errors = [line for line in said if re.search("error|fatal", line, re.IGNORECASE)] + said
        raise Error(errors[0].removeprefix("error: ") if errors else f"{pathlib.Path(command[0]).name} ended with status {process.returncode}")
    # The assembler writes the number of registers to standard error.
    return process.stdout if command[0] != PTXAS else process.stderr


def ours(kernel, gpu, ptx, *more):
    run(OURS, "lower", "-O2", "--mcpu", gpu, "--mattr", PTX_VERSION, *more, KERNELS / f"{kernel}.ll", "-o", ptx)


def off(kernel, gpu, ptx):
    ours(kernel, gpu, ptx, "--optimize-atomics", "off")


def llc(kernel, gpu, ptx):
    target = [f"-mcpu={gpu}", f"-mattr={PTX_VERSION}"]
    optimized = ptx.with_suffix(".bc")
    run("opt-22", "-O2", *target, KERNELS / f"{kernel}.ll", "-o", optimized)
    run("llc-22", "-O3", *target, optimized, "-o", ptx)


def nvcc(kernel, gpu, ptx):
    # nvcc finds its own parts; it only needs a PATH with g++.
    run(CUDA / "nvcc", "-O3", "-std=c++17", "-ptx", f"-arch={gpu}", KERNELS / f"{kernel}.cu", "-o", ptx)


COMPILERS = {"ours": ours, "off": off, "llc": llc, "nvcc": nvcc}


def machine_code(gpu, ptx):
    """The text of the disassembler, and the sum of the registers of all functions."""
    cubin = ptx.with_suffix(".cubin")
    said = run(PTXAS, "-O3", "-v", "-arch", gpu, "-o", cubin, ptx)
    text = run(NVDISASM, "-c", cubin)
    ptx.with_suffix(".sass").write_text(text)
    return text, sum(map(int, re.findall(r"Used (\d+) registers", said)))


def is_atomic(name):
    return bool(re.match(r"ATOM|REDG?\.|(LD|ST).*\.STRONG", name))


def short(name):
    return name.replace(".STRONG", "").replace(".E.", ".")


# The kinds of heavy instruction, each with its opcodes.
KINDS = {"MEMBAR": {"MEMBAR", "FENCE"}, "ERRBAR": {"ERRBAR", "CGAERRBAR"}, "CCTL": {"CCTL"}}
# The assumed number of iterations of a loop, which is also the optimizer's assumption.
ROUNDS = 8

# The results of one compiler, kernel and GPU. `heavy` has the count of each kind, and `looped` the counts in loops.
Cell = collections.namedtuple("Cell", "count registers heavy looped atomics verdict error")


def cell(compiler, kernel, gpu, folder):
    """Measures one compiler on one kernel and GPU."""
    ptx = folder / f"{kernel}.{gpu}.{compiler}.ptx"
    try:
        COMPILERS[compiler](kernel, gpu, ptx)
        text, registers = machine_code(gpu, ptx)
    except Error as error:
        return Cell(0, 0, {}, {}, "", "error", str(error))
    code = [found for function in functions(text).values() for found in function]
    names = [opcode(found.text) for found in code]
    counts = collections.Counter(short(name) for name in names if is_atomic(name))
    atomics = " ".join(name if count == 1 else f"{count}×{name}" for name, count in sorted(counts.items()))
    looped = heavy_by_kind(found for found in code if found.in_loop)
    return Cell(len(code), registers, heavy_by_kind(code), looped, atomics, verdict(kernel, ptx), "")


def heavy_by_kind(code):
    mnemonics = collections.Counter(opcode(found.text).split(".")[0] for found in code)
    return {kind: sum(mnemonics[word] for word in words) for kind, words in KINDS.items()}


def total(kinds):
    return sum(kinds.values())


def verdict(kernel, ptx):
    """Whether PTX keeps the ordering and the scope of each atomic of the kernel: right, wrong, or ? without the
    check."""
    check = lambda *words: subprocess.run([OURS, "check", *words], capture_output=True, stdin=subprocess.DEVNULL).returncode
    return {0: "right", 1: "wrong"}.get(check("--ir", KERNELS / f"{kernel}.ll", "--ptx", ptx), "?")


def objections(mine, peers):
    """The reasons why a row fails."""
    right = {name: peer for name, peer in peers.items() if peer.verdict in ("right", "?")}
    if mine.verdict == "error":
        return ["ours has an error"] if right else []
    found = ["ours is wrong"] if mine.verdict == "wrong" else []
    for name, peer in right.items():
        if mine.count > peer.count:
            found.append(f"{mine.count} > {peer.count} instructions of {name}")
        if total(mine.heavy) > total(peer.heavy):
            found.append(f"{total(mine.heavy)} > {total(peer.heavy)} heavy of {name}")
        if total(mine.looped) > total(peer.looped):
            found.append(f"{total(mine.looped)} > {total(peer.looped)} heavy in loops of {name}")
        if name == "off" and mine.registers > peer.registers:
            found.append(f"{mine.registers} > {peer.registers} registers of {name}")
    return found


def written(found):
    """The columns of one compiler: instructions, registers, heavy instructions, heavy instructions in loops,
    correctness."""
    if found.error:
        return ["", "", "", "", "error"]
    return [str(number) for number in (found.count, found.registers, total(found.heavy), total(found.looped))] + [found.verdict]


HEADER = ["kernel", "GPU", *(word for name in COMPILERS for word in (name, "registers", "heavy", "in loops", "verdict")),
          "ours at most equal"]
ATOMICS = ["atomics of ours", *(f"of {name}" for name in list(COMPILERS)[1:])]


def row(kernel, gpu, cells):
    mine, peers = cells["ours"], {name: found for name, found in cells.items() if name != "ours"}
    said = "; ".join(objections(mine, peers)) or ("no compiler does it" if mine.error else "yes")
    same = lambda found: "same" if found.atomics and found.atomics == mine.atomics else found.atomics
    atomics = [mine.atomics, *(same(peer) for peer in peers.values())]
    return [kernel, gpu, *written(mine), *(word for peer in peers.values() for word in written(peer)), said, *atomics]


def print_aligned(rows):
    table = [HEADER + ATOMICS, *rows]
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    for line in table:
        words = [word.rjust(width) if word.isdigit() else word.ljust(width) for word, width in zip(line, widths)]
        print("  ".join(words).rstrip())


def sums(cells):
    """The total savings of the optimizer, as rows of a table: all kernels without and with it."""
    header = ["optimizer", "instructions", "registers", *(word for kind in KINDS for word in (kind, "in loops")), "weighted"]
    rows = [header]
    for word, compiler in (("off", "off"), ("on", "ours")):
        found = [cell for (_, _, name), cell in cells.items() if name == compiler]
        kinds = [[sum(counts.get(kind, 0) for counts in part) for part in ([c.heavy for c in found], [c.looped for c in found])]
                 for kind in KINDS]
        weighted = sum(heavy + (ROUNDS - 1) * looped for heavy, looped in kinds)
        numbers = [sum(c.count for c in found), sum(c.registers for c in found), *(n for kind in kinds for n in kind), weighted]
        rows.append([word, *map(str, numbers)])
    return rows


def table(rows):
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def markdown(rows, cells):
    said = [line[len(HEADER) - 1] for line in rows]
    title = f"""# Machine code of ptx-atomics, llc and nvcc

In {said.count("yes")} of {len(rows)} rows, ours has at most as many instructions and barriers as each other correct compiler. For
{said.count("no compiler does it")} rows, no compiler produces code. The counts are static: nothing here ran on a GPU.

`scripts/bench --sass --markdown docs/evidence/machine-code.md` made this page on {datetime.date.today()} with llc 22, nvcc 13.5 with libcu++, and
ptxas 13.5, which assembles all PTX. It counts the SASS instructions of the kernels in `tests/benches/sass`, a development set. *heavy* counts the
barriers among them: MEMBAR, ERRBAR, CGAERRBAR and CCTL; *in loops* the barriers that a loop executes again. *off* is ours with
`--optimize-atomics off`. A compiler is *wrong* if `ptx-atomics check` finds a lost ordering or scope.

All kernels together, without and with the [optimizer](../optimizer.md). *weighted* counts the instructions of a loop {ROUNDS} times:

{table(sums(cells))}
"""
    return title + table([HEADER + ATOMICS, *rows])


def measure(kernels, folder):
    """Cells by kernel, GPU and compiler."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {
            (kernel, gpu, compiler): pool.submit(cell, compiler, kernel, gpu, folder)
            for kernel in kernels for gpu in GPUS for compiler in COMPILERS
        }
        return {key: job.result() for key, job in jobs.items()}


def report(cells, kernels):
    """Prints the table and its details. Returns the rows, and the number of failing rows."""
    rows = [row(kernel, gpu, {name: cells[kernel, gpu, name] for name in COMPILERS}) for kernel in kernels for gpu in GPUS]
    print_aligned(rows)
    for (kernel, gpu, compiler), found in cells.items():
        if found.error:
            print(f"error: {kernel} {gpu} {compiler}: {found.error}")
    for line in sums(cells):
        print("  ".join(word.rjust(12) for word in line))
    said = collections.Counter(line[len(HEADER) - 1] for line in rows)
    passed = {"yes", "no compiler does it"}
    unjudged = sum(found.verdict == "?" for found in cells.values())
    print(f"{said['yes']} of {len(rows)} rows at most equal, {said['no compiler does it']} that no compiler compiles")
    if unjudged:
        print(f"{unjudged} outputs were not judged (?); peers among them count as right")
    failed = [line for line in rows if line[len(HEADER) - 1] not in passed]
    for line in failed:
        print(f"  {line[0]} {line[1]}: {line[len(HEADER) - 1]}")
    return rows, len(failed)


def main(arguments):
    parser = argparse.ArgumentParser(prog="scripts/bench --sass", description=__doc__.split("\n")[0])
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="names of files in tests/benches/sass; default: all")
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE", help="also write the table to FILE")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="store the PTX and the SASS there")
    options = parser.parse_args(arguments)
    known = sorted(path.stem for path in KERNELS.glob("*.ll"))
    if unknown := set(options.kernels) - set(known):
        parser.error(f"no kernel {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    missing = [tool for tool in (PTXAS, NVDISASM, CUDA / "nvcc") if not tool.exists()]
    if missing:
        sys.exit(f"error: no {missing[0].relative_to(ROOT)}; scripts/install peers installs it")
    subprocess.run(["cargo", "build", "--release", "--quiet", "--bin", "ptx-atomics"], cwd=ROOT, check=True)
    kernels = options.kernels or known
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        cells = measure(kernels, folder)
        rows, failed = report(cells, kernels)
    if options.markdown:
        options.markdown.write_text(markdown(rows, cells))
    return 1 if failed else 0
