// A CUDA program that makes its own surroundings hard, as its first argument says:
//
//   surroundings open_file FILE      opens a file of its own and writes "mine" to it, after its
//   work surroundings many_files FILE     after its work opens files until no descriptor is left,
//   says
//                                    "holding", closes them when FILE exists, and works again
//   surroundings no_sockets          first forbids itself sockets by a seccomp filter (an error)
//   surroundings no_sockets_later FILE   after its work forbids them for all threads on pain of
//                                        death, says "holding", goes on when FILE exists
//
// Its work is 20 kernels in ranges "step"; prints how many it has launched at the end.

#include <cuda_runtime.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <nvtx3/nvToolsExt.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

__global__ void step(int* data) { data[threadIdx.x] += 1; }

namespace {

int kernels = 0;

void Work() {
  int* data = nullptr;
  cudaMalloc(&data, 4096);
  for (int i = 0; i < 20; ++i) {
    nvtxRangePushA("step");
    step<<<1, 32>>>(data);
    nvtxRangePop();
    ++kernels;
  }
  cudaDeviceSynchronize();
}

void HoldUntil(const char* file) {
  printf("holding\n");
  fflush(stdout);
  while (access(file, F_OK) != 0) usleep(1000);
}

// All threads of the process, those to come too.
bool ForbidSockets(unsigned int answer) {
  sock_filter instructions[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, answer),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter = {sizeof(instructions) / sizeof(instructions[0]), instructions};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  auto is = [&](const char* word) { return argc > 1 && strcmp(argv[1], word) == 0; };
  const char* file = argc > 2 ? argv[2] : "";
  if (is("open_file")) {
    Work();
    int fd = open(file, O_WRONLY | O_CREAT, 0600);
    if (write(fd, "mine", 4) != 4) return 1;
    printf("descriptor %d\n", fd);
  } else if (is("many_files")) {
    Work();
    std::vector<int> files;
    for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0;) files.push_back(fd);
    HoldUntil(file);
    for (int fd : files) close(fd);
    Work();
  } else if (is("no_sockets")) {
    if (!ForbidSockets(SECCOMP_RET_ERRNO | 1)) return 1;
    Work();
  } else if (is("no_sockets_later")) {
    Work();
    if (!ForbidSockets(SECCOMP_RET_KILL_PROCESS)) return 1;
    HoldUntil(file);
    Work();
  } else {
    return 64;
  }
  printf("kernels %d\n", kernels);
  return 0;
}
