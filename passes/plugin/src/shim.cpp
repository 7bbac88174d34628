// The parts of LLVM's plugin interface that exist only in C++: extension points, and LLVM's diagnostics. All other code
// is in Rust, and is called through `Callbacks`; no exception and no panic crosses the border.

#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

// LLVM's data that the shim uses, and a function in a virtual function table. A host whose LLVM lacks some of them must
// still reach the plugin's message. A loader resolves functions when they are called, but data symbols immediately, and
// only weak ones may be missing.
asm(".weak _ZN4llvm17PreservedAnalyses14AllAnalysesKeyE\n"
    ".weak _ZN4llvm30DiagnosticInfoWithLocationBase6anchorEv\n"
    ".weak _ZTVN4llvm22DroppedVariableStatsIRE\n"
    ".weak _ZTVN4llvm24DiagnosticInfoPGOProfileE\n"
    ".weak _ZTVN4llvm25DiagnosticInfoUnsupportedE\n"
    ".weak _ZTVN4llvm27DiagnosticPrinterRawOStreamE\n"
    ".weak _ZTVN4llvm30DiagnosticInfoOptimizationBaseE\n");

namespace ptx_atomics {
namespace {

// A string that neither side owns, as in Rust's `Text`.
struct Text {
  const char *start;
  size_t length;

  Text(StringRef text) : start(text.data()), length(text.size()) {}
  operator StringRef() const { return {start, length}; }
};

struct Callbacks {
  // The passes that resolve address spaces, in LLVM's syntax of pipelines.
  Text resolve;
  // Protects a module from the passes that follow.
  void (*start)(LLVMModuleRef, Text parameters);
  // Checks asynchronous operations, unless the module is marked as checked. The GPU and its features are null if the
  // host does not provide them.
  void (*asynchronous)(LLVMModuleRef, Text parameters, Text gpu, Text features);
  // Whether the module has operations to lower.
  bool (*pending)(LLVMModuleRef);
  // The pass itself. The GPU and its features are null if the host does not provide them; `optimize` is true if the
  // host optimizes.
  void (*lower)(LLVMModuleRef, Text parameters, Text gpu, Text features, bool optimize);
  // For a module without operations to lower: checks that the host's backend can compile it.
  void (*check)(LLVMModuleRef, Text parameters, Text gpu, Text features);
};

const Callbacks *callbacks;

bool isForNvidia(const Module &M) { return M.getTargetTriple().isNVPTX(); }

bool isPending(Module &M) { return isForNvidia(M) && callbacks->pending(wrap(&M)); }

void check(Module &M, StringRef Parameters, const TargetMachine *TM) {
  if (isForNvidia(M))
    callbacks->check(wrap(&M), Parameters, TM ? TM->getTargetCPU() : StringRef(),
                     TM ? TM->getTargetFeatureString() : StringRef());
}

void checkAsynchronous(Module &M, StringRef Parameters, const TargetMachine *TM) {
  if (isForNvidia(M))
    callbacks->asynchronous(wrap(&M), Parameters, TM ? TM->getTargetCPU() : StringRef(),
                            TM ? TM->getTargetFeatureString() : StringRef());
}

// The pass at the start of a pipeline, before LLVM moves any instruction.
class Start : public PassInfoMixin<Start> {
  std::string Parameters;

public:
  Start(StringRef Parameters = "") : Parameters(Parameters) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    if (!isForNvidia(M))
      return PreservedAnalyses::all();
    checkAsynchronous(M, Parameters, nullptr);
    callbacks->start(wrap(&M), StringRef(Parameters));
    return PreservedAnalyses::none();
  }
};

// The pass that resolves address spaces, then lowers.
class Lower : public PassInfoMixin<Lower> {
  ModulePassManager Resolve;
  std::string Problem, Parameters;
  bool Optimize;
  const TargetMachine *TM;

public:
  Lower(PassBuilder &PB, StringRef Parameters, bool Optimize = false, const TargetMachine *TM = nullptr)
      : Parameters(Parameters), Optimize(Optimize), TM(TM) {
    // This fails if the host compiles for another target; the modules of such a host are not changed.
    if (Error E = PB.parsePassPipeline(Resolve, callbacks->resolve))
      Problem = toString(std::move(E));
  }

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &AM) {
    checkAsynchronous(M, Parameters, TM);
    if (!isPending(M)) {
      check(M, Parameters, TM);
      return PreservedAnalyses::none();
    }
    // Possibly no pipeline ran before, or one without the plugin.
    callbacks->start(wrap(&M), StringRef(Parameters));
    // After an error the module is empty.
    if (!isPending(M))
      return PreservedAnalyses::none();
    if (Problem.empty())
      AM.invalidate(M, Resolve.run(M, AM));
    else
      M.getContext().emitError("ptx-atomics: cannot resolve address spaces: " + Problem);
    callbacks->lower(wrap(&M), StringRef(Parameters), TM ? TM->getTargetCPU() : StringRef(),
                     TM ? TM->getTargetFeatureString() : StringRef(), Optimize);
    return PreservedAnalyses::none();
  }
};

