//===- Memory.h - Pages from the operating system ---------------*- C++ -*-===//
//
// Large blocks come as whole pages: zeroed, 64-byte aligned and only backed by
// memory where they are touched.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_RUNTIME_MEMORY_H
#define TFM_RUNTIME_MEMORY_H

#include "runtime/Error.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tfm {

/// What backs a block: small pages suit memory that is touched here and there,
/// huge ones, where the kernel has them, memory that is all used.
enum class PageSize { Small, Huge };

/// Owns a mapping. Empty until one of the functions below fills it.
class Mapping {
public:
  Mapping() = default;
  Mapping(Mapping &&other) noexcept
      : pages(std::exchange(other.pages, nullptr)),
        length(std::exchange(other.length, 0)), skip(other.skip) {}
  Mapping &operator=(Mapping &&other) noexcept {
    std::swap(pages, other.pages);
    std::swap(length, other.length);
    std::swap(skip, other.skip);
    return *this;
  }
  ~Mapping();

  char *data() const { return static_cast<char *>(pages) + skip; }

  /// Maps `bytes` of zeros, for `purpose` ("the cache") in the message.
  static Error allocate(uint64_t bytes, PageSize pageSize, const char *purpose,
                        Mapping &mapping);

  /// Maps `bytes` of the open file from `offset` on, read-only.
  static Error mapFile(int file, uint64_t offset, uint64_t bytes,
                       Mapping &mapping);

private:
  void *pages = nullptr;
  size_t length = 0;
  size_t skip = 0; ///< from the page's start to the first byte asked for
};

} // namespace tfm

#endif // TFM_RUNTIME_MEMORY_H
