//===- TfmDialect.cpp - Registration, types and shared rules --------------===//
//
// The dialect's registration, the types, and the rules of Shapes.h.
//
//===----------------------------------------------------------------------===//

#include "dialect/TfmDialect.h"

#include "dialect/Shapes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tfm;

#include "dialect/TfmDialect.cpp.inc"
#include "dialect/TfmEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/TfmTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/TfmAttributes.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/TfmOps.cpp.inc"

namespace {
/// Prints caches and models once, as `!kv_cache` and `#model`.
struct TfmAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    if (!isa<KvCacheType>(type))
      return AliasResult::NoAlias;
    os << "kv_cache";
    return AliasResult::FinalAlias;
  }

  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    if (!isa<ModelAttr>(attribute))
      return AliasResult::NoAlias;
    os << "model";
    return AliasResult::FinalAlias;
  }
};
} // namespace

void TfmDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/TfmTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/TfmAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/TfmOps.cpp.inc"
      >();
  addInterfaces<TfmAsmInterface>();
}

int64_t BlockType::getBlockBytes() const {
  switch (getFormat()) {
  case BlockFormat::Q4_0:
    return 18;
  case BlockFormat::Q4_1:
    return 20;
  case BlockFormat::Q8_0:
    return 34;
  }
  llvm_unreachable("unknown block format");
}

LogicalResult KvCacheType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t layers, int64_t heads,
                                  int64_t keySize, int64_t valueSize,
                                  Type elementType) {
  if (layers < 1 || heads < 1 || keySize < 1 || valueSize < 1)
    return emitError() << "expects sizes of at least 1";
  if (!elementType.isF16() && !elementType.isF32())
    return emitError() << "expects f16 or f32 elements, but got "
                       << elementType;
  return success();
}

bool tfm::areCompatible(TypeRange lhs, TypeRange rhs) {
  return succeeded(verifyCompatibleShapes(lhs, rhs)) &&
         llvm::equal(lhs, rhs, [](Type a, Type b) {
           return getElementTypeOrSelf(a) == getElementTypeOrSelf(b);
         });
}

RankedTensorType tfm::withLastDim(Value value, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = dim;
  return type.clone(shape);
}

LogicalResult tfm::verifyEqualDims(Operation *op, StringRef names,
                                   StringRef dim, int64_t lhs, int64_t rhs) {
  if (ShapedType::isDynamic(lhs) || ShapedType::isDynamic(rhs) || lhs == rhs)
    return success();
  return op->emitOpError() << "expects " << names << " to have equal " << dim
                           << ", but got " << lhs << " and " << rhs;
}

LogicalResult tfm::verifyGroupedHeads(Operation *op, int64_t heads,
                                      int64_t groups) {
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(groups) ||
      (groups > 0 && heads % groups == 0))
    return success();
  return op->emitOpError() << "expects the number of query heads H to be a "
                              "multiple of the key/value heads G, but got "
                           << heads << " and " << groups;
}

LogicalResult tfm::verifyBroadcasts(Operation *op, StringRef name,
                                    ArrayRef<int64_t> shape,
                                    ArrayRef<int64_t> scores) {
  for (auto [dim, s, letter] :
       llvm::zip_equal(shape, scores, StringRef("BHST")))
    if (!ShapedType::isDynamic(dim) && !ShapedType::isDynamic(s) && dim != 1 &&
        dim != s)
      return op->emitOpError() << "expects the " << name << "'s " << letter
                               << " to be 1 or that of the scores, but got "
                               << dim << " and " << s;
  return success();
}

std::optional<int64_t> tfm::broadcastDims(int64_t lhs, int64_t rhs) {
  if (rhs == 1 || lhs == rhs)
    return lhs;
  if (lhs == 1 || ShapedType::isDynamic(lhs))
    return rhs;
  return ShapedType::isDynamic(rhs) ? std::optional(lhs) : std::nullopt;
}

LogicalResult tfm::verifyMutualBroadcast(Operation *op, ArrayRef<int64_t> lhs,
                                         ArrayRef<int64_t> rhs) {
  for (auto [l, r, letter] : llvm::zip_equal(lhs, rhs, StringRef("BHST")))
    if (!broadcastDims(l, r))
      return op->emitOpError()
             << "expects lhs and rhs to have equal " << letter
             << ", or 1 in one of them, but got " << l << " and " << r;
  return success();
}
