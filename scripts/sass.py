"""NVIDIA's assembler and disassembler, and a parser of SASS: the instructions of each function, and the heavy ones."""

import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools"
PTXAS = TOOLS / "ptxas-13.5/nvidia/cu13/bin/ptxas"
NVDISASM = TOOLS / "nvdisasm-13.5/nvidia/cu13/bin/nvdisasm"
# The instructions that wait for memory.
HEAVY = {"MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "FENCE"}

# The text of an instruction with its predicate, and whether a later branch leads to a place before it.
Instruction = collections.namedtuple("Instruction", "text in_loop")


def functions(text):
    """The instructions by function, without padding: a branch to itself, and NOPs. `text` is the output of nvdisasm
    -c."""
    found = {}
    for part in re.split(r"^//-+ \.text\.(?=\S)", text, flags=re.M)[1:]:
        name = part.split(None, 1)[0]
        found[name] = with_loops(part)
    return found


def with_loops(part):
    words, labels, here = [], {}, []
    for line in part.splitlines():
        if line.startswith(".L_"):
            here.append(line.strip(": "))
            labels[here[-1]] = len(words)
        elif match := re.match(r"\s+/\*[0-9a-f]+\*/\s+(.*?)\s*;", line):
            words.append("padding" if match[1] in {f"BRA `({label})" for label in here} else match[1])
            here = []
    while words and words[-1] in ("NOP", "padding"):
        words.pop()
    # The depth rises by one at a loop's start, and falls by one after its end.
    depth = [0] * (len(words) + 1)
    for index, word in enumerate(words):
        target = re.search(r"`\((\.L_\w+)\)", word)
        start = labels.get(target[1], index + 1) if target and opcode(word).startswith("BRA") else index + 1
        if start <= index:
            depth[start] += 1
            depth[index + 1] -= 1
    inside, found = 0, []
    for word, change in zip(words, depth):
        inside += change
        found.append(Instruction(word, inside > 0))
    return found


def opcode(instruction):
    return re.sub(r"^@!?U?P\w+\s+", "", instruction).split()[0]


def is_heavy(instruction):
    return opcode(instruction).split(".")[0] in HEAVY
