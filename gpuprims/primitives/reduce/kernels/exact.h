/* Exact sums of floats (exact_sums.py): LIMBS integers, where number k counts 2^(32 k + LOWEST_POWER). A limb has 32 bits and room for
 * carries, and may be negative. */

/* Powers of two between windows of a block, and the highest power of two whose window fits in an f64. */
#define WINDOW_BITS 40
#define HIGHEST_WINDOW 1000

/* A finite number, a multiple of 2^LOWEST_POWER, as an integer and the place of its lowest bit. */
typedef struct { u64 whole; int place, negative; } placed_t;

DEVICE placed_t gp_placed(const f64 number)
{
    const u64 bits = gp_bits_f64(number), one = 1;
    const int field = (int)(bits >> 52 & 0x7ff);
    placed_t placed;
    placed.whole = (bits & ((one << 52) - 1)) | (field ? one << 52 : 0);
    placed.place = (field ? field - 1 : 0) - 1074 - (LOWEST_POWER);
    placed.negative = (int)(bits >> 63);
    if (placed.place < 0) { /* the bits below are zero; of the number 0 all are */
        placed.whole = placed.place > -64 ? placed.whole >> -placed.place : 0;
        placed.place = 0;
    }
    return placed;
}

/* Add such a number to limbs. */
DEVICE void gp_deposit(i64 *limbs, const f64 number)
{
    const placed_t placed = gp_placed(number);
    if (placed.whole == 0) return;
    const int limb = placed.place / 32, shift = placed.place % 32;
    const i64 sign = placed.negative ? -1 : 1;
    limbs[limb] += sign * (i64)(placed.whole << shift & 0xffffffffu);
    limbs[limb + 1] += sign * (i64)(placed.whole >> (32 - shift) & 0xffffffffu);
    limbs[limb + 2] += sign * (i64)(shift ? placed.whole >> (64 - shift) : 0);
}

/* 1.5 * 2^exponent: added to a number that is smaller by far and subtracted again, it leaves the multiple of 2^(exponent - 52). */
DEVICE f64 gp_rounder(const int exponent)
{
    return gp_from_bits_f64((u64)(max(exponent, -1022) + 1023) << 52 | (u64)1 << 51);
}

/* Sums in an f64 that are exact as long as elements are not far apart. SPAN is the most that their exponents differ by: a float32 has 24
 * bits, and 2^10 of them add 10 more, so 19 of 53 bits are left. Of a float64, `upper` adds multiples of 2^-41 relative to the largest
 * element, which have 43 bits, and `lower` the rest, whose first bit is at 2^-42 and last one at 2^-52 relative to the smallest element. */
#if MANTISSA < 32
#define WIDE 0
#define SPAN 19
#define KEY_BITS 23
#define SPECIAL_KEY 0xff
#else
#define WIDE 1
#define SPAN 33
#define KEY_BITS 20
#define SPECIAL_KEY 0x7ff
#endif

typedef struct {
    f64 upper, lower, rounder;
    int highest, lowest, count; /* biased exponents */
} sum_t;

/* The bits of a number's exponent and more, without sign; 0 for 0 alone. */
DEVICE u32 gp_key(const value_t value)
{
#if WIDE
    const u64 bits = gp_bits_f64(value);
    return ((u32)(bits >> 32) & 0x7fffffffu) | (u32)((u32)bits != 0);
#else
    return gp_bits_f32(value) & 0x7fffffffu;
#endif
}

DEVICE sum_t gp_empty_sum(void)
{
    sum_t sum;
    sum.upper = sum.lower = sum.rounder = 0;
    sum.highest = -1;
    sum.lowest = WIDE ? SPECIAL_KEY : 2 * SPECIAL_KEY;
    sum.count = 0;
    return sum;
}

/* A sum for elements from one key to another; `bottom` is one less than the lowest, so that its exponent may be too low by 1. */
DEVICE sum_t gp_sum_for(const u32 top, const u32 bottom)
{
    sum_t sum = gp_empty_sum();
#if WIDE
    const int most = (int)(top >> KEY_BITS) + 1; /* a bit more for later elements */
    if (most < SPECIAL_KEY - 12) {
        sum.highest = most;
        sum.lowest = most - SPAN;
        sum.rounder = gp_rounder(most - 1023 + 11);
    }
#endif
    return sum;
}

/* Return 1 if a sum has room for elements between two keys. */
DEVICE int gp_fits(const sum_t sum, const u32 top, const u32 bottom)
{
    const int most = (int)(top >> KEY_BITS), least = max((int)(bottom >> KEY_BITS), 1);
#if WIDE
    return most <= sum.highest && least >= sum.lowest;
#else
    return max(most, sum.highest) - min(least, sum.lowest) <= SPAN && most < SPECIAL_KEY;
#endif
}

