/* Find an element's bin and add to its sums.
 *
 * A bin begins at its threshold, its smallest element. One product sorts elements into cells of equal width. If the
 * cell leaves the bin in doubt, because products round or a threshold lies in the cell, comparisons settle it. */
#define TURN 12582912.0f /* 1.5 * 2^23: adding it rounds a float to an integer, in the low bits of the sum */

typedef struct {
    key_t first, last;
    f32 scale, bias, limit;
    i32 cells, bins;
#if BINS_SOUGHT
    GLOBAL const u64 *table;
#else
    GLOBAL const key_t *thresholds;
#endif
    GUIDE *guide;
} binning_t;

#if BINS_SOUGHT
/* The table holds the smallest and the largest element, which the launch before found. NumPy's bins between them are
 * computed as NumPy does: ROUNDED rounds each result to the dtype of the edges, EDGE_ROUNDING is its relative error. */
typedef struct {
    edge_t low, high, delta, step;
    f64 width; /* of all bins; of integers, without rounding */
    i32 bins;
} range_t;

DEVICE range_t gp_read_range(GLOBAL const u64 *table, const i32 bins)
{
    const key_t first = KEY_OF_BITS(table[0]), last = KEY_OF_BITS(table[1]);
    const edge_t aside = first == last ? (edge_t)0.5f : 0;
    range_t r;
    r.low = ROUNDED((f64)first - aside);
    r.high = ROUNDED((f64)last + aside);
    r.delta = ROUNDED((f64)r.high - r.low);
    r.step = ROUNDED((f64)r.delta / bins);
    r.width = KEYS_ARE_FLOATS || first == last ? (f64)r.delta : WIDTH(first, last);
    r.bins = bins;
    return r;
}

/* Return an edge as numpy.linspace. The product is that of an fma, which no compiler joins with the sum. */
DEVICE edge_t gp_edge(const range_t r, const i32 k)
{
    const edge_t product = ROUNDED(fma((f64)k, (f64)r.step, 0.0));
    return k < r.bins ? ROUNDED((f64)product + r.low) : r.high;
}

/* Return the bin of an element within the range as numpy.histogram: an estimate, mended by a comparison with edges. */
DEVICE i32 gp_numpy_bin(const key_t x, const range_t r)
{
    const edge_t element = (edge_t)x, distance = ROUNDED((f64)element - r.low), share = ROUNDED(distance / r.width);
    i32 bin = min(max((i32)ROUNDED((f64)share * r.bins), 0), r.bins - 1);
    if (element < gp_edge(r, bin)) bin--;
    return bin + (bin < r.bins - 1 && element >= gp_edge(r, bin + 1));
}

/* Return by how much of a bin an edge of NumPy may lie aside, and NumPy's estimate, at most. Subnormal widths, and distances
 * that float32 hardly holds, count as errors too. */
#define LARGEST 1e30
DEVICE f32 gp_edge_error(const range_t r)
{
    if (!(r.delta >= EDGE_SMALLEST * r.bins && r.delta <= LARGEST)) return 1;
    const f32 low = gp_magnitude((f32)r.low), high = gp_magnitude((f32)r.high), bins = (f32)r.bins;
    return EDGE_ROUNDING * (3 * bins + 2 * (low > high ? low : high) * (bins / (f32)r.delta));
}

/* Return the table between the elements' bounds. An element that is further from the middle of its cell than the limit
 * is in doubt: because of float32, by which it finds its cell, or as edges are rounded. If NumPy's own estimate may be
 * wrong by a bin, all are. A single value has one bin. */
#define CELL_ROUNDING (1.0f / 16777216)
#define SURE (LOCAL_GUIDE ? 0.5f : 0.2f)
DEVICE binning_t gp_read_table(GLOBAL const u64 *table, const i64 bins)
{
    const range_t r = gp_read_range(table, (i32)bins);
    const f32 error = gp_edge_error(r);
    binning_t b;
    b.bins = (i32)bins;
    b.cells = b.bins - 1;
    b.first = KEY_OF_BITS(table[0]);
    b.last = KEY_OF_BITS(table[1]);
    b.scale = (f32)((f64)bins / DISTANCE(b.last, b.first));
    b.bias = -0.5f;
    b.limit = error < SURE ? 0.5f - error - CELL_ROUNDING * (4 * (f32)bins + 32) : -1;
    if (b.first == b.last) {
        b.scale = 0;
        b.bias = (f32)gp_numpy_bin(b.first, r);
        b.limit = TURN;
    }
    b.table = table;
    return b;
}

