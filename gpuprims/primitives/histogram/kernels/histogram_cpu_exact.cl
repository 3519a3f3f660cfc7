/* histogram/cpu_exact: each work-item adds float weights to sums of its own that have all bits, for devices whose work-items are
 * CPU threads.
 *
 * in      INPUTS: n elements for each of `outputs` histograms; the table (binning.h)
 * out     histograms: results of `stored` places, `pitch` apart for each output
 * scratch counters: DIGITS words for each of bins + 2 places, and one word, for each part of each output
 * launch  any number of groups of one work-item, twice: to add, each takes (part, output) pairs until none are left; and with
 *         `merging` to add up the parts, each takes outputs
 * host    gp_guess_place and gp_settle_place (places.h), gp_exponent, gp_mantissa, gp_not_finite, gp_join_plane and
 *         gp_store_total (sums.h), WEIGHT, MAP(o, j)
 * order   none: sums are exact until they are rounded
 *
 * A word adds 32 bits of each weight, and has room for the carries of 2^31. So a weight takes two additions, or three.
 */
#define ROUND 64
#define OPEN (-1)
#define EACH_LANE _Pragma("clang loop unroll(disable)") for (int lane = 0; lane < ROUND; lane++)

/* Add a signed number, of a finite weight's bits moved up by `up`, to the words of a place: 32 bits to each, the highest with the
 * sign. A float32 has been moved up before. */
#if FRACTION_BITS < 32
#define MOVED(number, up) ((i64)((u64)(number) << (up)))
#define ADD_NUMBER(words, number, up)                                                                                  \
    do {                                                                                                               \
        (words)[0] += (i64)(u32)(number);                                                                              \
        (words)[1] += (number) >> 32;                                                                                  \
    } while (0)
#else
#define MOVED(number, up) (number)
#define ADD_NUMBER(words, number, up)                                                                                  \
    do {                                                                                                               \
        const i64 rest = (number) >> (32 - (up));                                                                      \
        (words)[0] += (i64)(u32)((u64)(number) << (up));                                                               \
        (words)[1] += (i64)(u32)rest;                                                                                  \
        (words)[2] += rest >> 32;                                                                                      \
    } while (0)
#endif

/* The biased exponent of a weight's last bit, EXPONENT_MASK of infinities and NaN; and its bits before, with the sign. Of a float32,
 * 32 bits: twice as many lie in a vector. */
#if FRACTION_BITS < 32
typedef u32 word_t;
#else
typedef u64 word_t;
#endif
DEVICE i32 gp_last_bit(const weight_t weight)
{
    return max((i32)((word_t)WEIGHT_BITS(weight) >> FRACTION_BITS) & EXPONENT_MASK, 1);
}

DEVICE i64 gp_signed_mantissa(const weight_t weight)
{
    const word_t bits = (word_t)WEIGHT_BITS(weight), implicit = (word_t)1 << FRACTION_BITS;
    const word_t mantissa = (bits & (implicit - 1)) | ((bits >> FRACTION_BITS & EXPONENT_MASK) ? implicit : 0);
    return weight < 0 ? -(i64)mantissa : (i64)mantissa;
}

/* Add any weight to the words of its place. */
DEVICE void gp_add_weight(GLOBAL i64 *words, const weight_t weight)
{
    const i32 exponent = gp_last_bit(weight), at = (exponent - 1) >> 5, up = (exponent - 1) & 31;
    if (exponent == EXPONENT_MASK) {
        words[DIGITS - 1] |= gp_not_finite(weight);
    } else {
        const i64 number = MOVED(gp_signed_mantissa(weight), up);
        ADD_NUMBER(words + at, number, up);
    }
}

