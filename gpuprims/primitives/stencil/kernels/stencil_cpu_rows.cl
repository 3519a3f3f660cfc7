/* stencil/cpu_rows: each work-item goes down a strip of some hundred columns and keeps the rows in its neighbourhoods
 * in private memory, for devices whose work-items are CPU threads.
 *
 * in      INPUTS: x0, with axes of batches, rows, and elements of a row side by side
 * out     OUTPUTS, with the same axes
 * launch  any number of groups of one work-item; each takes strips of ITEMS columns and `depth` rows until none are
 *         left
 * host    gp_within, gp_load_element, slot_t and TAKEN (stencil.h), gp_apply and gp_across
 *
 * Loops over the elements of a row are plain loops, which the compiler vectorises.
 */

/* Load `taken` elements of a row, from `first` + LEFT on. */
DEVICE void load_row(GLOBAL const stored_t *plane, const layout_t layout, const i64 y, const i64 first, const int taken,
                     number_t *numbers)
{
    const i64 at = gp_within((index_t)y, (index_t)ROWS);
    GLOBAL const stored_t *row = plane + at * STRIDE_2;
    if (MODE_CONSTANT && at < 0) {
        for (int k = 0; k < taken; k++) numbers[k] = BEYOND;
        return;
    }
    const int inside = (int)max((i64)0, -(first + LEFT)), end = (int)min((i64)taken, LENGTH - first - LEFT);
    GLOBAL const stored_t *from = row + first + LEFT;
    for (int k = 0; k < inside && k < taken; k++) numbers[k] = gp_load_element(row, LENGTH, (i32)first + LEFT + k);
    for (int k = inside; k < end; k++) numbers[k] = NUMBER(from[k]);
    for (int k = max(end, 0); k < taken; k++) numbers[k] = gp_load_element(row, LENGTH, (i32)first + LEFT + k);
}

/* Fill a slot of the window with a row's elements, or with the results of the first of two passes. */
DEVICE void fill_row_slot(GLOBAL const stored_t *plane, const layout_t layout, const i64 y, const i64 first, const int width,
                      slot_t *slot)
{
#if SEPARABLE
    number_t numbers[TAKEN];
    load_row(plane, layout, y, first, width + HALO, numbers);
    for (int item = 0; item < width; item++) slot[item] = gp_across(numbers + item);
#else
    load_row(plane, layout, y, first, width + HALO, slot);
#endif
}

/* Fill a slot in each plane of the window with row `y`. */
DEVICE void fill_slots(GLOBAL const stored_t *from, const layout_t layout, const i64 z, const i64 y, const i64 first, const int width,
                       slot_t *slots)
{
    for (int k = 0; k < DEPTH_SPAN; k++) {
        const index_t at = gp_within((index_t)z + LOW_Z + k, (index_t)PLANES_Z);
        GLOBAL const stored_t *plane = from + max(at, (index_t)0) * STRIDE_1;
        fill_row_slot(plane, layout, MODE_CONSTANT && at < 0 ? -ROWS : y, first, width, slots + k * SPAN * PITCH);
    }
}

__kernel WORK_GROUP(1)
void stencil_cpu_rows(INPUTS, OUTPUTS, const layout_t layout, const i64 strips, const i64 depth)
{
    const i64 across = (LENGTH + ITEMS - 1) / ITEMS;
    slot_t window[DEPTH_SPAN * SPAN * PITCH];

    for (i64 task = get_group_id(0); task < across * strips * PLANES_Z * BATCHES; task += get_num_groups(0)) {
        const i64 first = task % across * ITEMS;
        const i64 top = task / across % strips * depth, bottom = min(top + depth, ROWS);
        const i64 z = task / across / strips % PLANES_Z, batch = task / across / strips / PLANES_Z;
        const int width = (int)min((i64)ITEMS, LENGTH - first);
        GLOBAL const stored_t *from = x0 + layout.offset[0] + batch * STRIDE_0;
        GLOBAL result_t *out = y0 + layout.offset[RESULT] + batch * STRIDE_OUT + z * STRIDE_OUT_PLANE;

        /* 1. Fill all slots but the last. */
        for (int k = 0; k < SPAN - 1; k++) fill_slots(from, layout, z, top + LOW_Y + k, first, width, window + k * PITCH);

        for (i64 y = top; y < bottom; y++) {
            /* 2. Load the next row into the slot of the oldest one. */
            const int phase = (int)((y - top) % SPAN), next = (phase + SPAN - 1) % SPAN;
            fill_slots(from, layout, z, y + HIGH_Y, first, width, window + next * PITCH);

            /* 3. Apply and store. */
            GLOBAL result_t *row = out + y * STRIDE_OUT_ROW + first;
            for (int item = 0; item < width; item++) row[item] = gp_result(layout, gp_apply(window + item, phase));
        }
    }
}
