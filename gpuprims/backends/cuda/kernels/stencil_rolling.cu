/* stencil/rolling: each work-item walks down a strip, a few elements wide, with the rows that its neighbourhoods reach in
 * registers: every row is loaded once.
 *
 * in      INPUTS: x0, in axes of batches, rows, and elements of a row side by side
 * out     OUTPUTS, of the same axes
 * launch  any number of groups of BLOCK; each takes strips of BLOCK * ITEMS columns and `depth` rows of the `covered` ones, both
 *         multiples of AT_ONCE, and then single rows before and after those, until none are left
 * host    within, gp_place, slot_t and TAKEN (stencil.h), gp_apply and gp_across, READ_VECTOR of VECTOR and WRITE_VECTOR of
 *         VECTOR_OUT, which divide ITEMS
 *
 * For a span of three rows, the slots of the window, and where they go before the next rows are loaded:
 *
 *     slot    0       1       2      3      4      5
 *     row     y - 1   y       y + 1  y + 2  y + 3  y + 4      rows y to y + 3 are computed
 *             y + 3   y + 4
 */
#define SLOTS (SPAN - 1 + AT_ONCE)
#define GROUPS_AT_ONCE (65536 / (BLOCK * (SLOTS * PITCH + LOADED + 40)))
#define BEFORE ((-LEFT + VECTOR - 1) / VECTOR * VECTOR)
#define AFTER ((BESIDE + LEFT + VECTOR - 1) / VECTOR * VECTOR)

/* What is loaded of a row: whole vectors, of which the elements from LEFT of `first` on are taken. */
#define LOADED (BEFORE + ITEMS + AFTER)
typedef struct {
    stored_t raw[LOADED];
} loaded_t;

/* Load from a row, where all lies within; else element by element, from where `places` say. */
DEVICE loaded_t load_row(GLOBAL const stored_t *row, const i64 first, const int inside, const i32 *places)
{
    loaded_t loaded;
    if (inside) {
#pragma unroll
        for (int k = 0; k < LOADED; k += VECTOR) {
#if VECTOR > 1
            READ_VECTOR(stored_t, VECTOR, row + (first - BEFORE + k), loaded.raw + k);
#else
            loaded.raw[k] = row[first - BEFORE + k];
#endif
        }
    } else {
#pragma unroll
        for (int k = 0; k < TAKEN; k++) loaded.raw[BEFORE + LEFT + k] = row[places[k] < 0 ? 0 : places[k]];
    }
    return loaded;
}

/* Fill a slot of the window: with a row's elements, or of two steps with what the first makes of them. */
DEVICE void fill_slot(slot_t *slot, const loaded_t loaded, const int inside, const i32 *places)
{
    number_t numbers[TAKEN];
#pragma unroll
    for (int k = 0; k < TAKEN; k++)
        numbers[k] = MODE_CONSTANT && !inside && places[k] < 0 ? BEYOND : NUMBER(loaded.raw[BEFORE + LEFT + k]);
#pragma unroll
    for (int k = 0; k < PITCH; k++) {
#if SEPARABLE
        slot[k] = gp_across(numbers + k);
#else
        slot[k] = numbers[k];
#endif
    }
}

/* Find where the elements of rows are that are taken, wherever they lie. */
DEVICE void find_places(const layout_t layout, const i64 first, i32 *places)
{
#pragma unroll
    for (int k = 0; k < TAKEN; k++) places[k] = gp_place((i32)LENGTH, (i32)first + LEFT + k);
}

