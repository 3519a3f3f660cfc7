/* Names for what OpenCL and CUDA write differently. Kernels and headers follow this file, in OpenCL C. */
#ifdef __clang__
/* "#pragma unroll" is a hint: a compiler that does not unroll a loop should not warn about it. */
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#ifdef HAS_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double f64;
#endif
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif

typedef uchar b8;
typedef char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef float f32;

/* Attributes of a kernel. CUDA also uses the number of groups that a multiprocessor must have room for. */
#define WORK_GROUP(block) __attribute__((reqd_work_group_size(block, 1, 1)))
#define WORK_GROUP_RESIDENT(block, groups) WORK_GROUP(block)

/* LOCAL and GLOBAL qualify pointers. LOCAL_PARAMETER and LOCAL_MEMORY declare local memory whose size the launch chooses. */
#define LOCAL __local
#define GLOBAL __global
#define LOCAL_PARAMETER , LOCAL u64 *gp_dynamic
#define LOCAL_MEMORY(type, name) LOCAL type *name = (LOCAL type *)gp_dynamic

/* Portable functions are long, and compilers for CPUs vectorise only loops without calls. CALLS is defined under Oclgrind, which
 * cannot run what LLVM makes of such functions if they are inlined. */
#if PORTABLE && !defined(CALLS)
#define DEVICE static inline __attribute__((always_inline))
#else
#define DEVICE static inline
#endif
#define RESTRICT restrict
#define ALIGNED __attribute__((aligned(16)))

/* Products. With CONTRACTED, a product and the next sum may be rounded once; map rounds both, as NumPy does. NVIDIA's compiler
 * contracts by default, but not instructions that name their rounding. */
