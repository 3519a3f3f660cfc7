/* stencil/volumes: each group goes through the planes at a tile of columns and rows; it filters the rows of a plane, then the
 * columns, and adds the results to the sums of the planes around it.
 *
 * in      INPUTS: x0, with axes of batches, planes, rows, and elements of a row side by side
 * out     OUTPUTS, with the same axes
 * launch  any number of groups of BLOCK; each takes tiles of WIDE columns and HIGH rows of `depth` planes until none are left.
 *         WIDE and BLOCK are powers of two; WIDE holds whole vectors and is at most BLOCK
 * host    gp_within, gp_element_at (stencil.h), gp_plus_x, gp_plus_y, gp_plus_z, gp_result; vectors of VECTOR_LOCAL sums, and of
 *         VECTOR elements, which are no more
 * order   rows, columns, planes, each in the order of the weights
 *
 * A work-item keeps, for ITEMS rows of one column, a sum for each plane that is not complete. Before plane z, for five weights:
 *
 *     sum         0           1           2           3
 *     of plane    z - 2       z - 1       z           z + 1
 *
 * Plane z, times weight 4 - k, is added to sum k. This completes sum 0, moves the others one place down, and begins the sum of
 * plane z + 2 in the last place.
 *
 * Three steps with two barriers a plane: elements with those around them go to local memory, while the next plane loads;
 * filtered rows go there, too; work-items then filter columns. Borders matter for loads alone.
 */
#define WIDE LANES_X
#define BANDS (BLOCK / WIDE)
#define HIGH (BANDS * ITEMS)
#define TALL (HIGH + SPAN - 1)
#define TAPS (HIGH_X - LOW_X + 1)

/* A plane of the tile in local memory: PITCH_OF_TILE numbers a row, those before and after its own in whole vectors. */
#define REACH (-LEFT)
#define BEFORE ((REACH + VECTOR_LOCAL - 1) / VECTOR_LOCAL * VECTOR_LOCAL)
#define AFTER ((HALO - REACH + VECTOR_LOCAL - 1) / VECTOR_LOCAL * VECTOR_LOCAL)
#define PITCH_OF_TILE (BEFORE + WIDE + AFTER)

/* Rows whose vectors, or groups of VECTOR_LOCAL elements, a group takes at once, how often, and the extra elements of all rows
 * that a work-item loads. */
#define ROWS_LOADED (BLOCK * VECTOR / WIDE)
#define LOADS ((TALL + ROWS_LOADED - 1) / ROWS_LOADED)
#define ROWS_FILTERED (BLOCK * VECTOR_LOCAL / WIDE)
#define FILTERS ((TALL + ROWS_FILTERED - 1) / ROWS_FILTERED)
#define EXTRAS ((TALL * HALO + BLOCK - 1) / BLOCK)

/* Registers of a work-item, by the sums that it keeps. */
#define KEPT (ITEMS * (DEPTH_SPAN - 1) * (int)(sizeof(sum_t) / 4))
#define REGISTERS (KEPT <= 32 ? 96 : KEPT <= 72 ? 128 : 168)
#define GROUPS_AT_ONCE (65536 / (BLOCK * REGISTERS) > 0 ? 65536 / (BLOCK * REGISTERS) : 1)

typedef struct {
    stored_t own[LOADS][VECTOR], extras[EXTRAS + 1];
} loaded_t;

/* What a work-item loads of a plane: the column of its vectors, the first element of each vector's row; for each extra element its
 * place in the plane, and in local memory. Rows and extra elements that are the constant have a bit each. */
typedef struct {
    int tid;
    i32 column;
    offset_t rows[LOADS], extras[EXTRAS + 1];
    u32 constant_rows, constant_extras;
    int to[EXTRAS + 1];
} place_t;

/* Return the row, or the column, that the mode reads for one of a tile; -1 for the constant. */
DEVICE i32 row_at(const layout_t layout, const i32 top, const int row)
{
    return gp_within(min(top + LOW_Y + row, (i32)ROWS - 1 + HIGH_Y), (i32)ROWS);
}

DEVICE i32 column_at(const layout_t layout, const i32 x)
{
    return gp_element_at(LENGTH, min(x, LENGTH - 1 + HIGH_X));
}

