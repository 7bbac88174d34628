"""Counts of the machine code of ptxas for the functions of scripts/scoreboard."""

import collections
import re
import subprocess

import sass

BATCH = 512

# `registers` is the number that ptxas allocates. `loops` counts backward branches.
Code = collections.namedtuple("Code", "instructions heavy loops registers")


def kernels(head, functions):
    """A module whose functions are kernels, so that they have no code for calls. Each stores its result in a
    variable."""
    head = re.sub(r"^(\.address_size\s+64)", r"\1\n.global .align 16 .b8 result[16];", head, count=1, flags=re.M)
    text = "".join(functions)
    text = re.sub(r"^\.visible \.func\s+(?:\([^)]*\)\s*)?(?=\w+\()", ".visible .entry ", text, flags=re.M)
    text = re.sub(r"\bst\.param(?:::func)?(\S*)(\s+)\[func_retval0", r"st.global\1\2[result", text)
    return head + text.replace("ld.param::func", "ld.param")


def measure(target, head, functions, folder):
    """The code of each function, by name. All functions are known to assemble."""
    found = {}
    for start in range(0, len(functions), BATCH):
        names = list(functions)[start : start + BATCH]
        ptx, cubin = folder / "kernels.ptx", folder / "kernels.cubin"
        ptx.write_text(kernels(head, (functions[name] for name in names)))
        words = [target.ptxas, "-v", "-arch", target.sass, "-o", cubin, ptx]
        said = subprocess.run(words, check=True, capture_output=True, text=True).stderr
        registers = dict(re.findall(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", said, flags=re.S))
        listing = subprocess.run([sass.NVDISASM, "-c", "-ndf", cubin], check=True, capture_output=True, text=True).stdout
        for name, text in re.findall(r"^//-+ \.text\.(\w+) (.*?)(?=^//-+ \.text|\Z)", listing, flags=re.M | re.S):
            found[name] = code(text, int(registers[name]))
    return found


def code(text, registers):
    words = [instruction.text for instruction in sass.with_loops(text)]
    return Code(len(words), sum(map(sass.is_heavy, words)), backward_branches(text), registers)


def backward_branches(text):
    """The number of branches to an earlier label, except branches to themselves, which are padding."""
    above, count, here = set(), 0, None
    for line in text.splitlines():
        if label := re.match(r"(\.L_\w+):", line):
            above.add(here := label[1])
        elif branch := re.search(r"\bBRA\S* .*`\((\.L_\w+)\)", line):
            count += branch[1] in above and branch[1] != here
            here = None
        elif "/*" in line:
            here = None
    return count
