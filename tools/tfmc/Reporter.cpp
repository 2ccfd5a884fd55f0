//===- Reporter.cpp - What tfmc says about a model ------------------------===//

#include "tools/tfmc/Reporter.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::tfm;

/// `file:line:column: `, without line and column where a file has none, or the
/// tensor's name, or both.
static void printPlace(Location location, raw_ostream &os) {
  if (auto file = location->findInstanceOf<FileLineColLoc>()) {
    os << file.getFilename().getValue() << ":";
    if (file.getLine() != 0)
      os << file.getLine() << ":" << file.getColumn() << ":";
    os << " ";
  }
  if (auto name = location->findInstanceOf<NameLoc>())
    os << name.getName().getValue() << ": ";
}

static StringRef getName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("unknown severity");
}

static void print(Diagnostic &diagnostic, StringRef severity, raw_ostream &os) {
  printPlace(diagnostic.getLocation(), os);
  os << severity << ": " << diagnostic << "\n";
  for (Diagnostic &note : diagnostic.getNotes())
    print(note, getName(note.getSeverity()), os);
}

LogicalResult Reporter::print(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Remark) {
    ::print(diagnostic, getName(diagnostic.getSeverity()), llvm::errs());
    return success();
  }
  Kind &kind = isImporting ? leftovers : fallbacks;
  ++kind.count;
  if (kind.policy == RemarkPolicy::Count)
    return success();
  refused |= kind.policy == RemarkPolicy::Refuse;
  ::print(diagnostic, kind.policy == RemarkPolicy::Refuse ? "error" : "remark",
          llvm::errs());
  return success();
}

void Reporter::summarize() const {
  std::string text;
  auto add = [&](const Kind &kind, StringRef one, StringRef many) {
    if (kind.policy != RemarkPolicy::Count || kind.count == 0)
      return;
    text += (text.empty() ? "" : " and ") + std::to_string(kind.count) + " " +
            (kind.count == 1 ? one : many).str();
  };
  add(leftovers, "leftover of the model", "leftovers of the model");
  add(fallbacks, "fallback", "fallbacks");
  if (!text.empty())
    llvm::errs() << "note: " << text << "; see --remarks\n";
}
