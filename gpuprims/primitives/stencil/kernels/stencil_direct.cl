/* stencil/direct: each work-item loads the neighbours of an element, wherever they lie.
 *
 * in      INPUTS: x0 of any layout, with axes of batches, planes, rows, columns and channels; with TABLE x1, the
 *         weights
 * out     OUTPUTS, with the same axes
 * launch  any number of groups of BLOCK; each takes BLOCK elements at a time until none are left
 * host    gp_within (stencil.h), gp_apply and FETCH_ALL, or with TABLE LOW_X to HIGH_Z and PRODUCT_OF; STORE
 */
__kernel WORK_GROUP(BLOCK)
void stencil_direct(INPUTS, OUTPUTS, const layout_t layout, const i64 n)
{
    const int tid = get_local_id(0);

    for (i64 j = (i64)get_group_id(0) * BLOCK + tid; j < n; j += (i64)get_num_groups(0) * BLOCK) {
        /* 1. Find the element. */
        i64 left = j;
        const i64 c = left % layout.reduced[4];
        left /= layout.reduced[4];
        const i64 x = left % COLUMNS;
        left /= COLUMNS;
        const i64 y = left % ROWS;
        left /= ROWS;
        const i64 z = left % PLANES_Z;
        GLOBAL const stored_t *from = x0 + layout.offset[0] + left / PLANES_Z * STRIDE_0 + c * STRIDE_4;

        /* 2. Load its neighbours, and apply. */
#if TABLE
        value_t value = 0;
        GLOBAL const value_t *weight = x1 + layout.offset[1];
        for (i64 dz = LOW_Z; dz <= HIGH_Z; dz++)
            for (i64 dy = LOW_Y; dy <= HIGH_Y; dy++)
                for (i64 dx = LOW_X; dx <= HIGH_X; dx++, weight++)
                    if (*weight != 0) value += PRODUCT_OF(*weight, (value_t)FETCH(dz, dy, dx));
#else
        number_t window[NEIGHBOURS];
        FETCH_ALL(window)
        const value_t value = gp_apply(window, 0);
#endif

        /* 3. Store. */
        STORE(0, j, value);
    }
}
