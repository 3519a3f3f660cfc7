/* stencil/rolling: each work-item walks down a strip, a few elements wide, with the rows that its neighbourhoods reach in
 * registers: every row is loaded once, and takes the place of the one that is left behind.
 *
 * in      INPUTS: x0, in axes of batches, rows, and elements of a row side by side
 * out     OUTPUTS, of the same axes
 * launch  any number of groups of BLOCK; each takes strips of BLOCK * ITEMS columns and `depth` rows until none are left
 * host    within and gp_beside (stencil.h), gp_apply and gp_across, READ_VECTOR and WRITE_VECTOR of VECTOR, which divides ITEMS
 *
 * For a span of three rows, the slots of the window from one row to the next:
 *
 *     slot 0    y - 1           y + 2
 *     slot 1    y       y
 *     slot 2    y + 1   y + 1   y + 1
 */
#define TAKEN (ITEMS + BESIDE)
#define BEFORE ((-LEFT + VECTOR - 1) / VECTOR * VECTOR)
#define AFTER ((BESIDE + LEFT + VECTOR - 1) / VECTOR * VECTOR)
#if SEPARABLE
typedef value_t slot_t;
#else
typedef number_t slot_t;
#endif

/* Load a row's elements from LEFT of `first` on. */
DEVICE void load_row(GLOBAL const stored_t *plane, const layout_t layout, const i64 y, const i64 first, number_t *numbers)
{
    const i64 at = within(y, ROWS);
    GLOBAL const stored_t *row = plane + at * STEP_1;
    if (MODE_CONSTANT && at < 0) {
#pragma unroll
        for (int k = 0; k < TAKEN; k++) numbers[k] = BEYOND;
    } else if (first >= BEFORE && first + ITEMS + AFTER <= LENGTH) {
        stored_t raw[BEFORE + ITEMS + AFTER];
#pragma unroll
        for (int k = 0; k < BEFORE + ITEMS + AFTER; k += VECTOR) {
#if VECTOR > 1
            READ_VECTOR(stored_t, VECTOR, row + (first - BEFORE + k), raw + k);
#else
            raw[k] = row[first - BEFORE + k];
#endif
        }
#pragma unroll
        for (int k = 0; k < TAKEN; k++) numbers[k] = NUMBER(raw[BEFORE + LEFT + k]);
    } else {
#pragma unroll
        for (int k = 0; k < TAKEN; k++) numbers[k] = gp_beside(row, LENGTH, first + LEFT + k);
    }
}

/* Fill a slot of the window: with a row's elements, or of two steps with what the first makes of them. */
DEVICE void fill_slot(GLOBAL const stored_t *plane, const layout_t layout, const i64 y, const i64 first, slot_t *slot)
{
#if SEPARABLE
    number_t numbers[TAKEN];
    load_row(plane, layout, y, first, numbers);
#pragma unroll
    for (int item = 0; item < ITEMS; item++) slot[item] = gp_across(numbers + item);
#else
    load_row(plane, layout, y, first, slot);
#endif
}

/* Store a row of results. */
DEVICE void store_row(GLOBAL result_t *row, const layout_t layout, const i64 first, const result_t *results)
{
    if (first + ITEMS <= LENGTH) {
#pragma unroll
        for (int k = 0; k < ITEMS; k += VECTOR_OUT) {
#if VECTOR_OUT > 1
            WRITE_VECTOR(result_t, VECTOR_OUT, row + first + k, results + k);
#else
            row[first + k] = results[k];
#endif
        }
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            if (first + k < LENGTH) row[first + k] = results[k];
    }
}

__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void stencil_rolling(INPUTS, OUTPUTS, const layout_t layout, const i64 strips, const i64 depth)
{
    const i64 across = (LENGTH + BLOCK * ITEMS - 1) / (BLOCK * ITEMS);

    for (i64 task = get_group_id(0); task < across * strips * BATCHES; task += get_num_groups(0)) {
        const i64 first = (task % across * BLOCK + get_local_id(0)) * ITEMS;
        const i64 top = task / across % strips * depth, bottom = min(top + depth, ROWS);
        const i64 batch = task / across / strips;
        GLOBAL const stored_t *plane = x0 + layout.offset[0] + batch * STEP_0;
        GLOBAL result_t *out = y0 + layout.offset[1] + batch * STEP_OUT;
        if (first >= LENGTH) continue;

        /* 1. Fill all slots but the last. */
        slot_t window[SPAN * PITCH];
#pragma unroll
        for (int k = 0; k < SPAN - 1; k++) fill_slot(plane, layout, top + LOW_Y + k, first, window + k * PITCH);

        for (i64 y = top; y < bottom; y += SPAN) {
#pragma unroll
            for (int phase = 0; phase < SPAN; phase++) {
                if (y + phase < bottom) {
                    /* 2. Load the next row in the place of the last one but SPAN. */
                    const int next = (phase + SPAN - 1) % SPAN;
                    fill_slot(plane, layout, y + phase + HIGH_Y, first, window + next * PITCH);

                    /* 3. Apply, and store. */
                    result_t results[ITEMS];
#pragma unroll
                    for (int item = 0; item < ITEMS; item++)
                        results[item] = gp_result(layout, gp_apply(window + item, phase));
                    store_row(out + (y + phase) * STEP_DOWN, layout, first, results);
                }
            }
        }
    }
}
