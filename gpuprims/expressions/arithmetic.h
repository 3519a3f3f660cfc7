/* NumPy's arithmetic where C's differs; compiled after the backend's prelude. */

/* The float that has the given bits. */
#define gp_float_u32(bits) gp_from_bits_f32(bits)
#ifdef HAS_F64
#define gp_float_u64(bits) gp_from_bits_f64(bits)
#endif

DEVICE i64 gp_floor_divide_i64(const i64 a, const i64 b)
{
    if (b == 0) return 0;
    if (b == -1) return (i64)((u64)0 - (u64)a); /* the smallest integer divided by -1 wraps */
    const i64 quotient = a / b;
    return quotient - ((a % b != 0) & ((a < 0) != (b < 0)));
}

DEVICE i64 gp_remainder_i64(const i64 a, const i64 b)
{
    if (b == 0 || b == -1) return 0;
    const i64 rest = a % b;
    return (rest != 0 && (rest < 0) != (b < 0)) ? rest + b : rest;
}

/* Like remainder, with the sign of the dividend. */
DEVICE i64 gp_fmod_i64(const i64 a, const i64 b) { return b == 0 || b == -1 ? 0 : a % b; }

/* 1 / a without its fraction. For 0, NumPy converts an infinity on x86-64, which gives the lowest integer of 32 and of 64
 * bits, and 0 in others. */
DEVICE i64 gp_reciprocal_i64(const i64 a, const int bytes)
{
    if (a == 0) return bytes < 4 ? 0 : (i64)(~(u64)0 << (8 * bytes - 1));
    return (a == 1) - (a == -1);
}

/* Integer powers by repeated squaring. They wrap like NumPy's: low bits of a product depend on low bits alone. */
DEVICE u64 gp_power(u64 base, u64 exponent)
{
    u64 result = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1) result *= base;
    return result;
}

/* Python's definition: the remainder has the sign of the divisor, and a == b * floor_divide(a, b) + remainder(a, b). */
#define GP_FLOATING(T)                                                                                                 \
    DEVICE T gp_remainder_##T(const T a, const T b)                                                                    \
    {                                                                                                                  \
        const T rest = fmod(a, b);                                                                                     \
        if (rest == 0) return copysign((T)0, b);                                                                       \
        return (rest < 0) != (b < 0) ? rest + b : rest;                                                                \
    }                                                                                                                  \
    DEVICE T gp_floor_divide_##T(const T a, const T b)                                                                 \
    {                                                                                                                  \
        if (b == 0) return a / b;                                                                                      \
        const T rest = fmod(a, b);                                                                                     \
        const T exact = (a - rest) / b - (T)(rest != 0 && (rest < 0) != (b < 0));                                      \
        if (exact == 0) return copysign((T)0, a / b);                                                                  \
        const T whole = floor(exact);                                                                                  \
        return exact - whole > (T)0.5f ? whole + 1 : whole;                                                            \
    }

/* Without the bit of the sign. CPUs' compilers make no vectors of fabs in the loops of a lone work-item. */
DEVICE f32 gp_absolute_f32(const f32 a) { return gp_from_bits_f32(gp_bits_f32(a) & 0x7fffffffu); }
#ifdef HAS_F64
DEVICE f64 gp_absolute_f64(const f64 a) { return gp_from_bits_f64(gp_bits_f64(a) & ~((u64)1 << 63)); }
#endif

/* Third and fourth powers: products with their rounding errors added. Nearly all are the nearest number, as NumPy's. */
#define GP_POWERS(T)                                                                                                   \
    DEVICE T gp_corrected_##T(const T product, const T lost)                                                           \
    {                                                                                                                  \
        const T sum = product + lost;                                                                                  \
        return product != 0 && isfinite(sum) ? sum : product;                                                          \
    }                                                                                                                  \
    DEVICE T gp_cube_##T(const T a)                                                                                    \
    {                                                                                                                  \
        const T square = gp_times_##T(a, a), cube = gp_times_##T(square, a);                                           \
        return gp_corrected_##T(cube, fma(fma(a, a, -square), a, fma(square, a, -cube)));                              \
    }                                                                                                                  \
    DEVICE T gp_fourth_##T(const T a)                                                                                  \
    {                                                                                                                  \
        const T square = gp_times_##T(a, a), fourth = gp_times_##T(square, square);                                    \
        return gp_corrected_##T(fourth, fma(2 * fma(a, a, -square), square, fma(square, square, -fourth)));            \
    }

