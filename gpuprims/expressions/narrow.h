/* Floats of ml_dtypes as bits and back; compiled where a kernel reads or writes one. They round to nearest even. */

DEVICE f32 gp_bfloat16_value(const u16 bits) { return gp_from_bits_f32((u32)bits << 16); }

DEVICE u16 gp_bfloat16_bits(const f32 value)
{
    const u32 bits = gp_bits_f32(value);
    const u32 near = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (u16)(value == value ? near : bits >> 16 | 0x40);
}

/* A float of 8 bits has MANTISSA bits behind the point. EXCESS is the difference of its exponents' bias to that of a
 * float32, SMALL its smallest normal number, UNIT its smallest number, both 1 / a power of two. Numbers above MOST, half a
 * step behind the largest number, become BEYOND; bits from BEYOND on without the sign are read as SPECIAL. */
#define GP_FLOAT8(name, MANTISSA, EXCESS, SMALL, UNIT, MOST, BEYOND, SPECIAL)                                          \
    DEVICE f32 name##_value(const u8 bits)                                                                             \
    {                                                                                                                  \
        const u32 size = bits & 0x7f, sign = (u32)(bits & 0x80) << 24;                                                 \
        const u32 normal = (size + ((u32)EXCESS << MANTISSA)) << (23 - MANTISSA);                                      \
        const u32 small = gp_bits_f32((f32)size * UNIT);                                                               \
        const u32 finite = size < (1u << MANTISSA) ? small : normal;                                                   \
        return gp_from_bits_f32(sign | (size < BEYOND ? finite : SPECIAL));                                            \
    }                                                                                                                  \
    DEVICE u8 name##_bits(const f32 value)                                                                             \
    {                                                                                                                  \
        const u32 bits = gp_bits_f32(value), size = bits & 0x7fffffffu, sign = bits >> 24 & 0x80;                      \
        const f32 most = gp_from_bits_f32(size);                                                                       \
        const u32 odd = size >> (23 - MANTISSA) & 1;                                                                   \
        const u32 normal = ((size + ((1u << (22 - MANTISSA)) - 1) + odd) >> (23 - MANTISSA))                           \
            - ((u32)EXCESS << MANTISSA);                                                                               \
        const u32 small = most < SMALL ? (u32)rint(most / UNIT) : normal;                                              \
        return (u8)(sign | (most <= MOST ? small : most > MOST ? BEYOND : 0x7f));                                      \
    }

GP_FLOAT8(gp_e4m3fn, 3, 120, 0.015625f, 0.001953125f, 464.0f, 0x7fu, 0x7fc00000u)
GP_FLOAT8(gp_e5m2, 2, 112, 0.00006103515625f, 0.0000152587890625f, 61440.0f, 0x7cu,
          (size == 0x7c ? 0x7f800000u : 0x7fc00000u))