#if CONTRACTED
#define gp_times_f32(a, b) ((a) * (b))
#define gp_times_f64(a, b) ((a) * (b))
#else
#pragma OPENCL FP_CONTRACT OFF
#ifdef __NV_CL_C_VERSION
DEVICE f32 gp_times_f32(const f32 a, const f32 b)
{
    f32 product;
    asm("mul.rn.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
    return product;
}
#ifdef HAS_F64
DEVICE f64 gp_times_f64(const f64 a, const f64 b)
{
    f64 product;
    asm("mul.rn.f64 %0, %1, %2;" : "=d"(product) : "d"(a), "d"(b));
    return product;
}
#endif
#else
#define gp_times_f32(a, b) ((a) * (b))
#define gp_times_f64(a, b) ((a) * (b))
#endif
#endif

#define gp_count_bits(word) popcount(word)
/* Not fabs, because Intel's compiler then does not vectorise the search for bins. */
#define gp_magnitude(number) as_float(as_uint(number) & 0x7FFFFFFFu)

/* Roots. In loops of one work-item, Intel's compiler vectorises only its built-in square root. There hypot stays scalar, as in PoCL,
 * and across work-items it is slow. This hypot scales operands whose squares would overflow or lose bits (measurements.md: roots). */
#if defined(cl_intel_required_subgroup_size) && BLOCK == 1
#define gp_sqrt_f32(value) __builtin_sqrtf(value)
#define gp_sqrt_f64(value) __builtin_sqrt(value)
#else
#define gp_sqrt_f32(value) sqrt(value)
#define gp_sqrt_f64(value) sqrt(value)
#endif
#if defined(cl_intel_required_subgroup_size) || defined(POCL_DEVICE_ADDRESS_BITS)
#define GP_HYPOT(type, magnitude, infinity, large, small, power)                                                       \
    DEVICE type gp_hypot_##type(const type a, const type b)                                                            \
    {                                                                                                                  \
        const type x = magnitude(a), y = magnitude(b), most = x > y ? x : y;                                           \
        const type to = most > large ? 1 / power : most < small ? power : 1;                                           \
        const type from = most > large ? power : most < small ? 1 / power : 1;                                         \
        const type root = gp_sqrt_##type(x * to * (x * to) + y * to * (y * to)) * from;                                \
        return ((x == infinity) | (y == infinity)) ? infinity : root;                                                  \
    }
GP_HYPOT(f32, gp_magnitude, as_float(0x7F800000), 0x1p60f, 0x1p-45f, 0x1p88f)
#ifdef HAS_F64
#define GP_MAGNITUDE_F64(number) as_double(as_ulong(number) & 0x7FFFFFFFFFFFFFFFUL)
GP_HYPOT(f64, GP_MAGNITUDE_F64, as_double(0x7FF0000000000000L), 0x1p500, 0x1p-450, 0x1p650)
#endif
#else
#define gp_hypot_f32(a, b) hypot(a, b)
#define gp_hypot_f64(a, b) hypot(a, b)
#endif

/* Of a number and a NaN, the number. In loops of one work-item, Intel's functions stay scalar (measurements.md: extremes). */
#if defined(cl_intel_required_subgroup_size) && BLOCK == 1
#define fmin(a, b) ((((a) < (b)) | ((b) != (b))) ? (a) : (b))
#define fmax(a, b) ((((a) > (b)) | ((b) != (b))) ? (a) : (b))
#endif

/* Powers of two and inverses. OpenCL does not bound the error of native functions: it is some 2^-22 on NVIDIA's GPUs, and 2^-16 for
 * Intel's powers of two. */
#define gp_power_f64(value) exp2(value)
#define gp_inverse_f64(value) (1 / (value))
#ifdef __NV_CL_C_VERSION
#define gp_power_f32(value) native_exp2(value)
#define gp_inverse_f32(value) native_recip(value)
#else
#define gp_power_f32(value) exp2(value)
#define gp_inverse_f32(value) (1 / (value))
#endif

/* Halves are converted by vload_half and vstore_half, which need no half arithmetic. Intel's compilers only vectorise conversions
 * of the type half (measurements.md: halves). */

#if defined(cl_khr_fp16) && defined(cl_intel_required_subgroup_size) && BLOCK > 1
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define gp_half_value(bits) convert_float(as_half((ushort)(bits)))
#define gp_half_bits(value) as_ushort(convert_half_rte((float)(value)))
#elif (defined(cl_intel_required_subgroup_size) || defined(POCL_DEVICE_ADDRESS_BITS)) && BLOCK == 1
/* Intel's compiler vectorises those across work-items only, and PoCL not at all. Both vectorise shifts in loops (measurements.md: halves). */
DEVICE f32 gp_half_value(const u16 bits)
{
    const u32 size = (u32)(bits & 0x7fff) << 13, sign = (u32)(bits & 0x8000) << 16;
    const u32 finite = as_uint(as_float(size) * 0x1p112f);
    return as_float(sign | (size < 0x7c00 << 13 ? finite : size | 0x7f800000));
}

DEVICE u16 gp_half_bits(const f32 value)
{
    const u32 bits = as_uint(value), size = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
    const u32 normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
    const u32 small = as_uint(as_float(size) + 0.5f) - as_uint(0.5f);
    const u32 large = size > 0x7f800000 ? 0x7e00 | (size >> 13 & 0x3ff) : 0x7c00;
    return (u16)(sign | (size < 0x38800000 ? small : size < 0x47800000 ? normal : large));
}
#else
DEVICE f32 gp_half_value(const u16 bits)
{
    return vload_half(0, (const half *)&bits);
}

DEVICE u16 gp_half_bits(const f32 value)
{
    u16 bits;
    vstore_half_rte(value, 0, (half *)&bits);
    return bits == 0x7fff ? 0x7e00 : bits; /* the NaN of NVIDIA's GPUs becomes NumPy's */
}
#endif

/* Neighbours in memory, loaded or stored as one word of their total size. */
#define GP_JOINED_(type, count) type##count
#define GP_JOINED(type, count) GP_JOINED_(type, count)
#define GP_VECTOR_TYPE(type, count) GP_JOINED(GP_NATIVE_##type, count)
#define PAIR_OF(type) GP_VECTOR_TYPE(type, 2)
#define GP_NATIVE_b8 uchar
#define GP_NATIVE_i8 char
#define GP_NATIVE_i16 short
#define GP_NATIVE_i32 int
#define GP_NATIVE_i64 long
#define GP_NATIVE_u8 uchar
#define GP_NATIVE_u16 ushort
#define GP_NATIVE_u32 uint
#define GP_NATIVE_u64 ulong
#define GP_NATIVE_f32 float
#define GP_NATIVE_f64 double
/* Vectors of 8-bit and 16-bit elements are moved as 32-bit words: NVIDIA's compiler splits a uchar16 into four loads. */
#define GP_WORD_b8(count) GP_JOINED(GP_BYTES_, count)
#define GP_WORD_i8(count) GP_JOINED(GP_BYTES_, count)
#define GP_WORD_u8(count) GP_JOINED(GP_BYTES_, count)
#define GP_WORD_i16(count) GP_JOINED(GP_PAIRS_, count)
#define GP_WORD_u16(count) GP_JOINED(GP_PAIRS_, count)
#define GP_WORD_i32(count) GP_JOINED(int, count)
#define GP_WORD_u32(count) GP_JOINED(uint, count)
#define GP_WORD_i64(count) GP_JOINED(long, count)
#define GP_WORD_u64(count) GP_JOINED(ulong, count)
#define GP_WORD_f32(count) GP_JOINED(float, count)
#define GP_WORD_f64(count) GP_JOINED(double, count)
#define GP_BYTES_2 ushort
#define GP_BYTES_4 uint
#define GP_BYTES_8 uint2
#define GP_BYTES_16 uint4
#define GP_PAIRS_2 uint
#define GP_PAIRS_4 uint2
#define GP_PAIRS_8 uint4
#define GP_PAIRS_16 uint8
#define VECTOR_OF(type, count) VECTOR_OF_(type, count)
#define VECTOR_OF_(type, count) GP_WORD_##type(count)
#define GP_CAST(type) GP_JOINED(as_, type)
#define SPREAD_VECTOR(type, count, vector, to)                                                                         \
    GP_JOINED(vstore, count)(GP_CAST(GP_VECTOR_TYPE(type, count))(vector), 0, to)
#define GATHER_VECTOR(type, count, from) GP_CAST(VECTOR_OF(type, count))(GP_JOINED(vload, count)(0, from))
#define READ_VECTOR(type, count, from, to)                                                                             \
    SPREAD_VECTOR(type, count, *(__global const VECTOR_OF(type, count) *)(from), to)
#define WRITE_VECTOR(type, count, to, from)                                                                            \
    *(__global VECTOR_OF(type, count) *)(to) = GATHER_VECTOR(type, count, from)
#define READ_LOCAL(type, count, from, to)                                                                              \
    SPREAD_VECTOR(type, count, *(__local const VECTOR_OF(type, count) *)(from), to)
#define WRITE_LOCAL(type, count, to, from)                                                                             \
    *(__local VECTOR_OF(type, count) *)(to) = GATHER_VECTOR(type, count, from)

/* Prefetch the memory around an address. */
#ifdef __NV_CL_C_VERSION
#define gp_prefetch(address) asm volatile("prefetch.global.L2 [%0];" : : "l"(address))
#else
#define gp_prefetch(address) (void)(address)
#endif

/* Floats as bits and back; bits.h has the same for integers. */
#define gp_bits_f32(value) as_uint(value)
#define gp_bits_f64(value) as_ulong(value)
#define gp_from_bits_f32(bits) as_float(bits)
#define gp_from_bits_f64(bits) as_double(bits)

/* Warps: a 32-bit word of another lane, and a test for a nonzero number in any lane. */
#if WARP
#if defined(__NV_CL_C_VERSION)
#define WHOLE_WARPS
#define gp_warp_barrier() asm volatile("bar.warp.sync 0xffffffff;" : : : "memory")
DEVICE u32 gp_shuffle_word_down(const u32 word, const u32 stride)
{
    u32 taken;
    asm volatile("shfl.sync.down.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(taken) : "r"(word), "r"(stride));
    return taken;
}

DEVICE u32 gp_shuffle_word_up(const u32 word, const u32 stride)
{
    u32 taken;
    asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(taken) : "r"(word), "r"(stride));
    return taken;
}

DEVICE u32 gp_shuffle_word_from(const u32 word, const u32 lane)
{
    u32 taken;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(taken) : "r"(word), "r"(lane));
    return taken;
}