DEVICE place_t find_loads(const layout_t layout, const i32 first, const i32 top, const int tid)
{
    place_t place;
    place.tid = tid;
    place.column = first + tid % (WIDE / VECTOR) * VECTOR;
    place.constant_rows = place.constant_extras = 0;
#pragma unroll
    for (int k = 0; k < LOADS; k++) {
        const i32 y = row_at(layout, top, tid / (WIDE / VECTOR) + k * ROWS_LOADED);
        place.rows[k] = max(y, 0) * (offset_t)STRIDE_2;
        place.constant_rows |= (u32)(y < 0) << k;
    }
#pragma unroll
    for (int k = 0; k < EXTRAS; k++) {
        const int extra = (k * BLOCK + tid) % HALO, row = (k * BLOCK + tid) / HALO;
        const int column = extra < REACH ? extra - REACH : extra - REACH + WIDE;
        const i32 y = row_at(layout, top, row), x = column_at(layout, first + column);
        place.extras[k] = max(y, 0) * (offset_t)STRIDE_2 + max(x, 0);
        place.constant_extras |= (u32)(y < 0 || x < 0) << k;
        place.to[k] = row * PITCH_OF_TILE + BEFORE + column;
    }
    return place;
}

/* Load the elements that a work-item loads of a plane. `columns` are those that the mode reads for a tile's. */
DEVICE void load_plane(loaded_t *next, GLOBAL const stored_t *plane, const layout_t layout, const place_t place, LOCAL const i32 *columns)
{
#pragma unroll
    for (int k = 0; k < LOADS; k++) {
        if ((k + 1) * ROWS_LOADED > TALL && place.tid / (WIDE / VECTOR) + k * ROWS_LOADED >= TALL) break;
        GLOBAL const stored_t *row = plane + place.rows[k];
#if VECTOR > 1
        if (place.column + VECTOR <= LENGTH) {
            READ_VECTOR(stored_t, VECTOR, row + place.column, next->own[k]);
            continue;
        }
#endif
#pragma unroll
        for (int item = 0; item < VECTOR; item++) next->own[k][item] = row[columns[place.tid % (WIDE / VECTOR) * VECTOR + item]];
    }
#pragma unroll
    for (int k = 0; k < EXTRAS; k++)
        if (k * BLOCK + place.tid < TALL * HALO) next->extras[k] = plane[place.extras[k]];
}

/* Write a loaded plane, or one `beyond` the borders, to local memory. */
DEVICE void write_plane(LOCAL sum_t *tile, const loaded_t *loaded, const layout_t layout, const place_t place, const int beyond)
{
    const int row = place.tid / (WIDE / VECTOR), column = place.tid % (WIDE / VECTOR) * VECTOR;
    LOCAL sum_t *to = tile + row * PITCH_OF_TILE + BEFORE + column;
#pragma unroll
    for (int k = 0; k < LOADS; k++) {
        if ((k + 1) * ROWS_LOADED > TALL && row + k * ROWS_LOADED >= TALL) break;
        sum_t numbers[VECTOR];
#pragma unroll
        for (int item = 0; item < VECTOR; item++) {
            const int nothing = MODE_CONSTANT && (beyond || place.constant_rows >> k & 1 || place.column + item >= LENGTH);
            numbers[item] = nothing ? (sum_t)BEYOND : (sum_t)NUMBER(loaded->own[k][item]);
        }
#if VECTOR > 1
        WRITE_LOCAL(sum_t, VECTOR, to + k * ROWS_LOADED * PITCH_OF_TILE, numbers);
#else
        to[k * ROWS_LOADED * PITCH_OF_TILE] = numbers[0];
#endif
    }
#pragma unroll
    for (int k = 0; k < EXTRAS; k++) {
        const int nothing = MODE_CONSTANT && (beyond || place.constant_extras >> k & 1);
        if (k * BLOCK + place.tid < TALL * HALO) tile[place.to[k]] = nothing ? (sum_t)BEYOND : (sum_t)NUMBER(loaded->extras[k]);
    }
}

/* Filter the rows of a plane. */
DEVICE void filter_rows(LOCAL sum_t *filtered, LOCAL const sum_t *tile, const int tid)
{
    const int row = tid / (WIDE / VECTOR_LOCAL), column = tid % (WIDE / VECTOR_LOCAL) * VECTOR_LOCAL;
#pragma unroll
    for (int k = 0; k < FILTERS; k++) {
        if ((k + 1) * ROWS_FILTERED > TALL && row + k * ROWS_FILTERED >= TALL) break;
        LOCAL const sum_t *from = tile + (row + k * ROWS_FILTERED) * PITCH_OF_TILE + column;
        sum_t numbers[BEFORE + VECTOR_LOCAL + AFTER], sums[VECTOR_LOCAL];
#pragma unroll
        for (int item = 0; item < BEFORE + VECTOR_LOCAL + AFTER; item += VECTOR_LOCAL)
            READ_LOCAL(sum_t, VECTOR_LOCAL, from + item, numbers + item);
#pragma unroll
        for (int item = 0; item < VECTOR_LOCAL; item++) {
            sums[item] = 0;
#pragma unroll
            for (int tap = 0; tap < TAPS; tap++) sums[item] = gp_plus_x(sums[item], numbers[BEFORE - REACH + item + tap], tap);
        }
        WRITE_LOCAL(sum_t, VECTOR_LOCAL, filtered + (row + k * ROWS_FILTERED) * WIDE + column, sums);
    }
}

