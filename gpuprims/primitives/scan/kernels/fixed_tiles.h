/* Prefixes of tiles in the order of fixed_scans.py, which a group finds by folding the aggregates of all tiles itself, so no
 * chain runs through the groups.
 *
 * host    RUN_ITEMS, TILE_RUNS, HALVES, OP(a, b), IDENTITY
 * launch  groups with no more tiles in a turn than a supertile has: `folds` holds the runs of two
 *
 *     elements   |------| a run of RUN_ITEMS, by a work-item
 *     runs       |------|------| ... a tile of TILE_RUNS, by halves
 *     tiles      |--------------------| ... a run of RUN_ITEMS tiles, one after the other: `folds`
 *     their runs |------------------------------| ... TILE_RUNS of these, by halves: a supertile
 *     supertiles as tiles: `above` has the fold of the run so far, what is before that run, and the folds of whole
 *                halves of 1, 2, 4, ... such runs
 */
#define EACH (ITEMS / RUN_ITEMS) /* runs of a work-item */
#define FOLDED (RUN_ITEMS * TILE_RUNS)
#define TILES (int)(TILE / FOLDED) /* of a stretch */
#define BETWEEN(i) ((i) + (i) / RUN_ITEMS) /* lanes that fold a run each read other banks of local memory */
#define BLOCKS (TILE_RUNS / LANES) /* warps' runs side by side, in a tile */

#if LANES > 1
#define JOIN_LANES() gp_warp_barrier()
#else
#define JOIN_LANES()
#endif

/* What is before a supertile, and what the next one needs. */
typedef struct {
    value_t before;             /* the supertile */
    value_t before_run;         /* its run of supertiles */
    value_t run;                /* the fold of the supertiles of this run so far */
    value_t halves[HALVES + 1]; /* folds of whole halves of 1, 2, 4, ... runs before it */
    value_t kept[HALVES + 1]; /* room for gp_scan_folds */
} above_t;

/* Fold by halves what comes after `index` others, whose whole halves are in `kept`, one for each bit of `index`. Return
 * the fold of all; `joined` is the fold of the half that is whole now, for place `bit` of `kept`. */
DEVICE value_t gp_follow_halves(LOCAL const value_t *kept, const int index, value_t whole, value_t *joined, int *bit)
{
    int at = 0;
    for (; index >> at & 1; at++) whole = OP(kept[at], whole);
    *joined = whole;
    *bit = at;
    for (; at < HALVES; at++)
        if (index >> at & 1) whole = OP(kept[at], whole);
    return whole;
}

#if LANES > 1
/* Scan TILE_RUNS folds by halves, and return that up to `last`, in all lanes of a warp. */
DEVICE value_t gp_scan_folds(LOCAL const value_t *folds, const int last, LOCAL value_t *kept, const int lane)
{
    value_t values[BLOCKS];
#pragma unroll
    for (int k = 0; k < BLOCKS; k++) values[k] = folds[lane * BLOCKS + k];
#pragma unroll
    for (int half_of = 1; half_of < BLOCKS; half_of *= 2) {
#pragma unroll
        for (int k = 0; k < BLOCKS; k++)
            if (k & half_of) values[k] = OP(values[k / half_of * half_of - 1 & BLOCKS - 1], values[k]);
    }
    value_t whole = values[BLOCKS - 1];
#pragma unroll
    for (int left = BLOCKS / 2; left > 0; left /= 2) { /* an index known when the kernel runs alone would take memory */
#pragma unroll
        for (int k = 0; k < left; k++)
            if (last & left) values[k] = values[left + k];
    }
    value_t picked = values[0];
#pragma unroll
    for (int half_of = 1; half_of < LANES; half_of *= 2) {
        const value_t before = gp_shuffle_from(whole, (lane / half_of * half_of - 1) & (LANES - 1));
        if (lane & half_of) {
            picked = OP(before, picked);
            whole = OP(before, whole);
        }
    }
    return gp_shuffle_from(picked, last / BLOCKS);
}
#else
/* Scan folds by halves, one after the other; `kept` has room for those of whole halves. */
DEVICE value_t gp_scan_folds(LOCAL const value_t *folds, const int last, LOCAL value_t *kept, const int lane)
{
    value_t whole = IDENTITY, joined;
    for (int run = 0; run <= last; run++) {
        int bit;
        whole = gp_follow_halves(kept, run, folds[run], &joined, &bit);
        kept[bit] = joined;
    }
    return whole;
}
#endif

/* Find what is before each tile of a stretch that begins with tile `first`: by the aggregates `between` of the tiles from
 * `known` on, where a run of tiles begins, and by those of the stretch's own tiles. One warp does. */
DEVICE void gp_find_prefixes(LOCAL const value_t *between, LOCAL value_t *folds, LOCAL above_t *above,
                          LOCAL const value_t *own, const i64 first, const i64 known, const int lane,
                          LOCAL value_t *prefixes)
{
    /* a. Fold runs of tiles; the last may go on in the stretch. */
    const int count = (int)(first - known);
    const i64 run_at = first / RUN_ITEMS;
    for (int run = lane; run * RUN_ITEMS < count; run += LANES) {
        value_t whole = between[BETWEEN(run * RUN_ITEMS)];
#pragma unroll
        for (int k = 1; k < RUN_ITEMS; k++)
            if (run * RUN_ITEMS + k < count) whole = OP(whole, between[BETWEEN(run * RUN_ITEMS + k)]);
        folds[(known / RUN_ITEMS + run) % (2 * TILE_RUNS)] = whole;
    }
    if (known == 0 && lane == 0) {
        above->before = IDENTITY;
        above->before_run = OP(IDENTITY, IDENTITY);
    }
    JOIN_LANES();

    /* b. Scan the folds of a supertile: of one that is whole now, then of the stretch's. */
    i64 supertile = known / RUN_ITEMS / TILE_RUNS;
    value_t before;
    for (;;) {
        const int runs = supertile < run_at / TILE_RUNS ? TILE_RUNS : (int)(run_at % TILE_RUNS);
        value_t whole = IDENTITY, joined;
        if (runs) whole = gp_scan_folds(folds + supertile % 2 * TILE_RUNS, runs - 1, above->kept, lane);
        if (runs < TILE_RUNS) {
            before = OP(above->before, whole);
            break;
        }
        /* c. Fold supertiles as tiles. */
        int bit = 0;
        const int in_run = (int)(supertile % RUN_ITEMS);
        if (in_run) whole = OP(above->run, whole);
        joined = whole;
        value_t next = OP(above->before_run, whole);
        if (in_run == RUN_ITEMS - 1)
            next = OP(IDENTITY, gp_follow_halves(above->halves, (int)(supertile / RUN_ITEMS), whole, &joined, &bit));
        JOIN_LANES();
        if (lane == 0) {
            above->before = next;
            above->run = whole;
            if (in_run == RUN_ITEMS - 1) {
                above->before_run = next;
                above->halves[bit] = joined;
            }
        }
        JOIN_LANES();
        supertile++;
    }

    /* d. Go through the stretch's tiles. */
    value_t whole = folds[run_at % (2 * TILE_RUNS)];
#pragma unroll
    for (int k = 0; k < TILES; k++) {
        const int in_run = (int)((first + k) % RUN_ITEMS);
        if (lane == 0) prefixes[k] = in_run ? OP(before, whole) : before;
        whole = in_run ? OP(whole, own[k]) : own[k];
    }
}
