// The way to the simulated driver: finds it in the process, becomes its observer, and stops being
// it.
//
// The library does not load a driver. Where no simulated libcuda.so.1 is loaded, CUDA is not here
// and nothing can be observed.
//
// Threads: all functions may be called from any thread.
#ifndef TESTS_SIMCUDA_CUPTI_DRIVER_LINK_H_
#define TESTS_SIMCUDA_CUPTI_DRIVER_LINK_H_

#include "tests/simcuda/core/observer.h"

namespace simcupti {

// The driver's own table, or nullptr while no simulated driver is loaded. Does not make this
// library its observer.
const simcuda::Driver* FindDriver();

// Makes this library the driver's observer, unless it is already. Returns the driver's table;
// nullptr as FindDriver().
const simcuda::Driver* AttachToDriver();

// Observes no more. API calls that are under way still end here.
void DetachFromDriver();

// An address in the loaded driver, or nullptr.
void* DriverSymbol(const char* name);

// While one of these lives, API calls of this thread are this library's own and are not observed.
class OwnCalls {
 public:
  OwnCalls();
  ~OwnCalls();
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;
  static bool Active();
};

// While one of these lives, this thread is inside the driver's delivery of device work and must not
// call back into the driver.
class InDelivery {
 public:
  InDelivery();
  ~InDelivery();
  InDelivery(const InDelivery&) = delete;
  InDelivery& operator=(const InDelivery&) = delete;
};

// Has the driver tell of all work that has ended (with `wait`: of all that was submitted), except
// from inside such a delivery.
void DeliverWork(bool wait);

// Nanoseconds on the clock that records carry: the client's timestamp callback if there is one,
// else the driver's clock, else CLOCK_REALTIME.
uint64_t NowNs();

// Brings a time of the driver's clock to the clock that records carry. 0, "unknown", stays 0.
uint64_t ToRecordClock(uint64_t driver_ns);

// The client's clock; nullptr for none.
void SetTimestampCallback(uint64_t (*callback)());

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_DRIVER_LINK_H_
