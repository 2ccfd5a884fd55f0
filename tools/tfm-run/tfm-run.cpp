//===- tfm-run.cpp - Runs IR in the reference interpreter -----------------===//
//
//   tfm-run net.mlir forward tokens='[[1, 2, 3]]'
//   tfm-run net.mlir prefill tokens='[[1, 2]]' decode tokens='[[3]]'
//
// A word without '=' names the next function to run, a word with one gives an
// argument: by `tfm.name` or by number, as JSON (Inputs.h). What need not be
// given: caches, which keep their content from call to call; and, in planned
// functions, the buffers for results and the arena.
//
//===----------------------------------------------------------------------===//

#include "dialect/interp/Interpreter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/ToolUtilities.h"
#include "tools/tfm-run/Inputs.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace mlir::tfm;

static llvm::cl::OptionCategory category("Options of tfm-run");
static llvm::cl::opt<std::string>
    file(llvm::cl::Positional, llvm::cl::desc("FILE"), llvm::cl::Required);
static llvm::cl::list<std::string>
    words(llvm::cl::Positional, llvm::cl::OneOrMore,
          llvm::cl::desc("FUNCTION [NAME=JSON]... [FUNCTION ...]..."));
static llvm::cl::opt<int64_t>
    context("context", llvm::cl::init(64), llvm::cl::cat(category),
            llvm::cl::desc("positions that a cache has room for (default 64)"));
static llvm::cl::opt<unsigned>
    precision("precision", llvm::cl::init(6), llvm::cl::cat(category),
              llvm::cl::desc("significant digits of each number (default 6)"));
static llvm::cl::opt<unsigned>
    limit("limit", llvm::cl::init(1024), llvm::cl::cat(category),
          llvm::cl::desc("elements printed of each row (default 1024)"));
static llvm::cl::opt<bool>
    argmax("argmax", llvm::cl::cat(category),
           llvm::cl::desc("print where each row has its largest element"));

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// An element as a number.
static double elementAt(const Array &array, int64_t index) {
  if (isa<FloatType>(array.elementType)) {
    float element;
    int64_t bytes = array.elementBytes();
    decodeElements(ArrayRef(array.data.get() + index * bytes, bytes),
                   array.elementType, element);
    return element;
  }
  if (array.elementType.isInteger(32))
    return array.as<int32_t>()[index];
  return array.as<int8_t>()[index];
}

