/* reduce/cpu_exact_columns: each work-item adds floats of outputs side by side in f64 where nothing is rounded, for devices whose
 * work-items are CPU threads.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, neighbouring outputs next to each other in memory
 * out     OUTPUTS: one value for each
 * scratch partials: 2 * LIMBS + 2 words for each part of each output; counters: one for each output, zero before and after
 * launch  any number of groups of one work-item; each takes neighbouring outputs and a part of their elements until none are left
 * host    BESIDE(o, j), BESIDE_LENGTH(outputs), MAP_BESIDE(row, o), STORE_SUM(o, limbs, special), ADDEND(value), and those of exact.h
 * order   none: sums are exact until the last one is rounded
 *
 * A block of ROWS elements of an output is added as by reduce/cpu_exact: in one f64; in two, of high and of low bits; or one
 * element after the other, if they are too far apart for both.
 */
#define WIDTH 64 /* outputs_per_group */
#define LINE 16  /* outputs that share a cache line at least */
#define ROWS 1024
#define EACH_COLUMN _Pragma("clang loop unroll(disable)") for (int column = 0; column < live; column++)
/* The most that exponents of a block differ by, in one f64 and in two, and the least exponent that leaves no room for a rounder. */
#if WIDE
#define FAR_SPAN 32
#define FEW_ABOVE (SPECIAL_KEY - 13)
#define EXPONENT_BIAS 1023
#else
#define FAR_SPAN 56
#define FEW_ABOVE SPECIAL_KEY
#define EXPONENT_BIAS 127
#endif
#define MOST(column) ((int)(tops[column] >> KEY_BITS))
#define APART(column) (MOST(column) - max((int)(bottoms[column] >> KEY_BITS), 1))

#if WIDE
#define AT_ONCE 1 /* rows */
#else
#define AT_ONCE 4
/* Add four rows of eight neighbours; a loop over all of them would not become vectors. */
DEVICE void gp_add_four(value_t (*values)[WIDTH], const int at, u32 *tops, u32 *bottoms, f64 *sums)
{
    const float8 v0 = vload8(0, values[0] + at), v1 = vload8(0, values[1] + at);
    const float8 v2 = vload8(0, values[2] + at), v3 = vload8(0, values[3] + at);
    const uint8 k0 = as_uint8(v0) & 0x7fffffffu, k1 = as_uint8(v1) & 0x7fffffffu;
    const uint8 k2 = as_uint8(v2) & 0x7fffffffu, k3 = as_uint8(v3) & 0x7fffffffu;
    const double8 sum = (convert_double8(v0) + convert_double8(v1)) + (convert_double8(v2) + convert_double8(v3));
    vstore8(max(vload8(0, tops), max(max(k0, k1), max(k2, k3))), 0, tops);
    vstore8(min(vload8(0, bottoms), min(min(k0 - 1u, k1 - 1u), min(k2 - 1u, k3 - 1u))), 0, bottoms);
    vstore8(vload8(0, sums) + sum, 0, sums);
}
#endif

