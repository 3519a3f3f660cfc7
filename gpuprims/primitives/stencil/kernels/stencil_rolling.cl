/* stencil/rolling: each work-item goes down a strip of a few columns and keeps the rows in its neighbourhoods in
 * registers; its group loads every row once, and shares it in local memory.
 *
 * in      INPUTS: x0, with axes of batches, rows, and elements of a row side by side
 * out     OUTPUTS, with the same axes
 * launch  any number of groups of BLOCK; each takes strips of BLOCK * ITEMS columns and `depth` of the `covered` rows,
 *         both multiples of ROWS_AT_ONCE, then single rows before and after those, until none are left
 * host    gp_within, gp_element_at and TAKEN (stencil.h), slot_t, gp_apply and gp_across, vectors of VECTOR,
 *         VECTOR_OUT, VECTOR_LOCAL, VECTOR_HALO and VECTOR_KEPT, which divide ITEMS
 *
 * For a span of three rows, the slots of the window, and how they move before the next rows:
 *
 *     slot    0       1       2      3      4      5
 *     row     y - 1   y       y + 1  y + 2  y + 3  y + 4      rows y to y + 3 are computed
 *             y + 3   y + 4
 *
 * With TIMES = 2, the results of the first application are the rows of a second window; they are wider by an element's
 * neighbours, so no work-item waits for another's results. PAIRED elements are bytes k and k + 2 in the halves of a
 * register, whose sums are computed together.
 *
 * If rows begin anywhere (LOOSE_IN), lanes load neighbouring words, each with the next, and shift their elements into place. If
 * results do (LOOSE_OUT), the group keeps those of a few rows in local memory, and lanes store neighbouring words of these.
 */
#define SLOTS (SPAN - 1 + ROWS_AT_ONCE)
#define PRIMED (TIMES * (SPAN - 1))
#define WINDOW (TIMES * SLOTS * PITCH * (sizeof(slot_t) > 4 ? 2 : 1) / (PAIRED + 1))
#define REGISTERS (WINDOW <= 40 ? 80 : WINDOW <= 96 ? 128 : 168)
#define GROUPS_AT_ONCE (65536 / (BLOCK * REGISTERS))

/* ITEMS results need SIDES elements beside their own, REACH of them before. BEFORE and AFTER are these in whole
 * vectors. ROW is a group's row in local memory, with a MARGIN at both ends for them. */
#define REACH (-TIMES * LEFT)
#define SIDES (TIMES * HALO)
#define BEFORE ((REACH + VECTOR_HALO - 1) / VECTOR_HALO * VECTOR_HALO)
#define AFTER ((SIDES - REACH + VECTOR_HALO - 1) / VECTOR_HALO * VECTOR_HALO)
#define MARGIN ((BEFORE + AFTER + VECTOR_LOCAL - 1) / VECTOR_LOCAL * VECTOR_LOCAL)
#define ROW (MARGIN + BLOCK * ITEMS + MARGIN)
#define WIDENED (ITEMS + (TIMES - 1) * HALO)

/* The elements that a work-item loads of up to ROWS_AT_ONCE rows: its own, in vectors, and every BLOCK-th of the extra
 * elements at both ends of the group. */
#define EXTRAS ((ROWS_AT_ONCE * SIDES + BLOCK - 1) / BLOCK)
#if VECTOR > 1
typedef VECTOR_OF(stored_t, VECTOR) vector_t;
#define SPREAD(vector, to) SPREAD_VECTOR(stored_t, VECTOR, vector, to)
#else
typedef stored_t vector_t;
#define SPREAD(vector, to) *(to) = (vector)
#endif
typedef struct {
#if LOOSE_IN
    u32 words[ROWS_AT_ONCE][ITEMS / IN_WORD][2];
#else
    vector_t own[ROWS_AT_ONCE][ITEMS / VECTOR];
#endif
    stored_t extras[EXTRAS + 1];
} loaded_t;

/* A work-item's place: its index, 1 if all its elements are in the row, and its first element; for each extra element
 * the row, the index in the row, and the place in local memory. */