/// One line for the shape and one per row.
static void print(StringRef name, const RuntimeValue &value) {
  llvm::raw_ostream &os = llvm::outs();
  if (auto *integer = std::get_if<int64_t>(&value)) {
    os << name << ": " << *integer << "\n";
    return;
  }
  if (auto *cache = std::get_if<std::shared_ptr<Cache>>(&value)) {
    os << name << ": lengths";
    for (int32_t length : (*cache)->lengths.as<int32_t>())
      os << ' ' << length;
    os << "\n";
    return;
  }
  const Array array = std::get<Array>(value).toRowMajor();
  os << name << ": ";
  for (int64_t dim : array.shape)
    os << dim << 'x';
  os << array.elementType << "\n";
  int64_t size = array.rank() == 0 ? 1 : array.lastDim();
  for (int64_t first = 0, end = array.size(); first < end; first += size) {
    if (argmax) {
      int64_t best = 0;
      for (int64_t i = 1; i < size; ++i)
        if (elementAt(array, first + i) > elementAt(array, first + best))
          best = i;
      os << "  " << best << "\n";
      continue;
    }
    for (int64_t i = 0; i < std::min<int64_t>(size, limit); ++i)
      os << (i == 0 ? "  " : " ")
         << llvm::format("%.*g", static_cast<int>(precision),
                         elementAt(array, first + i));
    os << (size > limit ? " ...\n" : "\n");
  }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {
/// A function with the arguments given for it.
struct Call {
  StringRef function;
  SmallVector<std::pair<StringRef, StringRef>> arguments;
};

/// Runs calls one after the other, with caches that stay.
class Runner {
public:
  explicit Runner(ModuleOp module) : module(module), interpreter(module) {}

  LogicalResult run(const Call &call);

private:
  std::string nameOf(FunctionOpInterface function, unsigned index);
  FailureOr<RuntimeValue> makeArgument(FunctionOpInterface function,
                                       unsigned index, const Call &call,
                                       ArrayRef<RuntimeValue> before);
  FailureOr<RuntimeValue> parse(FunctionOpInterface function, StringRef name,
                                Type type, StringRef text);

  ModuleOp module;
  Interpreter interpreter;
  llvm::StringMap<std::shared_ptr<Cache>> caches;
};
} // namespace

std::string Runner::nameOf(FunctionOpInterface function, unsigned index) {
  auto name = function.getArgAttrOfType<StringAttr>(index, "tfm.name");
  return name ? name.str() : std::to_string(index);
}

FailureOr<RuntimeValue> Runner::parse(FunctionOpInterface function,
                                      StringRef name, Type type,
                                      StringRef text) {
  if (type.isIntOrIndex()) {
    int64_t integer;
    if (text.getAsInteger(10, integer))
      return function.emitError()
             << "expects an integer for " << name << ", but got " << text;
    return RuntimeValue(integer);
  }
  if (!isa<ShapedType>(type))
    return function.emitError() << "expects no value for " << name;
  llvm::Expected<Array> array = parseArray(text, getElementTypeOrSelf(type));
  if (!array)
    return function.emitError()
           << name << ": " << llvm::toString(array.takeError());
  return RuntimeValue(*array);
}

/// Argument `index`, given or made; `before` are the ones before it.
FailureOr<RuntimeValue> Runner::makeArgument(FunctionOpInterface function,
                                             unsigned index, const Call &call,
                                             ArrayRef<RuntimeValue> before) {
  std::string name = nameOf(function, index);
  Type type = function.getArgument(index).getType();
  for (auto [given, text] : call.arguments)
    if (given == name)
      return parse(function, name, type, text);

  // B and S are the leading dimensions of the first argument.
  auto *first = before.empty() ? nullptr : std::get_if<Array>(&before.front());
  ArrayRef<int64_t> leading = first ? first->shape : ArrayRef<int64_t>();
  int64_t batch = leading.empty() ? 1 : leading[0];
  int64_t length = leading.size() < 2 ? 1 : leading[1];
  if (auto cacheType = dyn_cast<KvCacheType>(type)) {
    std::shared_ptr<Cache> &cache = caches[name];
    if (!cache)
      cache = Cache::create(cacheType, batch, context);
    if (cache)
      return RuntimeValue(cache);
    return function.emitError("expects a cache that memory can hold");
  }
  auto buffer = dyn_cast<MemRefType>(type);
  if (!buffer)
    return function.emitError() << "expects a value for " << name;
  SmallVector<int64_t> shape(buffer.getShape());
  auto arena = function->getAttrOfType<ArenaAttr>("tfm.arena");
  if (arena && name == "arena") {
    shape = {arena.getPerRow() * batch * length + arena.getPerSample() * batch +
             arena.getFixed()};
  } else {
    for (auto [dim, known] : llvm::zip(shape, leading))
      if (ShapedType::isDynamic(dim))
        dim = known;
  }
  llvm::Expected<Array> array = makeUnwritten(buffer.getElementType(), shape);
  if (!array)
    return function.emitError()
           << name << ": " << llvm::toString(array.takeError());
  return RuntimeValue(*array);
}

LogicalResult Runner::run(const Call &call) {
  auto function = dyn_cast_or_null<FunctionOpInterface>(
      SymbolTable::lookupSymbolIn(module, call.function));
  if (!function)
    return module.emitError() << "expects a function @" << call.function;

  SmallVector<RuntimeValue> arguments;
  llvm::StringSet<> names;
  for (unsigned i = 0; i != function.getNumArguments(); ++i) {
    names.insert(nameOf(function, i));
    auto argument = makeArgument(function, i, call, arguments);
    if (failed(argument))
      return failure();
    arguments.push_back(*argument);
  }
  for (auto [name, text] : call.arguments)
    if (!names.contains(name))
      return function.emitError() << "expects no argument " << name;

  auto results = interpreter.run(function, arguments);
  if (failed(results))
    return failure();
  llvm::outs() << call.function << "\n";
  for (auto [i, result] : llvm::enumerate(*results)) {
    auto name = function.getResultAttrOfType<StringAttr>(i, "tfm.name");
    print(name ? name.str() : std::to_string(i), result);
  }
  // What a function without results wrote.
  for (auto [i, argument] : llvm::enumerate(arguments))
    if (isa<MemRefType>(function.getArgument(i).getType()) &&
        nameOf(function, i) != "arena" &&
        llvm::none_of(call.arguments, [&](auto given) {
          return given.first == nameOf(function, i);
        }))
      print(nameOf(function, i), argument);
  return success();
}

//===----------------------------------------------------------------------===//
// main
//===----------------------------------------------------------------------===//

/// Groups the words of the command line by function.
static FailureOr<SmallVector<Call>> parseCalls() {
  SmallVector<Call> calls;
  for (StringRef word : words) {
    auto [name, text] = word.split('=');
    if (name.size() == word.size()) {
      calls.push_back({word, {}});
      continue;
    }
    if (calls.empty()) {
      llvm::WithColor::error() << "expects a function before " << word << "\n";
      return failure();
    }
    calls.back().arguments.push_back({name, text});
  }
  return calls;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "Runs functions of tfm IR in the reference interpreter\n");
  FailureOr<SmallVector<Call>> calls = parseCalls();
  if (failed(calls))
    return 2;

  DialectRegistry registry;
  registry.insert<arith::ArithDialect, func::FuncDialect, memref::MemRefDialect,
                  tensor::TensorDialect, TfmDialect>();
  MLIRContext mlirContext(registry);
  mlirContext.printOpOnDiagnostic(false);
  std::string message;
  auto input = openInputFile(file, &message);
  if (!input) {
    llvm::WithColor::error() << message << "\n";
    return 1;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(input), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(sources, &mlirContext);
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(sources, &mlirContext);
  if (!module)
    return 1;

  Runner runner(*module);
  for (const Call &call : *calls)
    if (failed(runner.run(call)))
      return 1;
  return 0;
}
