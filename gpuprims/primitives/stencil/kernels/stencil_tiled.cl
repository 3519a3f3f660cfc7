/* stencil/tiled: each group loads a tile and its surroundings into local memory.
 *
 * in      INPUTS: x0, with axes of batches, rows, and elements of a row side by side
 * out     OUTPUTS, with the same axes
 * launch  any number of groups of BLOCK; each takes tiles of TILE_WIDTH * HIGH elements until none are left
 * host    gp_within and gp_load_element (stencil.h), gp_apply
 *
 *     . . . . . .      a tile of 4 * 2 elements, and the elements around it
 *     . o o o o .
 *     . o o o o .
 *     . . . . . .
 */
#define HIGH (BLOCK * ITEMS / TILE_WIDTH)

__kernel WORK_GROUP(BLOCK)
void stencil_tiled(INPUTS, OUTPUTS, const layout_t layout)
{
    __local number_t tile[(HIGH + SPAN - 1) * PITCH];
    const i64 across = (LENGTH + TILE_WIDTH - 1) / TILE_WIDTH, strips = (ROWS + HIGH - 1) / HIGH;
    const int tid = get_local_id(0);

    for (i64 task = get_group_id(0); task < across * strips * BATCHES; task += get_num_groups(0)) {
        const i64 first = task % across * TILE_WIDTH, top = task / across % strips * HIGH, batch = task / across / strips;
        GLOBAL const stored_t *plane = x0 + layout.offset[0] + batch * STRIDE_0;
        GLOBAL result_t *out = y0 + layout.offset[RESULT] + batch * STRIDE_OUT;

        /* 1. Load the tile and its surroundings. */
        for (int k = tid; k < (HIGH + SPAN - 1) * PITCH; k += BLOCK) {
            const i64 y = gp_within(min(top + k / PITCH + LOW_Y, ROWS - 1 + HIGH_Y), ROWS);
            GLOBAL const stored_t *row = plane + y * STRIDE_2;
            tile[k] = MODE_CONSTANT && y < 0 ? BEYOND : gp_load_element(row, LENGTH, (i32)first + k % PITCH + LEFT);
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 2. Apply and store. */
        for (int k = tid; k < HIGH * TILE_WIDTH; k += BLOCK) {
            const i64 y = top + k / TILE_WIDTH, at = first + k % TILE_WIDTH;
            if (y < ROWS && at < LENGTH)
                out[y * STRIDE_OUT_ROW + at] = gp_result(layout, gp_apply(tile + k / TILE_WIDTH * PITCH + k % TILE_WIDTH, 0));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
