/* Neighbourhoods: borders, and rows of elements with what lies beside them, the same in both dialects. */

/* Where an index beyond the borders leads; negative where there is nothing. */
DEVICE i64 within(const i64 index, const i64 length)
{
    if (index >= 0 && index < length) return index;
#if MODE_NEAREST
    return index < 0 ? 0 : length - 1;
#elif MODE_REFLECT
    const i64 at = (index < 0 ? -1 - index : index) % (2 * length);
    return at < length ? at : 2 * length - 1 - at;
#elif MODE_MIRROR
    if (length == 1) return 0;
    const i64 at = (index < 0 ? -index : index) % (2 * length - 2);
    return at < length ? at : 2 * length - 2 - at;
#elif MODE_WRAP
    const i64 at = index % length;
    return at < 0 ? at + length : at;
#else
    return -1;
#endif
}

#if !LINES
/* Axes of batches, planes, rows, columns and channels. An element beside the one at (z, y, x) of `from`, or what lies beyond. */
#define PLANES_Z layout.reduced[1]
#define ROWS layout.reduced[2]
#define COLUMNS layout.reduced[3]

DEVICE number_t gp_fetch(GLOBAL const stored_t *from, const layout_t layout, const i64 z, const i64 y, const i64 x)
{
    const i64 at_z = within(z, PLANES_Z), at_y = within(y, ROWS), at_x = within(x, COLUMNS);
    if (MODE_CONSTANT && (at_z < 0 || at_y < 0 || at_x < 0)) return BEYOND;
    return NUMBER(from[at_z * STEP_1 + at_y * STEP_2 + at_x * STEP_3]);
}
#define FETCH(dz, dy, dx) gp_fetch(from, layout, z + (dz), y + (dy), x + (dx))
#else
/* Axes of batches, rows, and the elements of a row, CHANNELS to a column, side by side. */
#define BATCHES layout.reduced[0]
#define ROWS layout.reduced[1]
#define LENGTH layout.reduced[2]

/* An element of a row, or beyond its ends. */
DEVICE number_t gp_beside(GLOBAL const stored_t *row, const i64 length, const i64 at)
{
    const i64 channel = (at % CHANNELS + CHANNELS) % CHANNELS;
    const i64 column = within((at - channel) / CHANNELS, length / CHANNELS);
    if (MODE_CONSTANT && column < 0) return BEYOND;
    return NUMBER(row[column * CHANNELS + channel]);
}
#endif
