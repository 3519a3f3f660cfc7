/* Integers as bits and back: 64 bits where a number has as many, else 32. Preludes define the same for floats. */
#define gp_bits_b8(value) ((u32)(value))
#define gp_bits_i8(value) ((u32)(value))
#define gp_bits_i16(value) ((u32)(value))
#define gp_bits_i32(value) ((u32)(value))
#define gp_bits_i64(value) ((u64)(value))
#define gp_bits_u8(value) ((u32)(value))
#define gp_bits_u16(value) ((u32)(value))
#define gp_bits_u32(value) ((u32)(value))
#define gp_bits_u64(value) ((u64)(value))
#define gp_from_bits_b8(bits) ((b8)(bits))
#define gp_from_bits_i8(bits) ((i8)(bits))
#define gp_from_bits_i16(bits) ((i16)(bits))
#define gp_from_bits_i32(bits) ((i32)(bits))
#define gp_from_bits_i64(bits) ((i64)(bits))
#define gp_from_bits_u8(bits) ((u8)(bits))
#define gp_from_bits_u16(bits) ((u16)(bits))
#define gp_from_bits_u32(bits) ((u32)(bits))
#define gp_from_bits_u64(bits) ((u64)(bits))

/* The quotient of a number below 2^31, by a multiplication and a shift; `divider` has a factor and, 32 bits further, the shift. */
DEVICE u32 gp_divided(const u32 left, const i64 divider)
{
    return (u32)((u64)left * (u32)divider >> 32) >> (u32)(divider >> 32);
}
