"""The kernels of Triton's tutorials, for scripts/schedules_triton and scripts/exec_triton."""

import ast
import pathlib

import triton
import triton.language as tl
from triton.language.extra import libdevice


def function(folder, tutorial, kernel):
    """A kernel of a tutorial, without the configurations that the tutorial tries on a GPU."""
    (path,) = pathlib.Path(folder).glob(f"{tutorial}-*.py")
    is_jit = lambda node: isinstance(node, ast.FunctionDef) and any("triton.jit" in ast.unparse(of) for of in node.decorator_list)
    functions = list(filter(is_jit, ast.parse(path.read_text()).body))
    for of in functions:
        of.decorator_list = []
    names = {"__name__": path.stem, "triton": triton, "tl": tl, "libdevice": libdevice}
    exec(compile(ast.Module(functions, []), str(path), "exec"), names)
    names.update({of.name: triton.jit(names[of.name]) for of in functions})
    return names[kernel]
