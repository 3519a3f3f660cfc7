/* reduce/exact: each work-item adds floats in an f64 as long as nothing is rounded, and then to integers of its group.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch partials: 2 * LIMBS + 2 words for each part of each output; counters: one for each output, zero before and after
 * launch  any number of groups of BLOCK, at least LIMBS + 1; each takes (output, part) pairs until none are left
 * host    MAP(o, j), MAP_VECTOR(o, j, values), STORE_SUM(o, limbs, special), ADDEND(value), and those of exact.h
 * order   none: sums are exact until the last one is rounded
 *
 * A work-item loads ITEMS elements at a time, and looks at their exponents. They are multiples of the last bit of the
 * smallest one. So a sum of 64 times ITEMS elements that are not too far apart has at most 53 bits. Of float64, which has
 * that many alone, the upper and the lower bits are added apart (exact.h). When elements do not fit, the sum goes to the
 * group's words of 32 bits in local memory, and the next one begins. Each word has another one, which counts how often it
 * wrapped, so that no addition needs to wait for others or to look at further words.
 */
#define CHUNK ((i64)BLOCK * ITEMS)
#define TOGETHER 64                      /* additions of ITEMS elements to a sum */
#define ROWS (BLOCK / (LIMBS + 1))          /* parts that a group adds side by side */

/* Add a finite number to words of 32 bits, each of which has its count of wraps behind it. */
DEVICE void gp_deposit_locally(LOCAL u32 *words, const f64 number)
{
    const placed_t placed = gp_placed(number);
    if (placed.whole == 0) return;
    const int shift = placed.place & 31;
    const u64 low = placed.whole << shift;
    const u32 pieces[3] = {(u32)low, (u32)(low >> 32), (u32)(placed.whole >> 1 >> (63 - shift))};
    LOCAL u32 *own = words + 2 * (placed.place >> 5);
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const u32 piece = pieces[k];
        if (!piece) continue;
        const u32 before = gp_add_count(own + 2 * k, placed.negative ? 0u - piece : piece);
        const int wraps = placed.negative ? before < piece : before + piece < piece;
        if (wraps) gp_add_count(own + 2 * k + 1, placed.negative ? 0u - 1 : 1);
    }
}

/* Add elements whose exponents lie far apart, in windows of bits from the largest one down. */
DEVICE void gp_deposit_values(LOCAL u32 *words, LOCAL u32 *special, const value_t *values)
{
    f64 rests[ITEMS], top = 0;
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        rests[item] = ADDEND(values[item]);
        if (rests[item] - rests[item] != 0) { /* infinite or NaN */
            gp_set_bits(special, rests[item] > 0 ? 1u : rests[item] < 0 ? 2u : 3u);
            rests[item] = 0;
        }
        top = max(top, gp_absolute_f64(rests[item]));
    }
    while (top > 0) {
        const int exponent = max((int)(gp_bits_f64(top) >> 52) - 1023, -HIGHEST_WINDOW);
        f64 sum = 0;
        top = 0;
        if (exponent > HIGHEST_WINDOW) {
            for (int item = 0; item < ITEMS; item++) gp_deposit_locally(words, rests[item]);
            break;
        }
        const f64 rounder = gp_rounder(exponent + 5); /* ITEMS times 48 bits are 52 */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const f64 high = (rests[item] + rounder) - rounder;
            sum += high;
            rests[item] -= high;
            top = max(top, gp_absolute_f64(rests[item]));
        }
        gp_deposit_locally(words, sum);
    }
}

