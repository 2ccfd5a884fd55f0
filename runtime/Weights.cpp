//===- Weights.cpp - The weight section of the executable -----------------===//
//
// Reads as much of ELF as it takes to find one section: the file header, the
// section headers and their names (System V ABI, chapter 4, "Sections").
//
//===----------------------------------------------------------------------===//

#include "runtime/Weights.h"

#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tfm;

namespace {

class ElfFile {
public:
  ~ElfFile() {
    if (file >= 0)
      close(file);
  }

  Error open(const std::string &path) {
    file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0)
      return std::string(std::strerror(errno));
    size = static_cast<uint64_t>(status.st_size);
    if (!read(0, &header, sizeof header) ||
        std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_shentsize != sizeof(Elf64_Shdr))
      return std::string("not a 64-bit little-endian ELF file");

    // Numbers that the header's 16 bits cannot hold stand in section 0.
    Elf64_Shdr first;
    if (header.e_shoff == 0 || !readSection(0, first))
      return std::string("no section headers");
    count = header.e_shnum ? header.e_shnum : first.sh_size;
    uint64_t names =
        header.e_shstrndx == SHN_XINDEX ? first.sh_link : header.e_shstrndx;
    if (names >= count || !readSection(names, nameSection))
      return std::string("no section names");
    return {};
  }

  Error find(const std::string &name, Elf64_Shdr &section) const {
    std::string found(name.size() + 1, '\0');
    for (uint64_t index = 1; index < count; ++index) {
      if (!readSection(index, section))
        return std::string("section headers end early");
      if (section.sh_name < nameSection.sh_size &&
          read(nameSection.sh_offset + section.sh_name, found.data(),
               found.size()) &&
          name == found.c_str())
        return {};
    }
    return "no section '" + name + "'";
  }

  int descriptor() const { return file; }
  uint64_t bytes() const { return size; }

private:
  bool read(uint64_t offset, void *data, size_t bytes) const {
    return offset <= size && bytes <= size - offset &&
           pread(file, data, bytes, static_cast<off_t>(offset)) ==
               static_cast<ssize_t>(bytes);
  }

  bool readSection(uint64_t index, Elf64_Shdr &section) const {
    return index <= size / sizeof section && header.e_shoff <= size &&
           read(header.e_shoff + index * sizeof section, &section,
                sizeof section);
  }

  int file = -1;
  uint64_t size = 0;
  uint64_t count = 0;
  Elf64_Ehdr header;
  Elf64_Shdr nameSection;
};

struct LoadedObject {
  uintptr_t address;
  const char *name;
};

} // namespace

static int findObject(dl_phdr_info *info, size_t, void *data) {
  auto *object = static_cast<LoadedObject *>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[i];
    uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && object->address >= start &&
        object->address - start < segment.p_memsz) {
      object->name = info->dlpi_name;
      return 1;
    }
  }
  return 0;
}

std::string tfm::findLoadedFile(const void *address) {
  LoadedObject object = {reinterpret_cast<uintptr_t>(address), ""};
  dl_iterate_phdr(findObject, &object);
  // The executable itself has no name there.
  return *object.name ? object.name : "/proc/self/exe";
}

static Error mapSection(const std::string &path, const std::string &name,
                        uint64_t bytes, Mapping &weights) {
  ElfFile file;
  Elf64_Shdr section;
  if (Error error = file.open(path))
    return error;
  if (Error error = file.find(name, section))
    return error;
  if (section.sh_type == SHT_NOBITS || section.sh_size != bytes)
    return "expects section '" + name + "' to hold " + std::to_string(bytes) +
           " bytes, but got " +
           std::to_string(section.sh_type == SHT_NOBITS ? 0 : section.sh_size);
  if (section.sh_offset % 64 != 0)
    return "expects section '" + name +
           "' at a multiple of 64 bytes, but got offset " +
           std::to_string(section.sh_offset);
  if (section.sh_offset > file.bytes() ||
      bytes > file.bytes() - section.sh_offset)
    return "section '" + name + "' at offset " +
           std::to_string(section.sh_offset) + " ends past the file's " +
           std::to_string(file.bytes()) + " bytes";
  return Mapping::mapFile(file.descriptor(), section.sh_offset, bytes, weights);
}

Error tfm::mapWeights(const std::string &path, const std::string &section,
                      uint64_t bytes, Mapping &weights) {
  weights = Mapping();
  if (bytes == 0)
    return {};
  if (Error error = mapSection(path, section, bytes, weights))
    return path + ": " + error.message();
  return {};
}
