/* Complex numbers of one width: COMPLEX is the type, REAL the type of its parts. Compiled once for each width that a
 * kernel uses. Names are NumPy's, with the type at the end: NAMED(gp_add) is gp_add_c64.
 *
 * A number is aligned as REAL: hosts, and views of other arrays, do not align pairs.
 */
#define GP_PASTED(name, type) name##_##type
#define GP_PASTE(name, type) GP_PASTED(name, type)
#define NAMED(name) GP_PASTE(name, COMPLEX)
#define TIMES(a, b) GP_PASTE(gp_times, REAL)(a, b)

typedef struct { REAL re, im; } COMPLEX;

DEVICE COMPLEX NAMED(gp_make)(const REAL re, const REAL im)
{
    COMPLEX made;
    made.re = re;
    made.im = im;
    return made;
}

/* A number in memory, as a vector of its parts where the backend has vectors: CPUs' compilers would gather the parts of
 * neighbouring numbers one by one (backends/opencl/measurements.md: pairs). */
#if BLOCK > 1 && defined(PAIR_OF)
DEVICE COMPLEX NAMED(gp_read)(GLOBAL const COMPLEX *at)
{
    const PAIR_OF(REAL) pair = vload2(0, (GLOBAL const REAL *)at);
    return NAMED(gp_make)(pair.x, pair.y);
}
DEVICE void NAMED(gp_write)(GLOBAL COMPLEX *at, const COMPLEX value)
{
    vstore2((PAIR_OF(REAL))(value.re, value.im), 0, (GLOBAL REAL *)at);
}
#else
DEVICE COMPLEX NAMED(gp_read)(GLOBAL const COMPLEX *at) { return *at; }
DEVICE void NAMED(gp_write)(GLOBAL COMPLEX *at, const COMPLEX value) { *at = value; }
#endif

DEVICE b8 NAMED(gp_nonzero)(const COMPLEX a) { return (a.re != 0) | (a.im != 0); }
DEVICE COMPLEX NAMED(gp_where)(const b8 chosen, const COMPLEX a, const COMPLEX b)
{
    return NAMED(gp_make)(chosen ? a.re : b.re, chosen ? a.im : b.im);
}

/* Arithmetic. */
DEVICE COMPLEX NAMED(gp_positive)(const COMPLEX a) { return a; }
DEVICE COMPLEX NAMED(gp_negative)(const COMPLEX a) { return NAMED(gp_make)(-a.re, -a.im); }
DEVICE COMPLEX NAMED(gp_conjugate)(const COMPLEX a) { return NAMED(gp_make)(a.re, -a.im); }
DEVICE COMPLEX NAMED(gp_scaled)(const COMPLEX a, const REAL b) 
{
    return NAMED(gp_make)(TIMES(a.re, b), TIMES(a.im, b));
}
DEVICE COMPLEX NAMED(gp_rint)(const COMPLEX a) { return NAMED(gp_make)(rint(a.re), rint(a.im)); }
DEVICE REAL NAMED(gp_absolute)(const COMPLEX a) { return GP_PASTE(gp_hypot, REAL)(a.re, a.im); }

DEVICE COMPLEX NAMED(gp_add)(const COMPLEX a, const COMPLEX b) { return NAMED(gp_make)(a.re + b.re, a.im + b.im); }
DEVICE COMPLEX NAMED(gp_subtract)(const COMPLEX a, const COMPLEX b) { return NAMED(gp_make)(a.re - b.re, a.im - b.im); }
/* Rounded as in NumPy's vector code: the second product is rounded, and the first together with the sum. */
DEVICE COMPLEX NAMED(gp_multiply)(const COMPLEX a, const COMPLEX b)
{
    return NAMED(gp_make)(fma(a.re, b.re, -TIMES(a.im, b.im)), fma(a.re, b.im, TIMES(a.im, b.re)));
}
DEVICE COMPLEX NAMED(gp_square)(const COMPLEX a) { return NAMED(gp_multiply)(a, a); }
/* C's product of complex numbers, with which NumPy computes powers. */
DEVICE COMPLEX NAMED(gp_product)(const COMPLEX a, const COMPLEX b)
{
    return NAMED(gp_make)(TIMES(a.re, b.re) - TIMES(a.im, b.im), TIMES(a.re, b.im) + TIMES(a.im, b.re));
}

