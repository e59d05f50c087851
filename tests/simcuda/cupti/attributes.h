// The settings of cuptiActivitySetAttribute, and the single switches of cupti_activity.h.
#ifndef TESTS_SIMCUDA_CUPTI_ATTRIBUTES_H_
#define TESTS_SIMCUDA_CUPTI_ATTRIBUTES_H_

#include <cupti.h>

#include <cstddef>

namespace simcupti {

// As cuptiActivityGetAttribute and cuptiActivitySetAttribute.
CUptiResult GetAttribute(CUpti_ActivityAttribute attribute, size_t* value_bytes, void* value);
CUptiResult SetAttribute(CUpti_ActivityAttribute attribute, const size_t* value_bytes,
                         const void* value);

// Back to the documented defaults.
void ResetAttributes();

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_ATTRIBUTES_H_
