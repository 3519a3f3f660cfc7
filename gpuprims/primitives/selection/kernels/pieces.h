/* The places of a sample of a row. */
#define PIECE 4 /* neighbours of a sample, which one load of 16 bytes reads */

/* Return the place of element `i` of a sample of a row: the sample has one piece of each `stretch` of the row, at a place that
 * looks random, so that a period of the row does not mislead. */
DEVICE i64 gp_sampled_place(const i64 i, const i64 stretch)
{
    u32 mixed = (u32)(i / PIECE) * 0x9e3779b1u;
    mixed = (mixed ^ mixed >> 15) * 0x85ebca6bu;
    const u64 pieces = (u64)(stretch / PIECE);
    return i / PIECE * stretch + (i64)((u64)mixed * pieces >> 32) * PIECE + i % PIECE;
}
