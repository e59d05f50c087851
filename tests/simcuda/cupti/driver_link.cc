#include "tests/simcuda/cupti/driver_link.h"

#include <dlfcn.h>

#include <atomic>
#include <ctime>
#include <mutex>

#include "tests/simcuda/cupti/observer_hooks.h"

namespace simcupti {
namespace {

using SetObserver = const simcuda::Driver* (*)(const simcuda::Observer*);

std::mutex& LinkMutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

std::atomic<const simcuda::Driver*> known_driver{nullptr};
std::atomic<bool> attached{false};
std::atomic<uint64_t (*)()> timestamp_callback{nullptr};
thread_local int own_calls = 0;
thread_local int deliveries = 0;

SetObserver FindSetObserver() {
  return reinterpret_cast<SetObserver>(DriverSymbol("simcuda_set_observer"));
}

}  // namespace

void* DriverSymbol(const char* name) {
  if (void* address = dlsym(RTLD_DEFAULT, name)) return address;
  // Not among the global symbols: the program may have opened the driver for itself alone.
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* address = dlsym(library, name);
  dlclose(library);
  return address;
}

const simcuda::Driver* FindDriver() {
  if (const simcuda::Driver* driver = known_driver.load(std::memory_order_acquire)) return driver;
  std::lock_guard lock(LinkMutex());
  if (const simcuda::Driver* driver = known_driver.load(std::memory_order_acquire)) return driver;
  const SetObserver set_observer = FindSetObserver();
  if (set_observer == nullptr) return nullptr;
  const simcuda::Driver* driver = set_observer(nullptr);
  known_driver.store(driver, std::memory_order_release);
  return driver;
}

const simcuda::Driver* AttachToDriver() {
  if (attached.load(std::memory_order_acquire)) {
    return known_driver.load(std::memory_order_acquire);
  }
  std::lock_guard lock(LinkMutex());
  if (!attached.load(std::memory_order_acquire)) {
    const SetObserver set_observer = FindSetObserver();
    if (set_observer == nullptr) return nullptr;
    known_driver.store(set_observer(&ObserverHooks()), std::memory_order_release);
    attached.store(true, std::memory_order_release);
  }
  return known_driver.load(std::memory_order_acquire);
}

void DetachFromDriver() {
  std::lock_guard lock(LinkMutex());
  if (!attached.exchange(false)) return;
  if (const SetObserver set_observer = FindSetObserver()) set_observer(nullptr);
}

OwnCalls::OwnCalls() { ++own_calls; }
OwnCalls::~OwnCalls() { --own_calls; }
bool OwnCalls::Active() { return own_calls != 0; }

InDelivery::InDelivery() { ++deliveries; }
InDelivery::~InDelivery() { --deliveries; }

void DeliverWork(bool wait) {
  if (deliveries != 0) return;
  if (const simcuda::Driver* driver = FindDriver()) driver->deliver(wait);
}

uint64_t NowNs() {
  if (auto* callback = timestamp_callback.load(std::memory_order_acquire)) return callback();
  if (const simcuda::Driver* driver = FindDriver()) return driver->now_ns();
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t ToRecordClock(uint64_t driver_ns) {
  auto* callback = timestamp_callback.load(std::memory_order_acquire);
  const simcuda::Driver* driver = known_driver.load(std::memory_order_acquire);
  if (callback == nullptr || driver == nullptr || driver_ns == 0) return driver_ns;
  return driver_ns + (callback() - driver->now_ns());
}

void SetTimestampCallback(uint64_t (*callback)()) {
  timestamp_callback.store(callback, std::memory_order_release);
}

}  // namespace simcupti
