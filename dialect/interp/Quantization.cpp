//===- Quantization.cpp - Integer products --------------------------------===//

#include "dialect/Shapes.h"
#include "dialect/interp/Blocks.h"
#include "dialect/interp/Frame.h"
#include <cmath>

using namespace mlir;
using namespace mlir::tfm;

LogicalResult Frame::run(QuantizeOp op) {
  const Array input = array(op.getInput());
  int64_t size = input.lastDim();
  if (size % kBlock != 0)
    return op.emitOpError() << "expects the row size K to be a multiple of "
                            << kBlock << ", but got " << size;
  SmallVector<int64_t> perBlock(input.shape);
  perBlock.back() = size / kBlock;
  FailureOr<Array> quants = create(op.getQuants(), input.shape),
                   scales = create(op.getScales(), perBlock),
                   sums = create(op.getSums(), perBlock);
  if (failed(quants) || failed(scales) || failed(sums))
    return failure();

  for (int64_t j = 0, blocks = scales->size(); j != blocks; ++j) {
    auto x = input.floats().slice(j * kBlock, kBlock);
    auto q = quants->as<int8_t>().slice(j * kBlock, kBlock);
    float max = 0;
    for (float element : x)
      max = std::max(max, std::fabs(element));
    float inverse = max == 0 ? 0 : 127 / max;
    int32_t sum = 0;
    for (int64_t i = 0; i != kBlock; ++i) {
      float rounded = std::nearbyint(x[i] * inverse);
      // The comparisons keep infinities, of blocks too small to divide by, and
      // NaN inside the range.
      q[i] = rounded > 127 ? 127 : rounded > -127 ? rounded : -127;
      sum += q[i];
    }
    scales->floats()[j] = max / 127;
    sums->floats()[j] = scales->floats()[j] * static_cast<float>(sum);
  }
  return success();
}

LogicalResult Frame::run(QuantizedLinearOp op) {
  const Array quants = array(op.getQuants()), scales = array(op.getScales()),
              sums = array(op.getSums()), weight = array(op.getWeight());
  int64_t outputs = weight.shape[0], size = weight.shape[1],
          blocks = size / kBlock;
  if (failed(verifyEqualDims(op, "quants and weight", "inner size K",
                             quants.lastDim(), size)) ||
      failed(verifyEqualDims(op, "quants and scales", "number of rows",
                             quants.rows(), scales.rows())) ||
      failed(verifyEqualDims(op, "quants and sums", "number of rows",
                             quants.rows(), sums.rows())))
    return failure();
  for (const Array *perBlock : {&scales, &sums})
    if (failed(verifyEqualDims(op, "a row of K/32 blocks and its scales",
                               "length", blocks, perBlock->lastDim())))
      return failure();
  SmallVector<int64_t> shape(scales.shape);
  shape.back() = outputs;
  FailureOr<Array> result = create(op.getResult(), shape);
  if (failed(result))
    return failure();

  auto type = cast<BlockType>(weight.elementType);
  for (int64_t n = 0; n != outputs; ++n)
    for (int64_t j = 0; j != blocks; ++j) {
      Block32 block = readBlock(type, weight, n * blocks + j);
      // The constant that each of the block's elements has beside scale · q.
      float constant = block.min;
      if (type.getFormat() == BlockFormat::Q4_0)
        constant = -8 * block.scale;
      for (int64_t r = 0, rows = quants.rows(); r != rows; ++r) {
        auto q = quants.as<int8_t>().slice(r * size + j * kBlock, kBlock);
        int32_t product = 0;
        for (int64_t i = 0; i != kBlock; ++i)
          product += block.quants[i] * q[i];
        float &sum = result->floats()[r * outputs + n];
        sum += block.scale * scales.floats()[r * blocks + j] *
               static_cast<float>(product);
        sum += constant * sums.floats()[r * blocks + j];
      }
    }
  return success();
}
