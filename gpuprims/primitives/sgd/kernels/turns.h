/* Teams of LANES neighbouring work-items that take samples in turn: a work-item has every LANES-th feature of all samples of
 * its team, so that neighbours load from neighbouring memory. Work-items beyond the ROWS teams only wait. */

/* A work-item's part of the score of a row. */
DEVICE value_t gp_part_of_score(GLOBAL const NUMBER *row, GLOBAL const NUMBER *weights, const int own)
{
    value_t sum = 0;
    for (int feature = own; feature < FEATURES; feature += LANES) sum += row[feature] * weights[feature];
    return sum;
}

/* Change a work-item's weights by a row. */
DEVICE void gp_change_part(GLOBAL const NUMBER *row, GLOBAL NUMBER *weights, const int own, const value_t keep,
                           const value_t move)
{
    for (int feature = own; feature < FEATURES; feature += LANES)
        weights[feature] = keep * weights[feature] - move * row[feature];
}