typedef struct {
    int tid, whole;
    i32 first, row[EXTRAS + 1], at[EXTRAS + 1], place[EXTRAS + 1];
} where_t;

#if VECTOR_HALO > 1
#define TAKE_HALO(from, to) READ_LOCAL(number_t, VECTOR_HALO, from, to)
#else
#define TAKE_HALO(from, to) *(to) = *(from)
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

#if LOOSE_IN
/* Return the place in a group's row of the first element of word `k` of a work-item. */
DEVICE int place_of_word(const where_t where, const int k)
{
    return (k * BLOCK + where.tid) * IN_WORD;
}

/* Return 1 if the elements of two words, the first of them word `k` of a work-item, are in the row. */
DEVICE int words_inside(const layout_t layout, const where_t where, const int k)
{
    return where.first - where.tid * ITEMS + place_of_word(where, k) + 2 * IN_WORD <= LENGTH;
}

/* Load words of `count` rows, each with the next, if both are in the row. */
DEVICE void load_own(loaded_t *next, GLOBAL const stored_t *row, const layout_t layout, const where_t where, const int count)
{
    GLOBAL const stored_t *from = row + (where.first - where.tid * ITEMS);
#pragma unroll
    for (int k = 0; k < count; k++, from += STRIDE_2) {
        GLOBAL const u32 *words = (GLOBAL const u32 *)(from - gp_lead_of(from)) + where.tid;
#pragma unroll
        for (int i = 0; i < ITEMS / IN_WORD; i++)
            if (words_inside(layout, where, i)) {
                next->words[k][i][0] = words[i * BLOCK];
                next->words[k][i][1] = words[i * BLOCK + 1];
            }
    }
}

/* Write the elements of loaded words to local memory. Words that are not in the row are loaded by their elements. */
DEVICE void hand_own(LOCAL number_t *shared, const loaded_t *loaded, GLOBAL const stored_t *row, const layout_t layout,
                     const where_t where, const int count, const int beyond)
{
    const i32 group = where.first - where.tid * ITEMS;
#pragma unroll
    for (int k = 0; k < count; k++, row += STRIDE_2) {
        const int shift = gp_lead_of(row + group) * (8 * (int)sizeof(stored_t));
#pragma unroll
        for (int i = 0; i < ITEMS / IN_WORD; i++) {
            const int place = place_of_word(where, i);
            LOCAL number_t *to = shared + k * ROW + MARGIN + place;
            if (words_inside(layout, where, i)) {
                const u32 word = (u32)(((u64)loaded->words[k][i][1] << 32 | loaded->words[k][i][0]) >> shift);
                number_t numbers[IN_WORD];
#pragma unroll
                for (int item = 0; item < IN_WORD; item++)
                    numbers[item] = MODE_CONSTANT && beyond ? BEYOND : NUMBER((stored_t)(word >> item * 8 * (int)sizeof(stored_t)));
                WRITE_LOCAL(number_t, IN_WORD, to, numbers);
            } else {
                for (int item = 0; item < IN_WORD; item++) {
                    const i32 at = gp_element_at(LENGTH, group + place + item);
                    to[item] = MODE_CONSTANT && (beyond || at < 0) ? BEYOND : NUMBER(row[max(at, 0)]);
                }
            }
        }
    }
}
#else
/* Load a work-item's elements of `count` rows if all of them are in the row. */
DEVICE void load_own(loaded_t *next, GLOBAL const stored_t *row, const layout_t layout, const where_t where, const int count)
{
    if (!where.whole) return;
#pragma unroll
    for (int k = 0; k < count; k++) {
        GLOBAL const vector_t *own = (GLOBAL const vector_t *)(row + where.first + k * STRIDE_2);
#pragma unroll
        for (int i = 0; i < ITEMS / VECTOR; i++) next->own[k][i] = own[i];
    }
}

/* Write a work-item's elements of a row to local memory, if all of them are in the row. */
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

/* Write a work-item's elements of `count` rows, the first of them `row`, to local memory. Elements that are not all in
 * the row are loaded again, one by one, from wherever they lie. */
