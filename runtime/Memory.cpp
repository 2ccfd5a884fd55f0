//===- Memory.cpp - Pages from the operating system -----------------------===//
//
// See Memory.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/Memory.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace tfm;

Mapping::~Mapping() {
  if (length)
    munmap(pages, length);
}

Error Mapping::allocate(uint64_t bytes, PageSize pageSize, const char *purpose,
                        Mapping &mapping) {
  mapping = Mapping();
  if (bytes == 0)
    return {};
  void *pages = bytes > PTRDIFF_MAX
                    ? MAP_FAILED
                    : mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED)
    return "cannot allocate " + std::to_string(bytes) + " bytes for " + purpose;
  if (pageSize == PageSize::Huge)
    madvise(pages, bytes, MADV_HUGEPAGE);
  mapping.pages = pages;
  mapping.length = bytes;
  return {};
}

Error Mapping::mapFile(int file, uint64_t offset, uint64_t bytes,
                       Mapping &mapping) {
  mapping = Mapping();
  if (bytes == 0)
    return {};
  uint64_t skip = offset % static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  void *pages = mmap(nullptr, bytes + skip, PROT_READ, MAP_PRIVATE, file,
                     static_cast<off_t>(offset - skip));
  if (pages == MAP_FAILED)
    return std::string("cannot map: ") + std::strerror(errno);
  // The whole range is about to be read, once per token.
  madvise(pages, bytes + skip, MADV_WILLNEED);
  mapping.pages = pages;
  mapping.length = bytes + skip;
  mapping.skip = skip;
  return {};
}
