"""The outputs of scripts/scoreboard: docs/evidence/scoreboard.md, and from its tables the table of docs/scoreboard.md and
docs/scoreboard.svg."""

import collections
import dataclasses
import datetime
import itertools
import re
import statistics

CLASSES = {
    "right": "right",
    "ordering": "ordering lost",
    "scope": "scope lost",
    "weak-load-in-loop": "weak load in a loop",
    "not-atomic": "not atomic",
    "volatile": "volatile lost",
    "error": "error",
}
GROUPS = ["fence", "load", "store", "atomicrmw", "atomicrmw, floating point", "atomicrmw, 8 and 16 bits", "cmpxchg",
          "cmpxchg, 8 and 16 bits", "128 bits", "local memory", "new in LLVM 23"]
NOTES = {
    "load-writes": "loads that are read-modify-writes",
    "by-element": "additions of a vector element by element",
    "ordering-in-loop": "loops that pay for the ordering in every iteration",
    "misplaced": "whose ordering ptxas is known to drop or to misplace",
}
BEGIN, END = "<!-- scripts/scoreboard draws this table. -->", "<!-- The table ends. -->"
SPACES = {0: "generic", 1: "global", 3: "shared", 5: "local"}
INTRODUCTION = """
The suite has every operation, type and ordering of LLVM, with one atomic or fence in each function: in global memory at every scope, in
generic and shared memory at the widest scope and at a narrow one, and in local memory. A sample of the functions is volatile. Operations
for which the GPU has no instruction are left out. The suite is a development set of ptx-atomics, and `scripts/scoreboard` measures it
again. [The chapter](../scoreboard.md#read-the-answer) defines the classes.

- A compiler gets the operations that its LLVM has.
- libNVVM takes the dialect of LLVM 7 for GPUs before sm_100, so that the functions are written in that dialect. With `-nvvm-latest` it
  takes a newer dialect, with the functions as they are. Its verifier is a separate call, which a front end may omit. For a
  read-modify-write of local memory it makes a `trap`, which is an error.
- nvcc 13.5 with libcu++ keeps order and scope, for CUDA C++: of 96 pairs of kernel and GPU, 94 are right, and two do not compile, as with
  ptx-atomics. Its atomics use generic addresses, which costs [instructions](machine-code.md).
"""


@dataclasses.dataclass(frozen=True)
class Cell:
    """A function, with the names of conformance for its parts."""

    name: str
    kind: str
    op: str
    type: str
    bits: int
    order: str
    scope: str
    space: int
    volatile: bool
    llvm: int

    @classmethod
    def of(cls, said):
        # A fence belongs to the functions of global memory.
        space = 1 if said["address_space"] is None else said["address_space"]
        return cls(said["name"], said["kind"], said["operation"], said["type"], said["bits"], said["ordering"], said["scope"],
                   space, said["volatile"], said["since_llvm"])

    def group(self):
        """The column of the table by kind."""
        if self.kind == "fence":
            return "fence"
        if self.llvm > 22:
            return f"new in LLVM {self.llvm}"
        if self.space == 5:
            return "local memory"
        if self.bits == 128:
            return "128 bits"
        if self.kind in ("load", "store"):
            return self.kind
        if self.bits < 32:
            return f"{self.kind}, 8 and 16 bits"
        return self.kind if not self.op.startswith("f") else "atomicrmw, floating point"


def table(rows):
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], ["---"] + ["--:"] * (len(rows[0]) - 1), *rows[1:]])


def counts(found):
    return collections.Counter(verdict.loss for verdict in found)


def percent(part, whole):
    """A share in tenths of a percent, rounded down if a loss would otherwise read as 100%."""
    return f"{min(100 * part / whole, 99.9 if part < whole else 100):.1f}%"


def agreeing_clangs(results, compilers):
    """Each clang whose verdicts on all functions equal those for the llc of its LLVM, and that llc."""
    found = {}
    for name, llvm in compilers:
        same = [other for other, version in compilers if other.startswith("llc") and version == llvm]
        if name.startswith("clang") and any(
            all({cell: verdict.loss for cell, verdict in of_target[name].items()}
                == {cell: verdict.loss for cell, verdict in of_target[other].items()} for of_target in results.values())
            for other in same
        ):
            found[name] = same[0]
    return found


