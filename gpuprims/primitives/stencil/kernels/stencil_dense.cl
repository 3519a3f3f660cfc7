/* stencil/dense: each work-item computes a small block of elements, whose sums it keeps in registers, from a tile in local
 * memory; weights are read from memory.
 *
 * in      INPUTS: x0, with axes of batches, planes, rows, and elements of a row side by side; x1, the weights
 * out     OUTPUTS, with the same axes as x0
 * launch  any number of groups of BLOCK; each takes blocks of WIDE columns, HIGH rows and PLANES_EACH planes until none
 *         are left
 * host    gp_within and gp_element_at (stencil.h), gp_result
 *
 * A work-item computes ITEMS columns, ROWS_EACH rows and PLANES_EACH planes. It reads each row of neighbours once, and
 * adds it, by other weights, to the sums of all rows and planes that it is a neighbour of:
 *
 *     rows of the tile    0  1  2  3  4        for a span of 3 rows, and 3 rows each
 *     sums of row 0       w0 w1 w2
 *     sums of row 1          w0 w1 w2
 *     sums of row 2             w0 w1 w2
 *
 * Each sum adds its neighbours in the order of their indices.
 */
#define APART (LANES_X * ITEMS)
#define WIDE (APART * VECTORS_EACH)
#define PARTS (BLOCK / LANES_X)
#define HIGH (PARTS * ROWS_EACH)
#define TILE_ROWS (HIGH + SPAN - 1)
#define TILE_PITCH ((WIDE + HALO + ITEMS - 1) / ITEMS * ITEMS)
#define LOADS ((TILE_PITCH + LANES_X - 1) / LANES_X)
#define ROWS_LOADED (LOADS <= 4 ? 6 : LOADS <= 6 ? 4 : LOADS <= 8 ? 3 : LOADS <= 12 ? 2 : 1)
#define TAPS (HIGH_X - LOW_X + 1)
#define TAPS_PADDED ((TAPS + ITEMS - 1) / ITEMS * ITEMS)
#define GROUPS_AT_ONCE (65536 / (BLOCK * 128))
#define WEIGHTS_OF_PLANE (SPAN * TAPS_PADDED)

/* Write a plane of the tile and its surroundings to local memory: the elements of each row at `places`, -1 for the constant.
 * Work-items wait for a few rows at a time. */
DEVICE void load_tile(LOCAL sum_t *tile, GLOBAL const stored_t *plane, const layout_t layout, const i64 top, LOCAL const i32 *places,
                      const int beyond)
{
    const int tid = get_local_id(0), lane = tid % LANES_X;
    for (int first = tid / LANES_X; first < TILE_ROWS; first += PARTS * ROWS_LOADED) {
        stored_t raw[ROWS_LOADED][LOADS];
        int nothing[ROWS_LOADED];
#pragma unroll
        for (int row = 0; row < ROWS_LOADED; row++) {
            const i64 wanted = top + min(first + row * PARTS, TILE_ROWS - 1) + LOW_Y;
            const index_t y = gp_within((index_t)min(wanted, (i64)ROWS - 1 + HIGH_Y), (index_t)ROWS);
            GLOBAL const stored_t *from = plane + max(y, (index_t)0) * STRIDE_2;
            nothing[row] = MODE_CONSTANT && (beyond || y < 0);
#pragma unroll
            for (int k = 0; k < LOADS; k++) raw[row][k] = from[max(places[min(k * LANES_X + lane, TILE_PITCH - 1)], 0)];
        }
#pragma unroll
        for (int row = 0; row < ROWS_LOADED; row++) {
            LOCAL sum_t *to = tile + (first + row * PARTS) * TILE_PITCH;
            if (first + row * PARTS >= TILE_ROWS) break;
#pragma unroll
            for (int k = 0; k < LOADS; k++) {
                const int place = k * LANES_X + lane;
                if ((k + 1) * LANES_X > TILE_PITCH && place >= TILE_PITCH) break;
                const int outside = MODE_CONSTANT && places[place] < 0;
                to[place] = (nothing[row] | outside) ? (sum_t)BEYOND : (sum_t)NUMBER(raw[row][k]);
            }
        }
    }
}

/* Add `count` neighbours of each element in a row of the tile, from column `first` of the weights on, to the sums of the rows
 * and planes that have them. PoCL 3.1's compiler may crash, or lose sums, if it is free not to inline it. */
