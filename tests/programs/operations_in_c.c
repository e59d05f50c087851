/* A program in plain C that tells what it does through collector/tpcollect.h, and is linked with
 * nothing of the collector's.
 *
 *   operations_in_c                  tells it once, and prints whether somebody listened
 *   operations_in_c --load LIBRARY   tells it, loads the collector's library, waits until it is
 *                                    found, and tells it again
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/tpcollect.h"

static void TellOperations(void) {
  const int64_t matrix[] = {128, 64}, row[] = {64};
  tpcollect_tensor inputs[3];
  tpcollect_operation multiply = TPCOLLECT_OPERATION_INIT("multiply");
  tpcollect_operation load = TPCOLLECT_OPERATION_INIT("load");
  uint64_t span;
  memset(inputs, 0, sizeof(inputs));
  inputs[0].sizes = matrix;
  inputs[0].rank = 2;
  inputs[0].dtype = "float";
  inputs[1].sizes = row;
  inputs[1].rank = 1;
  inputs[1].dtype = "c10::BFloat16";
  multiply.inputs = inputs;
  multiply.input_count = 3;
  multiply.flops = 2 * 128 * 64;
  multiply.output_bytes = 512;

  tpcollect_begin("step, seq = 1");
  span = tpcollect_start(&load);
  tpcollect_begin_operation(&multiply);
  usleep(100);
  tpcollect_end();
  tpcollect_stop(span);
  tpcollect_counter("loss", 0.5);
  tpcollect_counter("loss", 0.25);
  tpcollect_counter("tokens", 9007199254740992.0);
  usleep(100);
  tpcollect_end();
  tpcollect_end(); /* One too many: nothing is open. */
}

/* The collector begins when the driver does. */
static int InitializeCuda(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*initialize)(unsigned) = NULL;
  if (driver == NULL) return 0;
  *(void**)(&initialize) = dlsym(driver, "cuInit");
  return initialize != NULL && initialize(0) == 0;
}

int main(int argc, char** argv) {
  int waits = 0;
  if (argc == 3 && strcmp(argv[1], "--load") == 0) {
    TellOperations();
    if (dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL) == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    while (!tpcollect_is_active() && waits++ < 30000) usleep(1000);
  }
  if (!InitializeCuda()) {
    fprintf(stderr, "operations_in_c: no CUDA\n");
    return 1;
  }
  TellOperations();
  printf("%s\n", tpcollect_is_active() ? "somebody listens" : "nobody listens");
  return 0;
}
