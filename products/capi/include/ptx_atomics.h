/* What the library ptx_atomics_c gives to C and to every language that calls C. Made of the sources by cbindgen;
   `INSTA_UPDATE=always cargo test -p ptx-atomics-capi` makes it anew. docs/library.md has an example.

   There is no state but that of sessions and results: every function may be called by any thread, and threads may share a
   session. All text is UTF-8, with a NUL behind it. Nothing is written to standard output. */

#ifndef PTX_ATOMICS_H
#define PTX_ATOMICS_H

#include <stddef.h>
#include <stdint.h>

/*
 What came of a call.
 */
typedef enum ptx_atomics_status {
  /*
   It was done. There may be diagnostics, of which none is an error.
   */
  PTX_ATOMICS_STATUS_OK = 0,
  /*
   There is an error, which a diagnostic says.
   */
  PTX_ATOMICS_STATUS_FAILED = 1,
  /*
   An argument is none that the function takes, which a diagnostic says.
   */
  PTX_ATOMICS_STATUS_MISUSED = 2,
  /*
   The library has a bug, which a diagnostic says.
   */
  PTX_ATOMICS_STATUS_BUG = 3,
} ptx_atomics_status;

/*
 How bad a diagnostic is.
 */
typedef enum ptx_atomics_level {
  /*
   It is wrong; of a kernel, in an execution that was seen.
   */
  PTX_ATOMICS_LEVEL_ERROR = 0,
  /*
   It cannot be excluded that it is wrong.
   */
  PTX_ATOMICS_LEVEL_POSSIBLE = 1,
  /*
   The manual asks for it, or LLVM warns.
   */
  PTX_ATOMICS_LEVEL_WARNING = 2,
  /*
   It is right, and more than is needed.
   */
  PTX_ATOMICS_LEVEL_NOTE = 3,
  /*
   It was not checked, and the message says why.
   */
  PTX_ATOMICS_LEVEL_NOT_CHECKED = 4,
} ptx_atomics_level;

/*
 What is made of a module.
 */
typedef enum ptx_atomics_emit {
  /*
   PTX.
   */
  PTX_ATOMICS_EMIT_PTX = 0,
  /*
   LLVM IR with the PTX of atomics and fences in it, as text.
   */
  PTX_ATOMICS_EMIT_LLVM_IR = 1,
  /*
   The same as bitcode.
   */
  PTX_ATOMICS_EMIT_LLVM_BC = 2,
} ptx_atomics_emit;

/*
 How a table is written.
 */
typedef enum ptx_atomics_format {
  /*
   For a terminal.
   */
  PTX_ATOMICS_FORMAT_TEXT = 0,
  /*
   Markdown.
   */
  PTX_ATOMICS_FORMAT_MARKDOWN = 1,
  /*
   JSON.
   */
  PTX_ATOMICS_FORMAT_JSON = 2,
} ptx_atomics_format;

/*
 What a module is written in.
 */
typedef enum ptx_atomics_language {
  /*
   MLIR if its name ends with .mlir or .mlirbc, or if it is bytecode of MLIR; or else LLVM IR.
   */
  PTX_ATOMICS_LANGUAGE_AUTO = 0,
  /*
   LLVM IR, as text or bitcode.
   */
  PTX_ATOMICS_LANGUAGE_LLVM = 1,
  /*
   MLIR, as text or bytecode.
   */
  PTX_ATOMICS_LANGUAGE_MLIR = 2,
} ptx_atomics_language;

/*
 A part of a diagnostic.
 */
typedef enum ptx_atomics_part {
  /*
   What is wrong and why, in one sentence without a period. Each diagnostic has it.
   */
  PTX_ATOMICS_PART_MESSAGE = 0,
  /*
   What to do.
   */
  PTX_ATOMICS_PART_HELP = 1,
  /*
   The file, as the input's name or debug information calls it.
   */
  PTX_ATOMICS_PART_FILE = 2,
  /*
   The function or kernel.
   */
  PTX_ATOMICS_PART_FUNCTION = 3,
  /*
   The operation, in LLVM's words.
   */
  PTX_ATOMICS_PART_OPERATION = 4,
  /*
   What else is known, a sentence a line.
   */
  PTX_ATOMICS_PART_NOTES = 5,
  /*
   The rule of docs/async.md, as R4.
   */
  PTX_ATOMICS_PART_RULE = 6,
} ptx_atomics_part;

/*
 What came of a call. ptx_atomics_result_free frees it.
 */
