// Where libcupti may be, best first.
//
//   CudaOfProcess cuda = DescribeProcess();
//   for (const std::string& path : CuptiCandidates(cuda, &looked_in)) ...
//
// What decides is the CUDA that the process uses: a CUPTI newer than the driver does not work, and
// one that a library of the process opens later by its name must find itself there, not a stranger
// of the same name. So the major version of its runtime comes first, then the driver's and older
// ones; within one, what lies beside the libraries that are loaded (a toolkit's, a wheel's in
// site-packages/nvidia, conda's), then what the loader finds, then where variables point, and the
// usual places.
#ifndef COLLECTOR_CUPTI_CUPTI_LIBRARY_H_
#define COLLECTOR_CUPTI_CUPTI_LIBRARY_H_

#include <string>
#include <string_view>
#include <vector>

namespace tp::collect {

struct CudaOfProcess {
  std::vector<std::string> loaded;  // Paths of the libraries, in the loader's order.
  int driver_version = 0;           // cuDriverGetVersion; 0: unknown.
  // Of the newest CUDA that the driver serves.
  int driver_major() const { return driver_version / 1000; }
  std::vector<std::string> homes;     // Of toolkits, as variables name them.
  std::vector<std::string> prefixes;  // Of conda and virtual environments.
  std::vector<std::string> usual;     // Where toolkits are usually: /usr/local.
};

// Of this process. Uses the loader and the environment; calls nothing of CUDA's but
// cuDriverGetVersion, if its driver is loaded.
CudaOfProcess DescribeProcess();

// A libcupti that is loaded already; empty if there is none.
std::string LoadedCupti(const CudaOfProcess& cuda);

// Whether a libcupti is of a newer major version than the driver serves. It does not work then, and
// some (13.2) crash at the first call.
bool IsTooNew(const CudaOfProcess& cuda, std::string_view cupti);

// Major versions of CUPTI, best first. Not those that are newer than the driver.
std::vector<int> FittingVersions(const CudaOfProcess& cuda);

// Files that exist and, without a folder, names that the loader may find. `looked_in` gets the
// folders in which files were looked for, each once.
std::vector<std::string> CuptiCandidates(const CudaOfProcess& cuda,
                                         std::vector<std::string>* looked_in);

}  // namespace tp::collect

#endif  // COLLECTOR_CUPTI_CUPTI_LIBRARY_H_
