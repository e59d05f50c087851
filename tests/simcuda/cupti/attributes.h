// The settings of cuptiActivitySetAttribute, and the single switches of cupti_activity.h.
#ifndef TESTS_SIMCUDA_CUPTI_ATTRIBUTES_H_
#define TESTS_SIMCUDA_CUPTI_ATTRIBUTES_H_

namespace simcupti {

// Back to the documented defaults.
void ResetAttributes();

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_ATTRIBUTES_H_