typedef struct ptx_atomics_result ptx_atomics_result;

/*
 A diagnostic of a result, which owns it.
 */
typedef struct ptx_atomics_diagnostic ptx_atomics_diagnostic;

/*
 Where jobs for LLVM go. ptx_atomics_open makes it, ptx_atomics_close frees it; threads may share it.
 */
typedef struct ptx_atomics_session ptx_atomics_session;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The version of the library, as "0.1.0". It lives as long as the program.
 */
const char *ptx_atomics_version(void);

/*
 Says which program lowers; it starts with the first job. That is `helper`, a path or a name in PATH; or if it is NULL the
 environment's PTX_ATOMICS_HELPER, or else ../bin/ptx-atomics beside the file that this library is in, or else ptx-atomics in PATH.

 Give the session to ptx_atomics_close. NULL comes only of a bug of the library.

 # Safety
 `helper` is NULL or ends with a NUL.
 */
struct ptx_atomics_session *ptx_atomics_open(const char *helper);

/*
 Ends the processes of a session, and frees it. No function may be using it. NULL is allowed.

 # Safety
 `session` comes from ptx_atomics_open, and is not used again.
 */
void ptx_atomics_close(struct ptx_atomics_session *session);

/*
 Lowers all atomics and fences of a module in LLVM IR or MLIR, in another process: an input that ends LLVM is an error. Threads may
 share a session; each job that runs at the same time has a process of its own, which stays for the next one.

 - `ir`, `length`: text or bitcode.
 - `name`: what messages call it; NULL is "input". It need not be that of a file.
 - `options`: as plugins take them, "mcpu=sm_90,mattr=+ptx86,strategy=fence"; NULL is none. docs/plugin.md lists them.
 - `language`: a ptx_atomics_language. `emit`: a ptx_atomics_emit.
 - `result`: where a pointer to the result is written, which ptx_atomics_result_free frees. NULL is allowed.

 The result has an output for each module of GPU code: of LLVM IR one, of MLIR those of each gpu.module.

 # Safety
 `session` is open, `ir` has `length` bytes, `name` and `options` are NULL or end with a NUL, `result` is NULL or can be written.
 */
enum ptx_atomics_status ptx_atomics_lower(const struct ptx_atomics_session *session,
                                          const uint8_t *ir,
                                          size_t length,
                                          const char *name,
                                          const char *options,
                                          unsigned int language,
                                          unsigned int emit,
                                          struct ptx_atomics_result **result);

/*
 Checks the PTX of any compiler: waits and proxy fences that asynchronous operations of its kernels lack, data races, and barriers to
 which not all threads come. Each finding is a diagnostic; there is no output.

 - `ptx`, `length`: the text.
 - `name`: what messages call it; NULL is "input".
 - `options`: what is known of a launch, "block=128x1x1,grid=4,cluster=2,param=n=1024", of which kernel, "kernel=part of its name", and how
   the manual is read, "profile=strict,reading=A2=strict"; NULL is none.
 - `milliseconds`: the emergency stop of each kernel and question. Budgets count steps, so that it strikes on slow machines alone: 120000
   is enough. With 0 no execution is looked for, and the only errors are about text that cannot be read.
 - `result`: as of ptx_atomics_lower.

 # Safety
 `ptx` has `length` bytes, `name` and `options` are NULL or end with a NUL, `result` is NULL or can be written.
 */
enum ptx_atomics_status ptx_atomics_check(const char *ptx,
                                          size_t length,
                                          const char *name,
                                          const char *options,
                                          uint32_t milliseconds,
                                          struct ptx_atomics_result **result);

/*
 Checks PTX as ptx_atomics_check does, and the order and the scope of its atomics and fences against the IR that it was made of. Each
 lost order is a diagnostic, too, at its place in the IR or in the source of the IR.

 - `session`: of ptx_atomics_open; its helper reads the IR.
 - `ir`, `ir_length`: LLVM IR as text or bitcode, or MLIR. `ir_name`: its name in messages; NULL is "input".
 - `language`: a ptx_atomics_language.
 - `ptx`, `length`, `name`, `options`, `milliseconds`, `result`: as of ptx_atomics_check.

 # Safety
 `session` is open, `ir` has `ir_length` and `ptx` has `length` bytes, `ir_name`, `name` and `options` are NULL or end with a NUL, `result`
 is NULL or can be written.
 */
