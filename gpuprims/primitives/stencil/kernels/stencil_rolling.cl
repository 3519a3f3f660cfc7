/* stencil/rolling: each work-item walks down a strip, a few elements wide, with the rows that its neighbourhoods reach in
 * registers: every row is loaded once, by its group, and handed round in local memory.
 *
 * in      INPUTS: x0, in axes of batches, rows, and elements of a row side by side
 * out     OUTPUTS, of the same axes
 * launch  any number of groups of BLOCK; each takes strips of BLOCK * ITEMS columns and `depth` rows of the `covered` ones, both
 *         multiples of AT_ONCE, and then single rows before and after those, until none are left
 * host    within, gp_element_at and TAKEN (stencil.h), slot_t, gp_apply and gp_across, vectors of VECTOR, VECTOR_OUT, VECTOR_LOCAL and
 *         VECTOR_BESIDE, which divide ITEMS
 *
 * For a span of three rows, the slots of the window, and where they go before the next rows are taken:
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
#define PRIMED (TIMES * (SPAN - 1))
#define WINDOW (TIMES * SLOTS * PITCH * (int)sizeof(slot_t) / 4 / (PAIRED + 1))
#define REGISTERS (WINDOW <= 40 ? 80 : WINDOW <= 96 ? 128 : 168)
#define GROUPS_AT_ONCE (65536 / (BLOCK * REGISTERS))

/* Elements before and after ITEMS that their results take, those that are read of them in whole vectors, and a group's row in
 * local memory, with room for them at both ends. */
#define REACH (-TIMES * LEFT)
#define SIDES (TIMES * BESIDE)
#define BEFORE ((REACH + VECTOR_BESIDE - 1) / VECTOR_BESIDE * VECTOR_BESIDE)
#define AFTER ((SIDES - REACH + VECTOR_BESIDE - 1) / VECTOR_BESIDE * VECTOR_BESIDE)
#define MARGIN ((BEFORE + AFTER + VECTOR_LOCAL - 1) / VECTOR_LOCAL * VECTOR_LOCAL)
#define ROW (MARGIN + BLOCK * ITEMS + MARGIN)
#define WIDENED (ITEMS + (TIMES - 1) * BESIDE)

/* What a work-item loads of up to AT_ONCE rows: its own elements, in vectors as they come, and of all those beside the group's
 * every BLOCK-th. */
#define EXTRAS ((AT_ONCE * SIDES + BLOCK - 1) / BLOCK)
#if VECTOR > 1
typedef VECTOR_OF(stored_t, VECTOR) vector_t;
#define SPREAD(vector, to) SPREAD_VECTOR(stored_t, VECTOR, vector, to)
#else
typedef stored_t vector_t;
#define SPREAD(vector, to) *(to) = (vector)
#endif
typedef struct {
    vector_t own[AT_ONCE][ITEMS / VECTOR];
    stored_t extras[EXTRAS + 1];
} loaded_t;

/* Where a work-item is: itself, whether all its elements are within, its first one in the row, and its extra elements, which row
 * they are of, where in it, and where in local memory. */
typedef struct {
    int tid, whole;
    i32 first, row[EXTRAS + 1], at[EXTRAS + 1], place[EXTRAS + 1];
} where_t;

#if VECTOR_BESIDE > 1
#define TAKE_BESIDE(from, to) READ_LOCAL(number_t, VECTOR_BESIDE, from, to)
#else
#define TAKE_BESIDE(from, to) *(to) = *(from)
#endif

DEVICE where_t find_place(const layout_t layout, const i32 group, const int tid)
{
    where_t where;
    where.tid = tid;
    where.first = group + tid * ITEMS;
    where.whole = where.first + ITEMS <= LENGTH;
#pragma unroll
    for (int k = 0; k < EXTRAS; k++) {
        const int extra = (k * BLOCK + tid) % (SIDES + !SIDES);
        const int place = extra < REACH ? MARGIN - REACH + extra : MARGIN + BLOCK * ITEMS - REACH + extra;
        where.row[k] = (k * BLOCK + tid) / (SIDES + !SIDES);
        where.at[k] = gp_element_at(LENGTH, group + place - MARGIN);
        where.place[k] = where.row[k] * ROW + place;
    }
    return where;
}

