//===- Importer.h - Imports for tests ---------------------------*- C++ -*-===//
//
// Imports a tiny Llama from a file, and keeps what was said about it.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_TEST_IMPORT_IMPORTER_H
#define TFM_TEST_IMPORT_IMPORTER_H

#include "dialect/TfmDialect.h"
#include "import/Import.h"
#include "test/import/TinyLlama.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

namespace mlir::tfm {

class Importer {
public:
  explicit Importer(const TinyLlama &tiny) : file(tiny.str()) {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      auto place = dyn_cast<FileLineColLoc>(diagnostic.getLocation());
      llvm::raw_string_ostream(messages)
          << (place && place.getFilename() == file.getPath() ? "file: " : "")
          << (diagnostic.getSeverity() == DiagnosticSeverity::Error
                  ? "error: "
                  : "remark: ")
          << diagnostic.str() << '\n';
    });
    module = importModel(file.getPath(), context);
  }

  ModelAttr model() const {
    return module ? (*module)->getAttrOfType<ModelAttr>("tfm.model")
                  : ModelAttr();
  }

  TemporaryFile file;
  MLIRContext context;
  /// One a line, as tfmc prints them, with "file" for the file's path.
  std::string messages;
  OwningOpRef<ModuleOp> module;
};

} // namespace mlir::tfm

#endif // TFM_TEST_IMPORT_IMPORTER_H