enum ptx_atomics_status ptx_atomics_check_with_ir(const struct ptx_atomics_session *session,
                                                  const uint8_t *ir,
                                                  size_t ir_length,
                                                  const char *ir_name,
                                                  unsigned int language,
                                                  const char *ptx,
                                                  size_t length,
                                                  const char *name,
                                                  const char *options,
                                                  uint32_t milliseconds,
                                                  struct ptx_atomics_result **result);

/*
 The whole mapping as a target gets it. The result has one output, a text.

 - `options`: as of ptx_atomics_lower, of which it takes those of the target and of the strategies; NULL is none.
 - `format`: a ptx_atomics_format.
 - `result`: as of ptx_atomics_lower.

 # Safety
 `options` is NULL or ends with a NUL, `result` is NULL or can be written.
 */
enum ptx_atomics_status ptx_atomics_table(const char *options,
                                          unsigned int format,
                                          struct ptx_atomics_result **result);

/*
 Answers a litmus test of PTX. The result has one output: JSON, as `ptx-atomics litmus --format json` prints it. That a condition does
 not hold is no error.

 - `test`, `length`: the text, which begins with "PTX".
 - `name`: what messages call it; NULL is "input".
 - `options`: how the manual is read, "profile=strict,reading=A2=strict"; NULL is none.
 - `milliseconds`: how long to search; 0 is as long as it takes.
 - `result`: as of ptx_atomics_lower.

 # Safety
 `test` has `length` bytes, `name` and `options` are NULL or end with a NUL, `result` is NULL or can be written.
 */
enum ptx_atomics_status ptx_atomics_litmus(const char *test,
                                           size_t length,
                                           const char *name,
                                           const char *options,
                                           uint32_t milliseconds,
                                           struct ptx_atomics_result **result);

/*
 What the function returned that made this result.

 # Safety
 `result` is one, and is not freed. So it is for all functions below.
 */
enum ptx_atomics_status ptx_atomics_result_status(const struct ptx_atomics_result *result);

/*
 How many outputs there are: none, if there is an error.

 # Safety
 As of ptx_atomics_result_status.
 */
size_t ptx_atomics_result_outputs(const struct ptx_atomics_result *result);

/*
 An output, by its number from 0; NULL if there are fewer. `length` gets how many bytes it has, if it is not NULL; a NUL stands behind
 them. The result owns them.

 # Safety
 As of ptx_atomics_result_status; `length` is NULL or can be written.
 */
const uint8_t *ptx_atomics_result_output(const struct ptx_atomics_result *result,
                                         size_t index,
                                         size_t *length);

/*
 How many diagnostics there are.

 # Safety
 As of ptx_atomics_result_status.
 */
size_t ptx_atomics_result_diagnostics(const struct ptx_atomics_result *result);

/*
 A diagnostic, by its number from 0; NULL if there are fewer. The result owns it.

 # Safety
 As of ptx_atomics_result_status.
 */
const struct ptx_atomics_diagnostic *ptx_atomics_result_diagnostic(const struct ptx_atomics_result *result,
                                                                   size_t index);

/*
 Frees a result with all that it owns. NULL is allowed.

 # Safety
 As of ptx_atomics_result_status; neither the result nor what it owns is used again.
 */
void ptx_atomics_result_free(struct ptx_atomics_result *result);

/*
 How bad it is.

 # Safety
 The diagnostic is one of a result that is not freed. So it is for all functions below.
 */
enum ptx_atomics_level ptx_atomics_diagnostic_level(const struct ptx_atomics_diagnostic *diagnostic);

/*
 A part of it, a ptx_atomics_part, as text in UTF-8; NULL if it has none. `length` gets how many bytes that are, if it is not NULL; a
 NUL stands behind them. The result owns them.

 # Safety
 As of ptx_atomics_diagnostic_level; `length` is NULL or can be written.
 */
const char *ptx_atomics_diagnostic_text(const struct ptx_atomics_diagnostic *diagnostic,
                                        unsigned int part,
                                        size_t *length);

/*
 The line, from 1; 0 if it is not known.

 # Safety
 As of ptx_atomics_diagnostic_level.
 */
uint32_t ptx_atomics_diagnostic_line(const struct ptx_atomics_diagnostic *diagnostic);

/*
 The column, from 1; 0 if it is not known.

 # Safety
 As of ptx_atomics_diagnostic_level.
 */
uint32_t ptx_atomics_diagnostic_column(const struct ptx_atomics_diagnostic *diagnostic);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PTX_ATOMICS_H */
