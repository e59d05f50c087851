// A CUDA program that ends, or lives on, in the way that its first argument says. Before that it
// does its work: so many times (the second argument, 20 by default) a range "step" with a kernel in
// it, within a range "open" that stays open. Prints the number of kernels launched.
//
//   endings HOW [STEPS] [FILE]   with FILE: then says "holding" and waits until it exists
//
// In the child of a fork that has to say so the output is prefixed by "child: ".

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

__global__ void step(int* data) { data[threadIdx.x] += 1; }

namespace {

const char* program;

// Static objects that use CUDA before main and after it, if the environment says so.
struct UsesCudaAroundMain {
  bool wanted = getenv("ENDINGS_AROUND_MAIN") != nullptr;
  UsesCudaAroundMain() { Work("before main"); }
  ~UsesCudaAroundMain() { Work("after main"); }
  void Work(const char* range) {
    if (!wanted) return;
    int* data = nullptr;
    nvtxRangePushA(range);
    cudaMalloc(&data, 4096);
    step<<<1, 32>>>(data);
    cudaDeviceSynchronize();
    nvtxRangePop();
  }
} around_main;

int Work(int steps) {
  int* data = nullptr;
  if (cudaMalloc(&data, 4096) != cudaSuccess) return 0;
  for (int i = 0; i < steps; ++i) {
    nvtxRangePushA("step");
    step<<<1, 32>>>(data);
    nvtxRangePop();
  }
  cudaDeviceSynchronize();
  return steps;
}

void Say(const char* who, int kernels) {
  printf("%skernels %d\n", who, kernels);
  fflush(stdout);
}

// A child's exit status or signal, for the parent to say.
void WaitFor(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) printf("child: status %d\n", WEXITSTATUS(status));
  if (WIFSIGNALED(status)) printf("child: signal %d\n", WTERMSIG(status));
  fflush(stdout);
}

void Execute(std::vector<const char*> command) {
  command.push_back(nullptr);
  execv(command[0], const_cast<char**>(command.data()));
  _exit(126);
}

void CloseAll() {
  for (int fd = 3; fd < 2048; ++fd) close(fd);
}

int ShortThreads(int count) {
  for (int started = 0; started < count;) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 50 && started < count; ++i, ++started) {
      threads.emplace_back([] {
        nvtxRangePushA("left open");
        Work(1);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  return count;
}

const std::map<std::string, std::function<int()>> kEndings = {
    {"return", [] { return 3; }},
    {"exit",
     [] {
       exit(4);
       return 0;
     }},
    {"exit_on_a_thread",
     [] {
       std::thread([] { exit(4); }).join();
       return 0;
     }},
    {"pthread_exit",
     [] {
       std::thread([] { Work(5); }).detach();
       pthread_exit(nullptr);
       return 0;
     }},
    {"quick_exit",
     [] {
       quick_exit(5);
       return 0;
     }},
    {"_exit",
     [] {
       _exit(6);
       return 0;
     }},
    {"abort",
     [] {
       abort();
       return 0;
     }},
    {"segv",
     [] {
       *static_cast<volatile int*>(nullptr) = 1;
       return 0;
     }},
    {"sigterm", [] { return raise(SIGTERM); }},
    {"sigint", [] { return raise(SIGINT); }},
    {"sigkill", [] { return raise(SIGKILL); }},
    {"sigterm_handled",
     [] {
       signal(SIGTERM, [](int) { exit(7); });
       raise(SIGTERM);
       pause();
       return 0;
     }},
    {"sigint_ignored",
     [] {
       signal(SIGINT, SIG_IGN);
       raise(SIGINT);
       return 8;
     }},
    {"exec",
     [] {
       Execute({"/bin/echo", "executed"});
       return 0;
     }},
    {"exec_and_stay",
     [] {
       Execute({"/bin/sleep", "60"});
       return 0;
     }},
    {"exec_itself",
     [] {
       Execute({program, "return", "7"});
       return 0;
     }},
    {"fork_and_exit",
     [] {
       pid_t child = fork();
       if (child == 0) exit(11);
       WaitFor(child);
       return 0;
     }},
    {"fork_without_handlers",
     [] {
       pid_t child = _Fork();
       if (child == 0) exit(12);
       WaitFor(child);
       return 0;
     }},
    // CUDA does not work there; trying must not hurt.
    {"fork_and_cuda",
     [] {
       pid_t child = fork();
       if (child == 0) {
         nvtxRangePushA("in the child");
         Say("child: ", Work(5));
         nvtxRangePop();
         exit(13);
       }
       WaitFor(child);
       return 0;
     }},
    {"fork_and_exec",
     [] {
       pid_t child = fork();
       if (child == 0) Execute({program, "return", "9"});
       WaitFor(child);
       return 0;
     }},
    {"vfork_and_exec",
     [] {
       pid_t child = vfork();
       if (child == 0) Execute({program, "return", "9"});
       WaitFor(child);
       return 0;
     }},
    {"fork_and_die",
     [] {
       pid_t child = fork();
       if (child == 0) abort();
       WaitFor(child);
       return 0;
     }},
    {"close_all",
     [] {
       CloseAll();
       Say("again: ", Work(5));
       return 0;
     }},
    {"reset",
     [] {
       cudaDeviceReset();
       Say("again: ", Work(5));
       return 0;
     }},
    {"threads",
     [] {
       Say("threads: ", ShortThreads(2000));
       return 0;
     }},
    {"dlclose",
     [] {
       void* library = dlopen(getenv("ENDINGS_LIBRARY"), RTLD_NOW);
       printf("opened %d\n", library != nullptr);
       if (library != nullptr) dlclose(library);
       if (library != nullptr) dlclose(library);
       Say("again: ", Work(5));
       return 0;
     }},
};

// What forks before any CUDA: the work comes after it.
void Daemonize() {
  if (fork() != 0) _exit(0);
  setsid();
  if (fork() != 0) _exit(0);
  if (chdir("/") != 0) _exit(1);
  for (int fd = 0; fd < 1024; ++fd) {
    if (fd != 1) close(fd);
  }
}

}  // namespace

int main(int argc, char** argv) {
  program = argv[0];
  if (argc < 2) return 64;
  std::string how = argv[1];
  int steps = argc > 2 ? atoi(argv[2]) : 20;
  nvtxRangePushA("open");
  if (how == "daemonize") Daemonize();
  bool child = how == "fork_before" && fork() == 0;
  Say(child ? "child: " : "", Work(steps));
  if (how == "fork_before" && !child) WaitFor(-1);
  if (how == "daemonize" || how == "fork_before") return 0;
  if (argc > 3) {
    printf("holding\n");
    fflush(stdout);
    while (access(argv[3], F_OK) != 0) usleep(1000);
  }
  auto ending = kEndings.find(how);
  if (ending == kEndings.end()) {
    printf("endings: unknown way %s\n", how.c_str());
    return 64;
  }
  return ending->second();
}
