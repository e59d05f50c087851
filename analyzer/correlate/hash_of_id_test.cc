#include "analyzer/correlate/hash_of_id.h"

#include <gtest/gtest.h>

#include <set>

namespace tp {
namespace {

// As absl's tables divide a hash.
size_t Place(size_t hash) { return hash >> 7; }
size_t Tag(size_t hash) { return hash & 0x7F; }

TEST(HashOfId, NeighboursStandSideBySideAndAreToldApart) {
  for (const uint64_t first : {uint64_t{0}, uint64_t{4096}, uint64_t{7} << 40}) {
    std::set<size_t> places, tags;
    for (uint64_t i = 0; i < 16; ++i) {
      places.insert(Place(HashOfId()(first + i)));
      tags.insert(Tag(HashOfId()(first + i)));
    }
    EXPECT_EQ(places.size(), 16u);
    EXPECT_EQ(*places.rbegin() - *places.begin(), 15u);
    EXPECT_EQ(tags.size(), 16u);
  }
}

TEST(HashOfId, IdsFarApartAreScattered) {
  constexpr size_t kIds = 1 << 14, kPlaces = 1 << 15;
  for (const int shift : {4, 12, 20, 32, 48}) {
    std::set<size_t> places, tags;
    for (uint64_t i = 0; i < kIds; ++i) {
      places.insert(Place(HashOfId()(i << shift)) % kPlaces);
      tags.insert(Tag(HashOfId()(i << shift)));
    }
    EXPECT_GT(places.size(), kIds * 7 / 10) << shift;  // At random, 79 %.
    EXPECT_EQ(tags.size(), 128u) << shift;
  }
}

}  // namespace
}  // namespace tp
