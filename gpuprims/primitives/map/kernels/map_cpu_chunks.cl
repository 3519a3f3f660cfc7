/* map/cpu_chunks: each group applies the function to tiles of rows, for devices whose groups are CPU threads.
 *
 * in      INPUTS, any layout
 * out     OUTPUTS, one value at each j in [0, n)
 * launch  any number of groups of BLOCK work-items, which the compiler joins in vectors; each takes tiles of at most
 *         TILE elements until none are left
 * host    ROW_LENGTH(n), ROW_DENSE, ROW(o, j), MAP_ROW(row, j), STORE_ROW(row, j, value)
 *
 * Tiles are narrow where an operand is transposed, so that rows share its cache lines:
 *
 *     row 0    tile 0 | tile 1
 *     row 1           |
 *     row 2    -------+-------
 *     row 3    tile 2 | tile 3
 */
#define TILE (BLOCK * ITEMS)
#define WIDTH (ROW_DENSE ? 1024 : 16) /* rows: cpu_chunks-tiles */

__kernel WORK_GROUP(BLOCK)
void map_cpu_chunks(INPUTS, OUTPUTS, const layout_t layout, const i64 n)
{
    const int tid = get_local_id(0);
    const i64 length = ROW_LENGTH(n), rows = n / length;
    const i64 width = min(length, (i64)(rows == 1 ? TILE : WIDTH)), height = max((i64)1, TILE / width);
    const i64 across = (length + width - 1) / width, tiles = across * ((rows + height - 1) / height);

    for (i64 tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        const i64 left = tile % across * width, top = tile / across * height;
        const i64 bottom = min(top + height, rows), taken = min(width, length - left), whole = taken - taken % BLOCK;
        for (i64 k = top; k < bottom; k++) {
            const i64 first = k * length + left, last = first + taken, partial = first + whole + tid;
            const row_t row = ROW(0, first);
            /* Load, apply, store: BLOCK neighbours at a time. */
            for (i64 j = first; j < first + whole; j += BLOCK) STORE_ROW(row, j + tid, MAP_ROW(row, j + tid));
            if (partial < last) STORE_ROW(row, partial, MAP_ROW(row, partial));
        }
    }
}