/* Smith's method, which overflows only where the quotient does. */
DEVICE COMPLEX NAMED(gp_divide)(const COMPLEX a, const COMPLEX b)
{
    if (b.re == 0 && b.im == 0) return NAMED(gp_make)(a.re / fabs(b.re), a.im / fabs(b.re));
    if (fabs(b.re) >= fabs(b.im)) {
        const REAL ratio = b.im / b.re, scale = 1 / (b.re + TIMES(b.im, ratio));
        return NAMED(gp_make)(TIMES(a.re + TIMES(a.im, ratio), scale), TIMES(a.im - TIMES(a.re, ratio), scale));
    }
    const REAL ratio = b.re / b.im, scale = 1 / (b.im + TIMES(b.re, ratio));
    return NAMED(gp_make)(TIMES(TIMES(a.re, ratio) + a.im, scale), TIMES(TIMES(a.im, ratio) - a.re, scale));
}

DEVICE COMPLEX NAMED(gp_reciprocal)(const COMPLEX a)
{
    if (fabs(a.im) <= fabs(a.re)) {
        const REAL ratio = a.im / a.re, scale = a.re + TIMES(a.im, ratio);
        return NAMED(gp_make)(1 / scale, -ratio / scale);
    }
    const REAL ratio = a.re / a.im, scale = TIMES(a.re, ratio) + a.im;
    return NAMED(gp_make)(ratio / scale, -1 / scale);
}

/* The number of length 1 in the same direction; with one infinite part, the direction of its axis. */
DEVICE COMPLEX NAMED(gp_sign)(const COMPLEX a)
{
    const REAL size = hypot(a.re, a.im);
    if (size == 0) return NAMED(gp_make)(0, 0);
    if (!isinf(size) || (isinf(a.re) && isinf(a.im))) return NAMED(gp_make)(a.re / size, a.im / size);
    return isinf(a.re) ? NAMED(gp_make)(copysign((REAL)1, a.re), 0) : NAMED(gp_make)(0, copysign((REAL)1, a.im));
}

/* Order: by the real parts, then by the imaginary ones. A NaN in either part compares as false. */
DEVICE b8 NAMED(gp_isnan)(const COMPLEX a) { return (a.re != a.re) | (a.im != a.im); }
DEVICE b8 NAMED(gp_isinf)(const COMPLEX a) { return isinf(a.re) || isinf(a.im); }
DEVICE b8 NAMED(gp_isfinite)(const COMPLEX a) { return isfinite(a.re) && isfinite(a.im); }
DEVICE b8 NAMED(gp_equal)(const COMPLEX a, const COMPLEX b) { return (a.re == b.re) & (a.im == b.im); }
DEVICE b8 NAMED(gp_not_equal)(const COMPLEX a, const COMPLEX b) { return (a.re != b.re) | (a.im != b.im); }
DEVICE b8 NAMED(gp_greater)(const COMPLEX a, const COMPLEX b)
{
    return ((a.re > b.re) & (a.im == a.im) & (b.im == b.im)) | ((a.re == b.re) & (a.im > b.im));
}
DEVICE b8 NAMED(gp_greater_equal)(const COMPLEX a, const COMPLEX b)
{
    return ((a.re > b.re) & (a.im == a.im) & (b.im == b.im)) | ((a.re == b.re) & (a.im >= b.im));
}
DEVICE b8 NAMED(gp_less)(const COMPLEX a, const COMPLEX b) { return NAMED(gp_greater)(b, a); }
DEVICE b8 NAMED(gp_less_equal)(const COMPLEX a, const COMPLEX b) { return NAMED(gp_greater_equal)(b, a); }
DEVICE b8 NAMED(gp_logical_not)(const COMPLEX a) { return !NAMED(gp_nonzero)(a); }
DEVICE b8 NAMED(gp_logical_and)(const COMPLEX a, const COMPLEX b)
{
    return NAMED(gp_nonzero)(a) & NAMED(gp_nonzero)(b);
}
/* By comparisons with zero: NVIDIA's OpenCL compiler (driver 580.159) drops the second number of a plain | beside fmax
 * and fmin of the same numbers. */
