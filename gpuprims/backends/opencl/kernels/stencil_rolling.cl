/* stencil/rolling: each work-item walks down a strip, a few elements wide, with the rows that its neighbourhoods reach in
 * registers: every row is loaded once.
 *
 * in      INPUTS: x0, in axes of batches, rows, and elements of a row side by side
 * out     OUTPUTS, of the same axes
 * launch  any number of groups of BLOCK; each takes strips of BLOCK * ITEMS columns and `depth` rows of the `covered` ones, both
 *         multiples of AT_ONCE, and then single rows before and after those, until none are left
 * host    within, gp_place, slot_t and TAKEN (stencil.h), gp_apply and gp_across, READ_VECTOR of VECTOR and of VECTOR_BESIDE and
 *         WRITE_VECTOR of VECTOR_OUT, which divide ITEMS
 *
 * For a span of three rows, the slots of the window, and where they go before the next rows are loaded:
 *
 *     slot    0       1       2      3      4      5
 *     row     y - 1   y       y + 1  y + 2  y + 3  y + 4      rows y to y + 3 are computed
 *             y + 3   y + 4
 *
 * With TIMES of 2 the results of the first time are the rows of a second window, and wider by what lies beside an element, so
 * that nobody waits for results of another. PAIRED elements are bytes in the halves of a register, elements k and k + 2,
 * whose sums are computed together.
 */
#define SLOTS (SPAN - 1 + AT_ONCE)
#define REGISTERS (TIMES * SLOTS * PITCH / (PAIRED + 1) + LOADED * (int)sizeof(stored_t) / 4 + 40)
#define GROUPS_AT_ONCE (65536 / (BLOCK * REGISTERS))
#define WIDENED (ITEMS + (TIMES - 1) * BESIDE)
#define BEFORE ((-TIMES * LEFT + VECTOR_BESIDE - 1) / VECTOR_BESIDE * VECTOR_BESIDE)
#define AFTER ((TIMES * (BESIDE + LEFT) + VECTOR_BESIDE - 1) / VECTOR_BESIDE * VECTOR_BESIDE)

/* What is loaded of a row: whole vectors, of which the elements from TIMES * LEFT of `first` on are taken. */
#define LOADED (BEFORE + ITEMS + AFTER)
#define UNUSED (BEFORE + TIMES * LEFT)
typedef struct {
    stored_t raw[LOADED];
} loaded_t;

#if VECTOR > 1
#define LOAD(from, to) READ_VECTOR(stored_t, VECTOR, from, to)
#else
#define LOAD(from, to) *(to) = *(from)
#endif
#if VECTOR_BESIDE > 1
#define LOAD_BESIDE(from, to) READ_VECTOR(stored_t, VECTOR_BESIDE, from, to)
#else
#define LOAD_BESIDE(from, to) *(to) = *(from)
#endif

/* Load from a row, where all lies within; else element by element, from where `places` say. */
DEVICE loaded_t load_row(GLOBAL const stored_t *row, const i64 first, const int inside, const i32 *places)
{
    loaded_t loaded;
    if (inside) {
        GLOBAL const stored_t *from = row + first - BEFORE;
#pragma unroll
        for (int k = 0; k < BEFORE; k += VECTOR_BESIDE) LOAD_BESIDE(from + k, loaded.raw + k);
#pragma unroll
        for (int k = BEFORE; k < BEFORE + ITEMS; k += VECTOR) LOAD(from + k, loaded.raw + k);
#pragma unroll
        for (int k = BEFORE + ITEMS; k < LOADED; k += VECTOR_BESIDE) LOAD_BESIDE(from + k, loaded.raw + k);
    } else {
#pragma unroll
        for (int k = 0; k < TAKEN; k++) loaded.raw[UNUSED + k] = row[places[k] < 0 ? 0 : places[k]];
    }
    return loaded;
}

/* Fill a slot of a window with `results` elements and those beside them, or of two steps with what the first makes of them. */
DEVICE void fill_slot(slot_t *slot, const number_t *numbers, const int results)
{
#if PAIRED
    item_t items[TAKEN];
#pragma unroll
    for (int k = 0; k < results + BESIDE - 2; k++) items[k] = (u32)numbers[k] | (u32)numbers[k + 2] << 16;
#else
    const item_t *items = numbers;
#endif
#if SEPARABLE
#pragma unroll
    for (int k = 0; k < results - 2 * PAIRED; k++) slot[k] = gp_across(items + k);
#else
#pragma unroll
    for (int k = 0; k < results + BESIDE - 2 * PAIRED; k++) slot[k] = items[k];
#endif
}

