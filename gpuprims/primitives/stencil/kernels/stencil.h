/* Neighbourhoods: borders, and rows of elements with their neighbours. */

/* Lines have fewer than 2^30 elements, and axes fewer than 2^30 lines. */
#if LINES
typedef i32 index_t;
#else
typedef i64 index_t;
#endif

/* Return the index that the mode reads for an index beyond the borders; -1 for the constant. */
DEVICE index_t gp_within(const index_t index, const index_t length)
{
    if (index >= 0 && index < length) return index;
#if MODE_NEAREST
    return index < 0 ? 0 : length - 1;
#elif MODE_REFLECT
    const index_t at = (index < 0 ? -1 - index : index) % (2 * length);
    return at < length ? at : 2 * length - 1 - at;
#elif MODE_MIRROR
    if (length == 1) return 0;
    const index_t at = (index < 0 ? -index : index) % (2 * length - 2);
    return at < length ? at : 2 * length - 2 - at;
#elif MODE_WRAP
    const index_t at = index % length;
    return at < 0 ? at + length : at;
#else
    return -1;
#endif
}

#if !LINES
/* Axes: batches, planes, rows, columns, channels. FETCH loads the element at an offset from (z, y, x), or BEYOND. */
#define PLANES_Z layout.reduced[1]
#define ROWS layout.reduced[2]
#define COLUMNS layout.reduced[3]

DEVICE number_t gp_fetch(GLOBAL const stored_t *from, const layout_t layout, const i64 z, const i64 y, const i64 x)
{
    const i64 at_z = gp_within(z, PLANES_Z), at_y = gp_within(y, ROWS), at_x = gp_within(x, COLUMNS);
    if (MODE_CONSTANT && (at_z < 0 || at_y < 0 || at_x < 0)) return BEYOND;
    return NUMBER(from[at_z * STRIDE_1 + at_y * STRIDE_2 + at_x * STRIDE_3]);
}
#define FETCH(dz, dy, dx) gp_fetch(from, layout, z + (dz), y + (dy), x + (dx))
#else
/* Axes: batches, planes, rows, and the elements of a row, with the CHANNELS of a column side by side. */
#define BATCHES layout.reduced[0]
#define PLANES_Z layout.reduced[1]
#define ROWS layout.reduced[2]
#define LENGTH ((i32)layout.reduced[3])

/* Planes of a neighbourhood. */
#define DEPTH_SPAN (HIGH_Z - LOW_Z + 1)

/* Elements of a row that ITEMS results need. */
#define TAKEN (ITEMS + TIMES * HALO)

/* Return the index in a row that the mode reads for an index beyond the ends; -1 for the constant. */
DEVICE i32 gp_element_at(const i32 length, const i32 at)
{
    const i32 channel = (at % CHANNELS + CHANNELS) % CHANNELS;
    const i32 column = gp_within((at - channel) / CHANNELS, length / CHANNELS);
    return column < 0 ? -1 : column * CHANNELS + channel;
}

DEVICE number_t gp_load_element(GLOBAL const stored_t *row, const i32 length, const i32 at)
{
    const i32 place = gp_element_at(length, at);
    if (MODE_CONSTANT && place < 0) return BEYOND;
    return NUMBER(row[place]);
}

/* Return the elements between the last multiple of a word of IN_WORD elements and an address. */
DEVICE int gp_lead_of(GLOBAL const stored_t *from)
{
    return IN_WORD > 1 ? (int)((u64)from / sizeof(stored_t) % IN_WORD) : 0;
}

/* Store the results of ITEMS elements of a row that has `left` more. */
DEVICE void gp_store_results(GLOBAL result_t *to, const result_t *results, const i64 left)
{
#if VECTOR_OUT > 1
    if (left >= ITEMS) {
#pragma unroll
        for (int k = 0; k < ITEMS; k += VECTOR_OUT) WRITE_VECTOR(result_t, VECTOR_OUT, to + k, results + k);
        return;
    }
#endif
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        if (k < left) to[k] = results[k];
}
#endif

#ifdef SOME_ZERO /* weights are read from memory */
/* Add `count` neighbours of each of ITEMS elements, times their weights, to the sums. */
DEVICE void gp_add_neighbours(sum_t *sums, const sum_t *values, LOCAL const sum_t *weights, const int count)
{
#pragma unroll
    for (int k = 0; k < count; k++) {
        const sum_t weight = weights[k];
        if (SOME_ZERO && weight == 0) continue;
#pragma unroll
        for (int item = 0; item < ITEMS; item++) sums[item] += weight * values[k + item];
    }
}
#endif
