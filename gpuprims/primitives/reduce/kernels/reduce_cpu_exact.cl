/* reduce/cpu_exact: each work-item adds floats exactly, in windows of bits of a block, for devices whose work-items are
 * CPU threads.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch partials: 2 * LIMBS + 2 words for each part of each output; counters: one for each output, zero before and after
 * launch  any number of groups of one work-item; each takes (output, part) pairs until none are left
 * host    ROW(o, j), ROW_END(j, last), MAP_ROW(row, j), MAP(o, j), STORE_SUM(o, limbs, special), ADDEND(value), WINDOWS, and those of
 *         exact.h
 * order   none: sums are exact until the last one is rounded
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

__kernel WORK_GROUP(1)
void reduce_cpu_exact(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                      const i64 n, const i64 parts)
{
    const i64 chunk = (n + parts - 1) / parts;
    i64 limbs[LIMBS];
    f64 rests[ITEMS], sums0[HELD], sums1[HELD], sums2[HELD], tops[HELD], zeros[HELD];

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts, first = min((task % parts) * chunk, n), end = min(first + chunk, n);
        f64 special = 0;
        for (int limb = 0; limb < LIMBS; limb++) limbs[limb] = 0;

        for (i64 base = first; base < end; base += ITEMS) {
            const int count = (int)min(end - base, (i64)ITEMS), padded = (count + HELD - 1) / HELD * HELD;

            /* 1. Load a block, and find its largest magnitude. A number minus itself is NaN if it is infinite or NaN. */
            for (i64 j = base; j < base + count;) {
                const row_t row = ROW(o, j);
                const int at = (int)(j - base), to = (int)(ROW_END(j, base + count) - base);
                for (int k = at; k < to; k++) rests[k] = ADDEND(MAP_ROW(row, base + k));
                j = base + to;
            }
            for (int k = count; k < padded; k++) rests[k] = 0;
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

            /* 2. Add the highest bits of all elements, in windows from the largest magnitude down; again while bits are left. A sum
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

        /* 3. Round and store; or leave the limbs, and the last part adds all of them. */
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
