/* Brackets of a sample: two orders of a row between which the elements of given ranks lie, unless the sample misleads. */
#define DECIDED 2 /* value of `found` in a row_state_t whose order is that of the element */

/* Return the number of parts, at most `parts`, into which to divide a row, so that each has `least` elements or more. */
DEVICE i64 gp_parts_for(const i64 size, const i64 parts, const i64 least)
{
    return max(min(parts, (size + least - 1) / least), (i64)1);
}

/* Counts of the elements of a row: before its bracket, equal to the first order, strictly within, equal to the last order if
 * that is another one; `nan` is set by a NaN. */
typedef struct {
    count_t before, first, within, last, nan, unused;
} tally_t;

/* Begin the search for one end of a bracket in a sample: the element of rank `rank`, or the end of all orders. */
DEVICE void gp_begin_end(GLOBAL row_state_t *state, const i64 rank, const i64 sampled)
{
    gp_begin_row(state, (u64)(rank + 1));
    if (rank >= 0 && rank < sampled) return;
    state->order = rank < 0 ? (u64)ORDER_MASK : 0;
    state->found = DECIDED;
}

/* Begin the search for the element of rank `rank` of a row. It is NaN, or an end of the bracket, or one of the candidates
 * within, if all have `room`; else it is searched for among all elements. */
DEVICE void gp_begin_rank(GLOBAL row_state_t *state, const u64 rank, GLOBAL tally_t *tally, const u64 first,
                          const u64 last, const u64 room)
{
    const u64 before = READ_COUNT(&tally->before), within = READ_COUNT(&tally->within);
    const u64 from = before + READ_COUNT(&tally->first), behind = from + within;
    gp_begin_row(state, rank + 1);
    if (NAN_WINS && READ_COUNT(&tally->nan)) {
        state->found = DECIDED; /* the order of NaN is 0 */
        return;
    }
    if (rank < before || rank >= behind + READ_COUNT(&tally->last)) return;
    if (rank < from || rank >= behind) {
        state->order = rank < from ? first : last;
        state->found = DECIDED;
    } else if (within <= room) {
        state->behind = within;
        state->left = rank - from + 1;
    }
}
