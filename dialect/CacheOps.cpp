//===- CacheOps.cpp - The key/value cache ---------------------------------===//

#include "dialect/Shapes.h"
#include "dialect/TfmDialect.h"

using namespace mlir;
using namespace mlir::tfm;

LogicalResult tfm::verifyConsumes(Operation *op, Value cache) {
  for (Operation *user : cache.getUsers()) {
    if (user == op)
      continue;
    if (user->getBlock() == op->getBlock() && user->isBeforeInBlock(op))
      continue;
    InFlightDiagnostic diagnostic =
        op->emitOpError("expects no use of a cache after the one that consumes "
                        "it");
    diagnostic.attachNote(user->getLoc()) << "used here";
    return diagnostic;
  }
  return success();
}

LogicalResult CacheAppendOp::verify() {
  ArrayRef<int64_t> key = shapeOf(getKey()), value = shapeOf(getValue());
  KvCacheType cache = getCache().getType();
  if (failed(verifyEqualDims(*this, "key and cache", "number of heads G",
                             key[1], cache.getHeads())) ||
      failed(verifyEqualDims(*this, "value and cache", "number of heads G",
                             value[1], cache.getHeads())) ||
      failed(verifyEqualDims(*this, "key and cache", "head size D", key[3],
                             cache.getKeySize())) ||
      failed(verifyEqualDims(*this, "value and cache", "head size D", value[3],
                             cache.getValueSize())) ||
      failed(verifyEqualDims(*this, "key and value", "length S", key[2],
                             value[2])))
    return failure();
  return verifyConsumes(*this, getCache());
}

LogicalResult CacheAdvanceOp::verify() {
  return verifyConsumes(*this, getCache());
}

LogicalResult CacheTruncateOp::verify() {
  return verifyConsumes(*this, getCache());
}

LogicalResult CacheGatherOp::verify() {
  return verifyConsumes(*this, getCache());
}

LogicalResult CacheAttentionOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &inferred) {
  auto cache = cast<KvCacheType>(adaptor.getCache().getType());
  inferred.push_back(withLastDim(adaptor.getQuery(), cache.getValueSize()));
  return success();
}

LogicalResult CacheAttentionOp::verify() {
  ArrayRef<int64_t> query = shapeOf(getQuery());
  KvCacheType cache = getCache().getType();
  if (failed(verifyEqualDims(*this, "query and cache", "head size D", query[3],
                             cache.getKeySize())))
    return failure();
  return verifyGroupedHeads(*this, query[1], cache.getHeads());
}
