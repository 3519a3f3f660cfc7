/* scan/cpu_fixed_columns: each work-item scans strips of neighbouring outputs in an order that is the same on every device,
 * in one pass, for devices whose work-items are CPU threads.
 *
 * in      INPUTS, neighbouring outputs next to each other in memory: n elements for each of `outputs` outputs, at most
 *         ITEMS tiles of ITEMS each
 * out     OUTPUTS: a value at each element, in place or apart from all inputs
 * launch  any number of groups of one work-item; each takes strips until none are left
 * host    BESIDE(o, j), BESIDE_LENGTH(outputs), MAP_BESIDE(row, o), STORE_BESIDE(row, o, value), OP(a, b), IDENTITY, INCLUSIVE
 * order   of fixed_scans.py
 *
 * All outputs of a strip are at the same place of the order, so each fold is a loop over the strip:
 *
 *     own           elements of the run so far
 *     halves        runs of the tile so far, by whole halves of 1, 2, 4, ... runs
 *     before        what lies before the run, and before_tile before its tile
 *     tiles         tiles of the run of tiles so far
 *     tile_halves   runs of tiles so far, and before_tiles what lies before the last one
 */
#define RUN 16
#define RUNS (ITEMS / RUN) /* of a tile */
#define HALVES 8           /* RUNS is 2^HALVES */
#define STRIP 256          /* outputs: their folds stay in the core's first cache (rows: cpu_fixed_columns) */
#define ABREAST 16         /* outputs whose folds of halves stay in registers */
#define EACH_LANE _Pragma("clang loop unroll(disable)") for (int lane = 0; lane < live; lane++)
#define EACH_ABREAST _Pragma("unroll") for (int k = 0; k < ABREAST; k++)

/* Loops that fold one value after the other: Intel's compiler would fold every other one by itself. */
#define IN_ORDER _Pragma("clang loop vectorize(disable) interleave(disable)")

/* Fold what follows `index` whole runs, `own`, by halves: `whole` is then the fold of all. */
#define FOLD_HALVES(whole, kept, index, own, from)                                                                     \
    {                                                                                                                  \
        int bit = 0;                                                                                                   \
        EACH_ABREAST SET_VALUE(whole, [k], VALUE(own, [(from) + k]));                                                  \
        IN_ORDER for (; (index) >> bit & 1; bit++)                                                                     \
            EACH_ABREAST SET_VALUE(whole, [k], OP(VALUE(kept, [bit * STRIP + (from) + k]), VALUE(whole, [k])));        \
        EACH_ABREAST SET_VALUE(kept, [bit * STRIP + (from) + k], VALUE(whole, [k]));                                   \
        IN_ORDER for (; bit < HALVES; bit++)                                                                           \
            if ((index) >> bit & 1)                                                                                    \
                EACH_ABREAST SET_VALUE(whole, [k], OP(VALUE(kept, [bit * STRIP + (from) + k]), VALUE(whole, [k])));    \
    }

__kernel WORK_GROUP(1)
void scan_cpu_fixed_columns(INPUTS, OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 outputs, const i64 n)
{
    const i64 length = BESIDE_LENGTH(outputs), share = (outputs + get_num_groups(0) - 1) / get_num_groups(0);
    const i64 width = min((share + ABREAST - 1) / ABREAST * ABREAST, (i64)STRIP), across = (length + width - 1) / width;
    const value_t nothing = n > ITEMS ? OP(IDENTITY, IDENTITY) : IDENTITY;
    VALUES(own, [STRIP]);
    VALUES(stored, [STRIP]);
    VALUES(before, [STRIP]);
    VALUES(before_tile, [STRIP]);
    VALUES(before_tiles, [STRIP]);
    VALUES(tiles, [STRIP]);
    VALUES(halves, [(HALVES + 1) * STRIP]);
    VALUES(tile_halves, [(HALVES + 1) * STRIP]);
    VALUES(whole, [ABREAST]);

    for (i64 strip = get_group_id(0); strip < outputs / length * across; strip += get_num_groups(0)) {
        const i64 o = strip / across * length + strip % across * width;
        const int live = (int)min(width, length - strip % across * width);
        for (int lane = 0; lane < STRIP; lane++) {
            SET_VALUE(own, [lane], IDENTITY); /* of outputs that the strip lacks, too */
            SET_VALUE(tiles, [lane], IDENTITY);
            SET_VALUE(before_tiles, [lane], nothing);
            SET_VALUE(before_tile, [lane], nothing);
            SET_VALUE(before, [lane], OP(nothing, IDENTITY));
        }

        for (i64 first = 0; first < n; first += RUN) {
            const i64 last = min(first + RUN, n);
            const int run = (int)(first / RUN % RUNS);

            /* 1. Scan the rows of a run, and store. */
            for (i64 j = first; j < last; j++) {
                const row_t row = BESIDE(o, j);
                EACH_LANE
                {
                    const value_t earlier = VALUE(own, [lane]), element = MAP_BESIDE(row, o + lane);
                    const value_t after = j > first ? OP(earlier, element) : element;
                    const value_t own_result = OP(VALUE(before, [lane]), INCLUSIVE ? after : earlier);
                    SET_VALUE(own, [lane], after);
                    SET_VALUE(stored, [lane], INCLUSIVE || j > first ? own_result : VALUE(before, [lane]));
                }
                EACH_LANE STORE_BESIDE(row, o + lane, VALUE(stored, [lane]));
            }
            if (last == n) break;

            /* 2. Fold the runs of the tile by halves. */
            if (run < RUNS - 1) {
                for (int from = 0; from < live; from += ABREAST) {
                    FOLD_HALVES(whole, halves, run, own, from)
                    EACH_ABREAST SET_VALUE(before, [from + k], OP(VALUE(before_tile, [from + k]), VALUE(whole, [k])));
                }
                continue;
            }

            /* 3. Fold tiles as elements: those of a run one after the other, and runs by halves. */
            const int tile = (int)(first / ITEMS), in_run = tile % RUN;
            for (int from = 0; from < live; from += ABREAST) {
                FOLD_HALVES(whole, halves, run, own, from)
                EACH_ABREAST
                {
                    const value_t folded = VALUE(whole, [k]);
                    SET_VALUE(tiles, [from + k], in_run ? OP(VALUE(tiles, [from + k]), folded) : folded);
                }
                if (in_run < RUN - 1) {
                    EACH_ABREAST
                    SET_VALUE(before_tile, [from + k], OP(VALUE(before_tiles, [from + k]), VALUE(tiles, [from + k])));
                } else {
                    FOLD_HALVES(whole, tile_halves, tile / RUN, tiles, from)
                    EACH_ABREAST SET_VALUE(before_tiles, [from + k], OP(IDENTITY, VALUE(whole, [k])));
                    EACH_ABREAST SET_VALUE(before_tile, [from + k], VALUE(before_tiles, [from + k]));
                }
                EACH_ABREAST SET_VALUE(before, [from + k], OP(VALUE(before_tile, [from + k]), IDENTITY));
            }
        }
    }
}