def markdown(results, grids, compilers, ours):
    """The page. `results` has verdicts by target, compiler and cell; `compilers` has names and LLVMs, and the last is
    ours."""
    agreeing = agreeing_clangs(results, compilers)
    shown = {target: {name: found for name, found in of_target.items() if name not in agreeing}
             for target, of_target in results.items()}
    names = ", ".join(name for name, _ in compilers if not re.search("verifier|latest", name))
    verdicts = [verdict for of_target in shown.values() for verdict in of_target.get(ours, {}).values()]
    lines = ["# Atomics and fences that each compiler gets right", "",
             f"{ours} gets {counts(verdicts)['right']:,} of {len(verdicts):,} functions of the suite right, for {len(shown)} GPUs together. "
             f"Measured on {datetime.date.today()} with {names}, ptxas 12.9 and 13.5.", INTRODUCTION.rstrip()]
    if agreeing:
        pairs = [f"{name} with {other}" for name, other in agreeing.items()]
        lines += [f"- clang is left out where it agrees with llc on every function: {', '.join(pairs)}."]
    for target, of_target in shown.items():
        lines += of_one_target(target, grids[target], of_target)
    lines += losses(shown, grids, ours)
    lines += machine_code(shown, grids, ours)
    return "\n".join(lines) + "\n"


def of_one_target(target, grid, of_target):
    version = f"{target.ptx[3:-1]}.{target.ptx[-1]}"
    lines = ["", f"## {target.sm}, PTX {version}: {len(grid):,} functions", ""]
    rows = [["compiler", *CLASSES.values()]]
    for name, found in of_target.items():
        count = counts(found.values())
        rows.append([name, f"{count['right']:,} ({percent(count['right'], len(found))})",
                     *(f"{count[loss]:,}" for loss in list(CLASSES)[1:])])
    lines += [table(rows), "", "Right, by kind:", ""]
    by_group = {group: [cell.name for cell in grid if cell.group() == group] for group in GROUPS}
    by_group = {group: of_group for group, of_group in by_group.items() if of_group}
    rows = [["compiler", *(f"{group} ({len(of_group):,})" for group, of_group in by_group.items())]]
    for name, found in of_target.items():
        asked = [[found[cell] for cell in of_group if cell in found] for of_group in by_group.values()]
        rows.append([name, *(f"{counts(of_group)['right']:,}" if of_group else "" for of_group in asked)])
    lines += [table(rows)]
    notes = []
    for name, found in of_target.items():
        for note, words in NOTES.items():
            number = sum(verdict.loss == "right" and note in verdict.notes for verdict in found.values())
            notes += [f"{name}: {number:,} {words}"] if number else []
    return lines + (["", "Among the functions that are right: " + "; ".join(notes) + "."] if notes else [])


# ---- The losses of each compiler.

# The attributes that distinguish functions of one kind, in the order of the text.
ATTRIBUTES = {
    "op": lambda cell: cell.op,
    "type": lambda cell: cell.type,
    "space": lambda cell: SPACES[cell.space],
    "order": lambda cell: cell.order.replace(" ", "/"),
    "scope": lambda cell: cell.scope or "system",
    "volatile": lambda cell: "volatile" if cell.volatile else "not volatile",
}


def described(some, of_all):
    """The attributes that distinguish some functions from all measured functions."""
    said = []
    for attribute in ATTRIBUTES.values():
        values = {attribute(cell): None for cell in some}
        if len(values) < len({attribute(cell) for cell in of_all}):
            said.append(" ".join(filter(None, values)))
    return "; ".join(filter(None, said)) or "all"


def code_list(text):
    return text.replace("<", "\\<")


def losses(shown, grids, ours):
    """A table for each compiler: the losses by kind of operation, and the number of functions on each GPU."""
    lines = ["", "## Losses of each compiler", "",
             "Each row counts the functions of one kind with the same loss. It names the attributes that distinguish them from the rest of",
             "their kind: operations, types, memory, orderings (of success/failure), scopes."]
    targets = list(shown)
    for name in dict.fromkeys(itertools.chain(*shown.values())):
        found, asked = collections.defaultdict(lambda: collections.defaultdict(list)), collections.defaultdict(list)
        for target in targets:
            for cell in grids[target]:
                if verdict := shown[target].get(name, {}).get(cell.name):
                    asked[cell.kind].append(cell)
                    if verdict.loss != "right":
                        found[verdict.loss, cell.kind][target].append(cell)
        if not found:
            continue
        rows = [["lost", "kind", "functions", *(target.sm for target in targets)]]
        order = lambda key: (list(CLASSES).index(key[0]), key[1])
        for loss, kind in sorted(found, key=order):
            by_target = found[loss, kind]
            some = [cell for of_target in by_target.values() for cell in of_target]
            numbers = ["" if name not in shown[target] else f"{len(by_target.get(target, [])):,}" for target in targets]
            rows.append([CLASSES[loss].removesuffix(" lost"), kind, code_list(described(some, asked[kind])), *numbers])
        lines += ["", f"### {name}", "", table(rows).replace("| --- | --: | --: |", "| --- | --- | --- |", 1)]
    return lines


# ---- Machine code.

MEASURES = ["instructions", "heavy", "loops", "registers"]


