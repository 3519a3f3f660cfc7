/* OpenCL's words in CUDA, and names for what the two languages write differently.
 *
 * Kernels and headers are OpenCL C. NVRTC compiles them after this file; OpenCL's compilers after their own prelude, which defines
 * the same names.
 */

typedef unsigned char b8;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

/* A kernel's head: WORK_GROUP, or with the groups that a multiprocessor must have room for WORK_GROUP_RESIDENT. */
#define __kernel extern "C" __global__
#define WORK_GROUP(block) __launch_bounds__(block)
#define WORK_GROUP_RESIDENT(block, groups) __launch_bounds__(block, groups)
#define WHOLE_WARPS

/* Where a work-item is; kernels have one dimension. */
#define get_local_id(axis) threadIdx.x
#define get_group_id(axis) blockIdx.x
#define get_num_groups(axis) gridDim.x

/* Local memory: __local declares it, LOCAL is for pointers to it. LOCAL_PARAMETER and LOCAL_MEMORY are for memory of a size that the
 * launch decides. */
#define __local __shared__
#define LOCAL
#define GLOBAL
#define LOCAL_PARAMETER
#define LOCAL_MEMORY(type, name)                                                                                       \
    extern __shared__ __align__(16) u64 gp_dynamic[];                                                                  \
    type *name = reinterpret_cast<type *>(gp_dynamic)
#define CLK_LOCAL_MEM_FENCE
#define barrier(fence) __syncthreads()

#define DEVICE static __device__ __forceinline__
#define RESTRICT __restrict__
#define ALIGNED __align__(16)

/* Products. A product and the sum that follows may be rounded once, as CONTRACTED allows; map rounds both, as NumPy does. */
#if CONTRACTED
#define gp_times_f32(a, b) ((a) * (b))
#define gp_times_f64(a, b) ((a) * (b))
#else
#define gp_times_f32(a, b) __fmul_rn(a, b)
#define gp_times_f64(a, b) __dmul_rn(a, b)
#endif

#define gp_count_bits(word) __popc(word)
#define gp_magnitude(number) fabsf(number)

#define gp_sqrt_f32(value) sqrt(value)
#define gp_sqrt_f64(value) sqrt(value)
#define gp_hypot_f32(a, b) hypot(a, b)
#define gp_hypot_f64(a, b) hypot(a, b)

/* Powers of two and inverses; those of f32 have a relative error of some 2^-22. */
#define gp_power_f64(value) exp2(value)
#define gp_inverse_f64(value) (1 / (value))

DEVICE f32 gp_power_f32(const f32 exponent)
{
    f32 power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
    return power;
}

DEVICE f32 gp_inverse_f32(const f32 value)
{
    f32 inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(value));
    return inverse;
}

/* Halves are converted by the instruction itself, which needs no header of CUDA's. */

