#include "tests/simcuda/cupti/enabled_kinds.h"

#include <array>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "tests/simcuda/cupti/client.h"

namespace simcupti {
namespace {

static_assert(CUPTI_ACTIVITY_KIND_COUNT <= 64, "kinds are bits of one word");

constexpr uint32_t kFunctions = 1024;
static_assert(CUPTI_DRIVER_TRACE_CBID_SIZE <= kFunctions);
static_assert(CUPTI_RUNTIME_TRACE_CBID_SIZE <= kFunctions);

struct ContextSettings {
  uint64_t known = 0;    // Kinds that this context has a setting for.
  uint64_t enabled = 0;  // That setting.
};

struct State {
  std::atomic<uint64_t> kinds{0};
  std::atomic<bool> any_context_settings{false};
  std::shared_mutex mutex;
  std::unordered_map<uint32_t, ContextSettings> contexts;  // Guarded by mutex.
  std::array<std::array<std::atomic<uint8_t>, kFunctions>, 2> api{};
  std::atomic<uint8_t> nothing{0};
};

State& CurrentState() { return OfClient<State>(); }

uint64_t Bit(CUpti_ActivityKind kind) { return uint64_t{1} << static_cast<unsigned>(kind); }

CUpti_ActivityKind KindOf(simcuda::ApiDomain domain) {
  return domain == simcuda::ApiDomain::kRuntime ? CUPTI_ACTIVITY_KIND_RUNTIME
                                                : CUPTI_ACTIVITY_KIND_DRIVER;
}

std::array<std::atomic<uint8_t>, kFunctions>& FlagsOfDomain(simcuda::ApiDomain domain) {
  return CurrentState().api[domain == simcuda::ApiDomain::kRuntime ? 1 : 0];
}

void SetFlag(std::atomic<uint8_t>& flags, ApiFlag flag, bool on) {
  if (on) {
    flags.fetch_or(flag, std::memory_order_relaxed);
  } else {
    flags.fetch_and(static_cast<uint8_t>(~flag), std::memory_order_relaxed);
  }
}

// True, with the answer in `enabled`, if the context has a setting of its own.
bool FindContextSetting(CUpti_ActivityKind kind, uint32_t context_id, bool* enabled) {
  State& state = CurrentState();
  if (!state.any_context_settings.load(std::memory_order_acquire)) return false;
  std::shared_lock lock(state.mutex);
  const auto found = state.contexts.find(context_id);
  if (found == state.contexts.end() || (found->second.known & Bit(kind)) == 0) return false;
  *enabled = (found->second.enabled & Bit(kind)) != 0;
  return true;
}

}  // namespace

bool KindEnabled(CUpti_ActivityKind kind, uint32_t context_id) {
  bool enabled = (CurrentState().kinds.load(std::memory_order_acquire) & Bit(kind)) != 0;
  FindContextSetting(kind, context_id, &enabled);
  return enabled;
}

bool AnyKindEnabled() { return CurrentState().kinds.load(std::memory_order_acquire) != 0; }

void SetKindEnabled(CUpti_ActivityKind kind, bool enabled) {
  State& state = CurrentState();
  if (enabled) {
    state.kinds.fetch_or(Bit(kind));
  } else {
    state.kinds.fetch_and(~Bit(kind));
  }
  // "The kind overrides the settings of single functions if it is called after them."
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME) {
    SetApiFlagOfAll(simcuda::ApiDomain::kRuntime, kApiRecorded, enabled);
  } else if (kind == CUPTI_ACTIVITY_KIND_DRIVER) {
    SetApiFlagOfAll(simcuda::ApiDomain::kDriver, kApiRecorded, enabled);
  }
}

void SetKindEnabledInContext(CUpti_ActivityKind kind, uint32_t context_id, bool enabled) {
  State& state = CurrentState();
  std::unique_lock lock(state.mutex);
  ContextSettings& settings = state.contexts[context_id];
  settings.known |= Bit(kind);
  settings.enabled = enabled ? settings.enabled | Bit(kind) : settings.enabled & ~Bit(kind);
  state.any_context_settings.store(true, std::memory_order_release);
}

std::atomic<uint8_t>& ApiFlags(simcuda::ApiDomain domain, uint32_t callback_id) {
  if (callback_id >= kFunctions) return CurrentState().nothing;
  return FlagsOfDomain(domain)[callback_id];
}

void SetApiFlag(simcuda::ApiDomain domain, uint32_t callback_id, ApiFlag flag, bool on) {
  if (callback_id < kFunctions) SetFlag(FlagsOfDomain(domain)[callback_id], flag, on);
}

void SetApiFlagOfAll(simcuda::ApiDomain domain, ApiFlag flag, bool on) {
  for (std::atomic<uint8_t>& flags : FlagsOfDomain(domain)) SetFlag(flags, flag, on);
}

bool ApiCallRecorded(simcuda::ApiDomain domain, uint8_t flags, uint32_t context_id) {
  bool recorded = (flags & kApiRecorded) != 0;
  FindContextSetting(KindOf(domain), context_id, &recorded);
  return recorded;
}

bool AnyContextSettings() {
  return CurrentState().any_context_settings.load(std::memory_order_acquire);
}

void ResetEnabledKinds() {
  State& state = CurrentState();
  state.kinds.store(0);
  std::unique_lock lock(state.mutex);
  state.contexts.clear();
  state.any_context_settings.store(false);
  for (auto& domain : state.api) {
    for (std::atomic<uint8_t>& flags : domain) flags.store(0, std::memory_order_relaxed);
  }
}

}  // namespace simcupti
