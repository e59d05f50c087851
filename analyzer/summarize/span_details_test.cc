// What single spans and counters are shown with, from the records to the rows of tables.
#include "analyzer/summarize/span_details.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "analyzer/summarize/summary.h"

namespace tp {
namespace {

TEST(SpanDetails, ALaterValueOfTheSameNameTakesThePlaceOfTheEarlier) {
  SpanDetails details(8);
  details.AddValue({1, 10, ValueType::kSigned, 5});
  details.AddValue({1, 11, ValueType::kSigned, 6});
  details.AddValue({1, 10, ValueType::kText, 7});
  const SpanDetails::Details* found = details.Find(1);
  ASSERT_NE(found, nullptr);
  ASSERT_EQ(found->values.size(), 2u);
  EXPECT_EQ(found->values[0].type, ValueType::kText);
  EXPECT_EQ(found->values[0].bits, 7u);
  EXPECT_EQ(details.Find(2), nullptr) << "nothing was told of it";
}

TEST(SpanDetails, AreBoundedAndCountTheSpansThatWereLetGo) {
  SpanDetails details(100);
  for (uint64_t span = 1; span <= 1000; ++span) {
    details.AddValue({span, 1, ValueType::kSigned, 5});
  }
  EXPECT_NE(details.Find(1000), nullptr);
  EXPECT_EQ(details.Find(1), nullptr);
  EXPECT_GE(details.let_go(), 900u);
  for (StringId name = 1; name <= 1000; ++name) details.AddValue({5, name, ValueType::kSigned, 0});
  EXPECT_LE(details.Find(5)->values.size(), 64u);
  EXPECT_LT(details.memory_bytes(), 100'000u);
}

class Rows : public testing::Test {
 protected:
  query::Table View(query::View view) {
    const Summary* summary = &summary_;
    TableOptions options;
    options.view = view;
    return Tabulate({&summary, 1}, options, /*now_ns=*/1000);
  }

  StringTable strings_;
  Summary summary_{&strings_};
};

TEST_F(Rows, ASpanHasItsValuesWhicheverComesFirst) {
  for (const bool value_comes_first : {true, false}) {
    Span span;
    span.id = value_comes_first ? 1 : 2;
    span.end_ns = 10;
    span.name = strings_.Intern("reduce");
    span.dtypes = strings_.Intern(R"(["float", "", 5])");
    const SpanValue real = {span.id, strings_.Intern("ratio"), ValueType::kReal,
                            std::bit_cast<uint64_t>(0.5)};
    const SpanValue text = {span.id, strings_.Intern("category"), ValueType::kText,
                            strings_.Intern("third")};
    if (value_comes_first) summary_.AddSpanValue(real);
    summary_.AddSpan(span);
    if (!value_comes_first) summary_.AddSpanValue(real);
    summary_.AddSpanValue(text);
  }
  const query::Table table = View(query::SPANS);
  ASSERT_EQ(table.operations_size(), 2);
  for (const query::OperationRow& row : table.operations()) {
    ASSERT_EQ(row.input_types_size(), 3);
    EXPECT_EQ(row.input_types(0), "float");
    EXPECT_EQ(row.input_types(2), "") << "no text";
    ASSERT_EQ(row.values_size(), 2);
    EXPECT_EQ(row.values(0).real_number(), 0.5);
    EXPECT_EQ(row.values(1).text(), "third");
  }
  EXPECT_EQ(View(query::OPERATIONS).operations(0).values_size(), 0);
}

TEST_F(Rows, ACountersLatestValueIsThatOfTheLatestTime) {
  const StringId loss = strings_.Intern("loss");
  summary_.SetRecordingStart(50);
  summary_.AddCounter({200, 1, loss, 4});
  summary_.AddCounter({100, 1, loss, -2});
  summary_.AddCounter({150, 1, loss, std::nan("")});
  summary_.AddCounter({10, 1, loss, 1e9});
  const query::Table table = View(query::COUNTERS);
  ASSERT_EQ(table.counters_size(), 1);
  const query::CounterRow& row = table.counters(0);
  EXPECT_EQ(row.name(), "loss");
  EXPECT_EQ(row.count(), 2) << "one was before the recording";
  EXPECT_EQ(row.not_finite(), 1);
  EXPECT_EQ(row.last(), 4);
  EXPECT_EQ(row.average(), 1);
  EXPECT_EQ(row.min(), -2);
  EXPECT_EQ(row.max(), 4);
}

}  // namespace
}  // namespace tp
