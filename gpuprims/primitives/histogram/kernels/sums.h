/* Add to the sums of a bin, and turn finished sums into results.
 *
 * Float weights are added as integers, so the order does not matter. SUMS_EXACT covers all exponents of the dtype;
 * SUMS_SCALED has 62 bits for the largest weight of the bin, whose exponent an earlier launch found (SUMS_PEAKS).
 *
 * GPUs add 64 bits in local memory by trying until no other work-item interferes. So a group's sum is a row of DIGITS
 * words of 32 bits, and a carry goes to the next one. Digits begin at START, in the middle of their range, so that
 * carries end soon. Global memory has PLANES sums of 64 bits for each bin. */
#define START 0x80000000u

#if SUMS_PEAKS || SUMS_SCALED || SUMS_EXACT
/* The biased exponent of a weight: for subnormal numbers 1, as for the smallest normal one, for infinities and NaN
 * EXPONENT_MASK. */
DEVICE u32 gp_exponent(const weight_t weight)
{
    const u32 exponent = (u32)(WEIGHT_BITS(weight) >> FRACTION_BITS) & EXPONENT_MASK;
    return exponent ? exponent : weight != 0;
}
#endif

#if SUMS_SCALED || SUMS_EXACT
/* The bits of a finite weight before its exponent, without sign. */
DEVICE i64 gp_mantissa(const weight_t weight)
{
    const u64 bits = WEIGHT_BITS(weight), implicit = (u64)1 << FRACTION_BITS;
    return (i64)((bits & (implicit - 1)) | ((bits >> FRACTION_BITS & EXPONENT_MASK) ? implicit : 0));
}

/* 1 for infinity, 2 for negative infinity, 3 for NaN. */
DEVICE u32 gp_not_finite(const weight_t weight)
{
    return (weight > 0 ? 1u : 0u) | (weight < 0 ? 2u : 0u) | (weight != weight ? 3u : 0u);
}
#endif

#if SUMS_SCALED
/* A weight as an integer of at most 62 bits, relative to the bin's largest exponent. If the largest weight is not
 * finite, count infinities from bit 0, and negative ones from bit 48; they alone decide the sum. */
DEVICE i64 gp_scaled(const weight_t weight, const u32 peak)
{
    const u32 exponent = gp_exponent(weight);
    if (peak == EXPONENT_MASK) {
        const u32 kind = exponent == EXPONENT_MASK ? gp_not_finite(weight) : 0;
        return (i64)(kind & 1) + ((i64)(kind >> 1) << 48);
    }
    const i32 up = (i32)exponent - (i32)peak + 61 - FRACTION_BITS;
    const i64 mantissa = gp_mantissa(weight), scaled = up >= 0 ? mantissa << up : mantissa >> min(-up, 63);
    return weight < 0 ? -scaled : scaled;
}
#endif

#if SUMS_DIGITS
/* Carry 1 or -1 to a digit and on to the `left` - 1 above. Carries are rare, so this is a loop. */
DEVICE void gp_carry(LOCAL u32 *digits, const i32 stride, i32 carry, int left)
{
    for (; carry && left > 0; left--) {
        const u32 sum = gp_add_count(digits, (u32)carry) + (u32)carry;
        carry = (sum < (u32)carry) - (carry < 0);
        digits += stride;
    }
}

/* Add a signed number of two digits. `left` digits remain from the lower one on. */
DEVICE void gp_add_pair(LOCAL u32 *digits, const i32 stride, const u32 low, u32 high, const int left)
{
    const int negative = (i32)high < 0;
    if (low && gp_add_count(digits, low) + low < low) high++;
    const i32 carry = high ? (gp_add_count(digits + stride, high) + high < high) - negative : 0;
    if (carry) gp_carry(digits + 2 * stride, stride, carry, left - 2);
}
#endif

#if SUMS_EXACT
/* Add a weight at the digit of its last bit. The digit after the number marks weights that are not finite. */
DEVICE void gp_add_exactly(LOCAL u32 *digits, const i32 stride, const weight_t weight)
{
    const u32 exponent = gp_exponent(weight);
    if (!exponent) return;
    if (exponent == EXPONENT_MASK) {
        gp_set_bits(digits + (DIGITS - 1) * stride, gp_not_finite(weight));
        return;
    }
    const i32 at = (i32)(exponent - 1) >> 5, up = (i32)(exponent - 1) & 31;
    const i64 mantissa = weight < 0 ? -gp_mantissa(weight) : gp_mantissa(weight);
    digits += at * stride;
#if FRACTION_BITS < 32
    const i64 number = (i64)((u64)mantissa << up);
    gp_add_pair(digits, stride, (u32)number, (u32)(number >> 32), DIGITS - 1 - at);
#else
    const u32 low = (u32)((u64)mantissa << up);
    i64 rest = mantissa >> (32 - up);
    if (low && gp_add_count(digits, low) + low < low) rest++;
    gp_add_pair(digits + stride, stride, (u32)rest, (u32)(rest >> 32), DIGITS - 2 - at);
#endif
}
#endif

