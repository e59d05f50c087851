// Names of the API functions by callback id, from the enumerations in CUPTI's headers.
#ifndef TESTS_SIMCUDA_CUPTI_NAMES_H_
#define TESTS_SIMCUDA_CUPTI_NAMES_H_

#include <cupti_callbacks.h>

#include <cstdint>

namespace simcupti {

// One more than the largest callback id of the domain that a client may name; 0 for a domain that
// is none.
uint32_t CallbackIdEnd(CUpti_CallbackDomain domain);

// Lives for ever. nullptr where the domain has no names or no such id.
const char* CallbackName(CUpti_CallbackDomain domain, uint32_t callback_id);

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_NAMES_H_
