// Programs may be started with their standard streams closed. The next file or socket that they open
// would take the place of one, and what is printed would go into it.
#ifndef TOOLS_STANDARD_DESCRIPTORS_H_
#define TOOLS_STANDARD_DESCRIPTORS_H_

#include <fcntl.h>

namespace tp {

// Occupies those of the descriptors 0, 1 and 2 that are closed, so that reading finds an end and
// writing fails. For the first line of a main.
inline void OccupyStandardDescriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    // The lowest free number: this one, as those below are taken.
    if (fcntl(fd, F_GETFD) == -1) open("/dev/null", O_RDONLY);
  }
}

}  // namespace tp

#endif  // TOOLS_STANDARD_DESCRIPTORS_H_
