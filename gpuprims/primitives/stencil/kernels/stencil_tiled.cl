/* stencil/tiled: each group loads a tile, and as much beyond its edges as neighbourhoods reach, into local memory.
 *
 * in      INPUTS: x0, in axes of batches, rows, and elements of a row side by side
 * out     OUTPUTS, of the same axes
 * launch  any number of groups of BLOCK; each takes tiles of WIDE * HIGH elements until none are left
 * host    within and gp_beside (stencil.h), gp_apply
 *
 *     . . . . . .      a tile of 4 * 2 elements, and what is loaded around it
 *     . o o o o .
 *     . o o o o .
 *     . . . . . .
 */
#define HIGH (BLOCK * ITEMS / WIDE)

__kernel WORK_GROUP(BLOCK)
void stencil_tiled(INPUTS, OUTPUTS, const layout_t layout)
{
    __local number_t tile[(HIGH + SPAN - 1) * PITCH];
    const i64 across = (LENGTH + WIDE - 1) / WIDE, strips = (ROWS + HIGH - 1) / HIGH;
    const int tid = get_local_id(0);

    for (i64 task = get_group_id(0); task < across * strips * BATCHES; task += get_num_groups(0)) {
        const i64 first = task % across * WIDE, top = task / across % strips * HIGH, batch = task / across / strips;
        GLOBAL const stored_t *plane = x0 + layout.offset[0] + batch * STEP_0;
        GLOBAL result_t *out = y0 + layout.offset[1] + batch * STEP_OUT;

        /* 1. Load the tile, with what lies around it. */
        for (int k = tid; k < (HIGH + SPAN - 1) * PITCH; k += BLOCK) {
            const i64 y = gp_within(min(top + k / PITCH + LOW_Y, ROWS - 1 + HIGH_Y), ROWS);
            GLOBAL const stored_t *row = plane + y * STEP_1;
            tile[k] = MODE_CONSTANT && y < 0 ? BEYOND : gp_beside(row, LENGTH, (i32)first + k % PITCH + LEFT);
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 2. Apply, and store. */
        for (int k = tid; k < HIGH * WIDE; k += BLOCK) {
            const i64 y = top + k / WIDE, at = first + k % WIDE;
            if (y < ROWS && at < LENGTH)
                out[y * STEP_DOWN + at] = gp_result(layout, gp_apply(tile + k / WIDE * PITCH + k % WIDE, 0));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