/* Add a value at a place: ADD in local memory, ADD_GLOBALLY in global memory. `stride` places lie between digits or
 * planes; `peak` is the exponent of the bin's largest weight. */
#if SUMS_COUNTS
#define ADD(own, place, stride, value, peak) gp_increment((own) + (place))
#if WIDE_TOTALS
#define ADD_GLOBALLY(whole, place, stride, value, peak) gp_add_integer((whole) + (place), (i64)1)
#else
#define ADD_GLOBALLY(whole, place, stride, value, peak) gp_increment((whole) + (place))
#endif
#elif SUMS_PEAKS
#define ADD(own, place, stride, value, peak) gp_raise((own) + (place), gp_exponent(WEIGHT(value)))
#define ADD_GLOBALLY(whole, place, stride, value, peak)                                                                \
    do {                                                                                                               \
        const u32 exponent = gp_exponent(WEIGHT(value));                                                               \
        if (gp_read_word((whole) + (place)) < exponent) gp_raise((whole) + (place), exponent); /* seldom, in time */   \
    } while (0)
#elif SUMS_FLOATS
#define ADD(own, place, stride, value, peak) gp_add_float_locally((own) + (place), (bin_t)WEIGHT(value))
#define ADD_GLOBALLY(whole, place, stride, value, peak) gp_add_float_globally((whole) + (place), (total_t)WEIGHT(value))
#elif SUMS_EXACT
#define ADD(own, place, stride, value, peak) gp_add_exactly((own) + (place), stride, WEIGHT(value))
#elif SUMS_SCALED
#define ADD(own, place, stride, value, peak)                                                                           \
    do {                                                                                                               \
        const i64 scaled = gp_scaled(WEIGHT(value), peak);                                                             \
        gp_add_pair((own) + (place), stride, (u32)scaled, (u32)(scaled >> 32), DIGITS);                                \
    } while (0)
#define ADD_GLOBALLY(whole, place, stride, value, peak)                                                                \
    do {                                                                                                               \
        const i64 scaled = gp_scaled(WEIGHT(value), peak);                                                             \
        if ((u32)scaled) gp_add_integer((whole) + (place), (i64)(u32)scaled);                                          \
        if (scaled >> 32) gp_add_integer((whole) + (place) + (stride), scaled >> 32);                                  \
    } while (0)
#else
#define ADD(own, place, stride, value, peak)                                                                           \
    gp_add_pair((own) + (place), stride, (u32)WEIGHT(value), (u32)((i64)WEIGHT(value) >> 32), DIGITS)
#define ADD_GLOBALLY(whole, place, stride, value, peak) gp_add_integer((whole) + (place), (i64)WEIGHT(value))
#endif

/* Add a group's sum to one in global memory. */
#if SUMS_PEAKS
#define ADD_SUM(place, sum) gp_raise(place, sum)
#elif SUMS_FLOATS
#define ADD_SUM(place, sum) gp_add_float_globally(place, sum)
#elif WIDE_TOTALS
#define ADD_SUM(place, sum) gp_add_integer(place, (i64)(sum))
#else
#define ADD_SUM(place, sum) gp_add_count(place, sum)
#endif
#if SUMS_SCALED
#define PEAK(o, found) peaks[(o) * (bins + 2) + (found)]
#else
#define PEAK(o, found) 0
#endif

/* A plane's sum of a place, from a group's sums in local memory. */
#if SUMS_DIGITS
#define BEGIN_SUM START
#define DIGIT(own, place, stride, digit) ((i64)(own)[(place) + (digit) * (stride)] - START)
DEVICE i64 gp_plane(LOCAL const u32 *own, const i32 place, const i32 stride, const int plane)
{
#if SUMS_EXACT
    if (plane == DIGITS - 1) {
        const u32 kind = own[place + plane * stride] - START;
        return (i64)(kind & 1) + ((i64)(kind >> 1) << 32);
    }
    return DIGIT(own, place, stride, plane);
#elif SUMS_SCALED
    return plane == 0 ? DIGIT(own, place, stride, 0) : DIGIT(own, place, stride, 1) + DIGIT(own, place, stride, 2) * ((i64)1 << 32);
#else
    return (i64)((u64)DIGIT(own, place, stride, 0) + ((u64)DIGIT(own, place, stride, 1) << 32));
#endif
}
#else
#define BEGIN_SUM 0
#define gp_plane(own, place, stride, plane) (own)[place]
#endif

/* Join two sums of a bin. */
#if SUMS_PEAKS
#define JOIN(a, b) ((a) > (b) ? (a) : (b))
#else
#define JOIN(a, b) ((a) + (b))
#endif

/* Where a group's sums go. If the launch is FINAL, into the result: at once if there is one part, else the last group
 * stores the totals of all groups, and leaves zeros (MERGED). Else into a row for each part, which a later launch adds. */