DEVICE void hand_own(LOCAL number_t *shared, const loaded_t *loaded, GLOBAL const stored_t *row, const layout_t layout,
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
                own[k * ROW + item] = nothing ? BEYOND : NUMBER(row[k * STRIDE_2 + max(at, 0)]);
        }
    }
}
#endif

/* Load the elements that a work-item loads of `count` rows. */
DEVICE void load_rows(loaded_t *next, GLOBAL const stored_t *row, const layout_t layout, const where_t where,
                      const int count)
{
    load_own(next, row, layout, where, count);
#pragma unroll
    for (int k = 0; k < EXTRAS; k++)
        if (where.row[k] < count) next->extras[k] = row[where.row[k] * STRIDE_2 + max(where.at[k], 0)];
}

/* Write the loaded elements of `count` rows, the first of them `row`, to local memory. */
DEVICE void hand_rows(LOCAL number_t *shared, const loaded_t *loaded, GLOBAL const stored_t *row, const layout_t layout,
                      const where_t where, const int count, const int beyond)
{
    hand_own(shared, loaded, row, layout, where, count, beyond);
#pragma unroll
    for (int k = 0; k < EXTRAS; k++) {
        const int nothing = MODE_CONSTANT && (beyond || where.at[k] < 0);
        if (where.row[k] < count) shared[where.place[k]] = nothing ? BEYOND : NUMBER(loaded->extras[k]);
    }
}

#if PAIRED
/* Pair byte k with byte k + 2. A word begins after the first `lead` bytes. */
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

/* Fill a slot of a window with `lead` neighbours, `results` elements and the neighbours behind them, or with the
 * results of the first of two passes. */
DEVICE void fill_slot(slot_t *slot, const number_t *numbers, const int lead, const int results)
{
#if PAIRED
    item_t items[TAKEN];
    pair_up(numbers, lead, results + HALO - 2, items);
#else
    const item_t *items = numbers;
#endif
#if SEPARABLE
#pragma unroll
    for (int k = 0; k < results - 2 * PAIRED; k++) slot[k] = gp_across(items + k);
#else
#pragma unroll
    for (int k = 0; k < results + HALO - 2 * PAIRED; k++) slot[k] = items[k];
#endif
}

/* Fill a slot of the first window from a row in local memory. */
DEVICE void take_row(slot_t *slot, LOCAL const number_t *shared, const int tid)
{
    number_t numbers[BEFORE + ITEMS + AFTER];
    LOCAL const number_t *own = shared + MARGIN + tid * ITEMS;
#pragma unroll
    for (int k = 0; k < BEFORE; k += VECTOR_HALO) TAKE_HALO(own - BEFORE + k, numbers + k);
#pragma unroll
    for (int k = 0; k < ITEMS; k += VECTOR_LOCAL) READ_LOCAL(number_t, VECTOR_LOCAL, own + k, numbers + BEFORE + k);
#pragma unroll
    for (int k = ITEMS; k < ITEMS + AFTER; k += VECTOR_HALO) TAKE_HALO(own + k, numbers + BEFORE + k);
    fill_slot(slot, numbers + BEFORE - REACH, REACH, WIDENED);
}

/* Compute a row's results from a window whose first row is in slot `slot`. */
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
    for (int k = 0; k < results; k++) row[k] = gp_result(layout, APPLY_TO(k, window + k, slot));
#endif
}

#if TIMES > 1
/* Fill a slot of the second window with results of the first application. Beyond the ends of a row they are replaced
 * by the results that the mode reads there; with "wrap" they are right already. */
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
    gp_store_results(to, results, LENGTH - where.first);
}

#if LOOSE_OUT
/* Keep a work-item's results of a row in local memory. */
DEVICE void keep_row(LOCAL result_t *row, const result_t *results, const int tid)
{
#pragma unroll
    for (int k = 0; k < ITEMS; k += VECTOR_KEPT) WRITE_LOCAL(result_t, VECTOR_KEPT, row + tid * ITEMS + k, results + k);
}