/* Fill a slot of the first window with what was loaded of a row. */
DEVICE void take_row(slot_t *slot, const loaded_t loaded, const int inside, const i32 *places)
{
    number_t numbers[TAKEN];
#pragma unroll
    for (int k = 0; k < TAKEN; k++)
        numbers[k] = MODE_CONSTANT && !inside && places[k] < 0 ? BEYOND : NUMBER(loaded.raw[UNUSED + k]);
    fill_slot(slot, numbers, WIDENED);
}

/* Compute results of a row from a window whose first row is in slot `slot`. */
DEVICE void apply_row(const layout_t layout, const slot_t *window, const int slot, const int results, result_t *row)
{
#if PAIRED
#pragma unroll
    for (int k = 0; k < results; k += 4) {
        const int at = min(k, results - 4);
#pragma unroll
        for (int lane = at; lane < at + 2; lane++) {
            const u32 pair = gp_apply(window + lane, slot);
            row[lane] = gp_result(layout, (value_t)(pair & 0xffff));
            row[lane + 2] = gp_result(layout, (value_t)(pair >> 16));
        }
    }
#else
#pragma unroll
    for (int k = 0; k < results; k++) row[k] = gp_result(layout, gp_apply(window + k, slot));
#endif
}

#if TIMES > 1
/* Fill a slot of the second window with results of the first time. Those beyond the ends of a row are none: there lies what the
 * mode says, of the results within. (In the mode "wrap" that is what was computed.) */
DEVICE void take_results(slot_t *slot, const result_t *row, const layout_t layout, const i64 first, const int inside,
                         const int beyond)
{
    number_t numbers[WIDENED];
#pragma unroll
    for (int k = 0; k < WIDENED; k++) numbers[k] = MODE_CONSTANT && beyond ? BEYOND : NUMBER(row[k]);
    if (!inside && !beyond && !MODE_WRAP) {
        const i32 start = (i32)first + LEFT;
        for (int k = 0; k < WIDENED; k++) {
            const i32 place = gp_place((i32)LENGTH, start + k);
            numbers[k] = place < 0 ? BEYOND : NUMBER(row[min(max(place - start, 0), WIDENED - 1)]);
        }
    }
    fill_slot(slot, numbers, ITEMS);
}
#endif

/* Find where the elements of rows are that are taken, wherever they lie. */
DEVICE void find_places(const layout_t layout, const i64 first, i32 *places)
{
#pragma unroll
    for (int k = 0; k < TAKEN; k++) places[k] = gp_place((i32)LENGTH, (i32)first + TIMES * LEFT + k);
}

