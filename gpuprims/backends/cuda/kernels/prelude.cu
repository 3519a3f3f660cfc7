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
#define RESTRICT __restrict__

/* A stored half is converted by the instruction itself, so that no header of CUDA's is needed to compile. */
#define LOAD_F16(p, at) gp_load_f16((p)[at])
#define STORE_F16(p, at, value) (p)[at] = gp_half_bits(value)
#define ROUND_F16(value) gp_load_f16(gp_half_bits(value))

DEVICE f32 gp_load_f16(const u16 bits)
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