/* Floats to integers, as NumPy converts them on x86-64: NaN and numbers out of range become the lowest integer.
 * Integers of 16 bits and fewer are converted through i32, u32 through i64. C leaves these cases undefined. */
#define GP_WHOLE(T)                                                                                                    \
    DEVICE i32 gp_i32_##T(const T a)                                                                                   \
    {                                                                                                                  \
        return a >= -2147483648.0f && a < 2147483648.0f ? (i32)a : (i32)(-2147483647 - 1);                             \
    }                                                                                                                  \
    DEVICE i64 gp_i64_##T(const T a)                                                                                   \
    {                                                                                                                  \
        return a >= -9223372036854775808.0f && a < 9223372036854775808.0f ? (i64)a : (i64)((u64)1 << 63);              \
    }                                                                                                                  \
    DEVICE u64 gp_u64_##T(const T a)                                                                                   \
    {                                                                                                                  \
        const u64 high = (u64)(a >= 9223372036854775808.0f) << 63;                                                     \
        return (u64)gp_i64_##T(high ? a - 9223372036854775808.0f : a) ^ high;                                          \
    }

GP_POWERS(f32)
GP_WHOLE(f32)
GP_FLOATING(f32)
#ifdef HAS_F64
GP_POWERS(f64)
GP_WHOLE(f64)
GP_FLOATING(f64)

/* Round to odd: for a number that f32 does not hold, take the neighbour whose last bit is 1. Rounded to f16, it gives
 * the same number as the f64. */
DEVICE f32 gp_odd_f32(const f64 value)
{
    const f32 near = (f32)value;
    const u32 bits = gp_bits_f32(near);
    const f64 back = (f64)near;
    const b8 even = (value == value) & (back != value) & ((bits & 1) == 0);
    return gp_from_bits_f32(bits + (even ? (fabs(back) > fabs(value) ? 0xffffffffu : 1u) : 0u));
}
#endif

/* Integers of 64 bits to the nearest float. In the loops of a lone work-item, CPUs' compilers convert no vectors of them, but
 * of their halves (backends/opencl/measurements.md: wide). Bits that a double has no room for only tell that there are some. */
#ifdef HAS_F64
DEVICE f64 gp_f64_u64(const u64 a) { return BLOCK > 1 ? (f64)a : (f64)(u32)(a >> 32) * 4294967296.0f + (f64)(u32)a; }
DEVICE f64 gp_f64_i64(const i64 a) { return BLOCK > 1 ? (f64)a : (f64)(i32)(a >> 32) * 4294967296.0f + (f64)(u32)a; }
DEVICE f32 gp_f32_u64(const u64 a)
{
    if (BLOCK > 1) return (f32)a;
    const int wide = a >> 53 != 0;
    return (f32)gp_f64_u64(wide ? a >> 11 | ((a & 0x7ff) != 0) : a) * (wide ? 2048.0f : 1.0f);
}
DEVICE f32 gp_f32_i64(const i64 a)
{
    if (BLOCK > 1) return (f32)a;
    const f32 size = gp_f32_u64(a < 0 ? (u64)0 - (u64)a : (u64)a);
    return a < 0 ? -size : size;
}
#endif
#ifndef HAS_F64
DEVICE f32 gp_f32_u64(const u64 a) { return (f32)a; }
DEVICE f32 gp_f32_i64(const i64 a) { return (f32)a; }
#endif
