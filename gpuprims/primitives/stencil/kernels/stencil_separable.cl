/* stencil/separable: each group filters the rows of a tile, then its columns, both in local memory; weights are read from
 * memory.
 *
 * in      INPUTS: x0, with axes of batches, rows, and elements of a row side by side; x1, the weights along rows, the
 *         weights along columns, or these after those
 * out     OUTPUTS, with the same axes as x0
 * launch  any number of groups of BLOCK; each takes tiles of WIDE columns and HIGH rows until none are left
 * host    gp_within, gp_element_at, gp_add_neighbours (stencil.h), gp_result; staged_t, the type of rows before they are filtered
 *
 * A filter computes ITEMS elements of a line at once, from ITEMS + TAPS - 1 neighbours:
 *
 *     rows       lane: one of STAGED rows; neighbours: CHANNELS apart; results go to the tile
 *     columns    lane: one of WIDE columns; neighbours: a row of the tile apart; results go to memory
 *
 * Global loads and stores are side by side in the lanes, wherever rows begin. Rows in local memory begin an odd number of
 * words apart, so that lanes in as many rows read all banks. A stencil along one axis does one half of this.
 */
#define WIDE (LANES_X * ITEMS)
#define HIGH ROWS_EACH
#define TAPS (HIGH_X - LOW_X + 1)
#define ALONG (SEPARABLE || TAPS > 1)
#define DOWN (SEPARABLE || TAPS == 1)
#define TILE_ROWS (HIGH + SPAN - 1)
#define TILE_PITCH (WIDE | 1)
/* Rows that are filtered together, one for each lane of a warp. */
#define STAGED 32
#define STAGED_WORDS (((WIDE + HALO) * (int)sizeof(staged_t) + 3) / 4)
#define STAGED_PITCH (sizeof(staged_t) > 4 ? (WIDE + HALO) | 1 : (STAGED_WORDS | 1) * 4 / (int)sizeof(staged_t))
/* A row takes COLUMNS_EACH loads of each lane, which loads up to 24 elements of several rows at a time. */
#define COLUMNS_EACH ((WIDE + HALO + 31) / 32)
#define ROWS_LOADED (COLUMNS_EACH <= 3 ? 8 : COLUMNS_EACH <= 6 ? 4 : COLUMNS_EACH <= 12 ? 2 : 1)
#define WARPS (BLOCK / 32)
#define GROUPS_AT_ONCE (65536 / (BLOCK * (sizeof(sum_t) > 4 ? 128 : 96)))

/* Where the elements of a tile's rows are: from `start` on side by side if `inside`, else element k is `at[k / 32]` in lane
 * k % 32, -1 for the constant beyond the borders. */
typedef struct {
    i32 start, at[COLUMNS_EACH];
    int inside;
} columns_t;

/* Load `count` rows of `plane`, from row `top` on, to local memory. */
DEVICE void load_lines(LOCAL staged_t *to, const int pitch, GLOBAL const stored_t *plane, const layout_t layout, const index_t top,
                       const columns_t columns, const int count)
{
    const int lane = get_local_id(0) % 32;
    for (int first = get_local_id(0) / 32; first < count; first += WARPS * ROWS_LOADED) {
        stored_t raw[ROWS_LOADED][COLUMNS_EACH];
        int nothing[ROWS_LOADED];
#pragma unroll
        for (int row = 0; row < ROWS_LOADED; row++) {
            const index_t wanted = top + min(first + row * WARPS, count - 1), rows = (index_t)ROWS;
            const index_t y = gp_within(min(wanted, rows - 1 + HIGH_Y), rows);
            GLOBAL const stored_t *from = plane + max(y, (index_t)0) * STRIDE_2;
            nothing[row] = MODE_CONSTANT && y < 0;
            if (columns.inside) {
                from += columns.start + lane;
#pragma unroll
                for (int k = 0; k < COLUMNS_EACH; k++) raw[row][k] = from[k * 32];
            } else {
#pragma unroll
                for (int k = 0; k < COLUMNS_EACH; k++) raw[row][k] = from[max(columns.at[k], 0)];
            }
        }
#pragma unroll
        for (int row = 0; row < ROWS_LOADED; row++) {
            const int place = first + row * WARPS;
            if (place >= count) break;
#pragma unroll
            for (int k = 0; k < COLUMNS_EACH; k++)
                if ((k + 1) * 32 <= WIDE + HALO || k * 32 + lane < WIDE + HALO)
                    to[place * pitch + k * 32 + lane] = nothing[row] || (MODE_CONSTANT && columns.at[k] < 0) ? (staged_t)BEYOND : (staged_t)NUMBER(raw[row][k]);
        }
    }
}

/* Return a number of a row that is not filtered yet, or of the tile. */
DEVICE sum_t number_at(LOCAL const void *line, const int is_staged, const int place)
{
    return is_staged ? (sum_t)((LOCAL const staged_t *)line)[place] : ((LOCAL const sum_t *)line)[place];
}