DEVICE f32 gp_half_value(const u16 bits)
{
    f32 value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

DEVICE u16 gp_half_bits(const f32 value)
{
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits == 0x7fff ? 0x7e00 : bits; /* NaN, with NumPy's bits */
}

/* Neighbours in memory, in one load or store of a word of their size. The store is CUDA's own function, because the compiler may split
 * an assignment into a store for each neighbour. */
template <int bytes> struct gp_word;
template <> struct gp_word<2> { typedef unsigned short type; };
template <> struct gp_word<4> { typedef unsigned int type; };
template <> struct gp_word<8> { typedef uint2 type; };
template <> struct gp_word<16> { typedef uint4 type; };

template <typename type, int count> union gp_vector {
    typename gp_word<sizeof(type) * count>::type word;
    type items[count];
};

template <typename type, int count> DEVICE void gp_read_vector(const type *from, type *to)
{
    gp_vector<type, count> read;
    read.word = *reinterpret_cast<const decltype(read.word) *>(from);
#pragma unroll
    for (int item = 0; item < count; item++) to[item] = read.items[item];
}

template <typename type, int count> DEVICE void gp_write_local(type *to, const type *from)
{
    gp_vector<type, count> written;
#pragma unroll
    for (int item = 0; item < count; item++) written.items[item] = from[item];
    *reinterpret_cast<decltype(written.word) *>(to) = written.word;
}

template <typename type, int count> DEVICE void gp_write_vector(type *to, const type *from)
{
    gp_vector<type, count> written;
#pragma unroll
    for (int item = 0; item < count; item++) written.items[item] = from[item];
    __stwb(reinterpret_cast<decltype(written.word) *>(to), written.word);
}

#define READ_VECTOR(type, count, from, to) gp_read_vector<type, count>(from, to)
#define WRITE_VECTOR(type, count, to, from) gp_write_vector<type, count>(to, from)
#define VECTOR_OF(kind, count) gp_word<sizeof(kind) * count>::type
#define SPREAD_VECTOR(type, count, vector, to) gp_read_vector<type, count>((const type *)&(vector), to)
#define READ_LOCAL(type, count, from, to) gp_read_vector<type, count>(from, to)
#define WRITE_LOCAL(type, count, to, from) gp_write_local<type, count>(to, from)

/* Ask for the memory around an address, which is read soon. */
#define gp_prefetch(address) asm volatile("prefetch.global.L2 [%0];" : : "l"(address))

/* Floats as bits and back; bits.h has the same for integers. */
#define gp_bits_f32(value) __float_as_uint(value)
#define gp_bits_f64(value) ((u64)__double_as_longlong(value))
#define gp_from_bits_f32(bits) __uint_as_float(bits)
#define gp_from_bits_f64(bits) __longlong_as_double((i64)(bits))

/* Warps: a 32-bit word of another lane, and a test for a number that is not zero in any lane. */
#define gp_warp_barrier() __syncwarp()
#define gp_shuffle_word_down(word, stride) __shfl_down_sync(0xffffffffu, word, stride)
#define gp_shuffle_word_up(word, stride) __shfl_up_sync(0xffffffffu, word, stride)
#define gp_shuffle_word_from(word, lane) __shfl_sync(0xffffffffu, word, lane)
#define gp_any_lane(number) __any_sync(0xffffffffu, number)
#define gp_ballot(number) __ballot_sync(0xffffffffu, number) /* a bit for each lane whose number is not zero */

/* The nearest lane at or below `lane` whose number is not zero, or -1. */
DEVICE int gp_nearest_lane(const int number, const int lane)
{
    return 31 - __clz(gp_ballot(number) & 0xffffffffu >> (31 - lane));
}

/* Atomics in global and in local memory. A result is the value before; slots have 32 or 64 bits. */
#define gp_compare_exchange(slot, expected, desired) atomicCAS(slot, expected, desired)
#define gp_exchange(slot, value) atomicExch(slot, value)
#define gp_take_place(slot, free, place) atomicCAS(slot, free, place)
#define gp_raise(place, number) atomicMax(place, number)
#define gp_increment(place) atomicAdd(place, 1u)
#define gp_add_count(place, number) atomicAdd(place, number)
#define gp_read_count(place) (*(volatile const u32 *)(place)) /* in local memory, while others add to it */
#define gp_set_bits(place, bits) atomicOr(place, bits)
#define gp_add_integer(place, number) atomicAdd(reinterpret_cast<u64 *>(place), (u64)(number))
#define gp_add_float_locally(place, number) atomicAdd(place, number)
#define gp_add_float_globally(place, number) atomicAdd(place, number)

/* Words that one group writes and another reads, past the first level of cache, which groups do not share. */
#define gp_write_word(place, word) __stcg(place, word)
#define gp_read_word(place) __ldcg(place)

DEVICE void gp_fence(void)
{
    __threadfence();
}

/* Count a group that is done; true for the last of `parts`. The counter is then zero again, for the next launch. */
DEVICE int gp_last_done(u32 *counter, const i64 parts)
{
    gp_fence();
    const int last = atomicAdd(counter, 1) == parts - 1;
    if (last) *counter = 0;
    gp_fence();
    return last;
}

/* Entries: 64 bits that groups read and write as a whole, also at the same time. GP_ENTRIES is defined where a device has them. */
#define GP_ENTRIES
DEVICE u64 gp_read_entry(const u64 *entry)
{
    u64 bits;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(bits) : "l"(entry) : "memory");
    return bits;
}

DEVICE void gp_write_entry(u64 *entry, const u64 bits)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(entry), "l"(bits) : "memory");
}

#define gp_add_entry(entry, number) atomicAdd(entry, number)

/* Add to an entry after all that the group has written, and read one before all that follows, for others' writes. */
DEVICE void gp_release_entry(u64 *entry, const u64 number)
{
    asm volatile("red.release.gpu.global.add.u64 [%0], %1;" : : "l"(entry), "l"(number) : "memory");
}

DEVICE u64 gp_acquire_entry(const u64 *entry)
{
    u64 bits;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(bits) : "l"(entry) : "memory");
    return bits;
}

/* A float of WORDS words in global memory that all groups add to at once: its value now, and an atomic addition. */
#if WORDS == 1
#define GP_FLOAT f32
#define GP_REGISTER "f"
#else
#define GP_FLOAT f64
#define GP_REGISTER "d"
#endif
#define GP_TEXT_(type) #type
#define GP_TEXT(type) GP_TEXT_(type)

DEVICE GP_FLOAT gp_now(GP_FLOAT *place)
{
    GP_FLOAT number;
    asm volatile("ld.relaxed.gpu.global." GP_TEXT(GP_FLOAT) " %0, [%1];" : "=" GP_REGISTER(number) : "l"(place) : "memory");
    return number;
}

#define gp_add_now(place, number) atomicAdd(place, number)
