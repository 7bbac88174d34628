// The pass as one of MLIR's classes, which exist only in C++. All other code is in Rust, and is called through
// `Callbacks`; no exception and no panic crosses the border.

#include "mlir/CAPI/IR.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

using namespace mlir;

namespace ptx_atomics {
namespace {

// A string that neither side owns, as in Rust's `Text`.
struct Text {
  const char *start;
  size_t length;

  Text(StringRef text) : start(text.data()), length(text.size()) {}
  operator StringRef() const { return {start, length}; }
};

enum class Takes : int { One, List, Flag };

struct Setting {
  Text name, help;
  Takes takes;
};

struct Callbacks {
  Text argument, description;
  size_t settings;
  Setting (*setting)(size_t);
  // Inserts the dialects of the ops that the pass builds into a registry.
  void (*insertDialects)(MlirDialectRegistry);
  // Passes the errors of an option list to `say`.
  void (*validate)(Text options, void (*say)(void *, Text), void *to);
  // The pass itself. Returns whether it succeeded.
  bool (*run)(MlirOperation, Text options);
  // The reason why asynchronous operations are not checked; empty if there is none.
  Text (*unchecked)(MlirOperation, Text options);
};

const Callbacks *callbacks;

class PtxAtomics : public PassWrapper<PtxAtomics, OperationPass<>> {
  std::vector<std::unique_ptr<llvm::cl::Option>> options;
  // For each option, a function that appends its text if the option is set.
  std::vector<std::function<void(std::string &)>> writers;

  static void write(std::string &text, StringRef name, bool value) {
    write(text, name, StringRef(value ? "true" : "false"));
  }
  static void write(std::string &text, StringRef name, ArrayRef<std::string> values) {
    for (StringRef value : values)
      write(text, name, value);
  }
  // MLIR prints an unset option as an empty value.
  static void write(std::string &text, StringRef name, StringRef value) {
    if (!value.empty())
      text += (name + "=" + value + ";").str();
  }

  static StringRef valueOf(Option<std::string> &option) { return option.getValue(); }
  static bool valueOf(Option<bool> &option) { return option.getValue(); }
  static ArrayRef<std::string> valueOf(ListOption<std::string> &option) { return *option; }

  template <typename OptionT> void add(StringRef name, StringRef help) {
    auto option = std::make_unique<OptionT>(*this, name, llvm::cl::desc(help));
    writers.push_back([name, &option = *option](std::string &text) {
      if (option.hasValue())
        write(text, name, valueOf(option));
    });
    options.push_back(std::move(option));
  }

  void addOptions() {
    for (size_t index = 0; index < callbacks->settings; ++index) {
      Setting setting = callbacks->setting(index);
      switch (setting.takes) {
      case Takes::One:
        add<Option<std::string>>(setting.name, setting.help);
        break;
      case Takes::List:
        add<ListOption<std::string>>(setting.name, setting.help);
        break;
      case Takes::Flag:
        add<Option<bool>>(setting.name, setting.help);
        break;
      }
    }
  }

  std::string text() const {
    std::string text;
    for (const auto &write : writers)
      write(text);
    return text;
  }

public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PtxAtomics)

  PtxAtomics() { addOptions(); }
  // MLIR copies the values.
  PtxAtomics(const PtxAtomics &other) : PassWrapper(other) { addOptions(); }

  StringRef getArgument() const override { return callbacks->argument; }
  StringRef getDescription() const override { return callbacks->description; }

  void getDependentDialects(DialectRegistry &registry) const override { callbacks->insertDialects(wrap(&registry)); }

  LogicalResult initializeOptions(StringRef given, function_ref<LogicalResult(const Twine &)> error) override {
    if (failed(Pass::initializeOptions(given, error)))
      return failure();
    struct Sink {
      function_ref<LogicalResult(const Twine &)> error;
      LogicalResult result = success();
    } sink{error};
    std::string options = text();
    auto say = [](void *to, Text message) {
      Sink &sink = *static_cast<Sink *>(to);
      sink.result = sink.error(StringRef(message));
    };
    callbacks->validate(StringRef(options), say, &sink);
    return sink.result;
  }

  void runOnOperation() override {
    std::string options = text();
    StringRef unchecked = callbacks->unchecked(wrap(getOperation()), StringRef(options));
    if (!unchecked.empty())
      emitWarning(getOperation()->getLoc()) << unchecked;
    if (!callbacks->run(wrap(getOperation()), StringRef(options)))
      signalPassFailure();
  }
};

void registerPass() { PassRegistration<PtxAtomics>(); }

} // namespace

extern "C" {

// The callback that registers the pass.
void (*ptx_atomics_connect(const Callbacks *given))() {
  callbacks = given;
  return registerPass;
}
}
} // namespace ptx_atomics