/* Load of so many rows what is all within, and the extra elements. */
DEVICE void load_rows(loaded_t *next, GLOBAL const stored_t *row, const layout_t layout, const where_t where,
                      const int count)
{
    if (where.whole) {
#pragma unroll
        for (int k = 0; k < count; k++) {
            GLOBAL const vector_t *own = (GLOBAL const vector_t *)(row + where.first + k * STEP_1);
#pragma unroll
            for (int i = 0; i < ITEMS / VECTOR; i++) next->own[k][i] = own[i];
        }
    }
#pragma unroll
    for (int k = 0; k < EXTRAS; k++)
        if (where.row[k] < count) next->extras[k] = row[where.row[k] * STEP_1 + max(where.at[k], 0)];
}

/* Write a work-item's elements of a row, all within, to local memory. */
DEVICE void hand_whole(LOCAL number_t *own, const vector_t *loaded, const int beyond)
{
#if PLAIN && !MODE_CONSTANT && VECTOR == VECTOR_LOCAL
#pragma unroll
    for (int i = 0; i < ITEMS / VECTOR; i++) ((LOCAL vector_t *)own)[i] = loaded[i];
#else
    stored_t raw[ITEMS];
    number_t numbers[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS / VECTOR; i++) SPREAD(loaded[i], raw + i * VECTOR);
#pragma unroll
    for (int item = 0; item < ITEMS; item++) numbers[item] = MODE_CONSTANT && beyond ? BEYOND : NUMBER(raw[item]);
#pragma unroll
    for (int item = 0; item < ITEMS; item += VECTOR_LOCAL)
        WRITE_LOCAL(number_t, VECTOR_LOCAL, own + item, numbers + item);
#endif
}

/* Write the elements of rows from `row` on to local memory; those that are not all within one by one, from wherever they lie. */
DEVICE void hand_rows(LOCAL number_t *shared, const loaded_t *loaded, GLOBAL const stored_t *row, const layout_t layout,
                      const where_t where, const int count, const int beyond)
{
    LOCAL number_t *own = shared + MARGIN + where.tid * ITEMS;
    if (where.whole) {
#pragma unroll
        for (int k = 0; k < count; k++) hand_whole(own + k * ROW, loaded->own[k], beyond);
    } else {
        for (int item = 0; item < ITEMS; item++) {
            const i32 at = gp_element_at(LENGTH, where.first + item);
            const int nothing = MODE_CONSTANT && (beyond || at < 0);
            for (int k = 0; k < count; k++)
                own[k * ROW + item] = nothing ? BEYOND : NUMBER(row[k * STEP_1 + max(at, 0)]);
        }
    }
#pragma unroll
    for (int k = 0; k < EXTRAS; k++) {
        const int nothing = MODE_CONSTANT && (beyond || where.at[k] < 0);
        if (where.row[k] < count) shared[where.place[k]] = nothing ? BEYOND : NUMBER(loaded->extras[k]);
    }
}

#if PAIRED
/* Make pairs of bytes: byte k and byte k + 2, the first `lead` of which come before those that begin a word. */
DEVICE void pair_up(const number_t *numbers, const int lead, const int count, u32 *pairs)
{
    u32 words[TAKEN / 4 + 3];
    const int skew = (4 - lead % 4) % 4;
#pragma unroll
    for (int word = 0; word < TAKEN / 4 + 3; word++) {
        words[word] = 0;
#pragma unroll
        for (int byte = 0; byte < 4; byte++) {
            const int k = word * 4 + byte - skew;
            if (k >= 0 && k < count + 2) words[word] |= (u32)numbers[k] << (8 * byte);
        }
    }
#pragma unroll
    for (int k = 0; k < count; k++) {
        const u32 *word = words + (k + skew) / 4;
        const int shift = (k + skew) % 4 * 8;
        pairs[k] = (shift < 16 ? word[0] >> shift : word[0] >> shift | word[1] << (32 - shift)) & 0x00ff00ff;
    }
}
#endif

/* Fill a slot of a window with `results` elements and those beside them, `lead` of them before, or of two steps with what the
 * first makes of them. */
