/* From an element to its bin, and sums in bins: what histograms share, the same in both dialects.
 *
 * A bin begins at its threshold, the smallest element that is in it. Elements are sorted into cells of equal width first, by
 * one subtraction and one product, which never fall when the element rises; so thresholds in a lower cell are not above
 * the element, and those in a higher cell are. What the cell leaves open, a comparison settles.
 */
#define HEADER 8 /* words of the table before the thresholds */
#define IMPURE 0x80000000u /* in the guide: the cell has thresholds in it */

typedef struct {
    key_t first, last;
    f32 scale, slack;
    i32 cells, bins;
    real_t factors[2];
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
    b.factors[0] = REAL_OF_BITS(table[5]);
    b.factors[1] = REAL_OF_BITS(table[6]);
    b.thresholds = (GLOBAL const key_t *)(table + HEADER);
    b.guide = (GLOBAL const u32 *)(table + HEADER + (bins + 2) * (i64)sizeof(key_t) / 8);
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
#else
DEVICE i32 cell_of(const key_t x, const binning_t b)
{
    const f32 at = DISTANCE(x, b.first) * b.scale;
    return at < (f32)b.cells ? (i32)at : b.cells - 1;
}

#if BINS_EVEN
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
#endif

/* No element at all; and whether what was found counts: outside the bins only where elements are numbers of bins. */
#define NOTHING (-1)
#define COUNTED(found, b) ((found) != NOTHING && (BINS_DIRECT || (found) < (b).bins))

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

/* Where a value is added, `stride` places from one sum to the next: a count, an integer or a float, or, for sums that are
 * the same in any order, the value cut into PLANES integers of 30 bits, from the highest. */
#if SUMS_COUNTS
#define ADD(histogram, place, stride, value, b) gp_increment((histogram) + (place))
#elif SUMS_INTEGERS
#define ADD(histogram, place, stride, value, b) gp_add_integer((histogram) + (place), (i64)WEIGHT(value))
#elif SUMS_FLOATS
#define ADD(histogram, place, stride, value, b) gp_add_float((histogram) + (place), (bin_t)WEIGHT(value))
#else
#define ADD(histogram, place, stride, value, b)                                                                        \
    do {                                                                                                               \
        real_t rest = (real_t)WEIGHT(value) * (b).factors[0] * (b).factors[1];                                         \
        for (int plane = 0; plane < PLANES; plane++) {                                                                 \
            const i64 whole = (i64)rest;                                                                               \
            if (whole) gp_add_integer((histogram) + (place) + plane * (stride), whole);                                \
            rest = (rest - (real_t)whole) * (real_t)(1 << 30);                                                         \
        }                                                                                                              \
    } while (0)
#endif
#if SUMS_COUNTS
#define TAKEN(value) 1
#else
#define TAKEN(value) WEIGHT(value)
#endif
