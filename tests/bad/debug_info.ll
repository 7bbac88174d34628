; RUN:
; The place is in the program that the debug information names, innermost in the kernel's own file.
target triple = "nvptx64-nvidia-cuda"
define i32 @kernel(ptr addrspace(1) %p) !dbg !4 {
  %v = load atomic i32, ptr addrspace(1) %p acquire, align 2, !dbg !8
  ret i32 %v
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "tests/bad/debug_info.cu", directory: ".")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !{})
!4 = distinct !DISubprogram(name: "kernel", file: !1, line: 2, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DIFile(filename: "atomic.h", directory: "/usr/include")
!6 = distinct !DISubprogram(name: "load", file: !5, line: 100, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!7 = distinct !DILocation(line: 3, column: 14, scope: !4)
!8 = !DILocation(line: 101, column: 10, scope: !6, inlinedAt: !7)
