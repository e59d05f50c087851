// A library that the CUDA driver may load (CUDA_INJECTION64_PATH), and that does nothing.

extern "C" int InitializeInjection() { return 1; }
