// What a DEVICE record says, asked from the driver.
#ifndef TESTS_SIMCUDA_CUPTI_DEVICE_DESCRIPTION_H_
#define TESTS_SIMCUDA_CUPTI_DEVICE_DESCRIPTION_H_

#include <cupti.h>

namespace simcupti {

// Fields that the driver does not know are 0. The name lives for ever.
CUpti_ActivityDevice5 DescribeDevice(int device);

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_DEVICE_DESCRIPTION_H_
