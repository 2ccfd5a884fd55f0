//===- Spellings.cpp - The ways of writing attention ----------------------===//

#include "test/random/Spellings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace mlir::tfm;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static int64_t headsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getDimSize(1);
}

/// Key or value heads, one for each head of `query`.
static Value repeat(OpBuilder &builder, Value query, Value heads) {
  return RepeatHeadsOp::create(builder, builder.getUnknownLoc(), heads,
                               headsOf(query) / headsOf(heads));
}

static Value grouped(OpBuilder &builder, Value query, Value key) {
  return ScoresOp::create(builder, builder.getUnknownLoc(), query, key);
}
static Value repeated(OpBuilder &builder, Value query, Value key) {
  return grouped(builder, query, repeat(builder, query, key));
}
static Value multiplied(OpBuilder &builder, Value query, Value key) {
  Location loc = builder.getUnknownLoc();
  Value transposed =
      TransposeOp::create(builder, loc, repeat(builder, query, key));
  return MatmulOp::create(builder, loc, query, transposed);
}

static Value mixGrouped(OpBuilder &builder, Value probabilities, Value value) {
  return MixOp::create(builder, builder.getUnknownLoc(), probabilities, value);
}
static Value mixRepeated(OpBuilder &builder, Value probabilities, Value value) {
  return mixGrouped(builder, probabilities,
                    repeat(builder, probabilities, value));
}
static Value mixMultiplied(OpBuilder &builder, Value probabilities,
                           Value value) {
  return MatmulOp::create(builder, builder.getUnknownLoc(), probabilities,
                          repeat(builder, probabilities, value));
}

namespace {
struct ProductForm {
  Value (*scores)(OpBuilder &builder, Value query, Value key);
  Value (*mix)(OpBuilder &builder, Value probabilities, Value value);
};

/// The factors of query, key and scores, whose product is the scale. A factor
/// of 1 is not written.
struct ScaleForm {
  float (*query)(float scale), (*key)(float scale), (*scores)(float scale);
};
} // namespace

static constexpr ProductForm kProducts[] = {{grouped, mixGrouped},
                                            {repeated, mixRepeated},
                                            {multiplied, mixMultiplied},
                                            {repeated, mixGrouped},
                                            {multiplied, mixRepeated}};

static float none(float) { return 1; }
static float all(float scale) { return scale; }
static float root(float scale) { return std::sqrt(scale); }
static float half(float) { return 0.5f; }
static float twice(float scale) { return 2 * scale; }

static constexpr ScaleForm kScales[] = {
    {none, none, all},  {all, none, none},   {none, all, none},
    {root, root, none}, {half, none, twice}, {root, none, root}};

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

namespace {
using Predicate = arith::CmpIPredicate;

/// t + `shift` compared with s, in either order.
struct MaskForm {
  Predicate predicate;
  int64_t shift;
  bool isQueryFirst;
};
} // namespace

static constexpr MaskForm kCausal[] = {{Predicate::sle, 0, false},
                                       {Predicate::sge, 0, true},
                                       {Predicate::ule, 0, false},
                                       {Predicate::slt, -1, false},
                                       {Predicate::sgt, -1, true}};
static constexpr MaskForm kOther[] = {
    {Predicate::slt, 0, false}, {Predicate::sge, 0, false},
    {Predicate::sle, 1, false}, {Predicate::ult, -1, false},
    {Predicate::ne, 0, false},  {Predicate::sle, -2, false}};

static Value generate(OpBuilder &builder, const MaskForm &form, Value queries,
                      Value keys) {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  auto type =
      RankedTensorType::get({1, 1, dynamic, dynamic}, builder.getI1Type());
  auto body = [&](OpBuilder &inner, Location loc, ValueRange at) {
    Value query = at[2], key = at[3];
    if (form.shift != 0)
      key = arith::AddIOp::create(
          inner, loc, key,
          arith::ConstantIndexOp::create(inner, loc, form.shift));
    if (form.isQueryFirst)
      std::swap(query, key);
    Value keep = arith::CmpIOp::create(inner, loc, form.predicate, key, query);
    tensor::YieldOp::create(inner, loc, keep);
  };
  return tensor::GenerateOp::create(builder, builder.getUnknownLoc(), type,
                                    ValueRange{queries, keys}, body);
}