/* Apply to a window whose first row is in slot `slot`, and store. */
DEVICE void finish_row(GLOBAL result_t *row, const layout_t layout, const i64 first, const slot_t *window,
                       const int slot)
{
    result_t results[ITEMS];
#pragma unroll
    for (int item = 0; item < ITEMS; item++) results[item] = gp_result(layout, gp_apply(window + item, slot));
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

/* Compute a row by itself, whose neighbours may lie beyond the first and the last. */
DEVICE void lone_row(GLOBAL const stored_t *plane, GLOBAL result_t *out, const layout_t layout, const i64 y,
                     const i64 first)
{
    slot_t window[SPAN * PITCH];
    i32 places[TAKEN], nowhere[TAKEN];
    find_places(layout, first, places);
#pragma unroll
    for (int k = 0; k < TAKEN; k++) nowhere[k] = -1;
#pragma unroll
    for (int k = 0; k < SPAN; k++) {
        const i64 at = within(y + LOW_Y + k, ROWS);
        const loaded_t loaded = load_row(plane + (at < 0 ? 0 : at) * STEP_1, first, 0, places);
        fill_slot(window + k * PITCH, loaded, 0, at < 0 ? nowhere : places);
    }
    finish_row(out + y * STEP_DOWN, layout, first, window, 0);
}

/* Compute so many rows from one on, a multiple of AT_ONCE, whose neighbours lie in rows within. */
DEVICE void walk(GLOBAL const stored_t *row, GLOBAL result_t *to, const layout_t layout, const i64 first, const int rows,
                 const int inside)
{
    slot_t window[SLOTS * PITCH];
    i32 places[TAKEN];
    if (!inside) find_places(layout, first, places);

    /* 1. Fill the slots of rows before. */
#pragma unroll
    for (int k = 0; k < SPAN - 1; k++, row += STEP_1)
        fill_slot(window + k * PITCH, load_row(row, first, inside, places), inside, places);

    for (int y = 0; y < rows; y += AT_ONCE, row += AT_ONCE * STEP_1, to += AT_ONCE * STEP_DOWN) {
        /* 2. Load the next rows. */
        loaded_t loaded[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) loaded[k] = load_row(row + k * STEP_1, first, inside, places);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) fill_slot(window + (SPAN - 1 + k) * PITCH, loaded[k], inside, places);

        /* 3. Apply, and store. */
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) finish_row(to + k * STEP_DOWN, layout, first, window, k);

        /* 4. Keep the last rows. */
#pragma unroll
        for (int k = 0; k < (SPAN - 1) * PITCH; k++) window[k] = window[AT_ONCE * PITCH + k];
    }
}

extern "C" __global__ __launch_bounds__(BLOCK, GROUPS_AT_ONCE)
void stencil_rolling(INPUTS, OUTPUTS, const layout_t layout, const i64 depth, const i64 covered)
{
    const i64 across = (LENGTH + BLOCK * ITEMS - 1) / (BLOCK * ITEMS), strips = (covered + depth - 1) / depth;
    const i64 tasks = strips + ROWS - covered; /* strips, and the rows before and after them */
    const int tid = threadIdx.x;

    for (i64 task = blockIdx.x; task < across * tasks * BATCHES; task += gridDim.x) {
        const i64 first = (task % across * BLOCK + tid) * ITEMS, strip = task / across % tasks;
        const i64 batch = task / across / tasks;
        GLOBAL const stored_t *plane = x0 + layout.offset[0] + batch * STEP_0;
        GLOBAL result_t *out = y0 + layout.offset[1] + batch * STEP_OUT;
        if (first >= LENGTH) continue;

        if (strip >= strips) {
            const i64 lone = strip - strips;
            lone_row(plane, out, layout, lone < -LOW_Y ? lone : lone + covered, first);
        } else {
            const i64 top = strip * depth - LOW_Y;
            const int rows = (int)min(depth, covered - strip * depth);
            GLOBAL const stored_t *row = plane + (top + LOW_Y) * STEP_1;
            GLOBAL result_t *to = out + top * STEP_DOWN;
            if (first >= BEFORE && first + ITEMS + AFTER <= LENGTH) {
                walk(row, to, layout, first, rows, 1);
            } else {
                walk(row, to, layout, first, rows, 0);
            }
        }
    }
}
