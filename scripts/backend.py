"""LLVM's NVPTX backend in child processes: which texts of LLVM IR it compiles for a target, and how it ends on the rest."""

import ctypes
import os
import signal
import subprocess
import tempfile

TRIPLE = b"nvptx64-nvidia-cuda"
PATIENCE = 20  # seconds
# LLVM's handler for fatal errors must not return, and Python cannot jump over C frames. As LLVM's own crash recovery,
# the jump leaks memory, so that a child makes only so many jumps.
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
    folder = tempfile.mkdtemp()
    source, library = f"{folder}/shim.c", f"{folder}/shim.so"
    with open(source, "w") as file:
        file.write(SHIM)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


class Backend:
    def __init__(self, library, shim_library=None):
        self.llvm, self.shim = ctypes.CDLL(library), ctypes.CDLL(shim_library or shim())
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
        self.attempt(self.machine("sm_90", "ptx80", 2), self.parse("define void @f() {\n  ret void\n}"))

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
        return self.pointer("LLVMCreateTargetMachine", self.target, TRIPLE, gpu.encode(), f"+{ptx}".encode(), level, 0, 0)

    def attempt(self, machine, module):
        """`ok`, or how LLVM ends the process."""
        self.call("LLVMSetModuleDataLayout", module, self.pointer("LLVMCreateTargetDataLayout", machine), result=None)
        buffer = ctypes.c_void_p()
        outcome = self.shim.attempt(self.llvm.LLVMTargetMachineEmitToMemoryBuffer, machine, module, ctypes.byref(buffer))
        if outcome == b"ok":
            self.call("LLVMDisposeMemoryBuffer", buffer, result=None)
            self.call("LLVMDisposeModule", module, result=None)
        return outcome

    def outcomes(self, texts, gpu, ptx, level=2, jumps=JUMPS):
        """For each text `ok`, or how LLVM ends the process. `invalid: ` begins the messages about invalid texts."""
        found = []
        while len(found) < len(texts):
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(read)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                self.compile(texts[len(found) :], gpu, ptx, level, jumps, write)
                os._exit(0)
            os.close(write)
            with os.fdopen(read, "rb") as pipe:
                lines = pipe.read().decode(errors="replace").split("\0")
            status = os.waitpid(child, 0)[1]
            found += lines[:-1]
            if status:
                found.append(signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit {status >> 8}")
        return found

    def compile(self, texts, gpu, ptx, level, jumps, pipe):
        llvm = self.llvm
        self.shim.install(
            llvm.LLVMInstallFatalErrorHandler,
            llvm.LLVMContextSetDiagnosticHandler,
            self.context,
            llvm.LLVMGetDiagInfoSeverity,
            llvm.LLVMGetDiagInfoDescription,
        )
        machine = self.machine(gpu, ptx, level)
        for text in texts:
            signal.alarm(PATIENCE)
            module = self.parse(text)
            if isinstance(module, str):
                os.write(pipe, f"invalid: {module}\0".encode())
                continue
            outcome = self.attempt(machine, module)
            os.write(pipe, outcome + b"\0")
            if outcome != b"ok":
                jumps -= 1
                if not jumps:
                    return