/* Apply to the last window, whose first row is in slot `slot`, and store. */
DEVICE void finish_row(GLOBAL result_t *row, const layout_t layout, const i64 first, const slot_t *window,
                       const int slot)
{
    result_t results[ITEMS];
    apply_row(layout, window, slot, ITEMS, results);
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

/* Fill a window with the rows around one, wherever they lie. */
DEVICE void surround(slot_t *window, GLOBAL const stored_t *plane, const layout_t layout, const i64 y, const i64 first)
{
    i32 places[TAKEN], nowhere[TAKEN];
    find_places(layout, first, places);
#pragma unroll
    for (int k = 0; k < TAKEN; k++) nowhere[k] = -1;
#pragma unroll
    for (int k = 0; k < SPAN; k++) {
        const i64 at = within(y + LOW_Y + k, ROWS);
        const loaded_t loaded = load_row(plane + (at < 0 ? 0 : at) * STEP_1, first, 0, places);
        take_row(window + k * PITCH, loaded, 0, at < 0 ? nowhere : places);
    }
}

/* Compute a row by itself, whose neighbours may lie beyond the first and the last. */
DEVICE void lone_row(GLOBAL const stored_t *plane, GLOBAL result_t *out, const layout_t layout, const i64 y,
                     const i64 first)
{
    slot_t window[SPAN * PITCH];
#if TIMES > 1
    for (int k = 0; k < SPAN; k++) {
        slot_t before[SPAN * PITCH];
        result_t row[WIDENED];
        const i64 at = within(y + LOW_Y + k, ROWS);
        surround(before, plane, layout, at < 0 ? 0 : at, first);
        apply_row(layout, before, 0, WIDENED, row);
        take_results(window + k * PITCH, row, layout, first, 0, at < 0);
    }
#else
    surround(window, plane, layout, y, first);
#endif
    finish_row(out + y * STEP_DOWN, layout, first, window, 0);
}

/* Compute so many rows from one on, a multiple of AT_ONCE, whose neighbours lie in rows within. */
DEVICE void walk(GLOBAL const stored_t *row, GLOBAL result_t *to, const layout_t layout, const i64 first, const int rows,
                 const int inside)
{
    slot_t window[TIMES][SLOTS * PITCH];
    i32 places[TAKEN];
    if (!inside) find_places(layout, first, places);

    /* 1. Fill the slots of rows before, and those of the second window from as many again. */
#pragma unroll
    for (int k = 0; k < TIMES * (SPAN - 1); k++, row += STEP_1)
        take_row(window[0] + k * PITCH, load_row(row, first, inside, places), inside, places);
#if TIMES > 1
#pragma unroll
    for (int k = 0; k < SPAN - 1; k++) {
        result_t results[WIDENED];
        apply_row(layout, window[0], k, WIDENED, results);
        take_results(window[1] + k * PITCH, results, layout, first, inside, 0);
    }
#pragma unroll
    for (int k = 0; k < (SPAN - 1) * PITCH; k++) window[0][k] = window[0][(SPAN - 1) * PITCH + k];
#endif

    for (int y = 0; y < rows; y += AT_ONCE, row += AT_ONCE * STEP_1, to += AT_ONCE * STEP_DOWN) {
        /* 2. Load the next rows. */
        loaded_t loaded[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) loaded[k] = load_row(row + k * STEP_1, first, inside, places);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) take_row(window[0] + (SPAN - 1 + k) * PITCH, loaded[k], inside, places);

        /* 3. Apply, the last time to store. */
#if TIMES > 1
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            result_t results[WIDENED];
            apply_row(layout, window[0], k, WIDENED, results);
            take_results(window[1] + (SPAN - 1 + k) * PITCH, results, layout, first, inside, 0);
        }
#endif
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) finish_row(to + k * STEP_DOWN, layout, first, window[TIMES - 1], k);

        /* 4. Keep the last rows. */
#pragma unroll
        for (int time = 0; time < TIMES; time++)
#pragma unroll
            for (int k = 0; k < (SPAN - 1) * PITCH; k++) window[time][k] = window[time][AT_ONCE * PITCH + k];
    }
}

__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void stencil_rolling(INPUTS, OUTPUTS, const layout_t layout, const i64 depth, const i64 covered)
{
    const i64 across = (LENGTH + BLOCK * ITEMS - 1) / (BLOCK * ITEMS), strips = (covered + depth - 1) / depth;
    const i64 tasks = strips + ROWS - covered; /* strips, and the rows before and after them */
    const int tid = get_local_id(0);

    for (i64 task = get_group_id(0); task < across * tasks * BATCHES; task += get_num_groups(0)) {
        const i64 first = (task % across * BLOCK + tid) * ITEMS, strip = task / across % tasks;
        const i64 batch = task / across / tasks;
        GLOBAL const stored_t *plane = x0 + layout.offset[0] + batch * STEP_0;
        GLOBAL result_t *out = y0 + layout.offset[1] + batch * STEP_OUT;
        if (first >= LENGTH) continue;

        if (strip >= strips) {
            const i64 lone = strip - strips;
            lone_row(plane, out, layout, lone < -TIMES * LOW_Y ? lone : lone + covered, first);
        } else {
            const i64 top = strip * depth - TIMES * LOW_Y;
            const int rows = (int)min(depth, covered - strip * depth);
            GLOBAL const stored_t *row = plane + (top + TIMES * LOW_Y) * STEP_1;
            GLOBAL result_t *to = out + top * STEP_DOWN;
            if (first >= BEFORE && first + ITEMS + AFTER <= LENGTH) {
                walk(row, to, layout, first, rows, 1);
            } else {
                walk(row, to, layout, first, rows, 0);
            }
        }
    }
}
