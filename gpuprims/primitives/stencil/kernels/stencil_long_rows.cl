/* stencil/long_rows: each work-item computes neighbours of a row, whose sums it keeps in registers, from a tile in local
 * memory; weights are read from memory, some hundred at a time.
 *
 * in      INPUTS: x0, with axes of batches, planes, rows, and elements of a row side by side; x1, the weights of a row
 * out     OUTPUTS, with the same axes as x0
 * launch  any number of groups of BLOCK; each takes tiles of WIDE columns and PARTS rows until none are left
 * host    gp_within and gp_element_at (stencil.h), gp_result
 *
 * A work-item slides along its row. It holds 2 * ITEMS elements; ITEMS of these, from number t on, meet weight t:
 *
 *     held        e0 e1 e2 e3 | e4 e5 e6 e7      ITEMS is 4 here
 *     sum 0       w0 w1 w2 w3
 *     sum 1          w0 w1 w2   w3
 *     sum 2             w0 w1   w2 w3
 *     sum 3                w0   w1 w2 w3         then e4 to e7 come first, and the next four are read
 *
 * Work-items read 16 bytes at once. Those of a warp begin 64 bytes apart, so a gap of 16 bytes follows each 128 bytes of a
 * tile: eight work-items then read from all banks. Each sum adds its neighbours in the order of their indices.
 */
#define TAPS (HIGH_X - LOW_X + 1)
#define WIDE (LANES_X * ITEMS)
#define PARTS (BLOCK / LANES_X)
#define SLOT VECTOR_LOCAL
#define SPREAD(k) ((k) + (k) / (8 * SLOT) * SLOT)
/* Weights that are in local memory at once, and the elements of a row that they need. */
#define PIECE CHUNK
#define TAKEN_AT_ONCE (WIDE + PIECE)
#define TILE_PITCH (SPREAD(TAKEN_AT_ONCE) + SLOT)
#define LOADS ((WIDE + (TAPS < PIECE ? TAPS : PIECE) - 2 + LANES_X) / LANES_X)
#define LOADED_AT_ONCE (LOADS <= 20 ? LOADS : 12)

/* Read ITEMS elements of a work-item's row, from its element `first` on. */
DEVICE void read_items(LOCAL const sum_t *row, const int first, sum_t *to)
{
#pragma unroll
    for (int k = 0; k < ITEMS; k += SLOT) READ_LOCAL(sum_t, SLOT, row + SPREAD(first + k), to + k);
}

/* Add `count` of the held elements, times their weights, to each sum. */
DEVICE void add_held(sum_t *sums, const sum_t *held, LOCAL const sum_t *weights, const int count)
{
#pragma unroll
    for (int k = 0; k < count; k += SLOT) {
        sum_t weight[SLOT];
        READ_LOCAL(sum_t, SLOT, weights + k, weight);
#pragma unroll
        for (int i = 0; i < SLOT; i++) {
            if (k + i >= count) continue;
            if (SOME_ZERO && weight[i] == 0) continue;
#pragma unroll
            for (int item = 0; item < ITEMS; item++) sums[item] += weight[i] * held[k + i + item];
        }
    }
}

/* Write the elements of the tile's rows that `taken` columns from `start` on need to local memory. Work-items wait for
 * LOADED_AT_ONCE of them. */
DEVICE void load_piece(LOCAL sum_t *tile, GLOBAL const stored_t *plane, const layout_t layout, const i64 top, const i32 start, const int taken)
{
    const int tid = get_local_id(0), lane = tid % LANES_X, part = tid / LANES_X;
    GLOBAL const stored_t *row = plane + min(top + part, (i64)ROWS - 1) * STRIDE_2;
    LOCAL sum_t *to = tile + part * TILE_PITCH;
    if (start < 0 || start + taken > LENGTH) { /* at the ends of the row */
        for (int place = lane; place < taken; place += LANES_X) {
            const i32 at = gp_element_at(LENGTH, min(start + place, LENGTH - 1 + HIGH_X));
            const stored_t raw = row[max(at, 0)];
            to[SPREAD(place)] = MODE_CONSTANT && at < 0 ? (sum_t)BEYOND : (sum_t)NUMBER(raw);
        }
        return;
    }
    row += start;
    for (int first = lane; first < taken; first += LOADED_AT_ONCE * LANES_X) {
        stored_t raw[LOADED_AT_ONCE];
#pragma unroll
        for (int k = 0; k < LOADED_AT_ONCE; k++) raw[k] = row[min(first + k * LANES_X, taken - 1)];
#pragma unroll
        for (int k = 0; k < LOADED_AT_ONCE; k++)
            if (first + k * LANES_X < taken) to[SPREAD(first + k * LANES_X)] = (sum_t)NUMBER(raw[k]);
    }
}

__kernel WORK_GROUP(BLOCK)
void stencil_long_rows(INPUTS, OUTPUTS, const layout_t layout)
{
    __local ALIGNED sum_t tile[PARTS * TILE_PITCH];
    __local ALIGNED sum_t weights[PIECE];
    const int tid = get_local_id(0), lane = tid % LANES_X, part = tid / LANES_X;
    const i64 across = (LENGTH + WIDE - 1) / WIDE, down = (ROWS + PARTS - 1) / PARTS;
    LOCAL sum_t *own = tile + part * TILE_PITCH;

    for (i64 task = get_group_id(0); task < across * down * PLANES_Z * BATCHES; task += get_num_groups(0)) {
        const i32 first = (i32)(task % across) * WIDE;
        const i64 top = task / across % down * PARTS, z = task / across / down % PLANES_Z, batch = task / across / down / PLANES_Z;
        GLOBAL const stored_t *plane = x0 + layout.offset[0] + batch * STRIDE_0 + z * STRIDE_1;
        sum_t sums[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) sums[item] = 0;

#pragma unroll 1
        for (int piece = 0; piece < TAPS; piece += PIECE) {
            /* 1. Load a piece of the weights, and the elements that they are for. */
            const int taps = min(PIECE, TAPS - piece);
            barrier(CLK_LOCAL_MEM_FENCE);
            load_piece(tile, plane, layout, top, first + LOW_X + piece, WIDE + taps - 1);
            for (int k = tid; k < taps; k += BLOCK) weights[k] = x1[layout.offset[1] + piece + k];
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 2. Add them. */
            sum_t held[2 * ITEMS];
            read_items(own, lane * ITEMS, held);
            int tap = 0;
#pragma unroll 2
            for (; tap + ITEMS <= taps; tap += ITEMS) {
                read_items(own, lane * ITEMS + tap + ITEMS, held + ITEMS);
                add_held(sums, held, weights + tap, ITEMS);
#pragma unroll
                for (int k = 0; k < ITEMS; k++) held[k] = held[ITEMS + k];
            }
#if TAPS % ITEMS
            if (tap < taps) {
                read_items(own, lane * ITEMS + tap + ITEMS, held + ITEMS);
                add_held(sums, held, weights + tap, TAPS % ITEMS);
            }
#endif
        }

        /* 3. Exchange the sums, so that neighbours are stored together. */
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int k = 0; k < ITEMS; k += SLOT) WRITE_LOCAL(sum_t, SLOT, own + SPREAD(lane * ITEMS + k), sums + k);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (top + part >= ROWS) continue;
        GLOBAL result_t *to = y0 + layout.offset[RESULT] + batch * STRIDE_OUT + z * STRIDE_OUT_PLANE + (top + part) * STRIDE_OUT_ROW + first;
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const int place = k * LANES_X + lane;
            if (first + place < LENGTH) to[place] = gp_result(layout, own[SPREAD(place)]);
        }
    }
}