/* Filter ITEMS elements of a line, whose numbers are `apart` in local memory, by `taps` weights. */
DEVICE void filter_line(sum_t *sums, LOCAL const void *line, const int is_staged, const int apart, LOCAL const sum_t *weights,
                        const int taps)
{
    sum_t values[ITEMS - 1 + CHUNK];
    int place = (ITEMS - 1) * apart;
#pragma unroll
    for (int item = 0; item < ITEMS; item++) sums[item] = 0;
#pragma unroll
    for (int k = 0; k < ITEMS - 1; k++) values[k] = number_at(line, is_staged, k * apart);
    for (int tap = 0; tap + CHUNK <= taps; tap += CHUNK, place += CHUNK * apart) {
#pragma unroll
        for (int k = 0; k < CHUNK; k++) values[ITEMS - 1 + k] = number_at(line, is_staged, place + k * apart);
        gp_add_neighbours(sums, values, weights + tap, CHUNK);
#pragma unroll
        for (int k = 0; k < ITEMS - 1; k++) values[k] = values[k + CHUNK];
    }
#pragma unroll
    for (int k = 0; k < taps % CHUNK; k++) values[ITEMS - 1 + k] = number_at(line, is_staged, place + k * apart);
    gp_add_neighbours(sums, values, weights + taps / CHUNK * CHUNK, taps % CHUNK);
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void stencil_separable(INPUTS, OUTPUTS, const layout_t layout)
{
    __local ALIGNED sum_t tile[(ALONG ? (TILE_ROWS + STAGED - 1) / STAGED * STAGED : TILE_ROWS) * TILE_PITCH];
    __local ALIGNED sum_t weights[ALONG * TAPS + DOWN * SPAN];
#if ALONG
    __local ALIGNED staged_t staged[STAGED * STAGED_PITCH];
#endif
    const int tid = get_local_id(0), lane = tid % 32, warp = tid / 32;
    const i64 across = (LENGTH + WIDE - 1) / WIDE, down = (ROWS + HIGH - 1) / HIGH;
    for (int k = tid; k < ALONG * TAPS + DOWN * SPAN; k += BLOCK) weights[k] = x1[layout.offset[1] + k];

    for (i64 task = get_group_id(0); task < across * down * BATCHES; task += get_num_groups(0)) {
        const i32 first = (i32)(task % across) * WIDE;
        const i64 top = task / across % down * HIGH, batch = task / across / down;
        GLOBAL const stored_t *plane = x0 + layout.offset[0] + batch * STRIDE_0;
        GLOBAL result_t *out = y0 + layout.offset[RESULT] + batch * STRIDE_OUT;
        columns_t columns;
        columns.start = first + LEFT;
        columns.inside = columns.start >= 0 && columns.start + COLUMNS_EACH * 32 <= LENGTH;
#pragma unroll
        for (int k = 0; k < COLUMNS_EACH; k++)
            columns.at[k] = gp_element_at(LENGTH, min(columns.start + k * 32 + lane, LENGTH - 1 + HIGH_X * CHANNELS));

        /* 1. Load rows, and filter them. */
#if ALONG
        for (int part = 0; part < TILE_ROWS; part += STAGED) {
            load_lines(staged, STAGED_PITCH, plane, layout, (index_t)top + LOW_Y + part, columns, min(STAGED, TILE_ROWS - part));
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int block = warp; block < LANES_X && part + lane < TILE_ROWS; block += WARPS) {
                const int column = block / CHANNELS * (CHANNELS * ITEMS) + block % CHANNELS;
                LOCAL sum_t *to = tile + (part + lane) * TILE_PITCH + column;
                sum_t sums[ITEMS];
                filter_line(sums, staged + lane * STAGED_PITCH + column, 1, CHANNELS, weights, TAPS);
#pragma unroll
                for (int item = 0; item < ITEMS; item++) to[item * CHANNELS] = sums[item];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
#else
        load_lines(tile, TILE_PITCH, plane, layout, (index_t)top + LOW_Y, columns, TILE_ROWS);
        barrier(CLK_LOCAL_MEM_FENCE);
#endif

        /* 2. Filter columns, and store. */
        for (int unit = tid; unit < WIDE * (HIGH / ITEMS); unit += BLOCK) {
            const int column = unit % WIDE, row = unit / WIDE * ITEMS;
            LOCAL const sum_t *from = tile + row * TILE_PITCH + column;
            if (first + column >= LENGTH || top + row >= ROWS) continue;
            sum_t sums[ITEMS];
#if DOWN
            filter_line(sums, from, 0, TILE_PITCH, weights + ALONG * TAPS, SPAN);
#else
#pragma unroll
            for (int item = 0; item < ITEMS; item++) sums[item] = from[item * TILE_PITCH];
#endif
            GLOBAL result_t *to = out + (top + row) * STRIDE_OUT_ROW + first + column;
#pragma unroll
            for (int item = 0; item < ITEMS; item++, to += STRIDE_OUT_ROW)
                if (top + row + item < ROWS) *to = gp_result(layout, sums[item]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
