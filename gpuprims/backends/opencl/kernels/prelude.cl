/* OpenCL's words for what the generated text says in the same way in both dialects. */
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
#define RESTRICT restrict

/* A stored half is read and written through vload_half and vstore_half, which need no half arithmetic. */
#define LOAD_F16(p, at) vload_half(at, (__global const half *)(p))
#define STORE_F16(p, at, value) vstore_half_rte(value, at, (__global half *)(p))
#define ROUND_F16(value) gp_round_f16(value)

DEVICE f32 gp_round_f16(const f32 value)
{
    ushort bits;
    vstore_half_rte(value, 0, (half *)&bits);
    return vload_half(0, (const half *)&bits);
}
