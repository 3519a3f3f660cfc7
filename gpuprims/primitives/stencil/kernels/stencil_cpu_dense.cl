/* stencil/cpu_dense: each work-item computes a tile of some hundred columns, with weights that it reads from memory, for
 * devices whose work-items are CPU threads.
 *
 * in      INPUTS: x0, with axes of batches, planes, rows, and elements of a row side by side; x1, the weights
 * out     OUTPUTS, with the same axes as x0
 * launch  any number of groups of one work-item; each takes tiles of ITEMS columns and HIGH rows until none are left
 * host    gp_within and gp_load_element (stencil.h), gp_result
 *
 * A plane of the tile and its surroundings is in private memory. The sums of ROWS_EACH rows and CHUNK vectors of columns are
 * in registers: each vector of neighbours is read once, and added, by other weights, to the sums of all these rows.
 */
#define HIGH CPU_ROWS
#define TAPS (HIGH_X - LOW_X + 1)
#define TILE_PITCH (ITEMS + HALO)
#define WIDE (CHUNK * VECTOR_LOCAL)
typedef VECTOR_OF(sum_t, VECTOR_LOCAL) vector_t;
#define LOAD(from) GP_JOINED(vload, VECTOR_LOCAL)(0, from)
#define STORE_AT(to, vector) GP_JOINED(vstore, VECTOR_LOCAL)(vector, 0, to)

/* Write a plane of `rows` x `width` elements of the tile, and their surroundings, to private memory. */
DEVICE void fill_tile(sum_t *tile, GLOBAL const stored_t *plane, const layout_t layout, const i64 top, const i64 first, const int rows,
                      const int width, const int beyond)
{
    const i64 start = first + LEFT;
    const int taken = width + HALO;
    const int inside = (int)clamp(-start, (i64)0, (i64)taken), end = (int)clamp(LENGTH - start, (i64)inside, (i64)taken);
    for (int k = 0; k < rows + SPAN - 1; k++, tile += TILE_PITCH) {
        const index_t y = gp_within((index_t)min(top + k + LOW_Y, (i64)ROWS - 1 + HIGH_Y), (index_t)ROWS);
        if (MODE_CONSTANT && (beyond || y < 0)) {
            for (int item = 0; item < taken; item++) tile[item] = BEYOND;
            continue;
        }
        GLOBAL const stored_t *row = plane + y * STRIDE_2;
        for (int item = 0; item < inside; item++)
            tile[item] = MODE_CONSTANT ? BEYOND : gp_load_element(row, LENGTH, (i32)start + item);
        for (int item = inside; item < end; item++) tile[item] = NUMBER(row[start + item]);
        for (int item = end; item < taken; item++)
            tile[item] = MODE_CONSTANT ? BEYOND : gp_load_element(row, LENGTH, min((i32)start + item, LENGTH - 1 + HIGH_X * CHANNELS));
    }
}

/* Add the neighbours in a plane to the sums of ROWS_EACH rows. */
DEVICE void add_plane(sum_t *sums, const sum_t *tile, GLOBAL const sum_t *weights)
{
    vector_t held[ROWS_EACH][CHUNK];
#pragma unroll
    for (int oy = 0; oy < ROWS_EACH; oy++)
#pragma unroll
        for (int k = 0; k < CHUNK; k++) held[oy][k] = LOAD(sums + oy * ITEMS + k * VECTOR_LOCAL);
    for (int y = 0; y < ROWS_EACH + SPAN - 1; y++)
        for (int x = 0; x < TAPS; x++) {
            vector_t values[CHUNK];
#pragma unroll
            for (int k = 0; k < CHUNK; k++) values[k] = LOAD(tile + y * TILE_PITCH + x * CHANNELS + k * VECTOR_LOCAL);
#pragma unroll
            for (int oy = 0; oy < ROWS_EACH; oy++) {
                if (y < oy || y - oy >= SPAN) continue;
                const sum_t weight = weights[(y - oy) * TAPS + x];
                if (SOME_ZERO && weight == 0) continue;
#pragma unroll
                for (int k = 0; k < CHUNK; k++) held[oy][k] += weight * values[k];
            }
        }
#pragma unroll
    for (int oy = 0; oy < ROWS_EACH; oy++)
#pragma unroll
        for (int k = 0; k < CHUNK; k++) STORE_AT(sums + oy * ITEMS + k * VECTOR_LOCAL, held[oy][k]);
}

__kernel WORK_GROUP(1)
void stencil_cpu_dense(INPUTS, OUTPUTS, const layout_t layout)
{
    const i64 across = (LENGTH + ITEMS - 1) / ITEMS, down = (ROWS + HIGH - 1) / HIGH;
    sum_t tile[(HIGH + SPAN - 1) * TILE_PITCH], sums[HIGH * ITEMS];

    for (i64 task = get_group_id(0); task < across * down * PLANES_Z * BATCHES; task += get_num_groups(0)) {
        const i64 first = task % across * ITEMS, top = task / across % down * HIGH, z = task / across / down % PLANES_Z;
        const i64 batch = task / across / down / PLANES_Z;
        const int width = (int)min((i64)ITEMS, LENGTH - first), rows = (int)min((i64)HIGH, ROWS - top);
        const int held = (rows + ROWS_EACH - 1) / ROWS_EACH * ROWS_EACH, wide = (width + WIDE - 1) / WIDE * WIDE;
        GLOBAL const stored_t *from = x0 + layout.offset[0] + batch * STRIDE_0;
        for (int y = 0; y < held; y++)
            for (int item = 0; item < wide; item++) sums[y * ITEMS + item] = 0;

        for (int dz = 0; dz < DEPTH_SPAN; dz++) {
            /* 1. Load a plane. */
            const index_t at = gp_within((index_t)z + LOW_Z + dz, (index_t)PLANES_Z);
            fill_tile(tile, from + max(at, (index_t)0) * STRIDE_1, layout, top, first, held, wide, at < 0);

            /* 2. Add it. */
            GLOBAL const sum_t *weights = x1 + layout.offset[1] + dz * SPAN * TAPS;
            for (int y = 0; y < rows; y += ROWS_EACH)
                for (int x = 0; x < width; x += WIDE) add_plane(sums + y * ITEMS + x, tile + y * TILE_PITCH + x, weights);
        }

        /* 3. Store. */
        GLOBAL result_t *to = y0 + layout.offset[RESULT] + batch * STRIDE_OUT + z * STRIDE_OUT_PLANE + top * STRIDE_OUT_ROW + first;
        for (int y = 0; y < rows; y++)
            for (int item = 0; item < width; item++) to[y * STRIDE_OUT_ROW + item] = gp_result(layout, sums[y * ITEMS + item]);
    }
}
