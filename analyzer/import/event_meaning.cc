#include "analyzer/import/event_meaning.h"

#include "absl/strings/match.h"

namespace tp {
namespace {

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

Meaning MeaningOf(std::string_view category) {
  const auto is = [&](std::string_view word) {
    return absl::EqualsIgnoreCase(Absl(category), Absl(word));
  };
  const auto ends = [&](std::string_view word) {
    return absl::EndsWithIgnoreCase(Absl(category), Absl(word));
  };
  using What = Meaning::What;
  if (is("cpu_op") || is("operator")) return {What::kSpan, SpanKind::kOperation, {}};
  if (is("user_annotation")) return {What::kSpan, SpanKind::kUserAnnotation, {}};
  if (is("backward")) return {What::kSpan, SpanKind::kBackward, {}};  // Of our own exports.
  if (is("kernel")) return {What::kActivity, {}, ActivityKind::kKernel};
  if (is("gpu_memcpy") || is("memcpy")) return {What::kActivity, {}, ActivityKind::kCopy};
  if (is("gpu_memset") || is("memset")) return {What::kActivity, {}, ActivityKind::kFill};
  if (is("gpu_user_annotation")) return {What::kActivity, {}, ActivityKind::kDeviceAnnotation};
  // cuda_runtime, xpu_runtime, ...
  if (is("runtime") || ends("_runtime")) return {What::kActivity, {}, ActivityKind::kRuntimeCall};
  if (is("driver") || ends("_driver")) return {What::kActivity, {}, ActivityKind::kDriverCall};
  if (is("overhead")) return {What::kActivity, {}, ActivityKind::kOverhead};
  // Of our own exports.
  if (is("gpu_graph")) return {What::kActivity, {}, ActivityKind::kGraph};
  if (is("cuda_sync")) return {What::kActivity, {}, ActivityKind::kSynchronization};
  if (is("compilation")) return {What::kActivity, {}, ActivityKind::kCompilation};
  // The profiler's own window, and what only viewers need.
  if (is("trace") || is("ac2g") || is("fwdbwd")) return {What::kLeftOut, {}, {}};
  return {};
}

}  // namespace tp