/* Store the edges. The first group reports 1 for bounds that are not finite, 2 for edges that do not rise, else 0. */
#if COPIES_EDGES
DEVICE void gp_copy_edges(GLOBAL const u64 *table, const i64 bins, GLOBAL u32 *edges, GLOBAL i64 *fault, LOCAL u32 *wrong,
                          const int tid)
{
    const range_t r = gp_read_range(table, (i32)bins);
    for (i32 k = get_group_id(0) * BLOCK + tid; k <= r.bins; k += get_num_groups(0) * BLOCK) SET_EDGE(edges, k, gp_edge(r, k));
    if (get_group_id(0) > 0) return;
    const u32 seen = !(r.low - r.low == 0 && r.high - r.high == 0) ? 1 : !(r.delta - r.delta == 0) ? 2 : 0;
    if (tid == 0) *wrong = seen;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!seen && !(gp_edge_error(r) < SURE))
        for (i32 k = tid; k < r.bins; k += BLOCK)
            if (!(gp_edge(r, k) < gp_edge(r, k + 1))) gp_set_bits(wrong, 2);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid == 0) fault[0] = *wrong;
    barrier(CLK_LOCAL_MEM_FENCE);
}
#define COPY_EDGES(own, tid) gp_copy_edges(table, bins, edges, fault, (LOCAL u32 *)(own), tid)
#endif
#else
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

/* Copy the edges, which the last word of the header finds, to the result. */
#if COPIES_EDGES
DEVICE void gp_copy_edges(GLOBAL const u64 *table, GLOBAL u32 *edges, const int tid)
{
    const u64 found = table[TABLE_HEADER - 1];
    GLOBAL const u32 *kept = (GLOBAL const u32 *)(table + (found >> 32));
    for (u32 k = get_group_id(0) * BLOCK + tid; k < (u32)found; k += get_num_groups(0) * BLOCK) edges[k] = kept[k];
}
#define COPY_EDGES(own, tid) gp_copy_edges(table, edges, tid)
#endif
#endif
#if !COPIES_EDGES
#define COPY_EDGES(own, tid)
#endif

/* Copy the guide to local memory after `sums` sums, if the launch made room for it. The caller adds a barrier. The guide of
 * bins between bounds has the thresholds of float16, since rounded edges would leave many elements in doubt. */
#if LOCAL_GUIDE && BINS_SOUGHT
/* Float16 by number, in order. */
DEVICE i32 gp_number_of_half(const f32 value)
{
    const i32 bits = gp_half_bits(value), size = bits & 0x7FFF;
    return bits > size ? -size : size;
}

DEVICE f32 gp_numbered_half(const i32 number) { return gp_half_value((u16)(number < 0 ? 0x8000 - number : number)); }

/* Return the first element of a bin: begin at its edge, and ask for the bins of neighbours. */
DEVICE f32 gp_threshold(const binning_t b, const range_t r, const i32 bin)
{
    const i32 first = gp_number_of_half(b.first), last = gp_number_of_half(b.last);
    i32 number = min(max(gp_number_of_half(gp_edge(r, bin)), first), last + 1);
    if (!(r.delta - r.delta == 0)) return b.first;
    while (number <= last && gp_numpy_bin(gp_numbered_half(number), r) < bin) number++;
    while (number > first && gp_numpy_bin(gp_numbered_half(number - 1), r) >= bin) number--;
    return gp_numbered_half(number);
}

#define SHARE_GUIDE(b, own, sums, tid)                                                                                 \
    do {                                                                                                               \
        const range_t range = gp_read_range(table, (i32)bins);                                                         \
        LOCAL key_t *near = (LOCAL key_t *)((own) + (sums));                                                           \
        for (i32 bin = tid; bin <= (b).bins; bin += BLOCK)                                                             \
            near[bin] = bin < (b).bins ? gp_threshold(b, range, bin) : gp_from_bits_f32(0x7F800000u);                  \
        (b).guide = near;                                                                                              \
    } while (0)
#elif LOCAL_GUIDE
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

/* gp_guess_bin returns an element's place, or sets `doubt`; gp_settle_bin always returns the place. gp_propose_bin returns
 * the bin of an element `inside` the range if it is `sure`; grids join the tests of all axes. */
#define INSIDE(x, b) ((x) >= (b).first && (x) <= (b).last)
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
#elif BINS_EVEN || BINS_SOUGHT
/* A bin is a cell, up to rounding. Further than the limit from the middle of a cell, it may be the neighbouring one. */
DEVICE i32 gp_propose_bin(const key_t x, const binning_t b, const int inside, int *sure)
{
    f32 aside;
    const i32 cell = gp_cell_of(x, b, &aside);
#if LOCAL_GUIDE
    /* The bin is the cell, or a neighbouring one. */
    const i32 near = inside ? cell : 0;
    const int below = x < b.guide[near], above = x >= b.guide[near + 1];
    *sure = !((below || above) && b.limit < 0);
    return near - below + above;
#else
    *sure = aside <= b.limit;
    return cell;
#endif
}

DEVICE i32 gp_settle_bin(const key_t x, const binning_t b)
{
    if (!(x >= b.first && x <= b.last)) return NO_BIN(b);
#if BINS_SOUGHT
    if (b.limit < 0) return gp_numpy_bin(x, gp_read_range(b.table, b.bins));
    const range_t r = gp_read_range(b.table, b.bins);
#define BEGINS(bin) gp_edge(r, bin)
#else
#define BEGINS(bin) b.thresholds[bin]
#endif
    f32 aside;
    const i32 cell = gp_cell_of(x, b, &aside);
    if (x < BEGINS(cell)) return cell - 1;
    return cell + (cell < b.cells && x >= BEGINS(cell + 1));
}
#elif BINS_EDGES
/* For each cell, the guide counts the thresholds after the first that are below all of its elements. This number is
 * the bin, unless the cell is impure: a threshold may lie in it. */
