/* scan/fixed_rows: a few neighbouring lanes scan each output in an order that is the same on every device, for many outputs
 * of at most a tile.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: a value at each element, in place or apart from all inputs
 * scratch none
 * launch  any number of groups of BLOCK; each takes WARPS x ROWS outputs until none are left
 * host    RUN_ITEMS, equal to ITEMS; ROW_LANES and ROW_ITEMS, powers of two; HALVES (halves.h), SLOT and SLOT_TYPE
 *         (turning.h); MAP and MAP_VECTOR, STORE and STORE_VECTOR, OP(a, b), IDENTITY,
 *         INCLUSIVE
 * order   of fixed_scans.py, whatever the number of groups, LANES and VECTOR are
 *
 * A row gets a lane for each run, up to all lanes of a warp, which then take a piece of it at a time. A lane takes several
 * rows of ROW_ITEMS < ITEMS. Vectors of neighbours are loaded, and turned into runs in local memory. For rows of up to 32
 * elements, RUN_ITEMS = 16, VECTOR = 4:
 *
 *     lane          0       1       2  ...     8  ...
 *     loads         0..3    4..7    8..11      0..3 of row 1
 *     scans         0..15   16..31  0..15 of row 1
 */
#define PIECE (ROW_LANES * ROW_ITEMS) /* elements of a row that are scanned at once */
#define ROWS (LANES * ITEMS / PIECE)  /* of a warp */
#define STAGING (LANES > 1 ? PART : 0) /* values that a warp turns at once */
#define TOGETHER (WORDS == 1 ? 4 : WORDS == 2 ? 2 : 1) /* groups of a multiprocessor (rows: fixed_rows) */
#define EACH_VECTOR _Pragma("unroll") for (int item = 0; item < ITEMS; item += VECTOR)

/* Where a lane's vectors lie. That of `item` is ROW_OF(item) rows and PLACE_OF(item) elements after the first; the
 * compiler knows these numbers. */
typedef struct {
    i64 o, j;       /* of the first vector */
    int rows, room; /* as many rows and elements there are from there on, in the warp's part */
} start_t;
#define ROW_OF(item) ((item) * LANES / PIECE)
#define PLACE_OF(item) ((item) * LANES % PIECE)

DEVICE start_t piece_start(const i64 base, const i64 first, const i64 outputs, const i64 n, const int lane)
{
    const int row = lane * VECTOR / PIECE, at = lane * VECTOR % PIECE;
    start_t start;
    start.o = base + row;
    start.j = first + at;
    start.rows = (int)max(min(outputs - base, (i64)ROWS) - row, (i64)0);
    start.room = (int)(min(n - first, (i64)PIECE) - at);
    return start;
}

/* Load neighbours, and the identity past the end. Rows that are no whole number of vectors are loaded an element at a
 * time. */
DEVICE void load_row_pieces(INPUTS, const layout_t layout, const start_t start, const i64 n, value_t *vectors)
{
#pragma unroll
    for (int k = 0; k < ITEMS; k++) vectors[k] = IDENTITY;
    if (n % VECTOR == 0) {
        EACH_VECTOR
        if (ROW_OF(item) < start.rows && PLACE_OF(item) < start.room)
            MAP_VECTOR(start.o + ROW_OF(item), start.j + PLACE_OF(item), vectors + item);
    } else {
        EACH_VECTOR
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            if (ROW_OF(item) < start.rows && PLACE_OF(item) + k < start.room)
                vectors[item + k] = MAP(start.o + ROW_OF(item), start.j + PLACE_OF(item) + k);
    }
}

/* Store the same neighbours. */
DEVICE void store_row_pieces(INPUTS, OUTPUTS, const layout_t layout, const start_t start, const i64 n, value_t *vectors)
{
    if (n % VECTOR == 0) {
        EACH_VECTOR
        if (ROW_OF(item) < start.rows && PLACE_OF(item) < start.room)
            STORE_VECTOR(start.o + ROW_OF(item), start.j + PLACE_OF(item), vectors + item);
    } else {
        EACH_VECTOR
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            if (ROW_OF(item) < start.rows && PLACE_OF(item) + k < start.room)
                STORE(start.o + ROW_OF(item), start.j + PLACE_OF(item) + k, vectors[item + k]);
    }
}