// Before linking, the pass does not run: at link time more address spaces are known.
bool isBeforeLinking(ThinOrFullLTOPhase Phase) {
  return Phase == ThinOrFullLTOPhase::ThinLTOPreLink || Phase == ThinOrFullLTOPhase::FullLTOPreLink;
}

// For -print-before=ptx-atomics and similar options.
void nameClasses(PassInstrumentationCallbacks &PIC) {
  PIC.addClassToPassName(Lower::name(), "ptx-atomics");
  PIC.addClassToPassName(Start::name(), "ptx-atomics-start");
}

void registerPasses(PassBuilder &PB) {
  if (PassInstrumentationCallbacks *PIC = PB.getPassInstrumentationCallbacks())
    nameClasses(*PIC);
  PB.registerPipelineParsingCallback(
      [&PB](StringRef Name, ModulePassManager &MPM, ArrayRef<PassBuilder::PipelineElement>) {
        bool IsStart = PassBuilder::checkParametrizedPassName(Name, "ptx-atomics-start");
        if (!IsStart && !PassBuilder::checkParametrizedPassName(Name, "ptx-atomics"))
          return false;
        Name.consume_front(IsStart ? "ptx-atomics-start" : "ptx-atomics");
        if (Name.consume_front("<"))
          Name.consume_back(">");
        if (IsStart)
          MPM.addPass(Start(Name));
        else
          MPM.addPass(Lower(PB, Name));
        return true;
      });
  auto start = [](ModulePassManager &MPM, OptimizationLevel) { MPM.addPass(Start()); };
  PB.registerPipelineStartEPCallback(start);
  PB.registerFullLinkTimeOptimizationEarlyEPCallback(start);
  auto lower = [&PB](ModulePassManager &MPM, OptimizationLevel Level) {
#if LLVM_VERSION_MAJOR >= 23
    bool Optimize = Level != OptimizationLevel::O0;
#else
    // In this version, OptimizationLevel::O0 is data of LLVM's library, without which the plugin could not be loaded.
    bool Optimize = Level.getSpeedupLevel() > 0;
#endif
    MPM.addPass(Lower(PB, "", Optimize));
  };
  PB.registerOptimizerLastEPCallback([lower](ModulePassManager &MPM, OptimizationLevel Level, ThinOrFullLTOPhase Phase) {
    if (!isBeforeLinking(Phase))
      lower(MPM, Level);
  });
  PB.registerFullLinkTimeOptimizationLastEPCallback(lower);
}

// The only extension point of llc. If an optimizer ran before, nothing is pending.
bool beforeCodeGen(Module &M, TargetMachine &TM, CodeGenFileType, raw_pwrite_stream &) {
  checkAsynchronous(M, "", &TM);
  if (!isPending(M)) {
    check(M, "", &TM);
    return false;
  }
  LoopAnalysisManager LAM;
  FunctionAnalysisManager FAM;
  CGSCCAnalysisManager CGAM;
  ModuleAnalysisManager MAM;
  PassInstrumentationCallbacks PIC;
  // The instrumentations skip functions that must not be optimized, and print the IR that -print-before requests.
  StandardInstrumentations SI(M.getContext(), /*DebugLogging=*/false);
  SI.registerCallbacks(PIC, &MAM);
  nameClasses(PIC);
  PassBuilder PB(&TM, PipelineTuningOptions(), std::nullopt, &PIC);
  PB.registerModuleAnalyses(MAM);
  PB.registerCGSCCAnalyses(CGAM);
  PB.registerFunctionAnalyses(FAM);
  PB.registerLoopAnalyses(LAM);
  PB.crossRegisterProxies(LAM, FAM, CGAM, MAM);
  ModulePassManager MPM;
  MPM.addPass(Lower(PB, "", /*Optimize=*/false, &TM));
  MPM.run(M, MAM);
  return false;
}