DEVICE b8 NAMED(gp_logical_or)(const COMPLEX a, const COMPLEX b)
{
    return !((a.re == 0) & (a.im == 0) & (b.re == 0) & (b.im == 0));
}
DEVICE b8 NAMED(gp_logical_xor)(const COMPLEX a, const COMPLEX b)
{
    return NAMED(gp_nonzero)(a) != NAMED(gp_nonzero)(b);
}

/* maximum and minimum return a NaN, the first of two; fmax and fmin return the other number. */
DEVICE COMPLEX NAMED(gp_maximum)(const COMPLEX a, const COMPLEX b)
{
    return NAMED(gp_where)(NAMED(gp_isnan)(a) | NAMED(gp_greater_equal)(a, b), a, b);
}
DEVICE COMPLEX NAMED(gp_minimum)(const COMPLEX a, const COMPLEX b)
{
    return NAMED(gp_where)(NAMED(gp_isnan)(a) | NAMED(gp_less_equal)(a, b), a, b);
}
DEVICE COMPLEX NAMED(gp_fmax)(const COMPLEX a, const COMPLEX b)
{
    return NAMED(gp_where)(NAMED(gp_isnan)(b) | NAMED(gp_greater_equal)(a, b), a, b);
}
DEVICE COMPLEX NAMED(gp_fmin)(const COMPLEX a, const COMPLEX b)
{
    return NAMED(gp_where)(NAMED(gp_isnan)(b) | NAMED(gp_less_equal)(a, b), a, b);
}

/* Roots, exponentials and logarithms: C99's values at zeros, infinities and NaN. */
DEVICE COMPLEX NAMED(gp_sqrt)(const COMPLEX a)
{
    if (isinf(a.im)) return NAMED(gp_make)(fabs(a.im), a.im);
    if (isinf(a.re)) {
        const REAL zero = a.im - a.im; /* or NaN */
        return a.re > 0 ? NAMED(gp_make)(a.re, copysign(zero, a.im)) : NAMED(gp_make)(zero, copysign(a.re, a.im));
    }
    if (a.re == 0 && a.im == 0) return NAMED(gp_make)(0, a.im);
    /* The length of the largest numbers overflows: divide them by 16, and multiply the root by 4. */
    const b8 huge = isinf(fabs(a.re) + hypot(a.re, a.im));
    const COMPLEX held = huge ? NAMED(gp_scaled)(a, (REAL)0.0625f) : a;
    const REAL root = sqrt((fabs(held.re) + hypot(held.re, held.im)) / 2), other = held.im / (2 * root);
    const COMPLEX found = held.re >= 0 ? NAMED(gp_make)(root, other)
                                       : NAMED(gp_make)(fabs(other), copysign(root, held.im));
    return huge ? NAMED(gp_scaled)(found, 4) : found;
}

/* If exp(re) overflows, the parts may still be finite: multiply by exp(re / 2) twice. */
DEVICE COMPLEX NAMED(gp_exp)(const COMPLEX a)
{
    const REAL length = exp(a.re);
    if (a.im == 0) return NAMED(gp_make)(length, a.im);
    if (isinf(a.re) && !isfinite(a.im)) return a.re > 0 ? NAMED(gp_make)(a.re, a.im - a.im) : NAMED(gp_make)(0, 0);
    const COMPLEX turned = NAMED(gp_make)(cos(a.im), sin(a.im));
    if (!isinf(length)) return NAMED(gp_scaled)(turned, length);
    const REAL half_way = exp(a.re / 2);
    return NAMED(gp_scaled)(NAMED(gp_scaled)(turned, half_way), half_way);
}

