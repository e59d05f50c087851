/*
 * Tells TensorProf's collector what a program does: operations, asynchronous spans and counters.
 * C99 and C++11; this header is all that a program needs.
 *
 *   tpcollect_begin("step");                    // a range with a name
 *   launch_kernels();
 *   tpcollect_end();
 *
 *   const int64_t sizes[] = {128, 64};          // an operation with all that is known of it
 *   const tpcollect_tensor inputs[] = {{sizes, "float", 2, 0}};
 *   tpcollect_operation operation = TPCOLLECT_OPERATION_INIT("mm");
 *   operation.inputs = inputs;
 *   operation.input_count = 1;
 *   operation.flops = 2 * 128 * 64 * 32;
 *   tpcollect_begin_operation(&operation);
 *   ...
 *   tpcollect_end();
 *
 *   tpcollect_counter("loss", 0.25);
 *
 * Linking: against nothing. The collector's functions are found where libtpcollect.so is preloaded
 * or linked, and where it comes later by dlopen (which then has to be told RTLD_GLOBAL): a program
 * that has not found them looks again, at most once in about a second. Without the library a call
 * reads a pointer and a clock register, about 10 ns. glibc before 2.34 wants -ldl. What began
 * before the library came is not told. On other systems than Linux on x86-64 the calls do nothing.
 *
 * Costs: with the collector, begin and end of a range take what nvtxRangePush and nvtxRangePop
 * take; no lock, no allocation and no system call after a thread's first call. Inputs cost some ns
 * each.
 *
 * Threads: any, at any time; but not from signal handlers. Ranges nest within their thread, and
 * tpcollect_end ends the innermost one that was begun here (NVTX's ranges have ends of their own).
 * An asynchronous span may be ended on another thread.
 *
 * Ownership: everything is copied before a call returns.
 *
 * Errors: there are none to handle. What finds no room (names beyond 16,000 bytes are cut; inputs
 * beyond some 2,000 bytes are left out, all of them; a thread that is faster than the collector
 * loses whole ranges) is counted, and shown by `tpctl ps`.
 *
 * Compatibility: structs begin with their size, and grow at their end alone; a program may be newer
 * or older than the library.
 */
#ifndef COLLECTOR_TPCOLLECT_H_
#define COLLECTOR_TPCOLLECT_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__linux__) && defined(__x86_64__) && defined(__GNUC__) && !defined(TPCOLLECT_IN_LIBRARY)
#define TPCOLLECT_CAN_LOOK
#include <dlfcn.h>
#endif

#ifdef __GNUC__
#define TPCOLLECT_INLINE __attribute__((unused)) static inline
#else
#define TPCOLLECT_INLINE static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of operations: the letters that tables and traces show. */
#define TPCOLLECT_KIND_OPERATION 'o'
#define TPCOLLECT_KIND_USER_ANNOTATION 'u'
#define TPCOLLECT_KIND_BACKWARD 'b'

/* An input. Is as it is for ever: there are arrays of it. */
typedef struct tpcollect_tensor {
  const int64_t* sizes; /* `rank` of them. */
  const char* dtype;    /* "float"; NULL: not told. */
  uint32_t rank;        /* 0: a scalar, or no tensor. At most 32. */
  uint32_t reserved;    /* 0. */
} tpcollect_tensor;

typedef struct tpcollect_operation {
  size_t struct_size; /* sizeof(tpcollect_operation). */
  const char* name;   /* UTF-8. */
  int32_t kind;       /* TPCOLLECT_KIND_...; anything else is a user annotation. */
  uint32_t input_count;
  const tpcollect_tensor* inputs; /* NULL: not told. */
  int64_t flops;        /* Floating point operations, 2 for a multiply-add; 0: not known. */
  int64_t output_bytes; /* Of memory that the operation allocates for its results; 0: not known. */
} tpcollect_operation;

/* An operation with this name and nothing else. */
#define TPCOLLECT_OPERATION_INIT(name) \
  { sizeof(tpcollect_operation), (name), TPCOLLECT_KIND_OPERATION, 0, NULL, 0, 0 }

/* What the library offers. Grows at its end. */
typedef struct tpcollect_functions {
  size_t struct_size;
  void (*begin)(const char* name);
  void (*begin_operation)(const tpcollect_operation* operation);
  void (*end)(void);
  uint64_t (*start)(const tpcollect_operation* operation);
  void (*stop)(uint64_t span);
  void (*counter)(const char* name, double value);
} tpcollect_functions;

