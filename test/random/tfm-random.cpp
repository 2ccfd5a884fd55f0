//===- tfm-random.cpp - Random programs, before and after each pass -------===//
//
//   tfm-random --seed=7 --minutes=30
//
// Prints a line for each finding, with the command that shows it again and the
// IR, and in the end what was tried. Exits with 1 if there was a finding.
//
//===----------------------------------------------------------------------===//

#include "test/random/Cases.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"
#include <ctime>

using namespace mlir;
using namespace mlir::tfm;

static llvm::cl::opt<uint64_t> seed("seed", llvm::cl::init(1),
                                    llvm::cl::desc("seed of the first case"));
static llvm::cl::opt<uint64_t> cases("cases", llvm::cl::init(0),
                                     llvm::cl::desc("how many cases"));
static llvm::cl::opt<double>
    minutes("minutes", llvm::cl::init(0),
            llvm::cl::desc("how much of the processor's time, "
                           "instead"));
static llvm::cl::opt<std::string>
    only("only", llvm::cl::desc("one kind of case: model, graph or kernel"));

namespace {
struct Kind {
  StringRef name;
  std::optional<Finding> (*check)(MLIRContext *, Random &);
  uint64_t cases = 0, findings = 0;
};
} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv,
                                    "Random programs through the pipeline\n");
  Kind kinds[] = {
      {"model", checkModel}, {"graph", checkGraph}, {"kernel", checkKernels}};
  DialectRegistry registry;
  registerSteps(registry);
  llvm::outs() << "seed " << seed << "\n";

  auto hasTime = [] {
    return double(std::clock()) / CLOCKS_PER_SEC < 60 * minutes;
  };
  uint64_t findings = 0;
  for (uint64_t i = 0;
       minutes > 0 ? hasTime() : i != std::max<uint64_t>(cases, 1); ++i)
    for (Kind &kind : kinds) {
      if (!only.empty() && only != kind.name)
        continue;
      // A context of its own keeps memory bounded.
      MLIRContext context(registry, MLIRContext::Threading::DISABLED);
      context.loadAllAvailableDialects();
      Random random(seed + i);
      // Says what ran if machine code crashes.
      llvm::PrettyStackTraceFormat trace(
          "tfm-random --only=%s --seed=%llu --cases=1", kind.name.data(),
          static_cast<unsigned long long>(seed + i));
      ++kind.cases;
      std::optional<Finding> finding = kind.check(&context, random);
      if (!finding)
        continue;
      ++kind.findings, ++findings;
      llvm::outs() << "FINDING: tfm-random --only=" << kind.name
                   << " --seed=" << seed + i << " --cases=1\n"
                   << finding->message << "\n// before\n"
                   << finding->before << "// after\n"
                   << finding->after << "\n";
      llvm::outs().flush();
    }
  for (const Kind &kind : kinds)
    llvm::outs() << kind.name << ": " << kind.cases << " cases, "
                 << kind.findings << " findings\n";
  return findings != 0;
}
