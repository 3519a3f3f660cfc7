/* Find an element's bin and add to its sums.
 *
 * A bin begins at its threshold, its smallest element. One product sorts elements into cells of equal width. If the
 * cell leaves the bin in doubt, because products round or a threshold lies in the cell, comparisons settle it. */
#define TURN 12582912.0f /* 1.5 * 2^23: adding it rounds a float to an integer, in the low bits of the sum */

typedef struct {
    key_t first, last;
    f32 scale, bias, limit;
    i32 cells, bins;
    GLOBAL const key_t *thresholds;
    GUIDE *guide;
} binning_t;

/* Read the table: the header, the thresholds, the last element of the last bin, and the guide. */
DEVICE binning_t gp_read_table(GLOBAL const u64 *table, const i64 bins)
{
    binning_t b;
    b.bins = (i32)bins;
    b.first = KEY_OF_BITS(table[0]);
    b.last = KEY_OF_BITS(table[1]);
    b.scale = gp_from_bits_f32((u32)table[2]);
    b.bias = gp_from_bits_f32((u32)table[3]);
    b.limit = gp_from_bits_f32((u32)table[FUSED ? 4 : 5]);
    b.cells = (i32)table[6];
    b.thresholds = (GLOBAL const key_t *)(table + TABLE_HEADER);
#if !LOCAL_GUIDE
    b.guide = FAR_GUIDE(table, bins);
#endif
    return b;
}

/* Copy the guide to local memory after `sums` sums, if the launch made room for it. The caller adds a barrier. */
#if LOCAL_GUIDE
#define SHARE_GUIDE(b, own, sums, tid)                                                                                 \
    do {                                                                                                               \
        LOCAL u16 *near = (LOCAL u16 *)((own) + (sums));                                                               \
        GLOBAL const u32 *far = FAR_GUIDE(table, bins);                                                                \
        for (i32 cell = tid; cell <= (b).cells + 1; cell += BLOCK) near[cell] = (u16)(far[cell] | far[cell] >> 16);     \
        (b).guide = near;                                                                                              \
    } while (0)
#else
#define SHARE_GUIDE(b, own, sums, tid)
#endif

/* The place of elements in no bin, or in a doubtful one. For direct bins, negative elements have the place after. */
#define NO_BIN(b) ((b).bins)
#define COUNTED(place, b) ((place) < (b).bins + (BINS_DIRECT && SUMS_COUNTS ? 2 : 0))

#if !BINS_DIRECT
/* Return the cell of an element within the range, and its distance from the middle of the cell, in cells. Cells
 * never decrease as elements rise, and never exceed the last cell, even if distances are NaN. FUSED rounds product
 * and sum once, which leaves fewer elements in doubt. */
#if FUSED
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif

DEVICE i32 gp_cell_of(const key_t x, const binning_t b, f32 *aside)
{
    const f32 distance = DISTANCE(x, b.first), turned = MULTIPLY_ADD(distance, b.scale, b.bias) + TURN;
    const u32 cell = gp_bits_f32(turned) - gp_bits_f32(TURN);
    *aside = gp_magnitude(MULTIPLY_ADD(distance, b.scale, TURN - turned - 0.5f));
    return cell < (u32)b.cells ? (i32)cell : b.cells;
}
#endif

/* gp_guess_bin returns an element's place, or sets `doubt`; gp_settle_bin always returns the place. */
#if BINS_DIRECT
DEVICE i32 gp_settle_bin(const key_t x, const binning_t b)
{
    return !BELOW_ZERO(x) && x < (key_t)b.bins ? (i32)x : NO_BIN(b) + BELOW_ZERO(x);
}

