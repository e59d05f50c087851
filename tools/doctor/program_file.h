// What kind of program a file is, by its ELF headers.
#ifndef TOOLS_DOCTOR_PROGRAM_FILE_H_
#define TOOLS_DOCTOR_PROGRAM_FILE_H_

#include <string>

namespace tp {

// Why a library of ours cannot be preloaded into the program: another architecture, linked
// statically, another C library than glibc. Empty if it can; also if the file cannot be read.
std::string WhyNotPreloaded(const std::string& path);

}  // namespace tp

#endif  // TOOLS_DOCTOR_PROGRAM_FILE_H_
