//===- Npy.cpp - Arrays in NumPy's files ----------------------------------===//
//
// A file is "\\x93NUMPY", a version, the length of the header, the header and
// the elements. The header is a dictionary as Python writes it:
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//
//===----------------------------------------------------------------------===//

#include "runtime/Npy.h"

#include <charconv>
#include <cstdint>
#include <cstring>

using namespace tfm;

static constexpr std::string_view magic = "\x93NUMPY";

namespace {

struct ElementType {
  std::string_view descr;
  tfm_dtype dtype;
  size_t bytes;
};
constexpr ElementType elementTypes[] = {{"<f4", TFM_F32, 4},
                                        {"<f2", TFM_F16, 2},
                                        {"<i4", TFM_I32, 4},
                                        {"|i1", TFM_I8, 1}};

/// Reads the header's dictionary from left to right.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : rest(text) {}

  /// Skips `text`, and blanks before it; false if something else comes.
  bool skip(std::string_view text) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \n"), rest.size()));
    if (!rest.starts_with(text))
      return false;
    rest.remove_prefix(text.size());
    return true;
  }

  /// A string between quotes of either kind.
  bool read(std::string_view &text) {
    char quote = skip("'") ? '\'' : skip("\"") ? '"' : 0;
    size_t end = quote ? rest.find(quote) : std::string_view::npos;
    if (end == std::string_view::npos)
      return false;
    text = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return true;
  }

  bool read(int64_t &number) {
    skip("");
    auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc())
      return false;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    return true;
  }

  bool read(bool &value) {
    value = skip("True");
    return value || skip("False");
  }

private:
  std::string_view rest;
};

struct Header {
  std::string_view descr;
  bool isFortran = false;
  int32_t rank = -1;
  int64_t dims[TFM_MAX_RANK];
};

} // namespace

/// Reads "(3, 4)", "(3,)" or "()".
static Error readShape(HeaderParser &parser, Header &header) {
  Error malformed = std::string("expects a shape in the header");
  if (!parser.skip("("))
    return malformed;
  header.rank = 0;
  while (!parser.skip(")")) {
    if (header.rank == TFM_MAX_RANK)
      return "expects at most " + std::to_string(TFM_MAX_RANK) +
             " dimensions, but got more";
    int64_t &dim = header.dims[header.rank++];
    if (!parser.read(dim) || dim < 0)
      return malformed;
    if (!parser.skip(",")) {
      if (!parser.skip(")"))
        return malformed;
      break;
    }
  }
  return {};
}

static Error readHeader(std::string_view text, Header &header) {
  HeaderParser parser(text);
  Error malformed = std::string("expects a header as NumPy writes it");
  if (!parser.skip("{"))
    return malformed;
  while (!parser.skip("}")) {
    std::string_view key;
    if (!parser.read(key) || !parser.skip(":"))
      return malformed;
    if (key == "descr") {
      if (!parser.read(header.descr))
        return std::string("expects elements of one type, but got records");
    } else if (key == "fortran_order") {
      if (!parser.read(header.isFortran))
        return malformed;
    } else if (key == "shape") {
      if (Error error = readShape(parser, header))
        return error;
    } else {
      return malformed;
    }
    parser.skip(",");
  }
  if (header.descr.empty() || header.rank < 0)
    return malformed;
  return {};
}

Error tfm::readNpy(std::string_view bytes, tfm_tensor &tensor) {
  if (!bytes.starts_with(magic))
    return std::string("expects a .npy file, which starts with \"\\x93NUMPY\"");
  // The header's length has two bytes in version 1, four in later ones.
  size_t start = magic.size() + 2;
  int version = bytes.size() > magic.size()
                    ? static_cast<unsigned char>(bytes[magic.size()])
                    : 0;
  if (version < 1 || version > 3)
    return "expects version 1, 2 or 3 of the format, but got " +
           std::to_string(version);
  size_t lengthBytes = version == 1 ? 2 : 4;
  if (bytes.size() < start + lengthBytes)
    return std::string("ends in the header");
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + start, lengthBytes);
  start += lengthBytes;
  if (length > bytes.size() - start)
    return std::string("ends in the header");

  Header header;
  if (Error error = readHeader(bytes.substr(start, length), header))
    return error;
  if (header.isFortran)
    return std::string("expects elements in C order, but got Fortran order "
                       "(see numpy.ascontiguousarray)");
  const ElementType *type = nullptr;
  for (const ElementType &known : elementTypes)
    if (known.descr == header.descr)
      type = &known;
  if (!type)
    return "expects elements <f4, <f2, <i4 or |i1, but got " +
           std::string(header.descr) + " (see numpy.ndarray.astype)";

  uint64_t size = type->bytes;
  for (int32_t i = 0; i < header.rank; ++i)
    if (__builtin_mul_overflow(size, static_cast<uint64_t>(header.dims[i]),
                               &size))
      size = UINT64_MAX;
  std::string_view elements = bytes.substr(start + length);
  if (elements.size() != size)
    return "expects as many bytes of elements as the shape has, but got " +
           std::to_string(elements.size());
  tensor.dtype = type->dtype;
  tensor.rank = header.rank;
  std::memcpy(tensor.dims, header.dims, sizeof header.dims);
  tensor.data = const_cast<char *>(elements.data());
  return {};
}

std::string tfm::writeNpy(const tfm_tensor &tensor) {
  const ElementType *type = elementTypes;
  while (type->dtype != tensor.dtype)
    ++type;
  std::string shape;
  size_t size = type->bytes;
  for (int32_t i = 0; i < tensor.rank; ++i) {
    shape += std::to_string(tensor.dims[i]) + (tensor.rank == 1 ? "," : "") +
             (i + 1 < tensor.rank ? ", " : "");
    size *= static_cast<size_t>(tensor.dims[i]);
  }
  std::string header = "{'descr': '" + std::string(type->descr) +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  std::string bytes(magic);
  bytes += {1, 0};
  // Elements start at a multiple of 64 bytes.
  size_t length = header.size() + 1;
  length += (64 - (bytes.size() + 2 + length) % 64) % 64;
  header.resize(length - 1, ' ');
  bytes += {static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  bytes += header + "\n";
  bytes.append(static_cast<const char *>(tensor.data), size);
  return bytes;
}
