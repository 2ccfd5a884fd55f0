//===- weights-test.cpp - The weight section of an ELF file ---------------===//
//
// On this program's own file, which has a section that is not loaded, and on
// damaged copies of it.
//
//===----------------------------------------------------------------------===//

#include "runtime/Weights.h"

#include <cstdio>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <new>
#include <sstream>

using namespace tfm;
using testing::HasSubstr;
using testing::StartsWith;

// 3000 bytes: 1000 times 7, 11, 13.
asm(".pushsection .test.weights, \"\", @progbits\n"
    ".balign 64\n"
    ".rept 1000\n"
    ".byte 7, 11, 13\n"
    ".endr\n"
    ".popsection\n");

namespace {

class WeightsTest : public testing::Test {
protected:
  void SetUp() override {
    std::ostringstream stream;
    stream << std::ifstream("/proc/self/exe", std::ios::binary).rdbuf();
    image = stream.str();
    std::memcpy(&header, image.data(), sizeof header);
    path = testing::TempDir() + "weights-test-" + std::to_string(getpid());
  }
  void TearDown() override { std::remove(path.c_str()); }

  std::string map(uint64_t bytes = 3000) {
    std::ofstream(path, std::ios::binary) << image;
    return mapWeights(path, ".test.weights", bytes, weights).message();
  }

  /// Changes the header of the weight section and maps again.
  template <typename Change> std::string mapChanged(Change change) {
    Elf64_Shdr section, names;
    auto placeOf = [&](int i) {
      return image.data() + header.e_shoff + i * sizeof section;
    };
    std::memcpy(&names, placeOf(header.e_shstrndx), sizeof names);
    for (int i = 1; i < header.e_shnum; ++i) {
      char *place = placeOf(i);
      std::memcpy(&section, place, sizeof section);
      if (std::strcmp(image.data() + names.sh_offset + section.sh_name,
                      ".test.weights") != 0)
        continue;
      change(section);
      std::memcpy(place, &section, sizeof section);
      return map();
    }
    return "the section is missing";
  }

  std::string image, path;
  Elf64_Ehdr header;
  Mapping weights;
};

} // namespace

TEST_F(WeightsTest, MapsThisProgramsSection) {
  std::string self = findLoadedFile(reinterpret_cast<void *>(&mapWeights));
  EXPECT_EQ(self, "/proc/self/exe");
  ASSERT_EQ(mapWeights(self, ".test.weights", 3000, weights).message(), "");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(weights.data()) % 64, 0u);
  for (int i = 0; i < 3000; i += 3)
    ASSERT_EQ(std::memcmp(weights.data() + i, "\7\13\15", 3), 0);
}

TEST_F(WeightsTest, FindsTheFileOfALibrary) {
  EXPECT_THAT(findLoadedFile(reinterpret_cast<void *>(&std::set_new_handler)),
              HasSubstr("libstdc++"));
}

TEST_F(WeightsTest, MapsACopy) {
  EXPECT_EQ(map(), "");
  EXPECT_EQ(weights.data()[2999], 13);
}

TEST_F(WeightsTest, NeedsNoFileWithoutWeights) {
  EXPECT_EQ(mapWeights("/nowhere", ".w", 0, weights).message(), "");
}

TEST_F(WeightsTest, NamesWhatIsWrong) {
  EXPECT_THAT(mapWeights("/nowhere", ".w", 1, weights).message(),
              StartsWith("/nowhere: No such file"));
  EXPECT_THAT(map(3001), HasSubstr("hold 3001 bytes, but got 3000"));
  EXPECT_THAT(mapWeights("/proc/self/exe", ".missing", 1, weights).message(),
              HasSubstr("no section '.missing'"));
  EXPECT_THAT(mapChanged([](Elf64_Shdr &s) { s.sh_offset += 1; }),
              HasSubstr("multiple of 64"));
  EXPECT_THAT(mapChanged([](Elf64_Shdr &s) { s.sh_offset = 1ull << 62; }),
              HasSubstr("ends past the file"));
  EXPECT_THAT(mapChanged([](Elf64_Shdr &s) { s.sh_type = SHT_NOBITS; }),
              HasSubstr("but got 0"));
  image.resize(header.e_shoff + 100);
  EXPECT_THAT(map(), StartsWith(path + ": "));
  image[1] = 'X';
  EXPECT_THAT(map(), HasSubstr("not a 64-bit little-endian ELF"));
  image = "short";
  EXPECT_THAT(map(), HasSubstr("not a 64-bit little-endian ELF"));
}
