/* Calls every function, right and wrong, and lowers 1,000 modules in 8 threads: all.c HELPER */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ptx_atomics.h"

#define OK PTX_ATOMICS_STATUS_OK
#define FAILED PTX_ATOMICS_STATUS_FAILED
#define MISUSED PTX_ATOMICS_STATUS_MISUSED

static const char GOOD[] = "define i32 @next(ptr addrspace(1) %p) {\n"
                           "  %old = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel\n  ret i32 %old\n}\n";
static const char BAD[] = "define i32 @next(ptr addrspace(1) %p) {\n  %old = atomicrmw\n";
static const char ENDS[] = "declare double @llvm.tan.f64(double)\ndefine double @ends(double %x) {\n"
                           "  %y = call double @llvm.tan.f64(double %x)\n  ret double %y\n}\n";
static const char LOST[] = ".version 8.6\n.target sm_90\n.address_size 64\n"
                           ".visible .func (.param .b32 r) next(.param .b64 p) {\n"
                           "  .reg .b64 %rd<2>; .reg .b32 %r<2>;\n"
                           "  ld.param.b64 %rd1, [p];\n  atom.global.add.u32 %r1, [%rd1], 1;\n"
                           "  st.param.b32 [r], %r1;\n  ret;\n}\n";
static const char TEST[] = "PTX MP\n{ x=0; y=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n"
                           "st.relaxed.gpu x, 1 | ld.acquire.gpu r0, y ;\nst.release.gpu y, 1 | ld.relaxed.gpu r1, x ;\n"
                           "forall (P1:r0 == 0 \\/ P1:r1 == 1)\n";

static ptx_atomics_session *session;

static ptx_atomics_status lower(const char *ir, const char *options, ptx_atomics_result **result) {
  return ptx_atomics_lower(session, (const uint8_t *)ir, strlen(ir), "a.ll", options, PTX_ATOMICS_LANGUAGE_AUTO,
                           PTX_ATOMICS_EMIT_PTX, result);
}

static ptx_atomics_status check_with_ir(const char *ir, unsigned language, const char *ptx, ptx_atomics_result **result) {
  return ptx_atomics_check_with_ir(session, (const uint8_t *)ir, strlen(ir), "a.ll", language, ptx, strlen(ptx), "a.ptx",
                                   NULL, 0, result);
}

/* Ends the program unless a result has a status, and words in its outputs and messages; frees it. */
static void expect(int line, ptx_atomics_result *result, ptx_atomics_status status, const char *words) {
  int found = 0;
  size_t length, count = ptx_atomics_result_diagnostics(result);
  for (size_t i = 0; i < ptx_atomics_result_outputs(result); i++) {
    const char *output = (const char *)ptx_atomics_result_output(result, i, &length);
    assert(output[length] == 0);
    found |= strstr(output, words) != NULL;
  }
  for (size_t i = 0; i < count; i++) {
    const ptx_atomics_diagnostic *one = ptx_atomics_result_diagnostic(result, i);
    for (unsigned part = 0; part < 9; part++) {
      const char *text = ptx_atomics_diagnostic_text(one, part, &length);
      assert(text ? strlen(text) == length : length == 0);
      found |= text && strstr(text, words);
    }
  }
  if (ptx_atomics_result_status(result) != status || !found) {
    printf("line %d: status %d, no '%s'\n", line, ptx_atomics_result_status(result), words);
    for (size_t i = 0; i < count; i++)
      puts(ptx_atomics_diagnostic_text(ptx_atomics_result_diagnostic(result, i), PTX_ATOMICS_PART_MESSAGE, NULL));
    for (size_t i = 0; i < ptx_atomics_result_outputs(result); i++)
      puts((const char *)ptx_atomics_result_output(result, i, NULL));
    exit(1);
  }
  assert(!ptx_atomics_result_diagnostic(result, count));
  ptx_atomics_result_free(result);
}
#define EXPECT(call, status, words) \
  do { ptx_atomics_result *result; call; expect(__LINE__, result, status, words); } while (0)

static void *many(void *number) {
  for (int i = 0; i < 125; i++) {
    if (i % 25 == 24) EXPECT(lower(BAD, NULL, &result), FAILED, "a.ll");
    else EXPECT(lower(GOOD, "mcpu=sm_90", &result), OK, "atom.acq_rel.sys.global.add.u32");
  }
  return number;
}

