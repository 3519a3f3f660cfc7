/* Inverse trigonometric and hyperbolic functions of complex numbers, compiled after complex.h for the same width.
 *
 * After Hull, Fairgrieve and Tang, "Implementing the complex arcsine and arccosine functions using exception handling",
 * ACM Transactions on Mathematical Software 23 (1997): no difference of near numbers is taken. Each function is odd or
 * even in each part, so that the first quadrant is enough. C99's values at infinities and NaN.
 */

/* Lengths beside which a square of 1 is lost. */
DEVICE REAL NAMED(gp_long)(void) { return sizeof(REAL) == 8 ? (REAL)9007199254740992.0f : (REAL)16777216.0f; }

/* The angle, of the sine or of the cosine, and the size of the imaginary part of both, for x and y that are not negative.
 * The sum of the distances to 1 and -1 is an ellipse's: `half_sum` is its long axis, x / half_sum a sine. */
DEVICE COMPLEX NAMED(gp_arc)(const REAL x, const REAL y, const b8 of_cosine)
{
    if (x > NAMED(gp_long)() || y > NAMED(gp_long)()) {
        const REAL size = NAMED(gp_log)(NAMED(gp_make)(x, y)).re + log((REAL)2);
        return NAMED(gp_make)(of_cosine ? atan2(y, x) : atan2(x, y), size);
    }
    const REAL right = hypot(x + 1, y), left = hypot(x - 1, y), half_sum = (right + left) / 2;

    /* The size is arccosh(half_sum): near 1 by how far half_sum is above 1, from which y comes out as a factor. */
    REAL size = log(half_sum + sqrt(half_sum * half_sum - 1));
    if (half_sum <= (REAL)1.5f && x < 1) {
        const REAL above = (1 / (right + (x + 1)) + 1 / (left + (1 - x))) / 2;
        size = log1p(y * (y * above + sqrt(above * (half_sum + 1))));
    } else if (half_sum <= (REAL)1.5f) {
        const REAL above = (y * (y / (right + (x + 1))) + (left + (x - 1))) / 2;
        size = log1p(above + sqrt(above * (half_sum + 1)));
    }

    /* Sines near 1 lose the digits of the angle: take its tangent. */
    const REAL sine = x == 0 ? 0 : x / half_sum;
    if (!(sine > (REAL)0.6417f)) return NAMED(gp_make)(of_cosine ? acos(sine) : asin(sine), size);
    const REAL sum = (half_sum + x) / 2;
    const REAL other = x <= 1 ? sqrt(sum * (y * (y / (right + (x + 1))) + (left + (1 - x))))
                              : y * sqrt(sum / (right + (x + 1)) + sum / (left + (x - 1)));
    return NAMED(gp_make)(of_cosine ? atan2(other, x) : atan2(x, other), size);
}

DEVICE COMPLEX NAMED(gp_arcsin)(const COMPLEX a)
{
    const COMPLEX found = NAMED(gp_arc)(fabs(a.re), fabs(a.im), 0);
    return NAMED(gp_make)(copysign(found.re, a.re), copysign(found.im, a.im));
}

DEVICE COMPLEX NAMED(gp_arccos)(const COMPLEX a)
{
    const COMPLEX found = NAMED(gp_arc)(fabs(a.re), fabs(a.im), 1);
    return NAMED(gp_make)(a.re < 0 ? acos((REAL)-1) - found.re : found.re, -copysign(found.im, a.im));
}

/* By exchanged parts: arcsinh(z) is i arcsin(-iz). */
DEVICE COMPLEX NAMED(gp_arcsinh)(const COMPLEX a)
{
    const COMPLEX turned = NAMED(gp_arcsin)(NAMED(gp_make)(a.im, a.re));
    return NAMED(gp_make)(turned.im, turned.re);
}

DEVICE COMPLEX NAMED(gp_arccosh)(const COMPLEX a)
{
    const COMPLEX turned = NAMED(gp_arccos)(a);
    return NAMED(gp_make)(fabs(turned.im), copysign(turned.re, a.im));
}

DEVICE COMPLEX NAMED(gp_arctanh)(const COMPLEX a)
{
    const REAL x = fabs(a.re), y = fabs(a.im);
    REAL size, angle;
    if (isinf(x) || isinf(y)) {
        size = 0;
        angle = y != y ? y : acos((REAL)0);
    } else if (x > NAMED(gp_long)() || y > NAMED(gp_long)()) { /* 1 / z, turned by a right angle */
        const REAL larger = fmax(x, y), ratio = fmin(x, y) / larger, undefined = x - x + (y - y); /* 0, or NaN */
        size = x / larger / (larger * (1 + ratio * ratio)) + undefined;
        angle = acos((REAL)0) + undefined;
    } else if (x == 1) {
        size = y * y < (REAL)1e-20f ? (log((REAL)2) - log(y)) / 2 : log1p(4 / (y * y)) / 4;
        angle = y == 0 ? 0 : atan2((REAL)2, -y) / 2;
    } else {
        size = x == 0 ? 0 : log1p(4 * x / ((1 - x) * (1 - x) + y * y)) / 4;
        angle = atan2(2 * y, (1 - x) * (1 + x) - y * y) / 2;
    }
    return NAMED(gp_make)(copysign(size, a.re), copysign(angle, a.im));
}

/* By exchanged parts: arctan(z) is i arctanh(-iz). */
DEVICE COMPLEX NAMED(gp_arctan)(const COMPLEX a)
{
    const COMPLEX turned = NAMED(gp_arctanh)(NAMED(gp_make)(a.im, a.re));
    return NAMED(gp_make)(turned.im, turned.re);
}