DEVICE COMPLEX NAMED(gp_log)(const COMPLEX a)
{
    const REAL angle = atan2(a.im, a.re), size = hypot(a.re, a.im);
    const REAL larger = fmax(fabs(a.re), fabs(a.im)), smaller = fmin(fabs(a.re), fabs(a.im));
    /* Near 1, the rounding error of the length would be all of its logarithm. */
    if (size > (REAL)0.5f && size < 2)
        return NAMED(gp_make)(log1p((larger - 1) * (larger + 1) + smaller * smaller) / 2, angle);
    if (isinf(size) && !isinf(larger)) return NAMED(gp_make)(log(hypot(a.re / 2, a.im / 2)) + log((REAL)2), angle);
    return NAMED(gp_make)(log(size), angle);
}

/* With 1 - cos(x) = 2 sin(x / 2)^2, small numbers keep their digits. */
DEVICE COMPLEX NAMED(gp_expm1)(const COMPLEX a)
{
    const REAL half_way = sin(a.im / 2);
    return NAMED(gp_make)(expm1(a.re) * cos(a.im) - 2 * half_way * half_way, exp(a.re) * sin(a.im));
}
/* The length of 1 + a is the root of 1 + re (2 + re) + im^2. */
DEVICE COMPLEX NAMED(gp_log1p)(const COMPLEX a)
{
    if (fabs(a.re) < (REAL)0.5f && fabs(a.im) < (REAL)0.5f)
        return NAMED(gp_make)(log1p(a.re * (2 + a.re) + a.im * a.im) / 2, atan2(a.im, 1 + a.re));
    return NAMED(gp_log)(NAMED(gp_make)(1 + a.re, a.im));
}

DEVICE COMPLEX NAMED(gp_exp2)(const COMPLEX a) { return NAMED(gp_exp)(NAMED(gp_scaled)(a, log((REAL)2))); }
DEVICE COMPLEX NAMED(gp_log2)(const COMPLEX a) { return NAMED(gp_scaled)(NAMED(gp_log)(a), 1 / log((REAL)2)); }
DEVICE COMPLEX NAMED(gp_log10)(const COMPLEX a) { return NAMED(gp_scaled)(NAMED(gp_log)(a), 1 / log((REAL)10)); }

/* Small whole exponents by repeated squaring, in NumPy's order: exact where the products are. */
DEVICE COMPLEX NAMED(gp_power)(const COMPLEX a, const COMPLEX b)
{
    if (a.re == 0 && a.im == 0 && (b.re != 0 || b.im != 0)) { /* as in NumPy: 0 to a positive power, NaN to others */
        const REAL zero = b.re > 0 ? 0 : (REAL)gp_from_bits_f32(0x7fc00000u);
        return NAMED(gp_make)(zero, zero);
    }
    if (b.im == 0 && fabs(b.re) < 100 && b.re == rint(b.re)) {
        if (b.re == 1) return a;
        if (b.re == 2) return NAMED(gp_product)(a, a);
        if (b.re == 3) return NAMED(gp_product)(a, NAMED(gp_product)(a, a));
        COMPLEX result = NAMED(gp_make)(1, 0), factor = a;
        for (u32 left = (u32)fabs(b.re); left; left >>= 1) {
            if (left & 1) result = NAMED(gp_product)(result, factor);
            if (left > 1) factor = NAMED(gp_product)(factor, factor);
        }
        return b.re < 0 ? NAMED(gp_divide)(NAMED(gp_make)(1, 0), result) : result;
    }
    return NAMED(gp_exp)(NAMED(gp_multiply)(b, NAMED(gp_log)(a)));
}

