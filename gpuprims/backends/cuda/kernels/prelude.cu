/* CUDA's words for what the generated text says in the same way in both dialects. */
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

#define DEVICE static __device__ __forceinline__
#define GLOBAL
#define LOCAL
#define BARRIER() __syncthreads()
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

/* What scans, compactions and histograms share: how many bits of a word are set, and an atomic that leaves the larger of a word
 * in memory and a number. */
#define gp_count_bits(word) __popc(word)
#define gp_raise(place, number) atomicMax(place, number)

/* Powers of two and inverses, of which those of f32 are within some 2^-22 of themselves. */
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

/* A stored half is converted by the instruction itself, so that no header of CUDA's is needed to compile. */
#define ROUND_F16(value) gp_half_value(gp_half_bits(value))

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
    return bits;
}

/* Neighbours in memory, in one load or store; what they are of is known by its size alone. A store is CUDA's own function, for
 * of an assignment the compiler may make one store for each neighbour. */
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
#define gp_bits_f32(value) __float_as_uint(value)
#define gp_bits_f64(value) ((u64)__double_as_longlong(value))
#define gp_from_bits_b8(bits) ((b8)(bits))
#define gp_from_bits_i8(bits) ((i8)(bits))
#define gp_from_bits_i16(bits) ((i16)(bits))
#define gp_from_bits_i32(bits) ((i32)(bits))
#define gp_from_bits_i64(bits) ((i64)(bits))
#define gp_from_bits_u8(bits) ((u8)(bits))
#define gp_from_bits_u16(bits) ((u16)(bits))
#define gp_from_bits_u32(bits) ((u32)(bits))
#define gp_from_bits_u64(bits) ((u64)(bits))
#define gp_from_bits_f32(bits) __uint_as_float(bits)
#define gp_from_bits_f64(bits) __longlong_as_double((i64)(bits))
