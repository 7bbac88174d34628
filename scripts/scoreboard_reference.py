"""The file of scripts/scoreboard for the reference of the book: the code of each compiler for each operation."""

import itertools
import re
import string

# The parts of a function's name, in the terms of the reference. A fence has no type and no memory.
NAME = re.compile(r"(?:fence|rmw-(?P<rmw>\w+?)-(?P<rmw_type>\w+)|(?P<op>load|store|cmpxchg)-(?P<type>\w+))"
                  r"-(?P<ordering>unordered|relaxed|acquire|release|acq_rel|seq_cst)(?:-relaxed)?"
                  r"-(?P<scope>sys|gpu|cluster|cta|thread)(?:-(?P<space>\w+))?")
TYPES = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "2xhalf": "f16x2", "2xbfloat": "bf16x2",
         "4xfloat": "f32x4"}
MEMORY = re.compile(r"(?:(?:atom|red|fence|membar|call)\b|(?:ld|st)\.(?!param))")
# Accesses of stack variables, and of addresses that a test at run time finds to be local.
OWN = re.compile(r"(?:ld|st)(?:\.volatile)?\.local")
LEVELS = {"cta": "cta", "cluster": "gl", "gpu": "gl", "sys": "sys"}
# The order of columns that gives the fewest rows.
COLUMNS = ["compilers", "operations", "spaces", "orderings", "scopes", "GPUs", "types"]


def skeleton(ptx, scope, space, bits):
    """The instructions that order or access memory, without operands. The body of a backward branch is in `loop(…)`.
    The operation's scope, space and width are `<scope>`, `<level>` for `membar`, `<space>` and `<bits>`."""
    found, labels = [], {}
    words = {rf"^membar\.{LEVELS[scope]}$": "membar.<level>",
             rf"\.{scope}(?=\.|$)": ".<scope>", rf"\.{space}(?=\.|$)": ".<space>",
             rf"\.([bfsu]){bits}$": r".\1<bits>"}
    for line in re.split(r"[;\n]|(?<=:)\s", re.sub(r"//.*|/\*.*?\*/", "", ptx)):
        line = re.sub(r"^[\s{}]*(@!?%\w+)?\s*", "", line)
        if label := re.fullmatch(r"\s*(\$?\w+):\s*", line):
            labels[label[1]] = len(found)
        elif branch := re.match(r"bra\S*\s+(\$?\w+)", line):
            start = labels.get(branch[1])
            if start is not None and found[start:]:
                found[start:] = [f"loop({listed(found[start:])})"]
        elif MEMORY.match(line) and (space == "local" or not OWN.match(line)):
            opcode = line.split()[0]
            for word, general in words.items():
                opcode = re.sub(word, general, opcode)
            found.append(opcode)
    return listed(found)


def listed(opcodes):
    groups = [(opcode, len(list(same))) for opcode, same in itertools.groupby(opcodes)]
    return "; ".join(f"{count} × {opcode}" if count > 1 else opcode for opcode, count in groups)


def cell(function):
    """The properties of a function in the terms of the reference; None for a function that the reference omits."""
    parts = NAME.fullmatch(function["name"])
    if not parts or parts["scope"] == "thread" or "ptr" in (parts["type"], parts["rmw_type"]):
        return None
    ty = parts["rmw_type"] or parts["type"] or "i32"
    op = parts["rmw"] or parts["op"] or "fence"
    return op, TYPES.get(ty, ty), parts["ordering"], parts["scope"], parts["space"] or "generic"


def rectangles(cells):
    """Cells as few rows. A row has a set of values for each column, and represents all their combinations."""
    cells = list(cells)
    if not cells[0]:
        return [()]
    rests = {}
    for first, *rest in cells:
        rests.setdefault(first, set()).add(tuple(rest))
    firsts = {}
    for first, rest in rests.items():
        firsts.setdefault(frozenset(rest), []).append(first)
    return [(names, *row) for rest, names in firsts.items() for row in rectangles(rest)]


def judged(function, compiler, bits):
    """libcu++ accesses the word around 8 and 16 bits, and leaves a loop early by its relaxed load, which the checker
    cannot follow."""
    is_right = function["verdict"] == "right"
    return "not-judged" if compiler.startswith("nvcc") and bits < 32 and not is_right else function["verdict"]


def table(said):
    """The text of the file. `said` has the results of conformance for each compiler on each GPU. The compilers precede
    the table, each after its letter."""
    by_result, orders = {}, [[] for _ in COLUMNS]
    for (compiler, gpu), functions in said.items():
        for function in functions:
            if (of := cell(function)) is None:
                continue
            op, ty, ordering, scope, space = of
            bits = function["bits"]
            ptx = skeleton(function["ptx"], scope, space, bits) if "ptx" in function else ""
            place = (compiler, op, space, ordering, scope, gpu, ty)
            by_result.setdefault((judged(function, compiler, bits), ptx), []).append(place)
            for known, value in zip(orders, place):
                if value not in known:
                    known.append(value)
    rows = [(*[[name for name in order if name in of] for of, order in zip(row, orders)], *result)
            for result, places in by_result.items() for row in rectangles(places)]
    numbers = [{name: number for number, name in enumerate(order)} for order in orders]
    rows.sort(key=lambda row: [[number[name] for name in of] for number, of in zip(numbers, row)])
    letters = dict(zip(orders[0], string.ascii_lowercase))
    lines = [[letter, name] for name, letter in letters.items()] + [[], [*COLUMNS, "verdict", "PTX"]]
    lines += [[",".join(letters[name] for name in row[0]), *map(",".join, row[1:7]), *row[7:]] for row in rows]
    return "".join("\t".join(line) + "\n" for line in lines)
