/* stencil/columns: each work-item computes ITEMS neighbours of a column, each from the elements above and below it; weights
 * are read from memory.
 *
 * in      INPUTS: x0, with axes of batches, planes, rows, and elements of a row side by side; x1, the weights
 * out     OUTPUTS, with the same axes as x0
 * launch  any number of groups of BLOCK; each takes ACROSS columns and BLOCK / ACROSS * ITEMS rows until none are left
 * host    gp_within (stencil.h), gp_result
 *
 * Work-items of a group read the same elements at about the same time, so all but the first load hit the cache.
 */
#define DOWN (BLOCK / ACROSS)
#ifndef GROUPS_AT_ONCE
#define GROUPS_AT_ONCE (65536 / (BLOCK * 96))
#endif

/* Add `count` neighbours, from weight `first` on, to the sums of ITEMS elements from row `y` on. */
DEVICE void add_column(sum_t *sums, GLOBAL const stored_t *column, const layout_t layout, GLOBAL const sum_t *weights,
                       const i64 y, const int first, const int count, const int inside)
{
    sum_t values[ITEMS + CHUNK - 1];
    if (inside) {
        GLOBAL const stored_t *from = column + (y + LOW_Y + first) * STRIDE_2;
#pragma unroll
        for (int k = 0; k < ITEMS + count - 1; k++) values[k] = (sum_t)NUMBER(from[k * STRIDE_2]);
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS + count - 1; k++) {
            const index_t at = gp_within((index_t)min(y + LOW_Y + first + k, (i64)ROWS - 1 + HIGH_Y), (index_t)ROWS);
            values[k] = MODE_CONSTANT && at < 0 ? (sum_t)BEYOND : (sum_t)NUMBER(column[max(at, (index_t)0) * STRIDE_2]);
        }
    }
#pragma unroll
    for (int k = 0; k < count; k++) {
        const sum_t weight = weights[first + k];
        if (SOME_ZERO && weight == 0) continue;
#pragma unroll
        for (int item = 0; item < ITEMS; item++) sums[item] += weight * values[k + item];
    }
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void stencil_columns(INPUTS, OUTPUTS, const layout_t layout)
{
    const int tid = get_local_id(0);
    const i64 across = (LENGTH + ACROSS - 1) / ACROSS, down = (ROWS + DOWN * ITEMS - 1) / (DOWN * ITEMS);
    GLOBAL const sum_t *weights = x1 + layout.offset[1];

    for (i64 task = get_group_id(0); task < across * down * PLANES_Z * BATCHES; task += get_num_groups(0)) {
        /* 1. Find the column. */
        const i64 x = task % across * ACROSS + tid % ACROSS, y = (task / across % down * DOWN + tid / ACROSS) * ITEMS;
        const i64 plane = task / across / down % PLANES_Z, batch = task / across / down / PLANES_Z;
        if (x >= LENGTH || y >= ROWS) continue;
        GLOBAL const stored_t *column = x0 + layout.offset[0] + batch * STRIDE_0 + plane * STRIDE_1 + x;
        const int inside = y + LOW_Y >= 0 && y + ITEMS + HIGH_Y <= ROWS;

        /* 2. Add the neighbours, CHUNK at a time. */
        sum_t sums[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) sums[item] = 0;
#pragma unroll 1
        for (int k = 0; k + CHUNK <= SPAN; k += CHUNK) add_column(sums, column, layout, weights, y, k, CHUNK, inside);
        if (SPAN % CHUNK) add_column(sums, column, layout, weights, y, SPAN / CHUNK * CHUNK, SPAN % CHUNK, inside);

        /* 3. Store. */
        GLOBAL result_t *to = y0 + layout.offset[RESULT] + batch * STRIDE_OUT + plane * STRIDE_OUT_PLANE + y * STRIDE_OUT_ROW + x;
#pragma unroll
        for (int item = 0; item < ITEMS; item++)
            if (y + item < ROWS) to[item * STRIDE_OUT_ROW] = gp_result(layout, sums[item]);
    }
}