def pairs(shown, grids, ours, name, target):
    """Cells that both compilers get right, with our code and the other code."""
    mine, other = shown[target][ours], shown[target].get(name, {})
    for cell in grids[target]:
        a, b = mine.get(cell.name), other.get(cell.name)
        if a and b and a.code and b.code:
            yield cell, a.code, b.code


def best_of_each(shown, names):
    """The variant of a program that gets the most functions right."""
    right = lambda name: sum(counts(of_target.get(name, {}).values())["right"] for of_target in shown.values())
    variants = collections.defaultdict(list)
    for name in names:
        variants[re.split(" -|, ", name)[0]].append(name)
    return [max(of_program, key=right) for of_program in variants.values()]


def span(numbers):
    """A number, or the minimum, the median and the maximum of several."""
    least, most = min(numbers), max(numbers)
    return f"{least:+}" if least == most else f"{least:+} to {most:+}, mostly {int(statistics.median_low(numbers)):+}"


REASONS = """
Reasons:

- *64 bits in shared memory, from sm_90 on*: ptxas drops the acquire and the release of an `atom` that it makes a loop of, and leaves
  out the barriers. It keeps fences, which ours has around such an `atom`. The other code, right as PTX, does not order there.
- *`fadd` and `fsub` at a generic address*: ours is one `atom.add`, for which ptxas makes two paths, with a loop for shared memory.
  LLVM's compare-and-swap loop is shorter, and repeats if threads conflict.
- *8 and 16 bits*: inline assembly has these in registers of 16 bits, so that an operand and a result are extended. LLVM leaves the
  bits above a result undefined, and a caller that needs them extends it.
- *Half floats in local memory*: ours adds them in f32.
"""


def machine_code(shown, grids, ours):
    """The number of functions for which another compiler has less code than ours, and a description of these
    functions."""
    targets = [target for target in shown if target.sass]
    others = [name for name in dict.fromkeys(itertools.chain(*shown.values())) if not name.startswith("ptx-atomics")]
    names = best_of_each(shown, others)
    lines = ["", "## Machine code", "",
             "Each function that is right in both compilers was assembled by ptxas as a kernel, and its SASS counted: instructions;",
             "heavy ones, which wait for memory (MEMBAR, ERRBAR, CGAERRBAR, CCTL, FENCE); loops; and registers. The columns say of how",
             f"many functions {ours} has fewer or more than the other compiler. For sm_70, ptxas made code for sm_75, which is of the same",
             "family. The counts are static: no GPU ran the code, and for a generic address, all paths count."]
    header = ["compiler", "GPU", "right in both", *(f"{word} {measure}" for measure in MEASURES for word in ("fewer", "more"))]
    rows = [header]
    shorter = collections.defaultdict(lambda: collections.defaultdict(list))
    asked = collections.defaultdict(list)
    for name in names:
        for target in targets:
            found = list(pairs(shown, grids, ours, name, target))
            if not found:
                continue
            numbers = []
            for index in range(len(MEASURES)):
                less = [mine[index] < other[index] for _, mine, other in found].count(True)
                more = [mine[index] > other[index] for _, mine, other in found].count(True)
                numbers += [f"{less:,}", f"{more:,}"]
            rows.append([name, target.sm, f"{len(found):,}", *numbers])
            for cell, mine, other in found:
                asked[name, cell.kind].append(cell)
                if mine.instructions > other.instructions:
                    shorter[name, cell.kind, cell.op][target].append((cell, mine, other))
    lines += ["", table(rows).replace("| --- | --: |", "| --- | --- |", 1), "", "### Where another is shorter", "",
              f"The functions for which {ours} has more instructions than the other compiler, and how many more.", ""]
    rows = [["compiler", "operation", "functions", *(target.sm for target in targets), "instructions", "heavy", "loops", "registers"]]
    for (name, kind, op), by_target in shorter.items():
        every = [found for of_target in by_target.values() for found in of_target]
        said = described([cell for cell, _, _ in every], [cell for cell in asked[name, kind] if cell.op == op])
        numbers = [f"{len(by_target.get(target, [])):,}" for target in targets]
        spans = [span([mine[index] - other[index] for _, mine, other in every]) for index in range(len(MEASURES))]
        rows.append([name, f"{kind} {op}".strip(), code_list(said), *numbers, *spans])
    return lines + ([table(rows).replace("| --- | --: | --: |", "| --- | --- | --- |", 1), REASONS.rstrip()] if len(rows) > 1 else ["None."])


# ---- The drawing.


def tables(text):
    """The rows of the page by the heading of their target: a compiler, and the number of functions in each class."""
    found = {}
    for section in text.split("\n## ")[1:]:
        heading, *lines = section.splitlines()
        header = f"| {' | '.join(['compiler', *CLASSES.values()])} |"
        if header not in lines:
            continue
        found[heading] = []
        for line in itertools.takewhile(lambda line: line.startswith("|"), lines[lines.index(header) + 2 :]):
            compiler, *cells = [cell.strip() for cell in line.strip("|").split("|")]
            found[heading].append((compiler, [int(cell.split()[0].replace(",", "")) for cell in cells]))
    return found


