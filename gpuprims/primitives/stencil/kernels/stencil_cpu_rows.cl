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
    const i64 at = gp_within(y, ROWS);
    GLOBAL const stored_t *row = plane + at * STRIDE_1;
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

__kernel WORK_GROUP(1)
void stencil_cpu_rows(INPUTS, OUTPUTS, const layout_t layout, const i64 strips, const i64 depth)
{
    const i64 across = (LENGTH + ITEMS - 1) / ITEMS;
    slot_t window[SPAN * PITCH];

    for (i64 task = get_group_id(0); task < across * strips * BATCHES; task += get_num_groups(0)) {
        const i64 first = task % across * ITEMS;
        const i64 top = task / across % strips * depth, bottom = min(top + depth, ROWS);
        const i64 batch = task / across / strips;
        const int width = (int)min((i64)ITEMS, LENGTH - first);
        GLOBAL const stored_t *plane = x0 + layout.offset[0] + batch * STRIDE_0;
        GLOBAL result_t *out = y0 + layout.offset[1] + batch * STRIDE_OUT;

        /* 1. Fill all slots but the last. */
        for (int k = 0; k < SPAN - 1; k++) fill_row_slot(plane, layout, top + LOW_Y + k, first, width, window + k * PITCH);

        for (i64 y = top; y < bottom; y++) {
            /* 2. Load the next row into the slot of the oldest one. */
            const int phase = (int)((y - top) % SPAN), next = (phase + SPAN - 1) % SPAN;
            fill_row_slot(plane, layout, y + HIGH_Y, first, width, window + next * PITCH);

            /* 3. Apply and store. */
            GLOBAL result_t *row = out + y * STRIDE_OUT_ROW + first;
            for (int item = 0; item < width; item++) row[item] = gp_result(layout, gp_apply(window + item, phase));
        }
    }
}
