/* reduce/cpu_exact: each work-item adds blocks of floats, in an f64 if nothing is rounded, else in windows of bits, for
 * devices whose work-items are CPU threads.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch partials: 2 * LIMBS + 2 words for each part of each output; counters: one for each output, zero before and after
 * launch  any number of groups of one work-item; each takes (output, part) pairs until none are left
 * host    ROW(o, j), ROW_END(j, last), MAP_ROW(row, j), MAP(o, j), STORE_SUM(o, limbs, special), ADDEND(value), WINDOWS, and those of
 *         exact.h
 * order   none: sums are exact until the last one is rounded
 *
 * The elements of a block are multiples of the last bit of the smallest one. If they are not too far apart, no sum of them
 * has more than 53 bits, so an f64 adds them (exact.h has the same for groups). Two do for elements further apart: one adds their
 * high bits, and one the rest. Others are added in windows.
 */
#define HELD 8 /* elements side by side, two vectors */
#define EACH_HELD _Pragma("clang loop unroll(disable)") for (int held = 0; held < HELD; held++)
#define LARGER(a, b) ((a) > (b) ? (a) : (b)) /* of NaN and b, b */
/* Take the bits of a window from the rest of an element. A loop over windows would keep Intel's compiler from making vectors. */
#define ADD_WINDOW(window)                                                                                             \
    {                                                                                                                  \
        const f64 high = (rest + rounder##window) - rounder##window;                                                   \
        sums##window[held] += high;                                                                                    \
        rest -= high;                                                                                                  \
    }
/* The most that exponents of a block differ by: its sums have 11 bits more than its elements. Of a float32 further apart, one sum
 * adds multiples of 2^-40 relative to twice the largest element, and another one the rest, as of all float64: its first bit
 * is at 2^-30, with the bits of a sum, and its last one at 2^-23 relative to the smallest element. */
#if WIDE
#define BLOCK_SPAN 31
#else
#define BLOCK_SPAN 18
#define FAR_SPAN 56
#endif

/* The sum of the lanes of a vector, which is exact. */
DEVICE f64 gp_sum_eight(const double8 lanes)
{
    const double4 four = lanes.lo + lanes.hi;
    const double2 two = four.lo + four.hi;
    return two.x + two.y;
}

/* Add a block of `eights` vectors to limbs if its elements are not too far apart, and return 1; `sum` has a rounder, for the next
 * block too. Pairs of vectors are padded with zeros. */
DEVICE int gp_deposit_block(i64 *limbs, const value_t *elements, const int eights, sum_t *sum)
{
#if WIDE
    double8 tops = 0, bottoms = 1.0 / 0.0, upper = 0, lower = 0;
    const double8 rounder = sum->rounder;
    for (int k = 0; k < eights; k++) {
        const double8 number = vload8(k, elements), size = fabs(number), high = (number + rounder) - rounder;
        tops = size > tops ? size : tops;
        const double8 bottom = size == 0 ? (double8)(1.0 / 0.0) : size;
        bottoms = bottom < bottoms ? bottom : bottoms;
        upper += high;
        lower += number - high;
    }
    f64 top = 0, bottom = 1.0 / 0.0;
    f64 all[8], least[8];
    vstore8(tops, 0, all);
    vstore8(bottoms, 0, least);
    for (int lane = 0; lane < 8; lane++) {
        top = LARGER(all[lane], top);
        bottom = least[lane] < bottom ? least[lane] : bottom;
    }
    const f64 both = gp_sum_eight(upper), rest = gp_sum_eight(lower);
    const int most = (int)(gp_bits_f64(top) >> 52), least_of = max((int)(gp_bits_f64(bottom) >> 52), 1);
    if (both - both == 0 && most <= sum->highest && least_of >= sum->highest - BLOCK_SPAN) {
        gp_deposit(limbs, both);
        gp_deposit(limbs, rest);
        return 1;
    }
    /* The next try, of this block or of another one. */
    sum->highest = -1;
    if (most < SPECIAL_KEY - 14) {
        sum->highest = most + 1;
        sum->rounder = gp_rounder(most + 1 - 1023 + 12);
        return least_of >= sum->highest - BLOCK_SPAN ? -1 : 0;
    }
    return 0;
#else
    const int halves = sum->highest >= 0; /* the block before, or a first try of this one, was too wide for one sum */
    const double8 rounder = sum->rounder;
    uint8 tops = 0, bottoms = ~0u;
    double8 upper = 0, lower = 0;
    if (!halves)
        for (int k = 0; k < eights; k += 2) {
            const float8 one = vload8(k, elements), other = vload8(k + 1, elements);
            const uint8 key = as_uint8(one) & 0x7fffffffu, another = as_uint8(other) & 0x7fffffffu;
            tops = max(tops, max(key, another));
            bottoms = min(bottoms, min(key - 1u, another - 1u));
            upper += convert_double8(one);
            lower += convert_double8(other);
        }
    else
        for (int k = 0; k < eights; k++) {
            const float8 one = vload8(k, elements);
            const uint8 key = as_uint8(one) & 0x7fffffffu;
            const double8 number = convert_double8(one), high = (number + rounder) - rounder;
            tops = max(tops, key);
            bottoms = min(bottoms, key - 1u);
            upper += high;
            lower += number - high;
        }
    u32 all[8], least[8], top = 0, bottom = ~0u;
    vstore8(tops, 0, all);
    vstore8(bottoms, 0, least);
    for (int lane = 0; lane < 8; lane++) {
        top = max(top, all[lane]);
        bottom = min(bottom, least[lane]);
    }
    const int most = (int)(top >> KEY_BITS), least_of = max((int)(bottom >> KEY_BITS), 1), near = most - least_of <= BLOCK_SPAN;
    if (most == SPECIAL_KEY) return 0;
    const int fits = halves ? most <= sum->highest && least_of >= sum->highest - FAR_SPAN : near;
    if (fits) {
        gp_deposit(limbs, halves ? gp_sum_eight(upper) : gp_sum_eight(upper + lower));
        if (halves) gp_deposit(limbs, gp_sum_eight(lower));
    }
    /* The next try, of this block or of another one. */
    if (!fits || near) {
        sum->highest = near || most + 1 - least_of > FAR_SPAN ? -1 : most + 1;
        sum->rounder = gp_rounder(most + 1 - 127 + 12);
    }
    return fits ? 1 : near || sum->highest >= 0 ? -1 : 0;
#endif
}

__kernel WORK_GROUP(1)
void reduce_cpu_exact(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                      const i64 n, const i64 parts)
{
    const i64 chunk = (n + parts - 1) / parts;
    i64 limbs[LIMBS];
    value_t elements[ITEMS];
    f64 rests[ITEMS], sums0[HELD], sums1[HELD], sums2[HELD], tops[HELD], zeros[HELD];

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts, first = min((task % parts) * chunk, n), end = min(first + chunk, n);
        f64 special = 0;
        sum_t sum = gp_empty_sum();
        for (int limb = 0; limb < LIMBS; limb++) limbs[limb] = 0;

        for (i64 base = first; base < end; base += ITEMS) {
            const int count = (int)min(end - base, (i64)ITEMS), padded = (count + HELD - 1) / HELD * HELD;

            /* 1. Load a block. Add it in an f64; or twice, if the first one rounds to other bits than the block needs. */
            for (i64 j = base; j < base + count;) {
                const row_t row = ROW(o, j);
                const int at = (int)(j - base), to = (int)(ROW_END(j, base + count) - base);
                for (int k = at; k < to; k++) elements[k] = MAP_ROW(row, base + k);
                j = base + to;
            }
            const int eights = (count + 15) / 16 * 2; /* rows: cpu_exact-short */
            for (int k = count; k < eights * 8; k++) elements[k] = 0;
            int added = gp_deposit_block(limbs, elements, eights, &sum);
            if (added < 0) added = gp_deposit_block(limbs, elements, eights, &sum);
            if (added > 0) continue;

            /* 2. Find the largest magnitude of elements that are far apart. A number minus itself is NaN if it is infinite or NaN. */
            for (int k = 0; k < padded; k++) rests[k] = ADDEND(elements[k]);
            EACH_HELD tops[held] = zeros[held] = 0;
            for (int k = 0; k < padded; k += HELD)
                EACH_HELD
                {
                    const f64 magnitude = gp_absolute_f64(rests[k + held]);
                    tops[held] = LARGER(magnitude, tops[held]);
                    zeros[held] += magnitude - magnitude;
                }
            f64 top = 0, zero = 0;
            for (int held = 0; held < HELD; held++) {
                top = LARGER(tops[held], top);
                zero += zeros[held];
            }
            if (zero != 0) {
                top = 0;
                for (int k = 0; k < count; k++) {
                    if (rests[k] - rests[k] != 0) {
                        special += rests[k];
                        rests[k] = 0;
                    }
                    top = LARGER(gp_absolute_f64(rests[k]), top);
                }
            }

            /* 3. Add the highest bits of all elements, in windows from the largest magnitude down; again while bits are left. A sum
             * has fewer than 53 bits, so it is exact. */
            while (top > 0) {
                const int exponent = max((int)(gp_bits_f64(top) >> 52) - 1023, -HIGHEST_WINDOW);
                if (exponent > HIGHEST_WINDOW) {
                    for (int k = 0; k < count; k++) gp_deposit(limbs, rests[k]);
                    break;
                }
                const f64 rounder0 = gp_rounder(exponent + 13), rounder1 = gp_rounder(exponent + 13 - WINDOW_BITS);
                const f64 rounder2 = gp_rounder(exponent + 13 - 2 * WINDOW_BITS);
                EACH_HELD tops[held] = sums0[held] = sums1[held] = sums2[held] = 0;
                for (int k = 0; k < padded; k += HELD)
                    EACH_HELD
                    {
                        f64 rest = rests[k + held];
                        ADD_WINDOW(0)
                        ADD_WINDOW(1)
#if WINDOWS > 2
                        ADD_WINDOW(2)
#endif
                        rests[k + held] = rest;
                        tops[held] = LARGER(gp_absolute_f64(rest), tops[held]);
                    }
                top = 0;
                for (int held = 0; held < HELD; held++) top = LARGER(tops[held], top);
                f64 sum0 = 0, sum1 = 0, sum2 = 0;
                for (int held = 0; held < HELD; held++) {
                    sum0 += sums0[held];
                    sum1 += sums1[held];
                    sum2 += sums2[held];
                }
                gp_deposit(limbs, sum0);
                gp_deposit(limbs, sum1);
                gp_deposit(limbs, sum2);
            }
        }

        /* 4. Round and store; or leave the limbs, and the last part adds all of them. */
        if (parts > 1) {
            gp_leave_limbs(partials, task, limbs, special);
            if (!gp_last_done(counters + o, parts)) continue;
            special = 0;
            for (int limb = 0; limb < LIMBS; limb++) limbs[limb] = 0;
            for (i64 part = 0; part < parts; part++) special = gp_add_limbs(partials, o * parts + part, limbs, special);
        }
        STORE_SUM(o, limbs, special);
    }
}