# The colours of Okabe and Ito, which are distinct for every kind of colour vision, each with the colour of a label on
# it.
COLORS = {"right": ("#0072b2", "#fff"), "ordering": ("#d55e00", "#000"), "scope": ("#cc79a7", "#000"),
          "weak-load-in-loop": ("#e69f00", "#000"), "not-atomic": ("#000", "#fff"), "volatile": ("#56b4e9", "#000"),
          "error": ("#999", "#000")}


def svg(rows_of_target):
    """Stacked bars, with a row for each compiler. The data come from `tables`, so that the drawing agrees with the
    text."""
    width, bar, gap, right = 640, 18, 6, 90
    left = 20 + 7 * max(len(name) for rows in rows_of_target.values() for name, _ in rows)
    parts, y = [], 84

    def text(x, y, words, more=""):
        words = words.replace("&", "&amp;").replace("<", "&lt;")
        parts.append(f'<text x="{x:.1f}" y="{y}"{more}>{words}</text>')

    title = "Atomics and fences that keep what the program asks for, by GPU and compiler"
    text(10, 22, title, ' style="font-size: 15px; font-weight: bold"')
    x = 10
    for loss, words in CLASSES.items():
        parts.append(f'<rect x="{x}" y="38" width="12" height="12" fill="{COLORS[loss][0]}" stroke="#888"/>')
        text(x + 16, 48, words)
        x += 34 + 7 * len(words)
    bars = []
    for heading, rows in rows_of_target.items():
        text(10, y, heading, ' style="font-weight: bold"')
        y += 8
        for name, numbers in rows:
            x = float(left)
            text(left - 8, y + 13, name, ' text-anchor="end"')
            for (loss, words), number in zip(CLASSES.items(), numbers):
                share, (color, label_color) = percent(number, sum(numbers)), COLORS[loss]
                length = width * number / sum(numbers)
                if length:
                    shape = f'x="{x:.1f}" y="{y}" width="{length:.1f}" height="{bar}" fill="{color}"'
                    bars.append(f"<rect {shape}><title>{name}: {words}, {share}</title></rect>")
                # The label of the correct part always follows the bar, even if the part is short.
                labels = ["right"] if loss == "right" else [f"{words} {share}", share]
                if label := next((label for label in labels if 7 * len(label) + 8 < length), None):
                    place = f'x="{x + length / 2:.1f}" y="{y + 13}" text-anchor="middle"'
                    bars.append(f'<text {place} style="fill: {label_color}">{label}</text>')
                x += length
            text(left + width + 8, y + 13, f"{percent(numbers[0], sum(numbers))} right")
            y += bar + gap
        y += 22
    # The axis, and its lines in the background.
    y -= 10
    for tick in range(0, 101, 20):
        x = left + width * tick / 100
        parts.append(f'<line x1="{x}" y1="70" x2="{x}" y2="{y}" stroke="#888" stroke-opacity="0.5"/>')
        text(x, y + 16, f"{tick}%", ' text-anchor="middle"')
    text(left + width / 2, y + 36, "share of the functions compiled, in percent; each function has one atomic or fence", ' text-anchor="middle"')
    size = f'width="{left + width + right}" height="{y + 48}" viewBox="0 0 {left + width + right} {y + 48}"'
    # Always dark on white: the dark themes of the book invert the lightness of a drawing.
    style = "<style>text { font: 12px sans-serif; fill: #333 }</style>"
    ground = '<rect width="100%" height="100%" fill="#fff"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}><title>{title}</title>{style}\n{ground}'
    return "\n".join([head, *parts, *bars, "</svg>"]) + "\n"


def summary(rows_of_target):
    """The share of functions that each compiler gets right on each GPU."""
    targets = {heading.split(",")[0]: dict(rows) for heading, rows in rows_of_target.items()}
    rows = [["right for", *targets]]
    names = dict.fromkeys(itertools.chain(*targets.values()))
    for name in sorted(names, key=lambda name: not name.startswith("ptx-atomics")):
        numbers = [of_target.get(name) for of_target in targets.values()]
        shares = ["" if not found else f"{found[0]:,} of {sum(found):,}: {percent(found[0], sum(found))}" for found in numbers]
        rows.append([name, *shares])
    return table(rows)


def draw(root):
    """Draws the picture and the table of the chapter from the tables of docs/evidence/scoreboard.md."""
    page = root / "docs/scoreboard.md"
    measured = tables((root / "docs/evidence/scoreboard.md").read_text())
    (root / "docs/scoreboard.svg").write_text(svg(measured))
    before, rest = page.read_text().split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}\n\n{summary(measured)}\n\n{END}{after}")