/* Store `count` results of a row that the group keeps, `to` being where the first goes. */
DEVICE void store_kept(GLOBAL result_t *to, LOCAL const result_t *row, const int count, const int tid)
{
#if PACKED_OUT > 1
    const int head = min(count, (PACKED_OUT - (int)((u64)to / sizeof(result_t) % PACKED_OUT)) % PACKED_OUT);
    const int words = (count - head) / PACKED_OUT, tail = head + words * PACKED_OUT;
    LOCAL const u32 *from = (LOCAL const u32 *)row;
    GLOBAL u32 *whole = (GLOBAL u32 *)(to + head);
    for (int k = tid; k < words; k += BLOCK)
        whole[k] = (u32)(((u64)(head ? from[k + 1] : 0) << 32 | from[k]) >> head * (8 * (int)sizeof(result_t)));
    if (tid < head) to[tid] = row[tid];
    if (tid < count - tail) to[tail + tid] = row[tail + tid];
#else
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        if (k * BLOCK + tid < count) to[k * BLOCK + tid] = row[k * BLOCK + tid];
#endif
}
#endif

/* Fill a window with the rows around row `y`, wherever they lie. Two buffers of rows alternate, so one barrier a row is
 * enough: before a work-item writes to a buffer again, its readers have passed the other buffer's barrier. */
DEVICE void surround(slot_t *window, LOCAL number_t *shared, int *turn, GLOBAL const stored_t *plane,
                     const layout_t layout, const i64 y, const where_t where)
{
#pragma unroll
    for (int k = 0; k < SPAN; k++) {
        LOCAL number_t *row = shared + *turn * ROWS_AT_ONCE * ROW;
        const index_t at = gp_within((index_t)y + LOW_Y + k, (index_t)ROWS);
        loaded_t loaded;
        GLOBAL const stored_t *from = plane + max(at, (index_t)0) * STRIDE_2;
        load_rows(&loaded, from, layout, where, 1);
        hand_rows(row, &loaded, from, layout, where, 1, at < 0);
        barrier(CLK_LOCAL_MEM_FENCE);
        take_row(window + k * PITCH, row, where.tid);
        *turn ^= 1;
    }
}

/* Compute a single row, whose neighbours may lie beyond the borders. */
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
    if (where.first < LENGTH) finish_row(out + y * STRIDE_OUT_ROW + where.first, layout, where, window, 0);
}

