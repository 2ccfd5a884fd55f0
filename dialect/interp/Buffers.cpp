//===- Buffers.cpp - Shapes, slices and views -----------------------------===//
//
// The operations of the tensor and memref dialects that the pipeline makes. A
// slice of a tensor is a copy, one of a buffer shares its elements.
//
//===----------------------------------------------------------------------===//

#include "dialect/interp/Frame.h"

using namespace mlir;
using namespace mlir::tfm;

LogicalResult Frame::runDim(Operation *op, Value source, Value index) {
  const Array &array = this->array(source);
  int64_t dim = this->index(index);
  if (dim < 0 || dim >= array.rank())
    return op->emitError() << "expects a dimension in 0.." << array.rank() - 1
                           << ", but got " << dim;
  return set(op->getResult(0), array.shape[dim]);
}

LogicalResult Frame::runReshape(Operation *op, ArrayRef<int64_t> shape) {
  const Array &source = array(op->getOperand(0));
  bool isBuffer = isa<MemRefType>(op->getResult(0).getType());
  if (isBuffer && !source.isRowMajor())
    return op->emitError("the interpreter reshapes row-major buffers only");
  if (countElements(shape) != source.size())
    return op->emitError() << "expects a shape of " << source.size()
                           << " elements, but got " << shape.size()
                           << " dimensions of another product";
  return set(op->getResult(0), source.reshape(shape));
}

LogicalResult Frame::runCollapse(Operation *op,
                                 ArrayRef<ReassociationIndices> groups) {
  ArrayRef<int64_t> source = array(op->getOperand(0)).shape;
  SmallVector<int64_t> shape;
  for (const ReassociationIndices &group : groups)
    shape.push_back(
        llvm::product_of(source.slice(group.front(), group.size())));
  return runReshape(op, shape);
}

LogicalResult Frame::runSlice(OffsetSizeAndStrideOpInterface op,
                              const llvm::SmallBitVector &droppedDims) {
  const Array &source = array(op->getOperand(0));
  if (isa<BlockType>(source.elementType))
    return op.emitError("the interpreter does not slice blocks");

  SmallVector<int64_t> offsets = indices(op.getMixedOffsets()),
                       sizes = indices(op.getMixedSizes()),
                       steps = indices(op.getMixedStrides());
  Array slice = source;
  slice.shape.clear();
  slice.strides.clear();
  int64_t first = 0;
  for (auto [i, dim] : llvm::enumerate(source.shape)) {
    int64_t offset = offsets[i], size = sizes[i], step = steps[i];
    bool fits =
        offset >= 0 && size >= 0 && step > 0 && offset <= dim &&
        (size == 0 || (offset < dim && size - 1 <= (dim - 1 - offset) / step));
    if (!fits)
      return op.emitError()
             << "expects a slice inside dimension " << i << " of size " << dim
             << ", but got " << size << " from " << offset << " by " << step;
    first += offset * source.strides[i];
    if (droppedDims.test(i))
      continue;
    slice.shape.push_back(size);
    slice.strides.push_back(step * source.strides[i]);
  }
  slice.data = std::shared_ptr<char>(
      source.data, source.data.get() + first * source.elementBytes());
  bool isBuffer = isa<MemRefType>(op->getResult(0).getType());
  return set(op->getResult(0), isBuffer ? slice : slice.toRowMajor());
}

LogicalResult Frame::run(tensor::EmptyOp op) {
  FailureOr<Array> result = create(op.getResult(), indices(op.getMixedSizes()));
  if (failed(result))
    return failure();
  result->poison();
  return success();
}

LogicalResult Frame::run(memref::ViewOp op) {
  const Array &bytes = array(op.getSource());
  int64_t offset = index(op.getByteShift());
  SmallVector<int64_t> shape(op.getType().getShape());
  auto size = op.getSizes().begin();
  for (int64_t &dim : shape)
    if (ShapedType::isDynamic(dim))
      dim = index(*size++);

  Array view = Array::wrap(op.getType().getElementType(), shape, bytes.data);
  if (!countElements(shape) || offset < 0 || offset > bytes.size() ||
      view.bytes() > bytes.size() - offset)
    return op.emitError() << "expects a view inside " << bytes.size()
                          << " bytes, but got [" << ArrayRef(shape) << "] from "
                          << offset;
  if (offset % view.elementBytes() != 0)
    return op.emitError() << "expects an offset that is a multiple of "
                          << view.elementBytes() << ", but got " << offset;
  view.data = std::shared_ptr<char>(bytes.data, bytes.data.get() + offset);
  return set(op.getResult(), view);
}

LogicalResult Frame::run(memref::CopyOp op) {
  const Array &source = array(op.getSource()), &target = array(op.getTarget());
  if (source.shape != target.shape)
    return op.emitError() << "expects buffers of equal shape, but got ["
                          << ArrayRef(source.shape) << "] and ["
                          << ArrayRef(target.shape) << "]";
  target.copyFrom(source);
  return success();
}
