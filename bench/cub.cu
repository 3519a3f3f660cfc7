/* CUB for cub.py: one function per call of CUB, on the caller's memory and stream.
 *
 *     nvcc -std=c++17 -O3 -arch=native -shared -Xcompiler -fPIC cub.cu -o libcub.so
 *
 * As in CUB, a function called without scratch memory stores the size that it needs in `bytes`; called with it, it starts the
 * work. Each function returns CUDA's error.
 */
#include <cstdint>

#include <cub/cub.cuh>

struct IsKept {
    __device__ bool operator()(const float x) const { return x > 0.5f; }
};

struct Larger {
    __device__ float operator()(const float a, const float b) const { return a < b ? b : a; }
};

#define CALL(name, x_t, y_t, ...)                                                                                      \
    extern "C" int name(void *scratch, size_t *bytes, const x_t *x, y_t *y, const int64_t n, const int64_t bins,        \
                        const bool *mask, int64_t *count, cudaStream_t stream)                                         \
    {                                                                                                                  \
        return (int)(__VA_ARGS__);                                                                                     \
    }

CALL(reduce_sum, float, float, cub::DeviceReduce::Sum(scratch, *bytes, x, y, n, stream))
CALL(reduce_max, float, float, cub::DeviceReduce::Max(scratch, *bytes, x, y, n, stream))
CALL(scan_sum, float, float, cub::DeviceScan::InclusiveSum(scratch, *bytes, x, y, n, stream))
CALL(scan_sum_exclusive, float, float, cub::DeviceScan::ExclusiveSum(scratch, *bytes, x, y, n, stream))
CALL(scan_max, float, float, cub::DeviceScan::InclusiveScan(scratch, *bytes, x, y, Larger(), n, stream))
CALL(scan_sum_of_float64, double, double, cub::DeviceScan::InclusiveSum(scratch, *bytes, x, y, n, stream))
CALL(scan_sum_of_int32, int32_t, int32_t, cub::DeviceScan::InclusiveSum(scratch, *bytes, x, y, n, stream))
CALL(compact_by_a_mask, float, float, cub::DeviceSelect::Flagged(scratch, *bytes, x, mask, y, count, n, stream))
CALL(compact_by_a_function, float, float, cub::DeviceSelect::If(scratch, *bytes, x, y, count, n, IsKept(), stream))
CALL(histogram, float, int,
     cub::DeviceHistogram::HistogramEven(scratch, *bytes, x, y, (int)bins + 1, 0.0f, 1.0f, n, stream))
CALL(bincount_uint8, uint8_t, int, cub::DeviceHistogram::HistogramEven(scratch, *bytes, x, y, 257, 0, 256, n, stream))

/* Sums that are the same on every GPU, in CUB from 3.2 on. CUB takes its scratch memory from the stream's pool. */
#if CUB_VERSION >= 300200
#include <cuda/__execution/determinism.h>
#include <cuda/__execution/require.h>
#include <cuda/std/__execution/env.h>
#include <cuda/stream_ref>

template <class T> int sum_on_every_gpu(void *scratch, size_t *bytes, const T *x, T *y, int64_t n, cudaStream_t stream)
{
    if (!scratch) {
        *bytes = 1;
        return 0;
    }
    const auto alike = cuda::execution::require(cuda::execution::determinism::gpu_to_gpu);
    return (int)cub::DeviceReduce::Sum(x, y, n, cuda::std::execution::env{cuda::stream_ref{stream}, alike});
}

CALL(reduce_sum_device, float, float, (cudaError_t)sum_on_every_gpu(scratch, bytes, x, y, n, stream))
#endif

/* Sorts. Those with values take these in place of a mask, and store them behind the keys. */
#define SORT(name, key_t)                                                                                              \
    CALL(name, key_t, key_t,                                                                                           \
         cub::DeviceRadixSort::SortKeys(scratch, *bytes, x, y, n, 0, (int)(8 * sizeof(key_t)), stream))
#define SORT_PAIRS(name, key_t)                                                                                        \
    CALL(name, key_t, key_t,                                                                                           \
         cub::DeviceRadixSort::SortPairs(scratch, *bytes, x, y, (const uint32_t *)mask, (uint32_t *)(y + n), n, 0,     \
                                         (int)(8 * sizeof(key_t)), stream))

SORT(sort_uint8, uint8_t)
SORT(sort_int32, int32_t)
SORT(sort_uint32, uint32_t)
SORT(sort_uint64, uint64_t)
SORT(sort_float32, float)
SORT_PAIRS(sort_pairs, uint32_t)
SORT_PAIRS(argsort_float32, float)
CALL(unique_int32, int32_t, int32_t, cub::DeviceSelect::Unique(scratch, *bytes, x, y, count, n, stream))
