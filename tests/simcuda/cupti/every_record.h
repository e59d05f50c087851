// Makes every kind of record that the simulated CUPTI can make.
#ifndef TESTS_SIMCUDA_CUPTI_EVERY_RECORD_H_
#define TESTS_SIMCUDA_CUPTI_EVERY_RECORD_H_

// On the fake driver, and flushes. Kinds that the posed version does not have are left out. The
// test fails where a call fails.
void MakeEveryRecord();

#endif  // TESTS_SIMCUDA_CUPTI_EVERY_RECORD_H_
