//===- Inputs.cpp - Arguments as typed on the command line ----------------===//

#include "tools/tfm-run/Inputs.h"

#include "llvm/Support/JSON.h"
#include <algorithm>
#include <limits>
#include <random>

using namespace mlir;
using namespace mlir::tfm;
namespace json = llvm::json;

static llvm::Error error(const Twine &message) {
  return llvm::createStringError(message);
}

template <typename T> static T saturate(double number) {
  return std::clamp<double>(number, std::numeric_limits<T>::min(),
                            std::numeric_limits<T>::max());
}

/// Writes element `index` of a row-major array; integers saturate.
static llvm::Error store(const Array &array, int64_t index, double number) {
  Type type = array.elementType;
  if (type.isF32())
    array.floats()[index] = number;
  else if (type.isInteger(32))
    array.as<int32_t>()[index] = saturate<int32_t>(number);
  else if (type.isInteger(8))
    array.as<int8_t>()[index] = saturate<int8_t>(number);
  else if (type.isInteger(1))
    array.as<int8_t>()[index] = number != 0;
  else
    return error("expects elements of type f32, i32, i8 or i1");
  return llvm::Error::success();
}

static llvm::Expected<Array> allocate(Type elementType,
                                      ArrayRef<int64_t> shape) {
  if (!countElements(shape))
    return error("expects a shape that memory can hold");
  return Array::zeros(elementType, shape);
}

llvm::Expected<Array> tfm::makeUnwritten(Type elementType,
                                         ArrayRef<int64_t> shape) {
  llvm::Expected<Array> array = allocate(elementType, shape);
  if (array)
    array->poison();
  return array;
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

/// Appends the numbers of nested lists, of equal shape at each level.
static llvm::Error flatten(const json::Value &value, ArrayRef<int64_t> shape,
                           SmallVectorImpl<double> &numbers) {
  if (shape.empty()) {
    std::optional<double> number = value.getAsNumber();
    if (!number)
      return error("expects a number");
    numbers.push_back(*number);
    return llvm::Error::success();
  }
  const json::Array *list = value.getAsArray();
  if (!list || static_cast<int64_t>(list->size()) != shape.front())
    return error("expects lists of equal lengths");
  for (const json::Value &element : *list)
    if (llvm::Error failure = flatten(element, shape.drop_front(), numbers))
      return failure;
  return llvm::Error::success();
}

static llvm::Expected<Array> parseLists(const json::Value &value,
                                        Type elementType) {
  SmallVector<int64_t> shape;
  for (const json::Value *inner = &value;
       const auto *list = inner->getAsArray(); inner = &list->front()) {
    shape.push_back(list->size());
    if (list->empty())
      break;
  }
  SmallVector<double> numbers;
  if (llvm::Error failure = flatten(value, shape, numbers))
    return failure;
  llvm::Expected<Array> array = allocate(elementType, shape);
  if (!array)
    return array.takeError();
  for (auto [i, number] : llvm::enumerate(numbers))
    if (llvm::Error failure = store(*array, i, number))
      return failure;
  return array;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static llvm::Expected<Array> parseShape(const json::Object &object,
                                        Type elementType) {
  const json::Array *dims = object.getArray("shape");
  if (!dims)
    return error("expects a \"shape\"");
  SmallVector<int64_t> shape;
  for (const json::Value &dim : *dims)
    shape.push_back(dim.getAsInteger().value_or(-1));
  std::optional<int64_t> seed = object.getInteger("random");
  if (!seed)
    return makeUnwritten(elementType, shape);

  llvm::Expected<Array> array = allocate(elementType, shape);
  if (!array)
    return array.takeError();
  // The standard fixes this generator's numbers, but not its distributions'.
  std::mt19937 generator(static_cast<uint32_t>(*seed));
  for (int64_t i = 0, size = array->size(); i != size; ++i)
    if (llvm::Error failure = store(*array, i, generator() * 0x1p-31 - 1))
      return failure;
  return array;
}

llvm::Expected<Array> tfm::parseArray(StringRef text, Type elementType) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return value.takeError();
  if (const json::Object *object = value->getAsObject())
    return parseShape(*object, elementType);
  return parseLists(*value, elementType);
}