#define OWN_ROW(o, part) (histograms + ((part) * outputs + (o)) * PLANES * (bins + 2))
#if SUMS_SCALED
#define PEAKS(o) (peaks + (o) * (bins + 2))
#else
#define PEAKS(o) ((GLOBAL const u32 *)0)
#endif

#if FINAL
/* A sum whose planes come from the lowest to the highest. */
#if SUMS_SCALED || SUMS_EXACT
typedef struct {
    i64 carry;
    i32 below, lower;          /* the last two digits, from -2^31 to 2^31 - 1 */
    i32 top, second, third;    /* the highest digit that is not zero, and those below */
    int digits, at;            /* how many digits there were, also below the highest */
    u32 kind;                  /* as of gp_not_finite */
} joined_t;

DEVICE void gp_join_digit(joined_t *sum, const i64 plane)
{
    const i64 whole = plane + sum->carry;
    const i32 digit = (i32)(u32)whole;
    sum->carry = (whole - digit) >> 32;
    if (digit) {
        sum->top = digit;
        sum->second = sum->below;
        sum->third = sum->lower;
        sum->at = sum->digits;
    }
    sum->lower = sum->below;
    sum->below = digit;
    sum->digits++;
}

DEVICE void gp_join_plane(joined_t *sum, const int plane, const i64 value)
{
#if SUMS_EXACT
    if (plane == PLANES - 1) {
        sum->kind = ((u32)value ? 1u : 0u) | (value >> 32 ? 2u : 0u);
        return;
    }
#endif
    gp_join_digit(sum, value);
}

/* Round a sum to a float. */
DEVICE f64 gp_joined(joined_t sum, const u32 peak)
{
    i32 last = -(EXPONENT_MASK / 2) - FRACTION_BITS; /* the exponent of the lowest digit's last bit */
#if SUMS_SCALED
    if (peak == EXPONENT_MASK) { /* the digits count: bits 0 to 47 infinities, the bits above negative ones */
        const i64 above = sum.carry * ((i64)1 << 32) + sum.below + (sum.lower < 0 ? -1 : 0);
        sum.kind = (((u32)sum.lower || above & 0xFFFF) ? 1u : 0u) | (above >> 16 ? 2u : 0u);
    }
    last += (i32)peak - (61 - FRACTION_BITS);
#else
    last += 1;
#endif
    if (sum.kind) {
        const f64 infinity = gp_from_bits_f64((u64)0x7FF0000000000000);
        return sum.kind == 1 ? infinity : sum.kind == 2 ? -infinity : infinity - infinity;
    }
    gp_join_digit(&sum, 0);
    gp_join_digit(&sum, 0);
    const f64 high = (f64)((i64)sum.top * ((i64)1 << 32) + sum.second);
    return ldexp(high + (f64)sum.third * gp_from_bits_f64((u64)(1023 - 32) << 52), last + 32 * (sum.at - 1));
}
#else
typedef i64 joined_t;
#define gp_join_plane(sum, plane, value) *(sum) = (value)
#define gp_joined(sum, peak) (sum)
#endif

/* Store a sum of which all planes are joined. */
DEVICE void gp_store_total(GLOBAL total_t *results, const i64 place, const joined_t sum, GLOBAL const u32 *exponents)
{
    results[place] = (total_t)gp_joined(sum, SUMS_SCALED ? exponents[place] : 0);
}

#if MERGED
#define TOTALS(o) ((GLOBAL u64 *)(counters + (outputs + 1) / 2 * 2) + (o) * PLANES * (bins + 2))

/* Add a group's sum to the total. */
DEVICE void gp_merge(GLOBAL u64 *total, const i64 sum)
{
    if (!sum) return;
#if SUMS_PEAKS
    gp_raise((GLOBAL u32 *)total, (u32)sum);
#else
    gp_add_integer((GLOBAL i64 *)total, sum);
#endif
}

/* Take a total, and leave zero. */
DEVICE i64 gp_take_total(GLOBAL u64 *total)
{
    const i64 taken = (i64)gp_read_entry(total);
    gp_write_entry(total, 0);
    return taken;
}

/* In the last group of `parts`, store the totals as the results of `stored` places. `whole` has room for them. */
DEVICE void gp_store_totals(GLOBAL total_t *results, const i64 stored, GLOBAL u64 *totals, LOCAL i64 *whole, const i32 width,
                            GLOBAL const u32 *exponents, const int tid)
{
    if (PLANES > 1) {
        for (i32 at = tid; at < PLANES * width; at += BLOCK) whole[at] = gp_take_total(totals + at);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (i32 place = tid; place < width; place += BLOCK) {
        joined_t sum = {0};
        for (int plane = 0; plane < PLANES; plane++)
            gp_join_plane(&sum, plane, PLANES > 1 ? whole[plane * width + place] : gp_take_total(totals + place));
        if (place < stored) gp_store_total(results, place, sum, exponents);
    }
}
#endif
#endif