/* Filter ITEMS rows of a column. */
DEVICE void filter_column(sum_t *sums, LOCAL const sum_t *filtered)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item++) sums[item] = 0;
#pragma unroll
    for (int row = 0; row < ITEMS + SPAN - 1; row++) {
        const sum_t number = filtered[row * WIDE];
#pragma unroll
        for (int item = 0; item < ITEMS; item++)
            if (row >= item && row - item < SPAN) sums[item] = gp_plus_y(sums[item], number, row - item);
    }
}

/* Add a number of a plane to the sums of an element in the planes around, and return the sum that is complete. */
DEVICE sum_t add_to_planes(sum_t *kept, const sum_t number)
{
    const sum_t done = gp_plus_z(kept[0], number, DEPTH_SPAN - 1);
#pragma unroll
    for (int k = 1; k < DEPTH_SPAN - 1; k++) kept[k - 1] = gp_plus_z(kept[k], number, DEPTH_SPAN - 1 - k);
    kept[DEPTH_SPAN - 2] = gp_plus_z(0, number, 0);
    return done;
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void stencil_volumes(INPUTS, OUTPUTS, const layout_t layout, const i64 depth)
{
    __local ALIGNED sum_t tile[TALL * PITCH_OF_TILE];
    __local ALIGNED sum_t filtered[TALL * WIDE];
    __local i32 columns[WIDE];
    const int tid = get_local_id(0), column = tid % WIDE, row = tid / WIDE * ITEMS;
    const i64 across = (LENGTH + WIDE - 1) / WIDE, down = (ROWS + HIGH - 1) / HIGH, strips = (PLANES_Z + depth - 1) / depth;

    for (i64 task = get_group_id(0); task < across * down * strips * BATCHES; task += get_num_groups(0)) {
        const i32 first = (i32)(task % across) * WIDE, top = (i32)(task / across % down) * HIGH;
        const i32 front = (i32)(task / across / down % strips * depth);
        const i64 batch = task / across / down / strips;
        const int planes = (int)min(depth, PLANES_Z - front) + DEPTH_SPAN - 1;
        const int left = first + column < LENGTH ? (int)min((i64)ITEMS, ROWS - top - row) : 0; /* results to store */
        GLOBAL const stored_t *from = x0 + layout.offset[0] + batch * STRIDE_0;
        GLOBAL result_t *to = y0 + layout.offset[RESULT] + batch * STRIDE_OUT + front * STRIDE_OUT_PLANE + (top + row) * STRIDE_OUT_ROW + first + column;
        const place_t place = find_loads(layout, first, top, tid);
        if (tid < WIDE) columns[tid] = max(column_at(layout, first + tid), 0);
        barrier(CLK_LOCAL_MEM_FENCE);

        sum_t kept[ITEMS][DEPTH_SPAN - 1];
#pragma unroll
        for (int item = 0; item < ITEMS; item++)
#pragma unroll
            for (int k = 0; k < DEPTH_SPAN - 1; k++) kept[item][k] = 0;
        loaded_t next;
        i32 at = gp_within(front + LOW_Z, (i32)PLANES_Z);
        load_plane(&next, from + max(at, 0) * STRIDE_1, layout, place, columns);

#pragma unroll 1
        for (int plane = 0; plane < planes; plane++) {
            /* 1. Write the loaded plane to local memory, and load the next. */
            write_plane(tile, &next, layout, place, at < 0);
            barrier(CLK_LOCAL_MEM_FENCE);
            at = gp_within(front + LOW_Z + plane + 1, (i32)PLANES_Z);
            if (plane + 1 < planes) load_plane(&next, from + max(at, 0) * STRIDE_1, layout, place, columns);

            /* 2. Filter rows. */
            filter_rows(filtered, tile, tid);
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 3. Filter columns, add to the sums of planes, and store those that are complete. */
            sum_t sums[ITEMS];
            filter_column(sums, filtered + row * WIDE + column);
#pragma unroll
            for (int item = 0; item < ITEMS; item++) sums[item] = add_to_planes(kept[item], sums[item]);
            if (plane >= DEPTH_SPAN - 1) {
#pragma unroll
                for (int item = 0; item < ITEMS; item++)
                    if (item < left) to[item * STRIDE_OUT_ROW] = gp_result(layout, sums[item]);
                to += STRIDE_OUT_PLANE;
            }
        }
    }
}