/* Add up the words of all parts of each output, round and store. */
DEVICE void gp_merge_parts(GLOBAL i64 *rows, GLOBAL total_t *histograms, const i64 outputs, const i64 width, const i64 parts,
                           const i64 stored, const i64 pitch)
{
    const i64 words = width * DIGITS + 1;
    for (i64 o = get_group_id(0); o < outputs; o += get_num_groups(0)) {
        GLOBAL i64 *all = rows + o * parts * words;
        i32 lowest = EXPONENT_MASK, highest = 0;
        for (i64 k = 0; k < parts; k++) {
            lowest = min(lowest, (i32)all[k * words + words - 1]);
            highest = max(highest, (i32)(all[k * words + words - 1] >> 32));
        }
        const i32 first = (lowest - 1) >> 5, stop = min(((highest - 1) >> 5) + 3, DIGITS - 1);
        for (i64 place = 0; place < width; place++) {
            joined_t sum = {0};
            u32 kind = 0;
            sum.digits = first;
            for (i32 digit = first; digit < stop; digit++) {
                i64 total = 0;
                for (i64 k = 0; k < parts; k++) total += all[k * words + place * DIGITS + digit];
                gp_join_plane(&sum, digit, total);
            }
            for (i64 k = 0; k < parts; k++) kind |= (u32)all[k * words + place * DIGITS + DIGITS - 1];
            gp_join_plane(&sum, PLANES - 1, (i64)(kind & 1) | (i64)(kind >> 1) << 32);
            if (place < stored) gp_store_total(histograms + o * pitch, place, sum);
        }
    }
}

__kernel WORK_GROUP(1)
void histogram_cpu_exact(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                         const i64 parts, const i64 stored, const i64 pitch, const i64 merging)
{
    const i64 width = bins + 2, words = width * DIGITS + 1, share = (n + parts - 1) / parts;
    GLOBAL i64 *rows = (GLOBAL i64 *)counters;
    if (merging) {
        gp_merge_parts(rows, histograms, outputs, width, parts, stored, pitch);
        return;
    }
    const bins_t b = gp_read_bins(table, bins);

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task % outputs, part = task / outputs, end = min((part + 1) * share, n);
        GLOBAL i64 *own = rows + (o * parts + part) * words;
        i32 lowest = EXPONENT_MASK, highest = 0;
        for (i64 k = 0; k < words; k++) own[k] = 0;

        /* 1. Load, find bins and split weights, many at once; doubtful bins stay open. */
        i64 j = part * share;
        for (; j + ROUND <= end; j += ROUND) {
            i32 found[ROUND], exponents[ROUND], most = 0;
            i64 numbers[ROUND];
            EACH_LANE
            {
                int doubt;
                const i32 place = gp_guess_place(MAP(o, j + lane), b, &doubt);
                found[lane] = doubt ? OPEN : place;
            }
            EACH_LANE
            {
                const weight_t weight = WEIGHT(MAP(o, j + lane));
                const i32 exponent = gp_last_bit(weight);
                numbers[lane] = MOVED(gp_signed_mantissa(weight), (exponent - 1) & 31);
                exponents[lane] = exponent - 1;
                lowest = min(lowest, exponent);
                most = max(most, exponent);
            }

            /* 2. Settle doubtful bins and add, one by one. */
            for (int lane = 0; lane < ROUND; lane++) {
                i32 bin = found[lane];
                if (bin == OPEN) bin = gp_settle_place(MAP(o, j + lane), b);
                if (most == EXPONENT_MASK) {
                    gp_add_weight(own + bin * DIGITS, WEIGHT(MAP(o, j + lane)));
                } else {
                    GLOBAL i64 *digits = own + bin * DIGITS + (exponents[lane] >> 5);
                    ADD_NUMBER(digits, numbers[lane], exponents[lane] & 31);
                }
            }
            highest = max(highest, most);
        }
        for (; j < end; j++) {
            const value_t value = MAP(o, j);
            gp_add_weight(own + gp_settle_place(value, b) * DIGITS, WEIGHT(value));
            lowest = min(lowest, gp_last_bit(WEIGHT(value)));
            highest = max(highest, gp_last_bit(WEIGHT(value)));
        }

        own[words - 1] = (i64)lowest | (i64)highest << 32; /* the exponents there were */
    }
}
