# The library from Python, by ctypes alone: foreign.py LIBRARY HELPER
import ctypes
import sys

c = ctypes.CDLL(sys.argv[1])
c.ptx_atomics_version.restype = ctypes.c_char_p
c.ptx_atomics_open.restype = ctypes.c_void_p
c.ptx_atomics_result_output.restype = ctypes.c_char_p
assert c.ptx_atomics_version() == b"0.1.0"
session = ctypes.c_void_p(c.ptx_atomics_open(sys.argv[2].encode()))
ir = b"define void @f() { fence seq_cst\n ret void }"
result = ctypes.c_void_p()
size = ctypes.c_size_t(len(ir))
status = c.ptx_atomics_lower(session, ir, size, b"f.ll", b"mcpu=sm_90", 0, 0, ctypes.byref(result))
assert status == 0, status
assert b"fence.sc.sys" in c.ptx_atomics_result_output(result, ctypes.c_size_t(0), None)
c.ptx_atomics_result_free(result)
c.ptx_atomics_close(session)
print("all is right")
