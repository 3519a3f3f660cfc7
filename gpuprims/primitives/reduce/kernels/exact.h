/* Exact sums of floats (exact_sums.py): LIMBS integers, where number k counts 2^(32 k + LOWEST_POWER). A limb has 32 bits and room for
 * carries, and may be negative. */

/* Powers of two between windows of a block, and the highest power of two whose window fits in an f64. */
#define WINDOW_BITS 40
#define HIGHEST_WINDOW 1000

/* Add a finite number, a multiple of 2^LOWEST_POWER. */
DEVICE void gp_deposit(i64 *limbs, const f64 number)
{
    const u64 bits = gp_bits_f64(number), one = 1;
    const int field = (int)(bits >> 52 & 0x7ff);
    u64 whole = (bits & ((one << 52) - 1)) | (field ? one << 52 : 0);
    int place = (field ? field - 1 : 0) - 1074 - (LOWEST_POWER);
    if (whole == 0) return;
    if (place < 0) { /* the bits below are zero */
        whole >>= -place;
        place = 0;
    }
    const int limb = place / 32, shift = place % 32;
    const i64 sign = bits >> 63 ? -1 : 1;
    limbs[limb] += sign * (i64)(whole << shift & 0xffffffffu);
    limbs[limb + 1] += sign * (i64)(whole >> (32 - shift) & 0xffffffffu);
    limbs[limb + 2] += sign * (i64)(shift ? whole >> (64 - shift) : 0);
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

/* 1.5 * 2^exponent: added to a number that is smaller by far and subtracted again, it leaves the multiple of 2^(exponent - 52). */
DEVICE f64 gp_rounder(const int exponent)
{
    return gp_from_bits_f64((u64)(max(exponent, -1022) + 1023) << 52 | (u64)1 << 51);
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

DEVICE f64 gp_add_limbs(GLOBAL u32 *partials, const i64 part, i64 *limbs, const f64 special)
{
    GLOBAL u32 *words = partials + part * (2 * LIMBS + 2);
    u64 bits = 0;
    for (int limb = 0; limb <= LIMBS; limb++) {
        bits = gp_read_word(words + 2 * limb) | (u64)gp_read_word(words + 2 * limb + 1) << 32;
        if (limb < LIMBS) limbs[limb] += (i64)bits;
    }
    return special + gp_from_bits_f64(bits);
}

/* The sum: `special` if an element was infinite or NaN. */
DEVICE value_t gp_exact_sum(i64 *limbs, const f64 special)
{
    return special != 0 ? SUM_OF_F64(special) : SUM_OF_BITS(gp_rounded(limbs));
}
