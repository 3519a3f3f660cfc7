/* CUB beside gpuprims: device-wide scans and selections, each checked, then timed; a JSON object a line.
 *
 *     nvcc -std=c++17 -O3 -arch=native cub.cu -o cub && ./cub
 *
 * The names of works are those of cases.py, and so are the elements: -1 and 1 for sums, which are then exact in every order,
 * and numbers from 0 to 1 of which half are kept.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cub/cub.cuh>

static void check(const cudaError_t error, const int line)
{
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "cub.cu:%d: %s\n", line, cudaGetErrorString(error));
    std::exit(1);
}
#define CHECK(call) check(call, __LINE__)

/* Device memory that goes with its scope. */
template <class T> struct Array {
    T *data = nullptr;
    explicit Array(const size_t size) { CHECK(cudaMalloc(&data, std::max(size, size_t(1)) * sizeof(T))); }
    ~Array() { cudaFree(data); }
    Array(const Array &) = delete;
    Array &operator=(const Array &) = delete;
};

/* 32 bits that look random, the same for an index wherever they are computed. */
__host__ __device__ static uint32_t bits_of(const size_t index)
{
    uint64_t z = index + 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return uint32_t(z >> 32);
}

__host__ __device__ static float share_of(const size_t index) { return float(bits_of(index) >> 8) / (1 << 24); }

struct IsKept {
    __host__ __device__ bool operator()(const float x) const { return x > 0.5f; }
};

template <class T> __global__ void fill_steps(T *x, const size_t size)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < size; i += size_t(gridDim.x) * blockDim.x)
        x[i] = bits_of(i) & 1 ? T(1) : T(-1);
}

__global__ void fill_shares(float *x, bool *mask, const size_t size)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < size; i += size_t(gridDim.x) * blockDim.x) {
        x[i] = share_of(i);
        mask[i] = IsKept()(x[i]);
    }
}

/* The median time of a call that is given scratch memory, in seconds, after calls that ask how much and warm up. */
template <class Call> double seconds_of(Call call)
{
    size_t bytes = 0;
    CHECK(call(nullptr, bytes));
    Array<char> scratch(bytes);
    cudaEvent_t before, after;
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&after));
    std::vector<float> times;
    for (int run = 0; run < 24; run++) {
        float milliseconds;
        CHECK(cudaEventRecord(before));
        CHECK(call(scratch.data, bytes));
        CHECK(cudaEventRecord(after));
        CHECK(cudaEventSynchronize(after));
        CHECK(cudaEventElapsedTime(&milliseconds, before, after));
        if (run >= 3) times.push_back(milliseconds);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2] * 1e-3;
}

static void tell(const char *work, const size_t size, const double seconds)
{
    std::printf("{\"work\": \"%s\", \"size\": %zu, \"seconds\": %.9f}\n", work, size, seconds);
    std::fflush(stdout);
}

static void expect(const bool right, const char *work)
{
    if (right) return;
    std::fprintf(stderr, "cub.cu: %s is wrong\n", work);
    std::exit(1);
}

/* The last element of a scan is the sum of all, or of all before it. */
template <class T> void expect_last(const T *y, const size_t size, const bool inclusive, const char *work)
{
    int64_t sum = 0;
    for (size_t i = 0; i < size - !inclusive; i++) sum += bits_of(i) & 1 ? 1 : -1;
    T last;
    CHECK(cudaMemcpy(&last, y + size - 1, sizeof(T), cudaMemcpyDeviceToHost));
    expect(int64_t(last) == sum, work);
}

template <class T> void scans(const size_t size, const char *inclusive, const char *exclusive)
{
    Array<T> x(size), y(size);
    fill_steps<<<1024, 256>>>(x.data, size);
    const double seconds = seconds_of([&](void *scratch, size_t &bytes) {
        return cub::DeviceScan::InclusiveSum(scratch, bytes, x.data, y.data, int64_t(size));
    });
    expect_last(y.data, size, true, inclusive);
    tell(inclusive, size, seconds);
    if (!exclusive) return;
    const double others = seconds_of([&](void *scratch, size_t &bytes) {
        return cub::DeviceScan::ExclusiveSum(scratch, bytes, x.data, y.data, int64_t(size));
    });
    expect_last(y.data, size, false, exclusive);
    tell(exclusive, size, others);
}

