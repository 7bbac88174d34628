/* The functions of the library ptx_atomics_c, for C and every language that calls C. cbindgen generates this
   file from the sources; `INSTA_UPDATE=always cargo test -p ptx-atomics-capi` updates it. docs/library.md has an example.

   Only sessions and results have state: any thread may call every function, and threads may share a session. All text is
   UTF-8, with a NUL after it. The library writes nothing to standard output. */

#ifndef PTX_ATOMICS_H
#define PTX_ATOMICS_H

#include <stddef.h>
#include <stdint.h>

/*
 The status of a call.
 */
typedef enum ptx_atomics_status {
  /*
   The call succeeded. The result may have diagnostics, but no errors.
   */
  PTX_ATOMICS_STATUS_OK = 0,
  /*
   The input has an error; a diagnostic describes it.
   */
  PTX_ATOMICS_STATUS_FAILED = 1,
  /*
   The function does not accept an argument; a diagnostic names it.
   */
  PTX_ATOMICS_STATUS_MISUSED = 2,
  /*
   The library has a bug; a diagnostic describes it.
   */
  PTX_ATOMICS_STATUS_BUG = 3,
} ptx_atomics_status;

/*
 The severity of a diagnostic.
 */
typedef enum ptx_atomics_level {
  /*
   An error. For a kernel, an execution shows it.
   */
  PTX_ATOMICS_LEVEL_ERROR = 0,
  /*
   A possible error, neither shown nor excluded.
   */
  PTX_ATOMICS_LEVEL_POSSIBLE = 1,
  /*
   A missing instruction that the manual requires, or a warning of LLVM.
   */
  PTX_ATOMICS_LEVEL_WARNING = 2,
  /*
   Correct code that does more than is needed.
   */
  PTX_ATOMICS_LEVEL_NOTE = 3,
  /*
   Code that was not checked; the message has the reason.
   */
  PTX_ATOMICS_LEVEL_NOT_CHECKED = 4,
} ptx_atomics_level;

/*
 The output for a module.
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
   LLVM IR with the PTX of atomics and fences in it, as bitcode.
   */
  PTX_ATOMICS_EMIT_LLVM_BC = 2,
} ptx_atomics_emit;

/*
 The format of a table.
 */