DEVICE void fill_slot(slot_t *slot, const number_t *numbers, const int lead, const int results)
{
#if PAIRED
    item_t items[TAKEN];
    pair_up(numbers, lead, results + BESIDE - 2, items);
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

/* Fill a slot of the first window from a row in local memory. */
DEVICE void take_row(slot_t *slot, LOCAL const number_t *shared, const int tid)
{
    number_t numbers[BEFORE + ITEMS + AFTER];
    LOCAL const number_t *own = shared + MARGIN + tid * ITEMS;
#pragma unroll
    for (int k = 0; k < BEFORE; k += VECTOR_BESIDE) TAKE_BESIDE(own - BEFORE + k, numbers + k);
#pragma unroll
    for (int k = 0; k < ITEMS; k += VECTOR_LOCAL) READ_LOCAL(number_t, VECTOR_LOCAL, own + k, numbers + BEFORE + k);
#pragma unroll
    for (int k = ITEMS; k < ITEMS + AFTER; k += VECTOR_BESIDE) TAKE_BESIDE(own + k, numbers + BEFORE + k);
    fill_slot(slot, numbers + BEFORE - REACH, REACH, WIDENED);
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
DEVICE void take_results(slot_t *slot, const result_t *row, const layout_t layout, const where_t where, const int inside,
                         const int beyond)
{
    number_t numbers[WIDENED];
#pragma unroll
    for (int k = 0; k < WIDENED; k++) numbers[k] = MODE_CONSTANT && beyond ? BEYOND : NUMBER(row[k]);
    if (!MODE_WRAP && !inside && !beyond) {
        const i32 start = where.first + LEFT;
        for (int k = 0; k < WIDENED; k++) {
            const i32 place = gp_element_at(LENGTH, start + k);
            numbers[k] = place < 0 ? BEYOND : NUMBER(row[min(max(place - start, 0), WIDENED - 1)]);
        }
    }
    fill_slot(slot, numbers, -LEFT, ITEMS);
}
#endif

/* Apply to the last window, whose first row is in slot `slot`, and store from `to` on. */
DEVICE void finish_row(GLOBAL result_t *to, const layout_t layout, const where_t where, const slot_t *window,
                       const int slot)
{
    result_t results[ITEMS];
    apply_row(layout, window, slot, ITEMS, results);
    if (where.whole) {
#pragma unroll
        for (int k = 0; k < ITEMS; k += VECTOR_OUT) {
#if VECTOR_OUT > 1
            WRITE_VECTOR(result_t, VECTOR_OUT, to + k, results + k);
#else
            to[k] = results[k];
#endif
        }
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            if (where.first + k < LENGTH) to[k] = results[k];
    }
}

/* Fill a window with the rows around one, wherever they lie. Two buffers of rows take turns, so that one barrier for each is
 * enough: whoever writes to one has waited for those who read from it. */
DEVICE void surround(slot_t *window, LOCAL number_t *shared, int *turn, GLOBAL const stored_t *plane,
                     const layout_t layout, const i64 y, const where_t where)
{
#pragma unroll
    for (int k = 0; k < SPAN; k++) {
        LOCAL number_t *row = shared + *turn * AT_ONCE * ROW;
        const index_t at = gp_within((index_t)y + LOW_Y + k, (index_t)ROWS);
        loaded_t loaded;
        GLOBAL const stored_t *from = plane + max(at, (index_t)0) * STEP_1;
        load_rows(&loaded, from, layout, where, 1);
        hand_rows(row, &loaded, from, layout, where, 1, at < 0);
        barrier(CLK_LOCAL_MEM_FENCE);
        take_row(window + k * PITCH, row, where.tid);
        *turn ^= 1;
    }
}

/* Compute a row by itself, whose neighbours may lie beyond the first and the last. */
DEVICE void lone_row(LOCAL number_t *shared, int *turn, GLOBAL const stored_t *plane, GLOBAL result_t *out,
                     const layout_t layout, const i64 y, const where_t where)
{
    slot_t window[SPAN * PITCH];
#if TIMES > 1
#pragma unroll
    for (int k = 0; k < SPAN; k++) {
        slot_t before[SPAN * PITCH];
        result_t row[WIDENED];
        const index_t at = gp_within((index_t)y + LOW_Y + k, (index_t)ROWS);
        surround(before, shared, turn, plane, layout, max(at, (index_t)0), where);
        apply_row(layout, before, 0, WIDENED, row);
        take_results(window + k * PITCH, row, layout, where, 0, at < 0);
    }
#else
    surround(window, shared, turn, plane, layout, y, where);
#endif
    if (where.first < LENGTH) finish_row(out + y * STEP_DOWN + where.first, layout, where, window, 0);
}

/* Compute so many rows from one on, a multiple of AT_ONCE, whose neighbours lie in rows within. */
DEVICE void walk(LOCAL number_t *shared, int *turn, GLOBAL const stored_t *row, GLOBAL result_t *to,
                 const layout_t layout, const where_t where, const int rows, const int inside)
{
    slot_t window[TIMES][SLOTS * PITCH];
    loaded_t next;
    to += where.first;

    /* 1. Fill the slots of rows before, and those of the second window from as many again. */
    load_rows(&next, row, layout, where, PRIMED ? min(AT_ONCE, PRIMED) : AT_ONCE);
#pragma unroll
    for (int k = 0; k < PRIMED; k += AT_ONCE) {
        LOCAL number_t *handed = shared + *turn * AT_ONCE * ROW;
        const int count = min(AT_ONCE, PRIMED - k), then = k + AT_ONCE < PRIMED ? PRIMED - k - AT_ONCE : AT_ONCE;
        hand_rows(handed, &next, row, layout, where, count, 0);
        row += count * STEP_1;
        load_rows(&next, row, layout, where, min(then, AT_ONCE));
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int i = 0; i < count; i++) take_row(window[0] + (k + i) * PITCH, handed + i * ROW, where.tid);
        *turn ^= 1;
    }
#if TIMES > 1
#pragma unroll
    for (int k = 0; k < SPAN - 1; k++) {
        result_t results[WIDENED];
        apply_row(layout, window[0], k, WIDENED, results);
        take_results(window[1] + k * PITCH, results, layout, where, inside, 0);
    }
#pragma unroll
    for (int k = 0; k < (SPAN - 1) * PITCH; k++) window[0][k] = window[0][(SPAN - 1) * PITCH + k];
#endif

    for (int y = 0; y < rows; y += AT_ONCE, to += AT_ONCE * STEP_DOWN) {
        /* 2. Hand the rows round that were loaded, and load the next. */
        LOCAL number_t *handed = shared + *turn * AT_ONCE * ROW;
        hand_rows(handed, &next, row, layout, where, AT_ONCE, 0);
        row += AT_ONCE * STEP_1;
        if (y + AT_ONCE < rows) load_rows(&next, row, layout, where, AT_ONCE);
        barrier(CLK_LOCAL_MEM_FENCE);
        *turn ^= 1;

        /* 3. Take them, apply, the last time to store. */
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) take_row(window[0] + (SPAN - 1 + k) * PITCH, handed + k * ROW, where.tid);
#if TIMES > 1
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            result_t results[WIDENED];
            apply_row(layout, window[0], k, WIDENED, results);
            take_results(window[1] + (SPAN - 1 + k) * PITCH, results, layout, where, inside, 0);
        }
#endif
        if (where.first < LENGTH) {
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                finish_row(to + k * STEP_DOWN, layout, where, window[TIMES - 1], k);
        }

        /* 4. Keep the last rows. */
#pragma unroll
        for (int time = 0; time < TIMES; time++)
#pragma unroll
            for (int k = 0; k < (SPAN - 1) * PITCH; k++) window[time][k] = window[time][AT_ONCE * PITCH + k];
    }
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void stencil_rolling(INPUTS, OUTPUTS, const layout_t layout, const i64 depth, const i64 covered)
{
    __local ALIGNED number_t shared[2 * AT_ONCE * ROW];
    const i64 across = (LENGTH + BLOCK * ITEMS - 1) / (BLOCK * ITEMS), strips = (covered + depth - 1) / depth;
    const i64 tasks = strips + ROWS - covered; /* strips, and the rows before and after them */
    int turn = 0;

    for (i64 task = get_group_id(0); task < across * tasks * BATCHES; task += get_num_groups(0)) {
        const i64 strip = task / across % tasks, batch = task / across / tasks;
        GLOBAL const stored_t *plane = x0 + layout.offset[0] + batch * STEP_0;
        GLOBAL result_t *out = y0 + layout.offset[1] + batch * STEP_OUT;
        const i32 group = (i32)(task % across) * BLOCK * ITEMS;
        const where_t where = find_place(layout, group, get_local_id(0));

        if (strip >= strips) {
            const i64 lone = strip - strips, y = lone < -TIMES * LOW_Y ? lone : lone + covered;
            lone_row(shared, &turn, plane, out, layout, y, where);
        } else {
            const i64 top = strip * depth - TIMES * LOW_Y;
            const int rows = (int)min(depth, covered - strip * depth);
            GLOBAL const stored_t *row = plane + (top + TIMES * LOW_Y) * STEP_1;
            GLOBAL result_t *to = out + top * STEP_DOWN;
            if (TIMES == 1 || (group >= BEFORE && group + BLOCK * ITEMS + AFTER <= LENGTH)) {
                walk(shared, &turn, row, to, layout, where, rows, 1);
            } else {
                walk(shared, &turn, row, to, layout, where, rows, 0);
            }
        }
    }
}