Value tfm::makeCausalMask(OpBuilder &builder, Value queries, Value keys,
                          Random &random) {
  if (random.chance(50))
    return generate(builder, random.of(ArrayRef(kCausal)), queries, keys);
  constexpr int64_t dynamic = ShapedType::kDynamic;
  return CausalMaskOp::create(
      builder, builder.getUnknownLoc(),
      RankedTensorType::get({1, 1, dynamic, dynamic}, builder.getI1Type()),
      queries, keys);
}

Value tfm::makeWindowMask(OpBuilder &builder, Value queries, Value keys,
                          Random &random) {
  int64_t window = random.chance(60) ? random.integer(1, 12)
                                     : random.of<int64_t>({1, 64, 65, 100});
  return WindowMaskOp::create(builder, builder.getUnknownLoc(), queries, keys,
                              window, random.chance(50));
}

Value tfm::makeOtherMask(OpBuilder &builder, Value queries, Value keys,
                         Random &random) {
  Value mask = generate(builder, random.of(ArrayRef(kOther)), queries, keys);
  return random.chance(80)
             ? mask
             : MaskNotOp::create(builder, builder.getUnknownLoc(), mask);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

Spelling tfm::chooseSpelling(Random &random) {
  auto choose = [&](size_t count) -> size_t {
    return random.integer(0, count - 1);
  };
  return {choose(std::size(kProducts)), choose(std::size(kScales)), choose(4),
          random.chance(20), random.chance(30)};
}

/// Makes one mask of all that are not biases, at the place of the first.
static void joinMasks(OpBuilder &builder, SmallVectorImpl<Value> &masks) {
  Value *first = llvm::find_if(masks, [](Value mask) {
    return getElementTypeOrSelf(mask).isInteger(1);
  });
  for (Value *mask = first; mask != masks.end();)
    if (mask == first || getElementTypeOrSelf(*mask).isF32()) {
      ++mask;
    } else {
      *first =
          MaskAndOp::create(builder, builder.getUnknownLoc(), *first, *mask);
      masks.erase(mask);
    }
}

Value tfm::spellAttention(OpBuilder &builder, const AttentionOperands &operands,
                          const Spelling &spelling) {
  Location loc = builder.getUnknownLoc();
  auto scaleBy = [&](Value value, float factor) -> Value {
    if (factor == 1)
      return value;
    return ScaleOp::create(builder, loc, value, llvm::APFloat(factor));
  };
  auto maskBy = [&](Value scores, Value mask) -> Value {
    if (getElementTypeOrSelf(mask).isF32())
      return AddBiasOp::create(builder, loc, scores, mask);
    return ApplyMaskOp::create(builder, loc, scores, mask);
  };
  const ScaleForm &scales = kScales[spelling.scale];
  const ProductForm &products = kProducts[spelling.product];
  SmallVector<Value> joined = operands.masks;
  if (spelling.joinsMasks)
    joinMasks(builder, joined);
  ArrayRef<Value> masks = joined;
  size_t early = std::min(spelling.masksBeforeScale, masks.size());

  Value scores = products.scores(
      builder, scaleBy(operands.query, scales.query(operands.scale)),
      scaleBy(operands.key, scales.key(operands.scale)));
  for (Value mask : masks.take_front(early))
    scores = maskBy(scores, mask);
  scores = scaleBy(scores, scales.scores(operands.scale));
  for (Value mask : masks.drop_front(early))
    scores = maskBy(scores, mask);
  Value probabilities = SoftmaxOp::create(builder, loc, scores);
  if (spelling.hasDropout)
    probabilities =
        DropoutOp::create(builder, loc, probabilities, llvm::APFloat(0.1f));
  return products.mix(builder, probabilities, operands.value);
}
