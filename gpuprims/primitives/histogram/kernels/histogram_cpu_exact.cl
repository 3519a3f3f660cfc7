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
 * A word adds 32 bits of each weight, and has room for the carries of 2^31. So a weight takes two additions, or three. If the
 * exponents of a part's weights are near enough, each weight is first cut in two numbers, and float64 sums of these are exact:
 *
 *     highest weight        unit          lowest bit
 *       |---- upper ---------|---- lower ------|       53 bits each, with `carries` bits for the carries of a sum
 */
#define ROUND 64
#define OPEN (-1)
#define EACH_LANE _Pragma("clang loop unroll(disable)") for (int lane = 0; lane < ROUND; lane++)

/* Add a signed number, moved up by `up` bits, to the words of a place: 32 bits to each word, the highest with the sign. The bits
 * of a finite float32 weight have been moved up before. */
#define ADD_ANYWHERE(words, number, up)                                                                                \
    do {                                                                                                               \
        const i64 rest = (number) >> (32 - (up));                                                                      \
        (words)[0] += (i64)(u32)((u64)(number) << (up));                                                               \
        (words)[1] += (i64)(u32)rest;                                                                                  \
        (words)[2] += rest >> 32;                                                                                      \
    } while (0)

#if FRACTION_BITS < 32
#define MOVED(number, up) ((i64)((u64)(number) << (up)))
#define ADD_NUMBER(words, number, up)                                                                                  \
    do {                                                                                                               \
        (words)[0] += (i64)(u32)(number);                                                                              \
        (words)[1] += (number) >> 32;                                                                                  \
    } while (0)
#else
#define MOVED(number, up) (number)
#define ADD_NUMBER ADD_ANYWHERE
#endif

/* The biased exponent of a weight's last bit, EXPONENT_MASK for infinities and NaN; and its bits before, with the sign. A float32
 * has 32 bits, so that a vector holds twice as many. */
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

/* The exponents of a part's weights but zeros, and how weights are cut in two. */
typedef struct {
    i32 lowest, highest; /* the biased exponents; EXPONENT_MASK and 0 if there are none */
    i32 cut, carries;    /* 1 if float64 hold the sums of cut weights; the bits that sums have more than weights */
} window_t;

/* The words' bit where a weight ends, and where upper numbers do, whose sums have 53 bits. */
#define BIT_OF(exponent) ((exponent)-1)
#define UNIT_BIT(window) (BIT_OF((window).highest) + FRACTION_BITS + 1 + (window).carries - 53)
/* The power of two that a bit of the words is worth. */
#define EXPONENT_OF(bit) ((bit) + 1 - (EXPONENT_MASK >> 1) - FRACTION_BITS)
#define POWER_OF_2(exponent) gp_from_bits_f64((u64)(1023 + (exponent)) << 52)

/* Return 1 if sums of lower numbers have at most 53 bits too, and powers of two are normal float64 whose bits words have. */
DEVICE int gp_holds_sums(const window_t window)
{
    const i32 unit = UNIT_BIT(window);
    if (window.highest < window.lowest || window.highest == EXPONENT_MASK || unit < 0 || window.carries < 2) return 0;
    if (unit + window.carries - 1 - BIT_OF(window.lowest) > 53 || (unit >> 5) + 2 > DIGITS - 2) return 0;
    return abs(EXPONENT_OF(unit)) < 900 && abs(EXPONENT_OF(BIT_OF(window.lowest))) < 1000;
}

/* The bits of a weight without its sign, which are in the order of magnitudes. */
DEVICE word_t gp_size_bits(const weight_t weight)
{
    return (word_t)WEIGHT_BITS(weight) & (((word_t)EXPONENT_MASK + 1 << FRACTION_BITS) - 1);
}

/* Find the window of elements first to last of an output. Zero less 1 is the largest number. Intel's
 * compiler makes vectors of comparisons and of lanes in memory, but not of `min` and of one variable (rows: cpu_exact-cut). */