int main(int count, char **arguments) {
  assert(count == 3 && strcmp(ptx_atomics_version(), "0.1.0") == 0);
  session = ptx_atomics_open(arguments[1]);

  EXPECT(lower(GOOD, "mcpu=sm_90,mattr=+ptx86", &result), OK, ".version 8.6");
  EXPECT(lower(BAD, NULL, &result), FAILED, "a.ll");
  EXPECT(lower(ENDS, NULL, &result), FAILED, "ends");
  EXPECT(lower(GOOD, "mcpu=odd", &result), FAILED, "odd");
  EXPECT(lower("\xff", NULL, &result), FAILED, "a.ll");
  EXPECT(ptx_atomics_lower(NULL, NULL, 0, NULL, NULL, 0, 0, &result), MISUSED, "ptx_atomics_open");
  EXPECT(ptx_atomics_lower(session, NULL, 1, NULL, NULL, 0, 0, &result), MISUSED, "is NULL");
  EXPECT(ptx_atomics_lower(session, NULL, 0, NULL, "\xff", 0, 0, &result), MISUSED, "UTF-8");
  EXPECT(ptx_atomics_lower(session, NULL, 0, NULL, NULL, 9, 0, &result), MISUSED, "found 9");
  EXPECT(ptx_atomics_lower(session, NULL, 0, NULL, NULL, 0, 9, &result), MISUSED, "a ptx_atomics_emit, found 9");
  assert(lower(GOOD, NULL, NULL) == OK);

  EXPECT(ptx_atomics_table("mcpu=sm_60", PTX_ATOMICS_FORMAT_JSON, &result), OK, "\"target\": \"sm_60");
  EXPECT(ptx_atomics_table(NULL, PTX_ATOMICS_FORMAT_TEXT, &result), OK, "Atomics ABI for sm_90");
  EXPECT(ptx_atomics_table("mcpu=odd", 0, &result), FAILED, "odd");
  EXPECT(ptx_atomics_table(NULL, 3, &result), MISUSED, "ptx_atomics_format");

  EXPECT(ptx_atomics_litmus(TEST, strlen(TEST), "mp", NULL, 0, &result), OK, "\"holds\": true");
  EXPECT(ptx_atomics_litmus("PTX", 3, "mp", NULL, 0, &result), FAILED, "mp");
  EXPECT(ptx_atomics_litmus(TEST, strlen(TEST), "mp", "block=1", 0, &result), FAILED, "profile, reading");

  static char ptx[1 << 16];
  FILE *file = fopen(arguments[2], "r");
  size_t length = fread(ptx, 1, sizeof ptx, file);
  fclose(file);
  EXPECT(ptx_atomics_check(ptx, length, "r4.ptx", NULL, 0, &result), OK, "R4");
  EXPECT(ptx_atomics_check(ptx, length, "r4.ptx", "block=128", 2000, &result), FAILED, "R4");
  EXPECT(ptx_atomics_check("odd", 3, "odd.ptx", NULL, 0, &result), FAILED, "odd.ptx");
  EXPECT(ptx_atomics_check("\xff", 1, NULL, NULL, 0, &result), MISUSED, "UTF-8 from byte 0 on");

  EXPECT(check_with_ir(GOOD, PTX_ATOMICS_LANGUAGE_AUTO, LOST, &result), FAILED, "R19");
  EXPECT(check_with_ir(GOOD, PTX_ATOMICS_LANGUAGE_LLVM, LOST, &result), FAILED, "an access of scope gpu, not sys");
  EXPECT(check_with_ir(BAD, PTX_ATOMICS_LANGUAGE_AUTO, LOST, &result), FAILED, "a.ll");
  EXPECT(check_with_ir(GOOD, PTX_ATOMICS_LANGUAGE_AUTO, "odd", &result), FAILED, "a.ptx");
  EXPECT(check_with_ir(GOOD, 9, LOST, &result), MISUSED, "found 9");
  EXPECT(ptx_atomics_check_with_ir(NULL, NULL, 0, NULL, 0, ptx, length, NULL, NULL, 0, &result), MISUSED, "ptx_atomics_open");

  pthread_t threads[8];
  for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, many, NULL);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  ptx_atomics_close(session);

  /* A helper that is none: what it does not read must not end this program by a signal. */
  static char large[1 << 20];
  memset(large, ' ', sizeof large - 1);
  session = ptx_atomics_open("true");
  EXPECT(lower(large, NULL, &result), FAILED, "cannot use 'true' as a helper");
  ptx_atomics_close(session);
  session = ptx_atomics_open("/nowhere");
  EXPECT(lower(GOOD, NULL, &result), FAILED, "cannot use '/nowhere' as a helper");
  ptx_atomics_close(session);
  ptx_atomics_close(NULL);
  ptx_atomics_result_free(NULL);
  puts("all is right");
  return 0;
}
