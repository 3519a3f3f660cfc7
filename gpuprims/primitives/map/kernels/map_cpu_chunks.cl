/* map/cpu_chunks: each group applies the function to one tile of rows, for devices whose groups are CPU threads.
 *
 * in      INPUTS, any layout: `rows` rows of n elements
 * out     OUTPUTS, alike
 * launch  any number of groups of BLOCK work-items, which the compiler joins in vectors; each takes tiles of some
 *         TILE elements until none are left
 * host    ROW(o, j), MAP_ROW(row, j), STORE_ROW(row, j, value)
 *
 * Tiles are narrow, so that rows of a transposed operand share cache lines:
 *
 *     rows      tile 0 | tile 1
 *                  ... | ...
 *               tile 2 | tile 3
 */
#define TILE (BLOCK * ITEMS)
#define WIDTH 256 /* rows: cpu_chunks */

__kernel WORK_GROUP(BLOCK)
void map_cpu_chunks(INPUTS, OUTPUTS, const layout_t layout, const i64 rows, const i64 n)
{
    const int tid = get_local_id(0);
    const i64 width = min(n, (i64)(rows == 1 ? TILE : WIDTH)), height = max((i64)1, TILE / width);
    const i64 across = (n + width - 1) / width, tiles = across * ((rows + height - 1) / height);

    for (i64 tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        const i64 first = tile % across * width, last = min(first + width, n);
        const i64 top = tile / across * height, bottom = min(top + height, rows);
        const i64 whole = last - (last - first) % BLOCK;
        for (i64 o = top; o < bottom; o++) {
            const row_t row = ROW(o, 0);
            /* Load, apply, store: BLOCK neighbours at a time. */
            for (i64 j = first; j < whole; j += BLOCK) STORE_ROW(row, j + tid, MAP_ROW(row, j + tid));
            if (whole + tid < last) STORE_ROW(row, whole + tid, MAP_ROW(row, whole + tid));
        }
    }
}