DEVICE window_t gp_window_of(INPUTS, const layout_t layout, const i64 o, const i64 first, const i64 last)
{
    word_t less[ROUND], sizes[ROUND], least = ~(word_t)0, most = 0;
    window_t window;
    EACH_LANE
    {
        less[lane] = least;
        sizes[lane] = most;
    }
    i64 j = first;
    for (; j + ROUND <= last; j += ROUND)
        EACH_LANE
        {
            const word_t size = gp_size_bits(WEIGHT(MAP(o, j + lane)));
            less[lane] = size - 1 < less[lane] ? size - 1 : less[lane];
            sizes[lane] = size > sizes[lane] ? size : sizes[lane];
        }
    for (int lane = 0; lane < ROUND; lane++) {
        least = min(least, less[lane]);
        most = max(most, sizes[lane]);
    }
    for (; j < last; j++) {
        const word_t size = gp_size_bits(WEIGHT(MAP(o, j)));
        least = min(least, size - 1);
        most = max(most, size);
    }
    window.lowest = most ? max((i32)(least + 1 >> FRACTION_BITS), 1) : EXPONENT_MASK;
    window.highest = most ? max((i32)(most >> FRACTION_BITS), 1) : 0;
    window.carries = 64 - (i32)clz(max(last - first, (i64)1));
    window.cut = gp_holds_sums(window);
    return window;
}

/* Turn sums of cut weights, in two words of each place, into sums of words. */
DEVICE void gp_join_cut(GLOBAL i64 *own, const i64 width, const window_t window)
{
    const i32 bits[2] = {UNIT_BIT(window), BIT_OF(window.lowest)};
    for (i64 place = 0; place < width; place++) {
        GLOBAL i64 *words = own + place * DIGITS;
        const i64 sums[2] = {words[0], words[1]};
        words[0] = words[1] = 0;
        for (int k = 0; k < 2; k++) {
            const i64 number = (i64)(gp_from_bits_f64((u64)sums[k]) * POWER_OF_2(-EXPONENT_OF(bits[k])));
            ADD_ANYWHERE(words + (bits[k] >> 5), number, bits[k] & 31);
        }
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
        const window_t window = gp_window_of(INPUT_NAMES, layout, o, part * share, end);
        const f64 turn = window.cut ? 1.5 * POWER_OF_2(52 + EXPONENT_OF(UNIT_BIT(window))) : 0;
        for (i64 k = 0; k < words; k++) own[k] = 0;

        /* 1. Find bins, many at once; doubtful ones stay open. */
        i64 j = part * share;
        for (; j + ROUND <= end; j += ROUND) {
            i32 found[ROUND], exponents[ROUND];
            i64 numbers[ROUND];
            f64 upper[ROUND], lower[ROUND];
            EACH_LANE
            {
                int doubt;
                const i32 place = gp_guess_place(MAP(o, j + lane), b, &doubt);
                found[lane] = doubt ? OPEN : place;
            }

            /* 2. Cut weights and add, one by one, after settling doubtful bins. */
            if (window.cut) {
                EACH_LANE
                {
                    const f64 weight = (f64)WEIGHT(MAP(o, j + lane));
                    upper[lane] = (weight + turn) - turn;
                    lower[lane] = weight - upper[lane];
                }
                for (int lane = 0; lane < ROUND; lane++) {
                    const i64 bin = found[lane] == OPEN ? gp_settle_place(MAP(o, j + lane), b) : found[lane];
                    const double2 sums = as_double2(vload2(0, own + bin * DIGITS));
                    vstore2(as_long2(sums + (double2)(upper[lane], lower[lane])), 0, own + bin * DIGITS);
                }
                continue;
            }

            /* 3. Or split their bits. */
            EACH_LANE
            {
                const weight_t weight = WEIGHT(MAP(o, j + lane));
                const i32 exponent = gp_last_bit(weight);
                numbers[lane] = MOVED(gp_signed_mantissa(weight), (exponent - 1) & 31);
                exponents[lane] = exponent - 1;
            }
            for (int lane = 0; lane < ROUND; lane++) {
                const i64 bin = found[lane] == OPEN ? gp_settle_place(MAP(o, j + lane), b) : found[lane];
                if (window.highest == EXPONENT_MASK) {
                    gp_add_weight(own + bin * DIGITS, WEIGHT(MAP(o, j + lane)));
                } else {
                    GLOBAL i64 *digits = own + bin * DIGITS + (exponents[lane] >> 5);
                    ADD_NUMBER(digits, numbers[lane], exponents[lane] & 31);
                }
            }
        }

        /* 4. Join the cut weights, and add the elements that are left over. */
        if (window.cut) gp_join_cut(own, width, window);
        for (; j < end; j++) {
            const value_t value = MAP(o, j);
            gp_add_weight(own + gp_settle_place(value, b) * DIGITS, WEIGHT(value));
        }

        /* The exponents there were, and that of the unit. */
        own[words - 1] = (i64)window.lowest | (i64)max(window.highest, window.cut ? UNIT_BIT(window) + 1 : 0) << 32;
    }
}