DEVICE int gp_any_lane(const int number)
{
    int any;
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; vote.sync.any.pred q, p, 0xffffffff; selp.s32 %0, 1, 0, q; }"
                 : "=r"(any)
                 : "r"(number));
    return any;
}

/* A bit for each lane with a nonzero number. */
DEVICE u32 gp_ballot(const int number)
{
    u32 lanes;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }" : "=r"(lanes) : "r"(number));
    return lanes;
}

/* The nearest lane at or below `lane` with a nonzero number, or -1. */
DEVICE int gp_nearest_lane(const int number, const int lane)
{
    return 31 - (int)clz(gp_ballot(number) & 0xffffffffu >> (31 - lane));
}
#elif defined(cl_intel_subgroups)
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#define WHOLE_WARPS __attribute__((intel_reqd_sub_group_size(WARP)))
#define gp_warp_barrier() sub_group_barrier(CLK_LOCAL_MEM_FENCE)
#define gp_shuffle_word_down(word, stride) intel_sub_group_shuffle_down(word, word, (u32)(stride))
#define gp_shuffle_word_up(word, stride) intel_sub_group_shuffle_up(word, word, (u32)(stride))
#define gp_shuffle_word_from(word, lane) intel_sub_group_shuffle(word, (u32)(lane))
#define gp_any_lane(number) sub_group_any(number)
#define gp_ballot(number) sub_group_reduce_add((number) ? 1u << get_sub_group_local_id() : 0u)