static void expect_kept(const float *y, const int64_t *count, const size_t size, const char *work)
{
    int64_t kept = 0, found;
    float last = 0, got;
    for (size_t i = 0; i < size; i++) {
        if (IsKept()(share_of(i))) {
            kept++;
            last = share_of(i);
        }
    }
    CHECK(cudaMemcpy(&found, count, sizeof(found), cudaMemcpyDeviceToHost));
    expect(found == kept, work);
    CHECK(cudaMemcpy(&got, y + kept - 1, sizeof(got), cudaMemcpyDeviceToHost));
    expect(got == last, work);
}

static void selections(const size_t size)
{
    Array<float> x(size), y(size);
    Array<bool> mask(size);
    Array<int64_t> count(1);
    fill_shares<<<1024, 256>>>(x.data, mask.data, size);
    const double flagged = seconds_of([&](void *scratch, size_t &bytes) {
        return cub::DeviceSelect::Flagged(scratch, bytes, x.data, mask.data, y.data, count.data, int64_t(size));
    });
    expect_kept(y.data, count.data, size, "compact by a mask");
    tell("compact by a mask", size, flagged);
    const double tried = seconds_of([&](void *scratch, size_t &bytes) {
        return cub::DeviceSelect::If(scratch, bytes, x.data, y.data, count.data, int64_t(size), IsKept());
    });
    expect_kept(y.data, count.data, size, "compact by a function");
    tell("compact by a function", size, tried);
}

enum Spread { EVENLY, SKEWED, ALIKE };

__global__ void fill_spread(float *x, const size_t size, const Spread spread)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < size; i += size_t(gridDim.x) * blockDim.x) {
        const float share = share_of(i), square = share * share;
        x[i] = spread == ALIKE ? 0.5f : spread == SKEWED ? square * square * (square * square) : share;
    }
}

__global__ void fill_bytes(uint8_t *x, const size_t size)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < size; i += size_t(gridDim.x) * blockDim.x)
        x[i] = uint8_t(bits_of(i) >> 24);
}

/* All elements are in some bin. */
static void expect_all(const Array<int> &counts, const int bins, const size_t size, const char *work)
{
    std::vector<int> found(bins);
    CHECK(cudaMemcpy(found.data(), counts.data, bins * sizeof(int), cudaMemcpyDeviceToHost));
    size_t sum = 0;
    for (const int count : found) sum += count;
    expect(sum == size, work);
}

static void histogram(const size_t size, const int bins, const Spread spread, const char *work)
{
    Array<float> x(size);
    Array<int> counts(bins);
    fill_spread<<<1024, 256>>>(x.data, size, spread);
    const double seconds = seconds_of([&](void *scratch, size_t &bytes) {
        return cub::DeviceHistogram::HistogramEven(scratch, bytes, x.data, counts.data, bins + 1, 0.f, 1.f, int64_t(size));
    });
    expect_all(counts, bins, size, work);
    tell(work, size, seconds);
}

static void histograms(const size_t size)
{
    histogram(size, 256, EVENLY, "histogram 256");
    histogram(size, 256, SKEWED, "histogram 256, skewed");
    histogram(size, 256, ALIKE, "histogram 256, all alike");
    histogram(size, 16384, EVENLY, "histogram 16384");
    histogram(size, 16384, SKEWED, "histogram 16384, skewed");
    histogram(size, 49152, EVENLY, "histogram 49152");
    histogram(size, 1 << 20, EVENLY, "histogram 1048576");
    Array<uint8_t> x(size);
    Array<int> counts(256);
    fill_bytes<<<1024, 256>>>(x.data, size);
    const double seconds = seconds_of([&](void *scratch, size_t &bytes) {
        return cub::DeviceHistogram::HistogramEven(scratch, bytes, x.data, counts.data, 257, 0, 256, int64_t(size));
    });
    expect_all(counts, 256, size, "bincount uint8");
    tell("bincount uint8", size, seconds);
}

int main()
{
    for (const int power : {24, 28, 30}) {
        const size_t size = size_t(1) << power;
        size_t unused, memory;
        CHECK(cudaMemGetInfo(&unused, &memory));
        if (24 * size < memory) scans<double>(size, "scan sum of float64", nullptr);
        if (12 * size < memory) {
            scans<float>(size, "scan sum", "scan sum, exclusive");
            scans<int32_t>(size, "scan sum of int32", nullptr);
            selections(size);
            histograms(size);
        }
    }
    return 0;
}