/* Turn a warp's vectors into runs. */
DEVICE void turn_to_runs(const value_t *vectors, value_t *values, LOCAL value_t *own, const int lane)
{
#if LANES > 1
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        EACH_VECTOR
        {
            const value_t *vector = vectors + item;
            const int at = (item * LANES + lane * VECTOR) % PART;
            if (!gp_is_in(part, item, lane)) continue;
            WRITE_TURNED(at, vector);
        }
        gp_warp_barrier();
        if (lane / TURNED == part) READ_RUN(lane, values);
        gp_warp_barrier();
    }
#else
    for (int k = 0; k < ITEMS; k++) values[k] = vectors[k];
#endif
}

/* Turn a warp's runs into vectors. */
DEVICE void turn_to_vectors(const value_t *values, value_t *vectors, LOCAL value_t *own, const int lane)
{
#if LANES > 1
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        if (lane / TURNED == part) WRITE_RUN(lane, values);
        gp_warp_barrier();
        EACH_VECTOR
        {
            value_t *vector = vectors + item;
            const int at = (item * LANES + lane * VECTOR) % PART;
            if (!gp_is_in(part, item, lane)) continue;
            READ_TURNED(at, vector);
        }
        gp_warp_barrier();
    }
#else
    for (int k = 0; k < ITEMS; k++) vectors[k] = values[k];
#endif
}

/* Return the fold of a row's runs up to this lane's, by halves; that of the runs before it in the piece, if any. */
DEVICE value_t scan_lane_ends(value_t whole, const int lane, value_t *earlier)
{
    *earlier = IDENTITY;
#if ROW_LANES > 1
#pragma unroll
    for (int half_of = 1; half_of < ROW_LANES; half_of *= 2) {
        const value_t before = gp_shuffle_from(whole, (lane / half_of * half_of - 1) & (LANES - 1));
        if (lane & half_of) whole = OP(before, whole);
    }
    const value_t left = gp_shuffle_up(whole, 1);
    if (lane % ROW_LANES) *earlier = left;
    whole = gp_shuffle_from(whole, lane | (ROW_LANES - 1));
#endif
    return whole;
}

__kernel WORK_GROUP_RESIDENT(BLOCK, TOGETHER) WHOLE_WARPS
void scan_fixed_rows(INPUTS, OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 outputs, const i64 n)
{
    __local ALIGNED value_t staging[WARPS * STAGING + 1];
    const int tid = get_local_id(0), lane = tid % LANES, warp = tid / LANES;
    LOCAL value_t *own = staging + warp * STAGING;
    value_t vectors[ITEMS], values[ITEMS], kept[HALVES + 1];

    for (i64 at = (i64)get_group_id(0) * WARPS * ROWS; at < outputs; at += (i64)get_num_groups(0) * WARPS * ROWS) {
        const i64 base = at + warp * ROWS;
        value_t left = IDENTITY; /* the fold of the pieces before */

        for (int piece = 0; (i64)piece * PIECE < n; piece++) {
            const i64 first = (i64)piece * PIECE;

            /* 1. Load neighbours. What lies past the end changes no result. */
            const start_t start = piece_start(base, first, outputs, n, lane);
            load_row_pieces(INPUT_NAMES, layout, start, n, vectors);
            turn_to_runs(vectors, values, own, lane);

            /* 2. Scan runs, the folds of a row's runs by halves, and those of pieces. */
#pragma unroll
            for (int k = 1; k < ITEMS; k++)
                if (k % ROW_ITEMS) values[k] = OP(values[k - 1], values[k]);
            value_t earlier;
            const value_t whole = scan_lane_ends(values[ITEMS - 1], lane, &earlier);
            earlier = lane % ROW_LANES ? gp_follow_kept(kept, piece, earlier) : left;
            left = gp_follow_kept(kept, piece, whole);
            gp_join_half(kept, piece, whole);

            /* 3. Fold in what lies before, and store neighbours. */
            const value_t before = OP(IDENTITY, earlier);
#pragma unroll
            for (int k = ITEMS - 1; k >= 0; k--)
                values[k] = INCLUSIVE ? OP(before, values[k]) : k % ROW_ITEMS ? OP(before, values[k ? k - 1 : 0]) : before;
            turn_to_vectors(values, vectors, own, lane);
            store_row_pieces(INPUT_NAMES, OUTPUT_NAMES, layout, start, n, vectors);
        }
    }
}