__attribute__((always_inline)) DEVICE void add_row(sum_t sums[PLANES_EACH][ROWS_EACH][VECTORS_EACH * ITEMS], LOCAL const sum_t *row, LOCAL const sum_t *weights, const int plane,
                    const int y, const int first, const int count)
{
    sum_t values[VECTORS_EACH][(CHUNK - 1) * CHANNELS + ITEMS + ITEMS - 1];
#pragma unroll
    for (int v = 0; v < VECTORS_EACH; v++)
#pragma unroll
        for (int k = 0; k < (count - 1) * CHANNELS + ITEMS; k += ITEMS)
            READ_LOCAL(sum_t, ITEMS, row + first * CHANNELS + v * APART + k, values[v] + k);
#pragma unroll
    for (int oz = 0; oz < PLANES_EACH; oz++)
#pragma unroll
        for (int oy = 0; oy < ROWS_EACH; oy++) {
            const int at = y - oy;
            if (at < 0 || at >= SPAN) continue;
#if PLANES_EACH > 1
            if (plane - oz < 0 || plane - oz >= DEPTH_SPAN) continue;
#endif
            LOCAL const sum_t *own = weights + oz * WEIGHTS_OF_PLANE + at * TAPS_PADDED + first;
#pragma unroll
            for (int k = 0; k < count; k += ITEMS) {
                sum_t weight[ITEMS];
                READ_LOCAL(sum_t, ITEMS, own + k, weight);
#pragma unroll
                for (int i = 0; i < ITEMS; i++) {
                    if (k + i >= count || (SOME_ZERO && weight[i] == 0)) continue;
#pragma unroll
                    for (int v = 0; v < VECTORS_EACH; v++)
#pragma unroll
                        for (int item = 0; item < ITEMS; item++)
                            sums[oz][oy][v * ITEMS + item] += weight[i] * values[v][(k + i) * CHANNELS + item];
                }
            }
        }
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void stencil_dense(INPUTS, OUTPUTS, const layout_t layout)
{
    __local ALIGNED sum_t tile[TILE_ROWS * TILE_PITCH];
    __local ALIGNED sum_t weights[PLANES_EACH * WEIGHTS_OF_PLANE];
    __local i32 places[TILE_PITCH];
    const int tid = get_local_id(0), lane = tid % LANES_X, part = tid / LANES_X;
    const i64 across = (LENGTH + WIDE - 1) / WIDE, down = (ROWS + HIGH - 1) / HIGH, deep = (PLANES_Z + PLANES_EACH - 1) / PLANES_EACH;

    for (i64 task = get_group_id(0); task < across * down * deep * BATCHES; task += get_num_groups(0)) {
        const i32 first = (i32)(task % across) * WIDE;
        const i64 top = task / across % down * HIGH, front = task / across / down % deep * PLANES_EACH;
        const i64 batch = task / across / down / deep;
        GLOBAL const stored_t *from = x0 + layout.offset[0] + batch * STRIDE_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = tid; k < TILE_PITCH; k += BLOCK)
            places[k] = gp_element_at(LENGTH, min(first + LEFT + k, LENGTH - 1 + HIGH_X * CHANNELS));
        sum_t sums[PLANES_EACH][ROWS_EACH][VECTORS_EACH * ITEMS];
#pragma unroll
        for (int oz = 0; oz < PLANES_EACH; oz++)
#pragma unroll
            for (int oy = 0; oy < ROWS_EACH; oy++)
#pragma unroll
                for (int item = 0; item < VECTORS_EACH * ITEMS; item++) sums[oz][oy][item] = 0;

#pragma unroll 1
        for (int plane = 0; plane < PLANES_EACH + DEPTH_SPAN - 1; plane++) {
            /* 1. Load a plane of the tile, and the weights by which each plane of results adds it. */
            const index_t z = gp_within((index_t)min(front + plane + LOW_Z, (i64)PLANES_Z - 1 + HIGH_Z), (index_t)PLANES_Z);
            barrier(CLK_LOCAL_MEM_FENCE);
            load_tile(tile, from + max(z, (index_t)0) * STRIDE_1, layout, top, places, z < 0);
            for (int k = tid; k < PLANES_EACH * WEIGHTS_OF_PLANE; k += BLOCK) {
                const int own = plane - k / WEIGHTS_OF_PLANE;
                const int row = k / TAPS_PADDED % SPAN, column = k % TAPS_PADDED;
                if (own >= 0 && own < DEPTH_SPAN && column < TAPS)
                    weights[k] = x1[layout.offset[1] + (own * SPAN + row) * TAPS + column];
            }
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 2. Add its rows. */
            LOCAL const sum_t *row = tile + part * ROWS_EACH * TILE_PITCH + lane * ITEMS;
#pragma unroll 1
            for (int y = 0; y < ROWS_EACH + SPAN - 1; y++, row += TILE_PITCH) {
#if TAPS <= CHUNK
                add_row(sums, row, weights, plane, y, 0, TAPS);
#else
#pragma unroll 1
                for (int k = 0; k + CHUNK <= TAPS; k += CHUNK) add_row(sums, row, weights, plane, y, k, CHUNK);
                if (TAPS % CHUNK) add_row(sums, row, weights, plane, y, TAPS / CHUNK * CHUNK, TAPS % CHUNK);
#endif
            }
        }

        /* 3. Store. */
        const i32 at = first + lane * ITEMS;
#pragma unroll
        for (int oz = 0; oz < PLANES_EACH; oz++)
#pragma unroll
            for (int oy = 0; oy < ROWS_EACH; oy++) {
                const i64 z = front + oz, y = top + part * ROWS_EACH + oy;
                if (z >= PLANES_Z || y >= ROWS) continue;
                GLOBAL result_t *to = y0 + layout.offset[RESULT] + batch * STRIDE_OUT + z * STRIDE_OUT_PLANE + y * STRIDE_OUT_ROW + at;
#pragma unroll
                for (int v = 0; v < VECTORS_EACH; v++) {
                    result_t results[ITEMS];
#pragma unroll
                    for (int item = 0; item < ITEMS; item++) results[item] = gp_result(layout, sums[oz][oy][v * ITEMS + item]);
                    gp_store_results(to + v * APART, results, LENGTH - at - v * APART);
                }
            }
    }
}