/* Hyperbolic functions. */
DEVICE COMPLEX NAMED(gp_sinh)(const COMPLEX a)
{
    if (a.im == 0) return NAMED(gp_make)(sinh(a.re), a.im);
    if (a.re == 0) return NAMED(gp_make)(a.re, sin(a.im));
    if (isinf(a.re) && !isfinite(a.im)) return NAMED(gp_make)(fabs(a.re), a.im - a.im);
    if (!isinf(cosh(a.re))) return NAMED(gp_make)(sinh(a.re) * cos(a.im), cosh(a.re) * sin(a.im));
    const COMPLEX half_of = NAMED(gp_scaled)(NAMED(gp_exp)(NAMED(gp_make)(fabs(a.re) - 1, a.im)), exp((REAL)1) / 2);
    return NAMED(gp_make)(copysign((REAL)1, a.re) * half_of.re, half_of.im);
}

DEVICE COMPLEX NAMED(gp_cosh)(const COMPLEX a)
{
    if (a.im == 0) return NAMED(gp_make)(cosh(a.re), a.im * copysign((REAL)1, a.re));
    if (a.re == 0) return NAMED(gp_make)(cos(a.im), a.re * copysign((REAL)1, a.im));
    if (isinf(a.re) && !isfinite(a.im)) return NAMED(gp_make)(fabs(a.re), a.im - a.im);
    if (!isinf(cosh(a.re))) return NAMED(gp_make)(cosh(a.re) * cos(a.im), sinh(a.re) * sin(a.im));
    const COMPLEX half_of = NAMED(gp_scaled)(NAMED(gp_exp)(NAMED(gp_make)(fabs(a.re) - 1, a.im)), exp((REAL)1) / 2);
    return NAMED(gp_make)(half_of.re, copysign((REAL)1, a.re) * half_of.im);
}

/* Kahan's method: sinh and cosh share one division. For a large real part only the imaginary part still changes. */
DEVICE COMPLEX NAMED(gp_tanh)(const COMPLEX a)
{
    if (a.im == 0) return NAMED(gp_make)(tanh(a.re), a.im);
    if (a.re == 0) return NAMED(gp_make)(a.re, tan(a.im));
    if (isinf(a.re)) {
        const REAL side = isfinite(a.im) ? sin(2 * a.im) : 1;
        return NAMED(gp_make)(copysign((REAL)1, a.re), copysign((REAL)0, side));
    }
    if (fabs(a.re) > 20) {
        const REAL shrunk = exp(-fabs(a.re)), undefined = a.im - a.im; /* 0, or NaN for infinity and NaN */
        return NAMED(gp_make)(copysign((REAL)1, a.re) + undefined, 4 * sin(a.im) * cos(a.im) * shrunk * shrunk);
    }
    const REAL tangent = tan(a.im), rising = sinh(a.re), secant = 1 + tangent * tangent;
    const REAL divisor = 1 + secant * rising * rising;
    return NAMED(gp_make)(secant * sqrt(1 + rising * rising) * rising / divisor, tangent / divisor);
}

/* By a product with -i: sin(z) is i sinh(-iz), tan(z) is i tanh(-iz). */
DEVICE COMPLEX NAMED(gp_sin)(const COMPLEX a)
{
    const COMPLEX turned = NAMED(gp_sinh)(NAMED(gp_make)(a.im, -a.re));
    return NAMED(gp_make)(-turned.im, turned.re);
}
DEVICE COMPLEX NAMED(gp_cos)(const COMPLEX a) { return NAMED(gp_cosh)(NAMED(gp_make)(a.im, -a.re)); }
DEVICE COMPLEX NAMED(gp_tan)(const COMPLEX a)
{
    const COMPLEX turned = NAMED(gp_tanh)(NAMED(gp_make)(a.im, -a.re));
    return NAMED(gp_make)(-turned.im, turned.re);
}
