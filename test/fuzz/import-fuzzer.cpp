//===- import-fuzzer.cpp - The importer on any bytes ----------------------===//
//
// Whatever a file holds, it becomes a module or an error is reported. A module
// can be printed and parsed, its weights can be read, and the runtime accepts
// the tokenizer that goes into an executable.
//
//===----------------------------------------------------------------------===//

#include "dialect/TfmDialect.h"
#include "dialect/Weights.h"
#include "import/Import.h"
#include "import/Resources.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "runtime/Tokenizer.h"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace mlir::tfm;

/// A file in memory that has a path. The importer reads it more than once.
static int openFile() {
  static const int descriptor = memfd_create("fuzzed.gguf", MFD_CLOEXEC);
  if (descriptor < 0)
    llvm::report_fatal_error("cannot create a file in memory");
  return descriptor;
}

static void writeFile(const uint8_t *data, size_t size) {
  if (ftruncate(openFile(), 0) != 0 ||
      pwrite(openFile(), data, size, 0) != static_cast<ssize_t>(size))
    llvm::report_fatal_error("cannot write the file in memory");
}

/// What the runtime of the executable does at its start, and with a prompt.
static void checkTokenizer(ResourceOp resource, int64_t vocabulary,
                           std::string_view prompt) {
  FailureOr<std::string> blob = readResource(resource);
  if (failed(blob))
    llvm::report_fatal_error("a tokenizer was imported, but cannot be read");
  std::vector<uint64_t> words(blob->size() / 8 + 1);
  std::memcpy(words.data(), blob->data(), blob->size());
  ::tfm::Tokenizer tokenizer;
  std::vector<int32_t> ids;
  if (::tfm::Error error =
          tokenizer.create(words.data(), blob->size(), vocabulary))
    llvm::report_fatal_error(llvm::StringRef(error.message()));
  if (::tfm::Error error = tokenizer.encode(prompt, ids))
    llvm::report_fatal_error(llvm::StringRef(error.message()));
  for (int32_t id : ids)
    if (id < 0 || id >= vocabulary)
      llvm::report_fatal_error("a token is outside the vocabulary");
  tokenizer.decode(ids);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  writeFile(data, size);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  bool reported = false;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    reported |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
  });
  OwningOpRef<ModuleOp> module =
      importModel("/proc/self/fd/" + std::to_string(openFile()), context);
  if (static_cast<bool>(module) == reported)
    llvm::report_fatal_error("expects either a module or an error");
  if (!module)
    return 0;

  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  if (!parseSourceString<ModuleOp>(text, &context))
    llvm::report_fatal_error("a module was imported, but cannot be parsed");
  WeightReader weights;
  for (WeightOp weight : module->getOps<WeightOp>())
    if (failed(weights.read(weight)))
      llvm::report_fatal_error("a weight was imported, but cannot be read");
  auto model = (*module)->getAttrOfType<ModelAttr>("tfm.model");
  // Any bytes will do for a prompt; of the file's, those at the end matter
  // least.
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  std::string_view prompt = bytes.substr(size - std::min<size_t>(size, 256));
  for (ResourceOp resource : module->getOps<ResourceOp>())
    if (resource.getKind() == "tokenizer")
      checkTokenizer(resource, model.getVocabulary(), prompt);
    else if (failed(readResource(resource)))
      llvm::report_fatal_error("a resource was imported, but cannot be read");
  return 0;
}