/* Compute `rows` rows, a multiple of ROWS_AT_ONCE. No neighbour lies beyond the first or the last row. */
DEVICE void walk(LOCAL number_t *shared, LOCAL result_t *kept, int *turn, GLOBAL const stored_t *row, GLOBAL result_t *to,
                 const layout_t layout, const where_t where, const int rows, const int inside)
{
    slot_t window[TIMES][SLOTS * PITCH];
    loaded_t next;
    to += where.first;

    /* 1. Fill the slots of the rows before, in both windows. */
    load_rows(&next, row, layout, where, PRIMED ? min(ROWS_AT_ONCE, PRIMED) : ROWS_AT_ONCE);
#pragma unroll
    for (int k = 0; k < PRIMED; k += ROWS_AT_ONCE) {
        LOCAL number_t *handed = shared + *turn * ROWS_AT_ONCE * ROW;
        const int count = min(ROWS_AT_ONCE, PRIMED - k), then = k + ROWS_AT_ONCE < PRIMED ? PRIMED - k - ROWS_AT_ONCE : ROWS_AT_ONCE;
        hand_rows(handed, &next, row, layout, where, count, 0);
        row += count * STRIDE_2;
        load_rows(&next, row, layout, where, min(then, ROWS_AT_ONCE));
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

    for (int y = 0; y < rows; y += ROWS_AT_ONCE, to += ROWS_AT_ONCE * STRIDE_OUT_ROW) {
        /* 2. Write the loaded rows to local memory, and load the next. */
        LOCAL number_t *handed = shared + *turn * ROWS_AT_ONCE * ROW;
        hand_rows(handed, &next, row, layout, where, ROWS_AT_ONCE, 0);
        row += ROWS_AT_ONCE * STRIDE_2;
        if (y + ROWS_AT_ONCE < rows) load_rows(&next, row, layout, where, ROWS_AT_ONCE);
        barrier(CLK_LOCAL_MEM_FENCE);
        *turn ^= 1;

        /* 3. Read them, apply, and store the last application's results. */
#pragma unroll
        for (int k = 0; k < ROWS_AT_ONCE; k++) take_row(window[0] + (SPAN - 1 + k) * PITCH, handed + k * ROW, where.tid);
#if TIMES > 1
#pragma unroll
        for (int k = 0; k < ROWS_AT_ONCE; k++) {
            result_t results[WIDENED];
            apply_row(layout, window[0], k, WIDENED, results);
            take_results(window[1] + (SPAN - 1 + k) * PITCH, results, layout, where, inside, 0);
        }
#endif
#if LOOSE_OUT
#pragma unroll
        for (int k = 0; k < ROWS_AT_ONCE; k++) {
            result_t results[ITEMS];
            apply_row(layout, window[TIMES - 1], k, ITEMS, results);
            keep_row(kept + k * BLOCK * ITEMS, results, where.tid);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const i32 group = where.first - where.tid * ITEMS;
        for (int k = 0; k < ROWS_AT_ONCE; k++)
            store_kept(to - where.tid * ITEMS + k * STRIDE_OUT_ROW, kept + k * BLOCK * ITEMS, min(LENGTH - group, BLOCK * ITEMS), where.tid);
#else
        if (where.first < LENGTH) {
#pragma unroll
            for (int k = 0; k < ROWS_AT_ONCE; k++)
                finish_row(to + k * STRIDE_OUT_ROW, layout, where, window[TIMES - 1], k);
        }
#endif

        /* 4. Keep the last rows. */
#pragma unroll
        for (int time = 0; time < TIMES; time++)
#pragma unroll
            for (int k = 0; k < (SPAN - 1) * PITCH; k++) window[time][k] = window[time][ROWS_AT_ONCE * PITCH + k];
    }
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void stencil_rolling(INPUTS, OUTPUTS, const layout_t layout, const i64 depth, const i64 covered)
{
    __local ALIGNED number_t shared[2 * ROWS_AT_ONCE * ROW];
    __local ALIGNED result_t kept[LOOSE_OUT ? ROWS_AT_ONCE * BLOCK * ITEMS + PACKED_OUT : 1];
    const i64 across = (LENGTH + BLOCK * ITEMS - 1) / (BLOCK * ITEMS), strips = (covered + depth - 1) / depth;
    const i64 tasks = strips + ROWS - covered; /* strips, and the single rows before and after them */
    int turn = 0;

    for (i64 task = get_group_id(0); task < across * tasks * BATCHES; task += get_num_groups(0)) {
        const i64 strip = task / across % tasks, batch = task / across / tasks;
        GLOBAL const stored_t *plane = x0 + layout.offset[0] + batch * STRIDE_0;
        GLOBAL result_t *out = y0 + layout.offset[RESULT] + batch * STRIDE_OUT;
        const i32 group = (i32)(task % across) * BLOCK * ITEMS;
        const where_t where = find_place(layout, group, get_local_id(0));

        if (strip >= strips) {
            const i64 lone = strip - strips, y = lone < -TIMES * LOW_Y ? lone : lone + covered;
            lone_row(shared, &turn, plane, out, layout, y, where);
        } else {
            const i64 top = strip * depth - TIMES * LOW_Y;
            const int rows = (int)min(depth, covered - strip * depth);
            GLOBAL const stored_t *row = plane + (top + TIMES * LOW_Y) * STRIDE_2;
            GLOBAL result_t *to = out + top * STRIDE_OUT_ROW;
            if (TIMES == 1 || (group >= BEFORE && group + BLOCK * ITEMS + AFTER <= LENGTH)) {
                walk(shared, kept, &turn, row, to, layout, where, rows, 1);
            } else {
                walk(shared, kept, &turn, row, to, layout, where, rows, 0);
            }
        }
    }
}
