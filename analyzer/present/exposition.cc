#include "analyzer/present/exposition.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "analyzer/present/utf8.h"

namespace tp {

Labels Labels::With(std::string_view name, std::string_view value) const {
  Labels labels = *this;
  if (value.empty()) return labels;
  const std::string escaped =
      absl::StrReplaceAll(ValidUtf8(value), {{"\\", "\\\\"}, {"\n", "\\n"}, {"\"", "\\\""}});
  if (!text_.empty()) labels.text_ += ',';
  labels.text_.append(name).append("=\"").append(escaped) += '"';
  return labels;
}

void Exposition::Family::Add(const Labels& labels, std::string_view value) {
  const size_t before = samples_.size();
  if (before == 0) *bytes_ += head_.size();
  samples_ += name_;
  if (!labels.text().empty()) samples_.append("{").append(labels.text()) += '}';
  samples_.append(" ").append(value) += '\n';
  *bytes_ += samples_.size() - before;
}

void Exposition::Family::AddNumber(const Labels& labels, uint64_t number) {
  Add(labels, absl::StrCat(number));
}

void Exposition::Family::AddSeconds(const Labels& labels, int64_t nanoseconds) {
  const int64_t ns = std::max<int64_t>(nanoseconds, 0);
  Add(labels, absl::StrFormat("%d.%09d", ns / 1'000'000'000, ns % 1'000'000'000));
}

Exposition::Family* Exposition::AddFamily(std::string_view name, std::string_view help,
                                          Type type) {
  Family& family = families_.emplace_back();
  family.name_ = name;
  family.bytes_ = &bytes_;
  family.head_.append("# HELP ").append(name).append(" ");
  family.head_ += absl::StrReplaceAll(std::string(help), {{"\\", "\\\\"}, {"\n", "\\n"}});
  family.head_.append("\n# TYPE ").append(name);
  family.head_ += type == kCounter ? " counter\n" : " gauge\n";
  return &family;
}

std::string Exposition::Text() const {
  std::string text;
  text.reserve(bytes_);
  for (const Family& family : families_) {
    if (!family.samples_.empty()) text.append(family.head_).append(family.samples_);
  }
  return text;
}

}  // namespace tp
