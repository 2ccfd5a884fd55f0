//===- Weights.h - Random weights in a temporary file -----------*- C++ -*-===//

#ifndef TFM_TEST_RANDOM_WEIGHTS_H
#define TFM_TEST_RANDOM_WEIGHTS_H

#include "dialect/TfmDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "test/random/Random.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::tfm {

/// Declares weights in a module and writes their elements to a file that goes
/// with this object.
class Weights {
public:
  Weights(ModuleOp module, Random &random);
  ~Weights();
  Weights(const Weights &) = delete;

  /// A loaded matrix [N, K] of a random element type; in blocks only where K
  /// allows it. Its rows have a norm of about 1, whatever K is.
  Value matrix(OpBuilder &builder, int64_t rows, int64_t size);
  /// A loaded vector with elements in 0.5..1.5 or, for a bias, in −0.5..0.5.
  Value gain(OpBuilder &builder, int64_t size);
  Value bias(OpBuilder &builder, int64_t size);

private:
  Value vector(OpBuilder &builder, int64_t size, float center);
  Value declare(OpBuilder &builder, RankedTensorType type,
                ArrayRef<char> bytes);

  ModuleOp module;
  Random &random;
  std::string path;
  std::unique_ptr<llvm::raw_fd_ostream> file;
  uint64_t offset = 0;
  int count = 0;
};

} // namespace mlir::tfm

#endif // TFM_TEST_RANDOM_WEIGHTS_H