__kernel WORK_GROUP(BLOCK)
void reduce_exact(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                  const i64 n, const i64 parts)
{
    __local u32 words[2 * LIMBS], kinds[1];
    __local i64 gathered[BLOCK];
    __local int last;
    const int tid = get_local_id(0);
    const i64 chunk = ((n + parts - 1) / parts + CHUNK - 1) / CHUNK * CHUNK;
    value_t values[ITEMS];

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts, first = min((task % parts) * chunk, n), end = min(first + chunk, n);
        sum_t sum = gp_empty_sum();
        for (int word = tid; word < 2 * LIMBS; word += BLOCK) words[word] = 0;
        if (tid == 0) kinds[0] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);

        for (i64 base = first; base < end; base += CHUNK) {
            /* 1. Load elements, and look at their exponents. A whole chunk has no branches between its loads. */
            if (base + CHUNK <= end) {
#pragma unroll
                for (int item = 0; item < ITEMS; item += VECTOR)
                    MAP_VECTOR(o, base + (i64)item * BLOCK + tid * VECTOR, values + item);
            } else {
#pragma unroll
                for (int item = 0; item < ITEMS; item++) {
                    const i64 j = base + (i64)(item / VECTOR) * (VECTOR * BLOCK) + tid * VECTOR + item % VECTOR;
                    values[item] = IDENTITY;
                    if (j < end) values[item] = MAP(o, j);
                }
            }
            u32 top = 0, bottom = ~0u;
#pragma unroll
            for (int item = 0; item < ITEMS; item++) {
                const u32 key = gp_key(values[item]);
                top = max(top, key);
                bottom = min(bottom, key - 1); /* of 0 the largest one */
            }

            /* 2. Add them, or begin another sum. */
            int fits = gp_fits(sum, top, bottom);
            if (!fits || sum.count == TOGETHER) {
                gp_deposit_locally(words, sum.upper);
                if (WIDE) gp_deposit_locally(words, sum.lower);
                sum = gp_sum_for(top, bottom);
                fits = gp_fits(sum, top, bottom);
            }
            if (fits) {
                sum = gp_counted(sum, top, bottom);
#pragma unroll
                for (int item = 0; item < ITEMS; item++) sum = gp_added(sum, ADDEND(values[item]));
            } else {
                gp_deposit_values(words, kinds, values);
                sum = gp_empty_sum();
            }
        }
        gp_deposit_locally(words, sum.upper);
        if (WIDE) gp_deposit_locally(words, sum.lower);
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 3. Round and store; or leave the limbs, and the last group adds those of all parts. */
        i64 limbs[LIMBS];
        f64 special = 0;
        if (tid == 0) {
            for (int limb = 0; limb < LIMBS; limb++)
                limbs[limb] = (i64)words[2 * limb] + (i64)(i32)words[2 * limb + 1] * ((i64)1 << 32);
            if (kinds[0]) special = kinds[0] == 1 ? 1.0 / 0.0 : kinds[0] == 2 ? -1.0 / 0.0 : 0.0 / 0.0;
            last = 0;
            if (parts == 1) {
                STORE_SUM(o, limbs, special);
            } else {
                gp_leave_limbs(partials, task, limbs, special);
                last = gp_last_done(counters + o, parts);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (last) {
            const int limb = tid % (LIMBS + 1);
            i64 whole = 0;
            f64 specials = 0;
            for (i64 part = tid / (LIMBS + 1); part < parts && tid < ROWS * (LIMBS + 1); part += ROWS) {
                const u64 bits = gp_read_limb(partials, o * parts + part, limb);
                if (limb < LIMBS)
                    whole += (i64)bits;
                else
                    specials += gp_from_bits_f64(bits);
            }
            gathered[tid] = limb < LIMBS ? whole : (i64)gp_bits_f64(specials);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (tid == 0) {
                special = 0;
                for (int k = 0; k <= LIMBS; k++) {
                    whole = 0;
                    for (int row = 0; row < ROWS; row++) {
                        const i64 own = gathered[row * (LIMBS + 1) + k];
                        if (k < LIMBS)
                            whole += own;
                        else
                            special += gp_from_bits_f64((u64)own);
                    }
                    if (k < LIMBS) limbs[k] = whole;
                }
                STORE_SUM(o, limbs, special);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