__kernel WORK_GROUP(1)
void reduce_cpu_exact_columns(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout,
                              const i64 outputs, const i64 n, const i64 parts)
{
    const i64 length = BESIDE_LENGTH(outputs), groups = get_num_groups(0), most = (length + WIDTH - 1) / WIDTH;
    const i64 even = parts == 1 ? (most + groups - 1) / groups * groups : most; /* as many strips for each group */
    const i64 width = min(((length + even - 1) / even + LINE - 1) / LINE * LINE, (i64)WIDTH);
    const i64 across = (length + width - 1) / width, strips = outputs / length * across, chunk = (n + parts - 1) / parts;
    i64 limbs[WIDTH][LIMBS];
    value_t values[AT_ONCE][WIDTH];
    f64 specials[WIDTH], upper[WIDTH], lower[WIDTH], rounders[WIDTH];
    u32 tops[WIDTH], bottoms[WIDTH];
    for (int column = 0; column < WIDTH; column++) { /* vectors read past the last output */
        tops[column] = bottoms[column] = 0, upper[column] = 0;
        for (int k = 0; k < AT_ONCE; k++) values[k][column] = 0;
    }

    for (i64 task = get_group_id(0); task < strips * parts; task += groups) {
        const i64 strip = task / parts, part = task % parts, o = strip / across * length + strip % across * width;
        const i64 first = min(part * chunk, n), end = min(first + chunk, n);
        const int live = (int)min(width, length - strip % across * width);
        for (int column = 0; column < live; column++) {
            specials[column] = 0;
            for (int limb = 0; limb < LIMBS; limb++) limbs[column][limb] = 0;
        }

        for (i64 base = first; base < end; base += ROWS) {
            const i64 stop = min(base + ROWS, end);

            /* 1. Find the largest and the smallest exponent of each output, and add up what one f64 has room for. */
            EACH_COLUMN tops[column] = 0, bottoms[column] = ~0u, upper[column] = lower[column] = 0;
            for (i64 j = base; j < stop; j += AT_ONCE) {
                for (int k = 0; k < AT_ONCE; k++) {
                    const row_t row = BESIDE(o, min(j + k, stop - 1));
                    if (j + k < stop)
                        EACH_COLUMN values[k][column] = MAP_BESIDE(row, o + column);
                    else
                        EACH_COLUMN values[k][column] = 0;
                }
#if WIDE
                EACH_COLUMN
                {
                    const u32 key = gp_key(values[0][column]);
                    tops[column] = max(tops[column], key);
                    bottoms[column] = min(bottoms[column], key - 1u);
                }
#else
                for (int at = 0; at < live; at += 8) gp_add_four(values, at, tops + at, bottoms + at, upper + at);
#endif
            }

            /* 2. If that has been too little, add the high and the low bits apart. */
            int far = WIDE;
#if !WIDE
            for (int column = 0; column < live; column++) far |= APART(column) > SPAN - 1;
#endif
            if (far) {
                EACH_COLUMN upper[column] = 0;
                EACH_COLUMN rounders[column] = gp_rounder(min(MOST(column), FEW_ABOVE) + 1 - EXPONENT_BIAS + 11);
                for (i64 j = base; j < stop; j++) {
                    const row_t row = BESIDE(o, j);
                    EACH_COLUMN
                    {
                        const f64 number = ADDEND(MAP_BESIDE(row, o + column));
                        const f64 high = (number + rounders[column]) - rounders[column];
                        upper[column] += high;
                        lower[column] += number - high;
                    }
                }
            }

            /* 3. Add the sums to the limbs; or each element. A number minus itself is NaN if it is infinite or NaN. */
            for (int column = 0; column < live; column++) {
                if (MOST(column) < FEW_ABOVE && APART(column) <= FAR_SPAN) {
                    gp_deposit(limbs[column], upper[column]);
                    if (far) gp_deposit(limbs[column], lower[column]);
                    continue;
                }
                for (i64 j = base; j < stop; j++) {
                    const row_t row = BESIDE(o, j);
                    const f64 number = ADDEND(MAP_BESIDE(row, o + column));
                    if (number - number != 0)
                        specials[column] += number;
                    else
                        gp_deposit(limbs[column], number);
                }
            }
        }

        /* 4. Round and store; or leave the limbs, and the last part adds all of them. */
        if (parts > 1) {
            for (int column = 0; column < live; column++)
                gp_leave_limbs(partials, (o + column) * parts + part, limbs[column], specials[column]);
            if (!gp_last_done(counters + o, parts)) continue;
            for (int column = 0; column < live; column++) {
                specials[column] = 0;
                for (int limb = 0; limb < LIMBS; limb++) limbs[column][limb] = 0;
                for (i64 left = 0; left < parts; left++)
                    specials[column] = gp_add_limbs(partials, (o + column) * parts + left, limbs[column], specials[column]);
            }
        }
        for (int column = 0; column < live; column++) STORE_SUM(o + column, limbs[column], specials[column]);
    }
}