DEVICE i32 gp_propose_bin(const key_t x, const binning_t b, const int inside, int *sure)
{
    f32 aside;
    const u32 lower = b.guide[inside ? gp_cell_of(x, b, &aside) : 0];
    *sure = lower < IMPURE;
    return (i32)lower;
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

#if !BINS_DIRECT
DEVICE i32 gp_guess_bin(const key_t x, const binning_t b, int *doubt)
{
    int sure;
    const i32 bin = gp_propose_bin(x, b, INSIDE(x, b), &sure);
    const int inside = INSIDE(x, b);
    *doubt = inside && !sure;
    return inside && sure ? bin : NO_BIN(b);
}
#endif

/* Groups that a compute unit must have room for: this leaves registers for an item's words. */
#define GROUPS_AT_ONCE (BLOCK < (WORDS == 1 ? 2048 : 1024) ? (WORDS == 1 ? 2048 : 1024) / BLOCK : 1)

/* The index of a work-item's item in a tile. */
#define ITEM_INDEX(base, item, tid) ((base) + ((i64)((item) / VECTOR) * BLOCK + (tid)) * VECTOR + (item) % VECTOR)

/* The elements of a part: a stretch of whole vectors, except for the last. */
DEVICE i64 gp_share(const i64 n, const i64 parts)
{
    const i64 rows = (n + BLOCK * VECTOR - 1) / (BLOCK * VECTOR);
    return (rows + parts - 1) / parts * (BLOCK * VECTOR);
}

/* Load a work-item's elements of a whole tile. */
DEVICE void gp_load_whole_tile(INPUTS, const layout_t layout, const i64 o, const i64 base, const int tid, value_t *values)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item += VECTOR) MAP_VECTOR(o, ITEM_INDEX(base, item, tid), values + item);
}

/* True if the vector of an item ends before `end`. */
#define VECTOR_ENDS(base, item, tid, end) (ITEM_INDEX(base, (item) / VECTOR * VECTOR, tid) + VECTOR <= (end))

/* Load the elements from `base` to `end`, at most a tile, except for those after the last whole vector, and do
 * COUNT(value, item) with each. A partial tile is loaded in pieces, which take fewer registers. */
#define BEFORE_COUNTING /* of a kernel that does something between loading and counting a tile */
#define AT_ONCE (ITEMS < 8 ? ITEMS : VECTOR < 8 ? 8 : VECTOR)
#define COUNT_TILE(o, base, end, tid)                                                                                  \
    do {                                                                                                               \
        if ((base) + BLOCK * ITEMS <= (end)) {                                                                         \
            value_t values[ITEMS];                                                                                     \
            gp_load_whole_tile(INPUT_NAMES, layout, o, base, tid, values);                                             \
            BEFORE_COUNTING                                                                                            \
            _Pragma("unroll") for (int item = 0; item < ITEMS; item++) COUNT(values[item], item);                      \
            break;                                                                                                     \
        }                                                                                                              \
        BEFORE_COUNTING                                                                                                \
        _Pragma("unroll 1") for (int first = 0; first < ITEMS; first += AT_ONCE) {                                     \
            value_t values[AT_ONCE];                                                                                   \
            _Pragma("unroll") for (int item = 0; item < AT_ONCE; item += VECTOR) {                                     \
                if (VECTOR_ENDS(base, first + item, tid, end))                                                         \
                    MAP_VECTOR(o, ITEM_INDEX(base, first + item, tid), values + item);                                 \
            }                                                                                                          \
            _Pragma("unroll") for (int item = 0; item < AT_ONCE; item++) {                                             \
                if (VECTOR_ENDS(base, first + item, tid, end)) COUNT(values[item], first + item);                      \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

#ifdef LOWEST
/* The byte values in a bin, or in a place after the last bin: from `from` to before `to`. */
#define BYTES 256
#define HIGHEST (LOWEST + BYTES)
#if BINS_SOUGHT
#define THRESHOLD(b, bin) (i32)ceil(gp_edge(gp_read_range((b).table, (b).bins), (i32)(bin)))
#else
#define THRESHOLD(b, bin) (i32)(b).thresholds[bin]
#endif

DEVICE void gp_bytes_of_bin(const i64 place, const binning_t b, i32 *from, i32 *to)
{
#if BINS_DIRECT
    const i32 end = min((i32)b.bins, HIGHEST);
    *from = place < b.bins ? (i32)min(place, (i64)HIGHEST) : place == b.bins ? end : LOWEST;
    *to = place < b.bins ? min(*from + 1, HIGHEST) : place == b.bins ? HIGHEST : 0;
#else
    *from = place < b.bins ? THRESHOLD(b, place) : HIGHEST;
    *to = place + 1 < b.bins ? THRESHOLD(b, place + 1) : place < b.bins ? (i32)b.last + 1 : HIGHEST;
#endif
}
#endif