DEVICE int gp_nearest_lane(const int number, const int lane)
{
    int nearest = number ? lane : -1;
    for (int stride = 1; stride < WARP; stride *= 2) {
        const int lower = (int)gp_shuffle_word_up((u32)nearest, stride);
        if (lane >= stride) nearest = max(nearest, lower);
    }
    return nearest;
}
#endif
#else
#define WHOLE_WARPS
#endif

/* Atomics in global and in local memory. They return the old value; slots have WORDS words. */
#if WORDS == 1
#define gp_compare_exchange(slot, expected, desired) atomic_cmpxchg(slot, expected, desired)
#define gp_exchange(slot, value) atomic_xchg(slot, value)
#elif defined(cl_khr_int64_base_atomics)
#define gp_compare_exchange(slot, expected, desired) atom_cmpxchg(slot, expected, desired)
#define gp_exchange(slot, value) atom_xchg(slot, value)
#endif
#define gp_take_place(slot, free, place) atomic_cmpxchg(slot, free, place)
#define gp_raise(place, number) atomic_max(place, number)
#define gp_increment(place) atomic_inc(place)
#define gp_add_count(place, number) atomic_add(place, number)
#ifdef __NV_CL_C_VERSION
#define gp_read_count(place) (*(volatile LOCAL const u32 *)(place)) /* in local memory, while others add to it */
#else
#define gp_read_count(place) atomic_or(place, 0)
#endif
#define gp_set_bits(place, bits) atomic_or(place, bits)
#ifdef cl_khr_int64_base_atomics
#define gp_add_integer(place, number) atom_add(place, number)
#ifdef HAS_F64
#define GP_ADD_FLOAT(name, SPACE)                                                                                      \
    DEVICE void name(SPACE f64 *place, const f64 number)                                                               \
    {                                                                                                                  \
        SPACE long *bits = (SPACE long *)place;                                                                        \
        long expected, seen = 0;                                                                                       \
        do {                                                                                                           \
            expected = seen;                                                                                           \
            seen = atom_cmpxchg(bits, expected, as_long(as_double(expected) + number));                                \
        } while (seen != expected);                                                                                    \
    }
GP_ADD_FLOAT(gp_add_float_locally, LOCAL)
GP_ADD_FLOAT(gp_add_float_globally, GLOBAL)
#endif
#endif

/* Words that one group writes and another reads: by atomics, which OpenCL 1.2 makes visible across groups. On NVIDIA's GPUs
 * loads that bypass the first cache suffice, and do not serialise work-items that read one word (measurements.md: words). */
#ifdef __NV_CL_C_VERSION
DEVICE u32 gp_read_word(GLOBAL const u32 *place)
{
    u32 word;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(place) : "memory");
    return word;
}

DEVICE void gp_write_word(GLOBAL u32 *place, const u32 word)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(place), "r"(word) : "memory");
}
#else
#define gp_write_word(place, word) atomic_xchg(place, word)
#define gp_read_word(place) atomic_or(place, 0)
#endif

DEVICE void gp_fence(void)
{
#ifdef __NV_CL_C_VERSION
    asm volatile("membar.gl;" : : : "memory"); /* NVIDIA's mem_fence orders within a group only */
#else
    mem_fence(CLK_GLOBAL_MEM_FENCE);
#endif
}

