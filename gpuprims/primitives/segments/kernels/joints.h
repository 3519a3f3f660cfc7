/* Folds of neighbours in an order that begins anew at each segment. */
typedef struct {
    value_t folded;
    int whole; /* reaches back to the begin of the segment */
} joint_t;

/* Fold what lies before other elements in, unless these reach back to the begin of the segment. */
DEVICE joint_t gp_follow(const joint_t before, const joint_t own)
{
    joint_t both = own;
    if (!own.whole) {
        both.folded = OP(before.folded, own.folded);
        both.whole = before.whole;
    }
    return both;
}
