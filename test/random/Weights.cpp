//===- Weights.cpp - Random weights in a temporary file -------------------===//

#include "test/random/Weights.h"

#include "dialect/interp/Blocks.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mlir::tfm;

Weights::Weights(ModuleOp module, Random &random)
    : module(module), random(random) {
  SmallString<128> name;
  int descriptor;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile(
          "tfm-random", "weights", descriptor, name))
    llvm::report_fatal_error(Twine("cannot create a file for weights: ") +
                             code.message());
  path = name.str();
  file = std::make_unique<llvm::raw_fd_ostream>(descriptor, true);
}

Weights::~Weights() { llvm::sys::fs::remove(path); }

Value Weights::declare(OpBuilder &builder, RankedTensorType type,
                       ArrayRef<char> bytes) {
  std::string name = "w" + std::to_string(count++);
  Location loc = builder.getUnknownLoc();
  auto atEnd = OpBuilder::atBlockEnd(module.getBody());
  WeightOp::create(atEnd, loc, name, type,
                   FileAttr::get(module.getContext(), path, offset),
                   IntegerAttr());
  file->write(bytes.data(), bytes.size());
  file->flush();
  offset += bytes.size();
  return LoadOp::create(builder, loc, type, name);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Writes `value` as an element of a plain type.
static void store(const Array &array, int64_t index, float value) {
  char *bytes = array.data.get() + index * array.elementBytes();
  if (array.elementType.isF16())
    return writeF16(bytes, value);
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if (array.elementType.isBF16()) {
    uint16_t upper = bits >> 16;
    std::memcpy(bytes, &upper, sizeof(upper));
  } else {
    std::memcpy(bytes, &bits, sizeof(bits));
  }
}

/// A block whose elements have a standard deviation of about `deviation`; now
/// and then one of zeros, or with the largest integers.
static Block32 makeBlock(BlockFormat format, double deviation, Random &random) {
  bool isByte = format == BlockFormat::Q8_0;
  int least = isByte ? -127 : 0, most = isByte ? 127 : 15;
  Block32 block;
  // A uniform distribution over n integers deviates by n/sqrt(12).
  block.scale = deviation * std::sqrt(12.0) / (most - least + 1) *
                (1 + random.number() / 2);
  if (random.chance(10))
    block.scale = -block.scale;
  if (format == BlockFormat::Q4_1)
    block.min = (-7.5f + random.number()) * block.scale;
  int extreme = random.integer(0, 99);
  if (extreme == 0)
    block.scale = block.min = 0;
  for (int8_t &quant : block.quants)
    quant = extreme == 1 ? most : random.integer(least, most);
  return block;
}

Value Weights::matrix(OpBuilder &builder, int64_t rows, int64_t size) {
  MLIRContext *context = builder.getContext();
  SmallVector<Type> types = {builder.getF32Type(), builder.getF16Type(),
                             builder.getBF16Type()};
  // Twice, since most real models are quantized.
  for (int i = 0; size % BlockType::kBlockSize == 0 && i != 2; ++i)
    for (BlockFormat format :
         {BlockFormat::Q4_0, BlockFormat::Q4_1, BlockFormat::Q8_0})
      types.push_back(BlockType::get(context, format));
  auto type =
      RankedTensorType::get({rows, size}, random.of(ArrayRef<Type>(types)));

  double deviation = 1 / std::sqrt(static_cast<double>(size));
  Array array = Array::zeros(type.getElementType(), type.getShape());
  if (auto block = dyn_cast<BlockType>(type.getElementType())) {
    for (int64_t i = 0; i != array.size() / BlockType::kBlockSize; ++i)
      writeBlock(block, array, i,
                 makeBlock(block.getFormat(), deviation, random));
  } else {
    for (int64_t i = 0; i != array.size(); ++i)
      store(array, i, std::sqrt(3.0) * deviation * random.number());
  }
  return declare(builder, type, ArrayRef(array.data.get(), array.bytes()));
}

Value Weights::vector(OpBuilder &builder, int64_t size, float center) {
  Type element = random.chance(70) ? Type(builder.getF32Type())
                                   : Type(builder.getF16Type());
  Array array = Array::zeros(element, size);
  for (int64_t i = 0; i != size; ++i)
    store(array, i, center + random.number() / 2);
  return declare(builder, RankedTensorType::get(size, element),
                 ArrayRef(array.data.get(), array.bytes()));
}

Value Weights::gain(OpBuilder &builder, int64_t size) {
  return vector(builder, size, 1);
}

Value Weights::bias(OpBuilder &builder, int64_t size) {
  return vector(builder, size, 0);
}
