/* stencil/columns: each work-item goes down a column and keeps the elements above and below ITEMS neighbours in registers;
 * weights are read from memory.
 *
 * in      INPUTS: x0, with axes of batches, planes, rows, and elements of a row side by side; x1, the weights
 * out     OUTPUTS, with the same axes as x0
 * launch  any number of groups of BLOCK; each takes BLOCK columns and `depth` rows, a multiple of ITEMS, one of `strips`,
 *         until none are left
 * host    gp_within, gp_add_neighbours (stencil.h), gp_result
 *
 * If the weights are more than CHUNK, the work-item loads the neighbours again for each CHUNK of them; the loads hit the
 * cache.
 */
#define HELD (CHUNK + ITEMS - 1)
#define WEIGHTS_PADDED ((SPAN + 3) / 4 * 4)
#define GROUPS_AT_ONCE (65536 / (BLOCK * 128))

/* Load `count` elements of a column, from row `y` on. */
DEVICE void load_column(sum_t *values, GLOBAL const stored_t *column, const layout_t layout, const i64 y, const int count)
{
    if (y >= 0 && y + count <= ROWS) {
        GLOBAL const stored_t *from = column + y * STRIDE_2;
#pragma unroll
        for (int k = 0; k < count; k++, from += STRIDE_2) values[k] = NUMBER(*from);
    } else {
#pragma unroll
        for (int k = 0; k < count; k++) {
            const index_t at = gp_within((index_t)min(y + k, (i64)ROWS - 1 + HIGH_Y), (index_t)ROWS);
            values[k] = MODE_CONSTANT && at < 0 ? BEYOND : NUMBER(column[max(at, (index_t)0) * STRIDE_2]);
        }
    }
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void stencil_columns(INPUTS, OUTPUTS, const layout_t layout, const i64 strips, const i64 depth)
{
    __local ALIGNED sum_t weights[WEIGHTS_PADDED];
    const int tid = get_local_id(0);
    const i64 across = (LENGTH + BLOCK - 1) / BLOCK;

    /* 1. Read the weights. */
    for (int k = tid; k < SPAN; k += BLOCK) weights[k] = x1[layout.offset[1] + k];
    barrier(CLK_LOCAL_MEM_FENCE);

    for (i64 task = get_group_id(0); task < across * strips * PLANES_Z * BATCHES; task += get_num_groups(0)) {
        const i64 x = task % across * BLOCK + tid, top = task / across % strips * depth;
        const i64 plane = task / across / strips % PLANES_Z, batch = task / across / strips / PLANES_Z;
        if (x >= LENGTH) continue;
        GLOBAL const stored_t *column = x0 + layout.offset[0] + batch * STRIDE_0 + plane * STRIDE_1 + x;
        GLOBAL result_t *to = y0 + layout.offset[RESULT] + batch * STRIDE_OUT + plane * STRIDE_OUT_PLANE + x;
        const i64 end = min(top + depth, (i64)ROWS);
        sum_t values[HELD];
#if CHUNK == SPAN
        load_column(values, column, layout, top + LOW_Y, SPAN - 1);
#endif
        for (i64 y = top; y < end; y += ITEMS) {
            sum_t sums[ITEMS];
#pragma unroll
            for (int item = 0; item < ITEMS; item++) sums[item] = 0;

            /* 2. Load the next rows, and add the neighbours. */
#if CHUNK == SPAN
            load_column(values + SPAN - 1, column, layout, y + HIGH_Y, ITEMS);
            gp_add_neighbours(sums, values, weights, SPAN);
#pragma unroll
            for (int k = 0; k < SPAN - 1; k++) values[k] = values[k + ITEMS];
#else
#pragma unroll 1
            for (int k = 0; k + CHUNK <= SPAN; k += CHUNK) {
                load_column(values, column, layout, y + LOW_Y + k, HELD);
                gp_add_neighbours(sums, values, weights + k, CHUNK);
            }
            if (SPAN % CHUNK) {
                load_column(values, column, layout, y + LOW_Y + SPAN / CHUNK * CHUNK, SPAN % CHUNK + ITEMS - 1);
                gp_add_neighbours(sums, values, weights + SPAN / CHUNK * CHUNK, SPAN % CHUNK);
            }
#endif

            /* 3. Store. */
#pragma unroll
            for (int item = 0; item < ITEMS; item++)
                if (y + item < end) to[(y + item) * STRIDE_OUT_ROW] = gp_result(layout, sums[item]);
        }
    }
}
