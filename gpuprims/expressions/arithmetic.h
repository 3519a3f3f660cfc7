/* NumPy's meaning where C's differs. Both dialects compile this text after their prelude. */

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

/* By repeated squaring; wraps like NumPy's, since the low bits of a product depend on low bits alone. */
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

GP_FLOATING(f32)
#ifdef HAS_F64
GP_FLOATING(f64)
#endif