DEVICE i32 gp_guess_bin(const key_t x, const binning_t b, int *doubt)
{
    *doubt = 0;
    return gp_settle_bin(x, b);
}
#elif BINS_EVEN
/* A bin is a cell, up to rounding. Further than the limit from the middle of a cell, it may be the neighbouring one. */
DEVICE i32 gp_guess_bin(const key_t x, const binning_t b, int *doubt)
{
    f32 aside;
    const i32 cell = gp_cell_of(x, b, &aside);
    const int inside = x >= b.first && x <= b.last;
    *doubt = inside && aside > b.limit;
    return inside && aside <= b.limit ? cell : NO_BIN(b);
}

DEVICE i32 gp_settle_bin(const key_t x, const binning_t b)
{
    if (!(x >= b.first && x <= b.last)) return NO_BIN(b);
    f32 aside;
    const i32 cell = gp_cell_of(x, b, &aside);
    if (x < b.thresholds[cell]) return cell - 1;
    return cell + (cell < b.cells && x >= b.thresholds[cell + 1]);
}
#elif BINS_EDGES
/* For each cell, the guide counts the thresholds after the first that are below all of its elements. This number is
 * the bin, unless the cell is impure: a threshold may lie in it. */
DEVICE i32 gp_guess_bin(const key_t x, const binning_t b, int *doubt)
{
    f32 aside;
    const int inside = x >= b.first && x <= b.last;
    const u32 lower = b.guide[inside ? gp_cell_of(x, b, &aside) : 0];
    *doubt = inside && lower >= IMPURE;
    return inside && lower < IMPURE ? (i32)lower : NO_BIN(b);
}

DEVICE i32 gp_settle_bin(const key_t x, const binning_t b)
{
    if (!(x >= b.first && x <= b.last)) return NO_BIN(b);
    f32 aside;
    const i32 cell = gp_cell_of(x, b, &aside);
    i32 low = (i32)(b.guide[cell] & (IMPURE - 1));
    i32 high = cell < b.cells ? (i32)(b.guide[cell + 2] & (IMPURE - 1)) : b.bins - 1; /* not past the guide's end */
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

/* The index of a work-item's item in a tile. */
#define ITEM_INDEX(base, item, tid) ((base) + ((i64)((item) / VECTOR) * BLOCK + (tid)) * VECTOR + (item) % VECTOR)

/* Load a work-item's elements of a whole tile. */
DEVICE void gp_load_whole_tile(INPUTS, const layout_t layout, const i64 o, const i64 base, const int tid, value_t *values)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item += VECTOR) MAP_VECTOR(o, ITEM_INDEX(base, item, tid), values + item);
}

/* Return a bit for each of a work-item's items that exists in a partial tile; 0 for a whole tile, which needs no
 * single steps. */
DEVICE u32 gp_items_left(const i64 base, const i64 n, const int tid)
{
    u32 left = 0;
    if (base + BLOCK * ITEMS <= n) return 0;
    for (int item = 0; item < ITEMS; item++) left |= (u32)(ITEM_INDEX(base, item, tid) < n) << item;
    return left;
}

/* Load the first item that is left and find its bin. Such items are rare, so registers hold one at a time. */
DEVICE i32 gp_settle_item(INPUTS, const layout_t layout, const i64 o, const i64 base, const int tid, const binning_t b,
                       u32 *left, value_t *value)
{
    const int item = gp_count_bits(~*left & (*left - 1));
    *left &= *left - 1;
    *value = MAP(o, ITEM_INDEX(base, item, tid));
    return gp_settle_bin(KEY(*value), b);
}

#ifdef LOWEST
/* The byte values in a bin, or in a place after the last bin: from `from` to before `to`. */
#define BYTES 256
#define HIGHEST (LOWEST + BYTES)

DEVICE void gp_bytes_of_bin(const i64 place, const binning_t b, i32 *from, i32 *to)
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

/* The biased exponent of a weight: for subnormal numbers 1, as for the smallest normal one, for infinities and NaN
 * EXPONENT_MASK. */
#if SUMS_PEAKS || SUMS_LIMBS
DEVICE u32 gp_exponent(const weight_t weight)
{
    const u32 exponent = (u32)(WEIGHT_BITS(weight) >> FRACTION_BITS) & EXPONENT_MASK;
    return exponent ? exponent : weight != 0;
}
#endif