/* The library's one function for this header; NULL from it: nothing is collected here. */
#ifdef TPCOLLECT_IN_LIBRARY
const tpcollect_functions* tpcollect_get_functions(void);
#else

#ifdef TPCOLLECT_CAN_LOOK
extern const tpcollect_functions* tpcollect_get_functions(void) __attribute__((weak));

/* One in each program and shared library that uses this header. */
typedef struct tpcollect_state {
  const tpcollect_functions* functions;
  uint64_t next_look;
} tpcollect_state;
extern tpcollect_state tpcollect_state_here;
__attribute__((weak, visibility("hidden"))) tpcollect_state tpcollect_state_here = {NULL, 0};

__attribute__((noinline, cold, unused)) static const tpcollect_functions* tpcollect_look(void) {
  const tpcollect_functions* (*get)(void) = tpcollect_get_functions;
  const tpcollect_functions* functions;
  /* A linker may have settled on null for the weak symbol, or the library came later. */
  if (get == NULL) {
    void* found = dlsym(NULL /* RTLD_DEFAULT */, "tpcollect_get_functions");
    __builtin_memcpy(&get, &found, sizeof(get));
  }
  functions = get == NULL ? NULL : get();
  if (functions != NULL) {
    __atomic_store_n(&tpcollect_state_here.functions, functions, __ATOMIC_RELEASE);
  }
  return functions;
}

TPCOLLECT_INLINE const tpcollect_functions* tpcollect_find(void) {
  const tpcollect_functions* functions =
      __atomic_load_n(&tpcollect_state_here.functions, __ATOMIC_ACQUIRE);
  uint64_t ticks, next;
  if (__builtin_expect(functions != NULL, 1)) return functions;
  ticks = __builtin_ia32_rdtsc();
  next = __atomic_load_n(&tpcollect_state_here.next_look, __ATOMIC_RELAXED);
  if (__builtin_expect(ticks < next, 1)) return NULL;
  __atomic_store_n(&tpcollect_state_here.next_look, ticks + 2147483648u, __ATOMIC_RELAXED);
  return tpcollect_look();
}
#else
TPCOLLECT_INLINE const tpcollect_functions* tpcollect_find(void) { return NULL; }
#endif

/* Whether somebody listens: for programs that would have to work out what they tell. */
TPCOLLECT_INLINE int tpcollect_is_active(void) { return tpcollect_find() != NULL; }

/* Begins a user annotation in the nesting of the calling thread. */
TPCOLLECT_INLINE void tpcollect_begin(const char* name) {
  const tpcollect_functions* functions = tpcollect_find();
  if (functions != NULL) functions->begin(name);
}

/* Begins an operation in the nesting of the calling thread. */
TPCOLLECT_INLINE void tpcollect_begin_operation(const tpcollect_operation* operation) {
  const tpcollect_functions* functions = tpcollect_find();
  if (functions != NULL) functions->begin_operation(operation);
}

/* Ends what the calling thread began last and has not ended. */
TPCOLLECT_INLINE void tpcollect_end(void) {
  const tpcollect_functions* functions = tpcollect_find();
  if (functions != NULL) functions->end();
}

/* Begins an asynchronous span, which has no place in the nesting of a thread. Returns the handle to
 * end it with; 0, which needs no end, if it is not recorded. */
TPCOLLECT_INLINE uint64_t tpcollect_start(const tpcollect_operation* operation) {
  const tpcollect_functions* functions = tpcollect_find();
  return functions != NULL ? functions->start(operation) : 0;
}

/* Ends it. Any thread. */
TPCOLLECT_INLINE void tpcollect_stop(uint64_t span) {
  const tpcollect_functions* functions = tpcollect_find();
  if (functions != NULL) functions->stop(span);
}

/* Says what the value of a counter is now. Whole numbers are exact up to 2^53. */
TPCOLLECT_INLINE void tpcollect_counter(const char* name, double value) {
  const tpcollect_functions* functions = tpcollect_find();
  if (functions != NULL) functions->counter(name, value);
}

#endif /* TPCOLLECT_IN_LIBRARY */

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* COLLECTOR_TPCOLLECT_H_ */