DiagnosticLocation locate(const Function &F, unsigned Line, unsigned Column) {
  DISubprogram *Subprogram = F.getSubprogram();
  if (!Subprogram || Line == 0)
    return DiagnosticLocation();
  return DiagnosticLocation(DebugLoc(DILocation::get(F.getContext(), Line, Column, Subprogram)));
}

// An error without a function. It has the form of an error at a function that the host does not know, because rustc
// receives no other kind.
class ModuleError : public DiagnosticInfoUnsupported {
public:
  using DiagnosticInfoUnsupported::DiagnosticInfoUnsupported;

  void print(DiagnosticPrinter &Printer) const override { Printer << getMessage(); }
};

// Reports as `LLVMContext::diagnose` does, and returns whether the host handles the error. opt does not handle it, and
// LLVM would end opt at the first error.
bool diagnose(LLVMContext &Context, const DiagnosticInfo &error) {
  auto &handler = const_cast<DiagnosticHandler &>(*Context.getDiagHandlerPtr());
  handler.HasErrors = true;
  if (handler.handleDiagnostics(error))
    return true;
  errs() << "error: ";
  DiagnosticPrinterRawOStream printer(errs());
  error.print(printer);
  errs() << "\n";
  return false;
}

} // namespace

extern "C" {

// The two callbacks that a host requests from a plugin.
struct PluginCallbacks {
  void (*registerPasses)(PassBuilder &);
  bool (*beforeCodeGen)(Module &, TargetMachine &, CodeGenFileType, raw_pwrite_stream &);
};

PluginCallbacks ptx_atomics_connect(const Callbacks *given) {
  callbacks = given;
  return {registerPasses, beforeCodeGen};
}

// Reports an error at a function through the host, and returns whether the host handles it. The line is in the file of
// the function; 0 if it is not known.
bool ptx_atomics_error(LLVMValueRef function, Text message, unsigned line, unsigned column) {
  const Function &F = *unwrap<Function>(function);
  // The diagnostic stores a reference to its text.
  Twine text{StringRef(message)};
  return diagnose(F.getContext(), DiagnosticInfoUnsupported(F, text, locate(F, line, column)));
}

// Reports an error of the whole module in the same way.
bool ptx_atomics_module_error(LLVMModuleRef module, Text message) {
  LLVMContext &Context = unwrap(module)->getContext();
  Function *none = Function::Create(FunctionType::get(Type::getVoidTy(Context), false), GlobalValue::ExternalLinkage, "ptx-atomics");
  Twine text{StringRef(message)};
  bool handled = diagnose(Context, ModuleError(*none, text));
  delete none;
  return handled;
}

// Reports a warning at a function, or of the whole module if the function is null.
void ptx_atomics_warning(LLVMModuleRef module, LLVMValueRef function, Text message, unsigned line, unsigned column) {
  Twine text{StringRef(message)};
  if (!function) {
    // This is the only kind of diagnostic other than errors that rustc receives.
    unwrap(module)->getContext().diagnose(DiagnosticInfoPGOProfile(/*FileName=*/nullptr, text, DS_Warning));
    return;
  }
  const Function &F = *unwrap<Function>(function);
  F.getContext().diagnose(DiagnosticInfoUnsupported(F, text, locate(F, line, column), DS_Warning));
}

bool ptx_atomics_wants_remarks(LLVMModuleRef module) {
  LLVMContext &Context = unwrap(module)->getContext();
  return Context.getLLVMRemarkStreamer() || Context.getDiagHandlerPtr()->isPassedOptRemarkEnabled("ptx-atomics");
}

void ptx_atomics_remark(LLVMValueRef function, Text name, bool missed, Text message, unsigned line, unsigned column) {
  Function &F = *unwrap<Function>(function);
  OptimizationRemarkEmitter Emitter(&F);
  auto emit = [&](auto &&Remark) { Emitter.emit(Remark << StringRef(message)); };
  if (missed)
    emit(OptimizationRemarkMissed("ptx-atomics", name, locate(F, line, column), &F.getEntryBlock()));
  else
    emit(OptimizationRemark("ptx-atomics", name, locate(F, line, column), &F.getEntryBlock()));
}

// Empties a module after an error, so that the host's backend has no instruction to select that it lacks.
void ptx_atomics_empty(LLVMModuleRef module) {
  for (Function &F : *unwrap(module))
    if (!F.isDeclaration())
      F.deleteBody();
}
}
} // namespace ptx_atomics
