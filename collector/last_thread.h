// Whether the program is over although the process is not: its main thread has ended by
// pthread_exit and so have all others, which would be the process's end but for our own thread.
#ifndef COLLECTOR_LAST_THREAD_H_
#define COLLECTOR_LAST_THREAD_H_

namespace tp::collect {

// To be called once, while the library is loaded: from then on the main thread's end is noticed, if
// it is the calling one, and IsLastThread asks the system nothing before that.
void WatchMainThread();

// The calling thread is the only one left, and not the main one. Reads /proc, if the main thread
// may have ended; false if it cannot.
bool IsLastThread();

}  // namespace tp::collect

#endif  // COLLECTOR_LAST_THREAD_H_