#if SUMS_LIMBS
#define LIMB_BITS 30

/* Two to a power, if the result is a normal number. */
DEVICE weight_t gp_power_of_two(const int power)
{
    return WEIGHT_OF_BITS((u64)(power + EXPONENT_MASK / 2) << FRACTION_BITS);
}

/* Cut a weight into integers of 30 bits, the highest first, relative to the bin's largest exponent. If the largest
 * weight is not finite, count infinities, negative infinities and NaN instead; they alone decide the sum. */
DEVICE void gp_cut_limbs(const weight_t weight, const u32 peak, i64 *limbs)
{
    if (peak == EXPONENT_MASK) {
        limbs[0] = weight > 0 && gp_exponent(weight) == EXPONENT_MASK;
        limbs[1] = weight < 0 && gp_exponent(weight) == EXPONENT_MASK;
        limbs[2] = weight != weight;
        return;
    }
    const int power = LIMB_BITS - 1 + EXPONENT_MASK / 2 - (int)peak;
    weight_t rest = weight * gp_power_of_two(power / 2) * gp_power_of_two(power - power / 2);
    for (int plane = 0; plane < PLANES; plane++) {
        limbs[plane] = (i64)rest;
        rest = (rest - (weight_t)limbs[plane]) * (weight_t)(1 << LIMB_BITS);
    }
}
#endif
/* Add a value at a place. `stride` places lie between planes; `peak` is the exponent of the bin's largest weight. */
#if SUMS_COUNTS && !WIDE_SUMS
#define ADD(histogram, place, stride, value, peak) gp_increment((histogram) + (place))
#elif SUMS_COUNTS || SUMS_INTEGERS
#define ADD(histogram, place, stride, value, peak) gp_add_integer((histogram) + (place), (i64)WEIGHT(value))
#elif SUMS_PEAKS
#define ADD(histogram, place, stride, value, peak) gp_raise((histogram) + (place), gp_exponent(WEIGHT(value)))
#elif SUMS_FLOATS
#define ADD(histogram, place, stride, value, peak) gp_add_float((histogram) + (place), (bin_t)WEIGHT(value))
#else
#define ADD(histogram, place, stride, value, peak)                                                                     \
    do {                                                                                                               \
        i64 limbs[PLANES];                                                                                             \
        gp_cut_limbs(WEIGHT(value), peak, limbs);                                                                          \
        for (int plane = 0; plane < PLANES; plane++)                                                                   \
            if (limbs[plane]) gp_add_integer((histogram) + (place) + plane * (stride), limbs[plane]);                  \
    } while (0)
#endif
#if WIDE_SUMS
#define ADD_COUNT(histogram, place, count) gp_add_integer((histogram) + (place), (i64)(count))
#else
#define ADD_COUNT(histogram, place, count) gp_add_count((histogram) + (place), count)
#endif
#if SUMS_LIMBS
#define PEAK(o, found) peaks[(o) * (bins + 2) + (found)]
#else
#define PEAK(o, found) 0
#endif

/* WHOLE: a group's histogram in global memory, or the merged one. LEAVE: store a sum there. */
#define WHOLE(o, task) (histograms + (MERGED ? (o) : (task)) * PLANES * (bins + 2))
#if MERGED && SUMS_PEAKS
#define LEAVE(place, sum) gp_raise(place, sum)
#elif MERGED
#define LEAVE(place, sum)                                                                                              \
    do {                                                                                                               \
        const i64 left = (i64)(sum);                                                                                   \
        if (left) gp_add_integer(place, left);                                                                         \
    } while (0)
#else
#define LEAVE(place, sum) *(place) = (sum)
#endif

/* Join two sums of a bin. */
#if SUMS_PEAKS
#define JOIN(a, b) ((a) > (b) ? (a) : (b))
#else
#define JOIN(a, b) ((a) + (b))
#endif