/* Count a group that is done; true for the last of `parts`, which also resets the counter for the next launch. */
DEVICE int gp_last_done(GLOBAL u32 *counter, const i64 parts)
{
    gp_fence();
    const int last = atomic_inc(counter) == parts - 1;
    if (last) atomic_xchg(counter, 0);
    gp_fence();
    return last;
}

/* Entries: 64 bits that groups read and write atomically. GP_ENTRIES is defined if the device supports them. */
#if defined(__NV_CL_C_VERSION)
#define GP_ENTRIES
DEVICE u64 gp_read_entry(GLOBAL u64 *entry)
{
    u64 bits;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(bits) : "l"(entry) : "memory");
    return bits;
}

DEVICE void gp_write_entry(GLOBAL u64 *entry, const u64 bits)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(entry), "l"(bits) : "memory");
}
#elif defined(cl_khr_int64_base_atomics)
#define GP_ENTRIES
#define gp_read_entry(entry) atom_add(entry, (u64)0)
#define gp_write_entry(entry, bits) atom_xchg(entry, bits)
#endif

#ifdef cl_khr_int64_base_atomics
#define gp_add_entry(entry, number) atom_add(entry, (u64)(number))

/* Add to an entry, ordered after all earlier writes of the group; and read one, ordered before all later reads. */
DEVICE void gp_release_entry(GLOBAL u64 *entry, const u64 number)
{
#ifdef __NV_CL_C_VERSION
    asm volatile("red.release.gpu.global.add.u64 [%0], %1;" : : "l"(entry), "l"(number) : "memory");
#else
    gp_fence();
    atom_add(entry, number);
#endif
}

DEVICE u64 gp_acquire_entry(GLOBAL u64 *entry)
{
#ifdef __NV_CL_C_VERSION
    u64 bits;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(bits) : "l"(entry) : "memory");
    return bits;
#else
    const u64 bits = gp_read_entry(entry);
    gp_fence();
    return bits;
#endif
}
#endif

/* A float of WORDS words in global memory to which all groups add: its current value, and an atomic addition. */
#if WORDS == 1
#define GP_FLOAT f32
#define GP_REGISTER "f"
#define GP_BITS u32
#define gp_read_bits(place) atomic_or(place, 0)
#elif WORDS == 2 && defined(HAS_F64) && defined(cl_khr_int64_base_atomics)
#define GP_FLOAT f64
#define GP_REGISTER "d"
#define GP_BITS u64
#define gp_read_bits(place) atom_add(place, (u64)0)
#endif

#ifdef GP_FLOAT
#ifdef __NV_CL_C_VERSION
#define GP_TEXT_(type) #type
#define GP_TEXT(type) GP_TEXT_(type)
DEVICE GP_FLOAT gp_now(GLOBAL GP_FLOAT *place)
{
    GP_FLOAT number;
    asm volatile("ld.relaxed.gpu.global." GP_TEXT(GP_FLOAT) " %0, [%1];" : "=" GP_REGISTER(number) : "l"(place) : "memory");
    return number;
}

DEVICE void gp_add_now(GLOBAL GP_FLOAT *place, const GP_FLOAT number)
{
    asm volatile("red.relaxed.gpu.global.add." GP_TEXT(GP_FLOAT) " [%0], %1;" : : "l"(place), GP_REGISTER(number) : "memory");
}
#else
#define gp_float_of(bits) GP_JOINED(gp_from_bits_, GP_FLOAT)(bits)
#define gp_bits_of(number) GP_JOINED(gp_bits_, GP_FLOAT)(number)
DEVICE GP_FLOAT gp_now(GLOBAL GP_FLOAT *place)
{
    return gp_float_of(gp_read_bits((GLOBAL GP_BITS *)place));
}

DEVICE void gp_add_now(GLOBAL GP_FLOAT *place, const GP_FLOAT number)
{
    GP_BITS seen = gp_bits_of(gp_now(place)), expected;
    do {
        expected = seen;
        seen = gp_compare_exchange((GLOBAL GP_BITS *)place, expected, gp_bits_of(gp_float_of(expected) + number));
    } while (seen != expected);
}
#endif
#endif
