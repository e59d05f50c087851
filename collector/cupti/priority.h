// Whom CUPTI is for when another profiler wants it as well.
#ifndef COLLECTOR_CUPTI_PRIORITY_H_
#define COLLECTOR_CUPTI_PRIORITY_H_

namespace tp::collect {

enum class Priority { kOthers, kUs };

}  // namespace tp::collect

#endif  // COLLECTOR_CUPTI_PRIORITY_H_
