/* OpenCL's words for what the generated text says in the same way in both dialects. */
#ifdef __clang__
/* "#pragma unroll" is advice: a loop that a compiler leaves as it is needs no line on a user's terminal. */
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#ifdef HAS_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double f64;
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

#define DEVICE static inline
#define GLOBAL __global
#define LOCAL __local
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define RESTRICT restrict
#define ALIGNED __attribute__((aligned(16)))

/* Products. A product and the sum that follows may be rounded once, as CONTRACTED allows; map rounds both, as NumPy does. NVIDIA's
 * compiler contracts by default, but never an instruction that names its rounding. */
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

/* What scans, compactions and histograms share: how many bits of a word are set, and an atomic that leaves the larger of a word
 * in memory and a number. */
#define gp_count_bits(word) popcount(word)
#define gp_raise(place, number) atomic_max(place, number)

/* Powers of two and inverses. Of native functions no accuracy is promised: NVIDIA's are within some 2^-22 of the true ones, Intel's
 * powers of two within 2^-16. */
#define gp_power_f64(value) exp2(value)
#define gp_inverse_f64(value) (1 / (value))
#ifdef __NV_CL_C_VERSION
#define gp_power_f32(value) native_exp2(value)
#define gp_inverse_f32(value) native_recip(value)
#else
#define gp_power_f32(value) exp2(value)
#define gp_inverse_f32(value) (1 / (value))
#endif

/* A stored half is converted by vload_half and vstore_half, which need no half arithmetic. */
#define ROUND_F16(value) gp_half_value(gp_half_bits(value))

DEVICE f32 gp_half_value(const u16 bits)
{
    return vload_half(0, (const half *)&bits);
}

DEVICE u16 gp_half_bits(const f32 value)
{
    u16 bits;
    vstore_half_rte(value, 0, (half *)&bits);
    return bits;
}

/* Neighbours in memory, in one load or store; what they are of is known by its size alone. */
#define GP_JOINED_(type, count) type##count
#define GP_JOINED(type, count) GP_JOINED_(type, count)
#define GP_VECTOR_TYPE(type, count) GP_JOINED(GP_NATIVE_##type, count)
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
/* Vectors of bytes and of 16 bits are moved as words of 32: of uchar16 NVIDIA's compiler makes four loads. */
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

/* A component of a value as bits: 64 of them where it has as many, else 32. */
#define gp_bits_b8(value) ((u32)(value))
#define gp_bits_i8(value) ((u32)(value))
#define gp_bits_i16(value) ((u32)(value))
#define gp_bits_i32(value) ((u32)(value))
#define gp_bits_i64(value) ((u64)(value))
#define gp_bits_u8(value) ((u32)(value))
#define gp_bits_u16(value) ((u32)(value))
#define gp_bits_u32(value) ((u32)(value))
#define gp_bits_u64(value) ((u64)(value))
#define gp_bits_f32(value) as_uint(value)
#define gp_bits_f64(value) as_ulong(value)
#define gp_from_bits_b8(bits) ((b8)(bits))
#define gp_from_bits_i8(bits) ((i8)(bits))
#define gp_from_bits_i16(bits) ((i16)(bits))
#define gp_from_bits_i32(bits) ((i32)(bits))
#define gp_from_bits_i64(bits) ((i64)(bits))
#define gp_from_bits_u8(bits) ((u8)(bits))
#define gp_from_bits_u16(bits) ((u16)(bits))
#define gp_from_bits_u32(bits) ((u32)(bits))
#define gp_from_bits_u64(bits) ((u64)(bits))
#define gp_from_bits_f32(bits) as_float(bits)
#define gp_from_bits_f64(bits) as_double(bits)