/* Count ITEMS elements between two keys to a sum that has room for them. */
DEVICE sum_t gp_counted(sum_t sum, const u32 top, const u32 bottom)
{
#if !WIDE
    sum.highest = max((int)(top >> KEY_BITS), sum.highest);
    sum.lowest = min(max((int)(bottom >> KEY_BITS), 1), sum.lowest);
#endif
    sum.count++;
    return sum;
}

DEVICE sum_t gp_added(sum_t sum, const f64 number)
{
#if WIDE
    const f64 high = (number + sum.rounder) - sum.rounder;
    sum.upper += high;
    sum.lower += number - high;
#else
    sum.upper += number;
#endif
    return sum;
}

/* Carry, so that all limbs but the last one, which has the sign, are from 0 to 2^32 - 1. */
DEVICE void gp_carry_limbs(i64 *limbs)
{
    for (int limb = 0; limb < LIMBS - 1; limb++) {
        limbs[limb + 1] += limbs[limb] >> 32;
        limbs[limb] &= 0xffffffffu;
    }
}

/* The nearest float, as bits; of two, the even one. */
DEVICE u64 gp_rounded(i64 *limbs)
{
    gp_carry_limbs(limbs);
    const int negative = limbs[LIMBS - 1] < 0;
    if (negative) {
        for (int limb = 0; limb < LIMBS; limb++) limbs[limb] = -limbs[limb];
        gp_carry_limbs(limbs);
    }
    int top = LIMBS - 1;
    while (top > 0 && limbs[top] == 0) top--;
    int highest = 32 * top; /* bit */
    for (u64 left = (u64)limbs[top] >> 1; left; left >>= 1) highest++;
    const int lowest = max(highest - MANTISSA, 0), limb = lowest / 32, shift = lowest % 32;
    u64 bits = ((u64)limbs[limb] | (u64)limbs[limb + 1] << 32) >> shift;
    if (shift && limb + 2 < LIMBS) bits |= (u64)limbs[limb + 2] << (64 - shift);
    if (lowest > 0) {
        const int next = (lowest - 1) / 32;
        const u64 below = (u64)limbs[next] & (((u64)2 << (lowest - 1) % 32) - 1), half_of = (u64)1 << (lowest - 1) % 32;
        int more = below > half_of;
        for (int k = 0; k < next; k++) more |= limbs[k] != 0;
        bits += below >= half_of && (more || (bits & 1));
    }
    bits += (u64)lowest << MANTISSA; /* the first bit, which floats leave out, adds 1 to the exponent */
    return min(bits, (u64)INFINITE) | (negative ? (u64)INFINITE + ((u64)1 << MANTISSA) : 0);
}

/* Leave the limbs of a part for the last one, and add those of another part. `special` is a sum of infinities and NaN. */
DEVICE void gp_leave_limbs(GLOBAL u32 *partials, const i64 part, i64 *limbs, const f64 special)
{
    GLOBAL u32 *words = partials + part * (2 * LIMBS + 2);
    gp_carry_limbs(limbs);
    for (int limb = 0; limb <= LIMBS; limb++) {
        const u64 bits = limb < LIMBS ? (u64)limbs[limb] : gp_bits_f64(special);
        gp_write_word(words + 2 * limb, (u32)bits);
        gp_write_word(words + 2 * limb + 1, (u32)(bits >> 32));
    }
}

DEVICE u64 gp_read_limb(GLOBAL u32 *partials, const i64 part, const int limb)
{
    GLOBAL u32 *words = partials + part * (2 * LIMBS + 2) + 2 * limb;
    return gp_read_word(words) | (u64)gp_read_word(words + 1) << 32;
}

DEVICE f64 gp_add_limbs(GLOBAL u32 *partials, const i64 part, i64 *limbs, const f64 special)
{
    u64 bits = 0;
    for (int limb = 0; limb <= LIMBS; limb++) {
        bits = gp_read_limb(partials, part, limb);
        if (limb < LIMBS) limbs[limb] += (i64)bits;
    }
    return special + gp_from_bits_f64(bits);
}

/* The sum: `special` if an element was infinite or NaN. */
DEVICE value_t gp_exact_sum(i64 *limbs, const f64 special)
{
    return special != 0 ? SUM_OF_F64(special) : SUM_OF_BITS(gp_rounded(limbs));
}

/* Store a sum that is not rounded: its limbs, which add up with those of other sums, and `special`. */
DEVICE void gp_store_limbs(GLOBAL i64 *words, i64 *limbs, const f64 special)
{
    gp_carry_limbs(limbs);
    for (int limb = 0; limb < LIMBS; limb++) words[limb] = limbs[limb];
    words[LIMBS] = (i64)gp_bits_f64(special);
}
