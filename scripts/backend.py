"""LLVM's NVPTX backend in child processes: which texts of LLVM IR it compiles for a target, and how it ends on the rest."""

import ctypes
import os
import pathlib
import re
import signal
import subprocess
import tempfile

TRIPLE = b"nvptx64-nvidia-cuda"
SECONDS = 20
# The newest PTX version of each version of LLVM.
NEWEST = {22: (9, 0), 23: (9, 3)}
# The variants of sm_101 have their features up to this version of PTX only.
RENAMED = {"sm_101a": (8, 8), "sm_101f": (8, 8)}
# LLVM's handler of fatal errors must not return, and Python cannot jump over the frames of C. Like LLVM's own recovery
# from crashes, the jump leaks memory, so that a child makes a limited number of jumps.
JUMPS = 200
SHIM = r"""
#include <setjmp.h>
#include <string.h>
static jmp_buf start;
static char reason[4096];
static char *(*describe)(void *);
static int (*severity)(void *);
static void end(const char *kind, const char *text) {
  strcpy(reason, kind);
  strncat(reason, text, sizeof reason - 32);
  longjmp(start, 1);
}
static void fatal(const char *text) { end("fatal: ", text); }
static void diagnose(void *info, void *data) { if (severity(info) == 0) end("error: ", describe(info)); }
void install(void (*handle)(void *), void (*handle_diagnostics)(void *, void *, void *), void *context, void *how, void *text) {
  severity = how, describe = text;
  handle(fatal), handle_diagnostics(context, diagnose, 0);
}
const char *attempt(int (*emit)(void *, void *, int, char **, void **), void *machine, void *module, void **buffer) {
  char *message = 0;
  if (setjmp(start)) return reason;
  return emit(machine, module, 0, &message, buffer) ? message : "ok";
}
"""


def shim():
    with tempfile.TemporaryDirectory() as folder:
        source, library = f"{folder}/shim.c", f"{folder}/shim.so"
        pathlib.Path(source).write_text(SHIM)
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
        return ctypes.CDLL(library)


def targets(llvm):
    """For each GPU of `isa/src/target.rs` its PTX versions, oldest first, as far as this version of LLVM has them."""
    text = (pathlib.Path(__file__).parent.parent / "isa/src/target.rs").read_text()
    ranges = re.findall(r"\((\d), (\d+)\.\.=(\d+)\)", text[text.index("const VERSIONS") :])
    versions = [(int(major), minor) for major, first, last in ranges for minor in range(int(first), int(last) + 1)]
    found = {}
    for gpu, *oldest in re.findall(r'gpu\("(\w+)", +\d+, (\d+), (\d+)\)', text):
        newest = min(NEWEST[llvm], RENAMED.get(gpu, NEWEST[llvm]))
        found[gpu] = [version for version in versions if tuple(map(int, oldest)) <= version <= newest]
    return {gpu: versions for gpu, versions in found.items() if versions}


class Backend:
    def __init__(self, library):
        self.llvm, self.shim = ctypes.CDLL(library), shim()
        self.shim.attempt.restype = ctypes.c_char_p
        for part in ["TargetInfo", "Target", "TargetMC", "AsmPrinter"]:
            self.call(f"LLVMInitializeNVPTX{part}", result=None)
        self.context = self.pointer("LLVMContextCreate")
        self.target, message = ctypes.c_void_p(), ctypes.c_char_p()
        self.call("LLVMGetTargetFromTriple", TRIPLE, ctypes.byref(self.target), ctypes.byref(message))
        version = [ctypes.c_uint() for _ in range(3)]
        self.call("LLVMGetVersion", *map(ctypes.byref, version), result=None)
        self.version = version[0].value
        # Children share the state that LLVM sets up on its first use.
        self.attempt(self.machine("sm_90", (8, 0), 2), self.parse("define void @f() {\n  ret void\n}"))

    def call(self, name, *values, result=ctypes.c_int):
        function = getattr(self.llvm, name)
        function.restype = result
        return function(*values)

    def pointer(self, name, *values):
        return ctypes.c_void_p(self.call(name, *values, result=ctypes.c_void_p))

    def text(self, name, *values):
        return self.call(name, *values, result=ctypes.c_char_p).decode()

    def parse(self, text):
        """The module of a text, or a message."""
        text = text.encode()
        buffer = self.pointer("LLVMCreateMemoryBufferWithMemoryRangeCopy", text, ctypes.c_size_t(len(text)), b"")
        module, message = ctypes.c_void_p(), ctypes.c_char_p()
        if self.call("LLVMParseIRInContext", self.context, buffer, ctypes.byref(module), ctypes.byref(message)):
            return message.value.decode(errors="replace")
        if self.call("LLVMVerifyModule", module, 2, ctypes.byref(message)):
            return message.value.decode(errors="replace")
        return module

    def machine(self, gpu, ptx, level):
        features = "+ptx{}{}".format(*ptx).encode()
        return self.pointer("LLVMCreateTargetMachine", self.target, TRIPLE, gpu.encode(), features, level, 0, 0)

    def attempt(self, machine, module):
        """`ok`, or how LLVM ends the process."""
        layout = self.pointer("LLVMCreateTargetDataLayout", machine)
        self.call("LLVMSetModuleDataLayout", module, layout, result=None)
        buffer = ctypes.c_void_p()
        outcome = self.shim.attempt(self.llvm.LLVMTargetMachineEmitToMemoryBuffer, machine, module, ctypes.byref(buffer))
        if outcome == b"ok":
            self.call("LLVMDisposeMemoryBuffer", buffer, result=None)
            self.call("LLVMDisposeModule", module, result=None)
        return outcome

    def outcomes(self, texts, gpu, ptx, level=2):
        """For each text `ok`, or how LLVM ends the process. `invalid: ` begins the messages about invalid texts."""
        found = []
        while len(found) < len(texts):
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(read)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                self.compile(texts[len(found) :], gpu, ptx, level, write)
                os._exit(0)
            os.close(write)
            with os.fdopen(read, "rb") as pipe:
                found += pipe.read().decode(errors="replace").split("\0")[:-1]
            status = os.waitpid(child, 0)[1]
            if status:
                found.append(signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit {status >> 8}")
        return found

    def compile(self, texts, gpu, ptx, level, pipe):
        llvm = self.llvm
        self.shim.install(
            llvm.LLVMInstallFatalErrorHandler,
            llvm.LLVMContextSetDiagnosticHandler,
            self.context,
            llvm.LLVMGetDiagInfoSeverity,
            llvm.LLVMGetDiagInfoDescription,
        )
        machine, jumps = self.machine(gpu, ptx, level), JUMPS
        for text in texts:
            signal.alarm(SECONDS)
            module = self.parse(text)
            outcome = f"invalid: {module}".encode() if isinstance(module, str) else self.attempt(machine, module)
            os.write(pipe, outcome + b"\0")
            jumps -= outcome != b"ok"
            if not jumps:
                return
