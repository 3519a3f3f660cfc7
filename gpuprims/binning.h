/* From an element to its bin, and sums in bins: what histograms share, the same in both dialects.
 *
 * A bin begins at its threshold, the smallest element that is in it. Elements are sorted into cells of equal width first, by
 * one subtraction and one product, which never fall when the element rises; so thresholds in a lower cell are not above
 * the element, and those in a higher cell are. What the cell leaves open, a comparison settles.
 */
#define IMPURE 0x80000000u /* in the guide: the cell has thresholds in it */

typedef struct {
    key_t first, last;
    f32 scale, slack;
    i32 cells, bins;
    GLOBAL const key_t *thresholds;
    GLOBAL const u32 *guide;
} binning_t;

/* Read the table: the header, the thresholds and the last element of the last bin, and the guide. */
DEVICE binning_t binning_of(GLOBAL const u64 *table, const i64 bins)
{
    binning_t b;
    b.bins = (i32)bins;
    b.first = KEY_OF_BITS(table[0]);
    b.last = KEY_OF_BITS(table[1]);
    b.scale = gp_from_bits_f32((u32)table[2]);
    b.slack = gp_from_bits_f32((u32)table[3]);
    b.cells = (i32)table[4];
    b.thresholds = (GLOBAL const key_t *)(table + TABLE_HEADER);
    b.guide = (GLOBAL const u32 *)(table + TABLE_HEADER + (bins + 2) * (i64)sizeof(key_t) / 8);
    return b;
}

/* Elements that belong to no bin go to two places behind the last one: those too low go to the second. */
#define NO_BIN(b) ((b).bins)

#if BINS_DIRECT
DEVICE i32 guess_bin(const key_t x, const binning_t b, int *sure)
{
    *sure = 1;
    return x >= 0 && x < (key_t)b.bins ? (i32)x : b.bins + (x < 0);
}

DEVICE i32 settle_bin(const key_t x, const binning_t b, const i32 guess)
{
    return guess;
}
#elif BINS_EVEN
/* Bins are cells, but for rounding: at the edges of a cell, the width of the slack, it may be the next bin's. */
DEVICE i32 guess_bin(const key_t x, const binning_t b, int *sure)
{
    const int inside = x >= b.first && x <= b.last;
    const f32 at = inside ? DISTANCE(x, b.first) * b.scale : 0;
    const i32 cell = at < (f32)b.cells ? (i32)at : b.cells - 1;
    const f32 within = at - (f32)cell;
    *sure = !inside || (within >= b.slack && within <= 1 - b.slack);
    return inside ? cell : NO_BIN(b);
}

DEVICE i32 settle_bin(const key_t x, const binning_t b, const i32 guess)
{
    if (x < b.thresholds[guess]) return guess - 1;
    return guess + (guess + 1 < b.bins && x >= b.thresholds[guess + 1]);
}
#else
DEVICE i32 cell_of(const key_t x, const binning_t b)
{
    const f32 at = DISTANCE(x, b.first) * b.scale;
    return at < (f32)b.cells ? (i32)at : b.cells - 1;
}

/* The guide has the number of thresholds, after the first, in lower cells, which is the bin of an element of a pure cell. */
DEVICE i32 guess_bin(const key_t x, const binning_t b, int *sure)
{
    const int inside = x >= b.first && x <= b.last;
    const u32 lower = b.guide[inside ? cell_of(x, b) : 0];
    *sure = !inside || lower < IMPURE;
    return inside ? (i32)(lower & ~IMPURE) : NO_BIN(b);
}

DEVICE i32 settle_bin(const key_t x, const binning_t b, const i32 guess)
{
    i32 low = guess, high = (i32)(b.guide[cell_of(x, b) + 1] & ~IMPURE);
    while (low < high) {
        const i32 middle = low + (high - low) / 2;
        if (x >= b.thresholds[middle + 1]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}
#endif

/* No element at all; and whether what was found counts: outside the bins only where numbers are counted. */
#define NOTHING (-1)
#define COUNTED(found, b) ((found) != NOTHING && ((BINS_DIRECT && SUMS_COUNTS) || (found) < (b).bins))

/* The bin of an element, or a place behind the last. */
DEVICE i32 bin_of(const key_t x, const binning_t b)
{
    int sure;
    const i32 guess = guess_bin(x, b, &sure);
    return sure ? guess : settle_bin(x, b, guess);
}

/* Load a work-item's share of a tile, and find its bins; there are none past the last element. */
DEVICE void find_tile(INPUTS, const layout_t layout, const i64 o, const i64 base, const i64 n, const int tid,
                      const binning_t b, value_t *values, i32 *found)
{
    const i64 own = base + (i64)tid * VECTOR, step = (i64)BLOCK * VECTOR;
    if (base + step * (ITEMS / VECTOR) <= n) {
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR) MAP_VECTOR(o, own + item / VECTOR * step, values + item);
#pragma unroll
        for (int item = 0; item < ITEMS; item++) found[item] = bin_of(KEY(values[item]), b);
    } else {
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const i64 j = own + item / VECTOR * step + item % VECTOR;
            found[item] = NOTHING;
            if (j < n) {
                values[item] = MAP(o, j);
                found[item] = bin_of(KEY(values[item]), b);
            }
        }
    }
}