typedef enum ptx_atomics_format {
  /*
   Text for a terminal.
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
 The language of a module.
 */
typedef enum ptx_atomics_language {
  /*
   MLIR if the name of the input ends with .mlir or .mlirbc, or if the input is bytecode of MLIR; otherwise LLVM
   IR.
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
   The error and its reason, in one sentence without a period. Each diagnostic has a message.
   */
  PTX_ATOMICS_PART_MESSAGE = 0,
  /*
   The remedy.
   */
  PTX_ATOMICS_PART_HELP = 1,
  /*
   The file, by the name of the input or by its name in the debug information.
   */
  PTX_ATOMICS_PART_FILE = 2,
  /*
   The function or kernel.
   */
  PTX_ATOMICS_PART_FUNCTION = 3,
  /*
   The operation, in the syntax of LLVM.
   */
  PTX_ATOMICS_PART_OPERATION = 4,
  /*
   Further facts, one sentence on each line.
   */
  PTX_ATOMICS_PART_NOTES = 5,
  /*
   The rule, such as R4: docs/rules.md.
   */
  PTX_ATOMICS_PART_RULE = 6,
} ptx_atomics_part;

/*
 The result of a call. ptx_atomics_result_free frees it.
 */
typedef struct ptx_atomics_result ptx_atomics_result;

/*
 A diagnostic. The result that has it owns it.
 */
typedef struct ptx_atomics_diagnostic ptx_atomics_diagnostic;

/*
 The connection to the program that runs LLVM. ptx_atomics_open makes it, ptx_atomics_close frees it; threads may
 share it.
 */
typedef struct ptx_atomics_session ptx_atomics_session;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The version of the library, such as "0.1.0". The text lives as long as the program.
 */
const char *ptx_atomics_version(void);

/*
 Opens a session with the program that lowers, which starts with the first job. The program is `helper`, a path or a
 name in PATH. If `helper` is NULL, the program is the value of the environment variable PTX_ATOMICS_HELPER, or else
 ../bin/ptx-atomics relative to the folder of this library, or else ptx-atomics in PATH.

 Close the session by ptx_atomics_close. The result is NULL only if the library has a bug.

 # Safety
 `helper` is NULL or ends with a NUL.
 */
struct ptx_atomics_session *ptx_atomics_open(const char *helper);

/*
 Ends the processes of a session, and frees the session. No other function may be using the session. NULL is allowed.

 # Safety
 `session` comes from ptx_atomics_open, and is not used again.
 */
void ptx_atomics_close(struct ptx_atomics_session *session);

/*
 Lowers all atomics and fences of a module in LLVM IR or MLIR, in another process: an input that crashes LLVM yields
 an error. Threads may share a session. Each job that runs at the same time has its own process, and later jobs reuse
 the processes.

 - `ir`, `length`: text or bitcode.

 - `name`: the name of the input in messages; NULL is "input". It need not be the name of a file.
 - `options`: the options of the plugins, such as "mcpu=sm_90,mattr=+ptx86,strategy=fence"; NULL means no options.
   docs/plugin.md lists them.
 - `language`: a ptx_atomics_language. `emit`: a ptx_atomics_emit.
 - `result`: the address for a pointer to the result. Free the result by ptx_atomics_result_free. NULL is allowed.

 The result has an output for each module of GPU code: one for LLVM IR, and one for each gpu.module of MLIR.

 # Safety
 `session` is open, `ir` has `length` bytes, `name` and `options` are NULL or end with a NUL, `result` is NULL or can
 be written.
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
 Checks the PTX of any compiler for waits and proxy fences that asynchronous operations of its kernels lack, for data
 races, and for barriers that some threads do not reach. Each finding is a diagnostic; the result has no output.

 - `ptx`, `length`: the text.

 - `name`: the name of the input in messages; NULL is "input".
 - `options`: the facts of a launch, "block=128x1x1,grid=4,cluster=2,param=n=1024", the kernel, "kernel=part of its
   name", and the reading of the manual, "profile=strict,reading=A2=strict"; NULL means no options.
 - `milliseconds`: the time limit for each kernel and question. Budgets count steps, so that only slow machines reach
   the limit: 120000 is enough. With 0, the check does not search for executions, and the only errors are about text
   that cannot be parsed.
 - `result`: as for ptx_atomics_lower.

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
 Checks PTX as ptx_atomics_check does, and compares the order and the scope of its atomics and fences with the IR
 from which a compiler made it. Each lost order is a diagnostic, too, at its position in the IR or in the source of
 the IR.

 - `session`: a session of ptx_atomics_open, whose helper reads the IR.
 - `ir`, `ir_length`: LLVM IR as text or bitcode, or MLIR. `ir_name`: its name in messages; NULL is "input".
 - `language`: a ptx_atomics_language.
 - `ptx`, `length`, `name`, `options`, `milliseconds`, `result`: as for ptx_atomics_check.

 # Safety
 `session` is open, `ir` has `ir_length` and `ptx` has `length` bytes, `ir_name`, `name` and `options` are NULL or
 end with a NUL, `result` is NULL or can be written.
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
 Prints the whole mapping for a target. The result has one output, a text.

 - `options`: the options of ptx_atomics_lower for the target and the strategies; NULL means no options.
 - `format`: a ptx_atomics_format.
 - `result`: as for ptx_atomics_lower.

 # Safety
 `options` is NULL or ends with a NUL, `result` is NULL or can be written.
 */
enum ptx_atomics_status ptx_atomics_table(const char *options,
                                          unsigned int format,
                                          struct ptx_atomics_result **result);

/*
 Answers a litmus test of PTX. The result has one output: the JSON of `ptx-atomics litmus --format json`. A condition
 that does not hold is not an error.

 - `test`, `length`: the text, which begins with "PTX".

 - `name`: the name of the input in messages; NULL is "input".
 - `options`: the reading of the manual, "profile=strict,reading=A2=strict"; NULL means no options.
 - `milliseconds`: the time limit of the search; 0 means no limit.
 - `result`: as for ptx_atomics_lower.

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
 The status that the call with this result returned.

 # Safety
 `result` is a result that is not freed. The same condition applies to all functions below.
 */
enum ptx_atomics_status ptx_atomics_result_status(const struct ptx_atomics_result *result);

/*
 The number of outputs; 0 if there is an error.

 # Safety
 As for ptx_atomics_result_status.
 */
size_t ptx_atomics_result_outputs(const struct ptx_atomics_result *result);

/*
 An output, by its number from 0; NULL if there are fewer outputs. If `length` is not NULL, it receives the number of
 bytes. A NUL follows the bytes. The result owns the output.

 # Safety
 As for ptx_atomics_result_status; `length` is NULL or can be written.
 */
const uint8_t *ptx_atomics_result_output(const struct ptx_atomics_result *result,
                                         size_t index,
                                         size_t *length);

/*
 The number of diagnostics.

 # Safety
 As for ptx_atomics_result_status.
 */
size_t ptx_atomics_result_diagnostics(const struct ptx_atomics_result *result);

/*
 A diagnostic, by its number from 0; NULL if there are fewer diagnostics. The result owns the diagnostic.

 # Safety
 As for ptx_atomics_result_status.
 */
const struct ptx_atomics_diagnostic *ptx_atomics_result_diagnostic(const struct ptx_atomics_result *result,
                                                                   size_t index);

/*
 Frees a result with its outputs and diagnostics. NULL is allowed.

 # Safety
 As for ptx_atomics_result_status; neither the result nor its outputs and diagnostics are used again.
 */
void ptx_atomics_result_free(struct ptx_atomics_result *result);

/*
 The severity of a diagnostic.

 # Safety
 The result that owns the diagnostic is not freed. The same condition applies to all functions below.
 */
enum ptx_atomics_level ptx_atomics_diagnostic_level(const struct ptx_atomics_diagnostic *diagnostic);

/*
 A part of a diagnostic, a ptx_atomics_part, as text in UTF-8; NULL if the diagnostic lacks the part. If `length` is
 not NULL, it receives the number of bytes. A NUL follows the bytes. The result owns the text.

 # Safety
 As for ptx_atomics_diagnostic_level; `length` is NULL or can be written.
 */
const char *ptx_atomics_diagnostic_text(const struct ptx_atomics_diagnostic *diagnostic,
                                        unsigned int part,
                                        size_t *length);

/*
 The line of a diagnostic, from 1; 0 if the line is not known.

 # Safety
 As for ptx_atomics_diagnostic_level.
 */
uint32_t ptx_atomics_diagnostic_line(const struct ptx_atomics_diagnostic *diagnostic);

/*
 The column of a diagnostic, from 1; 0 if the column is not known.

 # Safety
 As for ptx_atomics_diagnostic_level.
 */
uint32_t ptx_atomics_diagnostic_column(const struct ptx_atomics_diagnostic *diagnostic);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PTX_ATOMICS_H */
