#include "collector/cupti/graph_node_log.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <vector>

namespace tp::collect {
namespace {

TEST(GraphNodeLog, NodesOfAllThreadsComeOnceAndEachThreadsInOrder) {
  GraphNodeLog log(1 << 20);
  constexpr uint64_t kThreads = 4, kNodes = 20'000;
  std::map<uint64_t, uint64_t> last;
  auto read = [&] {
    log.ReadAll([&](const GraphNode& node) {
      EXPECT_EQ(node.id, last[node.operation_id] + 1);
      last[node.operation_id] = node.id;
    });
  };
  std::vector<std::thread> threads;
  for (uint64_t t = 1; t <= kThreads; ++t) {
    threads.emplace_back([&log, t] {
      for (uint64_t i = 1; i <= kNodes; ++i) log.Add({i, t, 0});
    });
  }
  for (int i = 0; i < 100; ++i) read();
  for (std::thread& thread : threads) thread.join();
  read();
  ASSERT_EQ(last.size(), kThreads);
  for (const auto& [thread, id] : last) EXPECT_EQ(id, kNodes);
  EXPECT_EQ(log.lost(), 0u);
  EXPECT_EQ(log.memory_bytes(), 0u);
}

TEST(GraphNodeLog, WhatFindsNoRoomIsCounted) {
  GraphNodeLog log(2);
  for (uint64_t i = 1; i <= 5; ++i) log.Add({i, 0, 0});
  EXPECT_EQ(log.lost(), 3u);
  int count = 0;
  log.ReadAll([&](const GraphNode&) { ++count; });
  EXPECT_EQ(count, 2);
  log.Add({6, 0, 0});
  EXPECT_EQ(log.lost(), 3u);
}

}  // namespace
}  // namespace tp::collect