#ifdef LOWEST
/* The values of a byte that are in a bin, or in a place behind the last one: from the first to before the second. */
#define BYTES 256
#define HIGHEST (LOWEST + BYTES)

DEVICE void bytes_of(const i64 place, const binning_t b, i32 *from, i32 *to)
{
#if BINS_DIRECT
    const i32 end = min((i32)b.bins, HIGHEST);
    *from = place < b.bins ? (i32)min(place, (i64)HIGHEST) : place == b.bins ? end : LOWEST;
    *to = place < b.bins ? min(*from + 1, HIGHEST) : place == b.bins ? HIGHEST : 0;
#else
    *from = place < b.bins ? (i32)b.thresholds[place] : HIGHEST;
    *to = place + 1 < b.bins ? (i32)b.thresholds[place + 1] : place < b.bins ? (i32)b.last + 1 : HIGHEST;
#endif
}
#endif

/* The exponent of a weight as its bits have it, that of the least normal number for those below; of infinities and NaN the mask. */
#if SUMS_PEAKS || SUMS_LIMBS
DEVICE u32 exponent_of(const weight_t weight)
{
    const u32 exponent = (u32)(WEIGHT_BITS(weight) >> FRACTION_BITS) & EXPONENT_MASK;
    return exponent ? exponent : weight != 0;
}
#endif

#if SUMS_LIMBS
#define LIMB_BITS 30

/* Two to the power of a number, as far as a normal number is. */
DEVICE weight_t power_of_two(const int power)
{
    return WEIGHT_OF_BITS((u64)(power + EXPONENT_MASK / 2) << FRACTION_BITS);
}

/* Cut a weight into integers of 30 bits, from the highest, where the largest has such an exponent; where that is not finite, count
 * infinities, negative ones and NaN instead, which alone decide the sum. */
DEVICE void limbs_of(const weight_t weight, const u32 peak, i64 *limbs)
{
    if (peak == EXPONENT_MASK) {
        limbs[0] = weight > 0 && exponent_of(weight) == EXPONENT_MASK;
        limbs[1] = weight < 0 && exponent_of(weight) == EXPONENT_MASK;
        limbs[2] = weight != weight;
        return;
    }
    const int power = LIMB_BITS - 1 + EXPONENT_MASK / 2 - (int)peak;
    weight_t rest = weight * power_of_two(power / 2) * power_of_two(power - power / 2);
    for (int plane = 0; plane < PLANES; plane++) {
        limbs[plane] = (i64)rest;
        rest = (rest - (weight_t)limbs[plane]) * (weight_t)(1 << LIMB_BITS);
    }
}
#endif
/* Add a value at a place, `stride` places from one plane to the next; `peak` is the exponent of its bin's largest weight. */
#if SUMS_COUNTS && !WIDE
#define ADD(histogram, place, stride, value, peak) gp_increment((histogram) + (place))
#elif SUMS_COUNTS || SUMS_INTEGERS
#define ADD(histogram, place, stride, value, peak) gp_add_integer((histogram) + (place), (i64)WEIGHT(value))
#elif SUMS_PEAKS
#define ADD(histogram, place, stride, value, peak) gp_raise((histogram) + (place), exponent_of(WEIGHT(value)))
#elif SUMS_FLOATS
#define ADD(histogram, place, stride, value, peak) gp_add_float((histogram) + (place), (bin_t)WEIGHT(value))
#else
#define ADD(histogram, place, stride, value, peak)                                                                     \
    do {                                                                                                               \
        i64 limbs[PLANES];                                                                                             \
        limbs_of(WEIGHT(value), peak, limbs);                                                                          \
        for (int plane = 0; plane < PLANES; plane++)                                                                   \
            if (limbs[plane]) gp_add_integer((histogram) + (place) + plane * (stride), limbs[plane]);                  \
    } while (0)
#endif
#if SUMS_LIMBS
#define PEAK(o, found) peaks[(o) * bins + (found)]
#else
#define PEAK(o, found) 0
#endif

/* Join what two groups, or two replicas, have of a bin. */
#if SUMS_PEAKS
#define JOIN(a, b) ((a) > (b) ? (a) : (b))
#else
#define JOIN(a, b) ((a) + (b))
#endif
