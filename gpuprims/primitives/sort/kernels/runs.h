/* Define a function that returns how many of the first `diagonal` elements of two merged runs are the left one's, whose
 * elements go before equal ones of the right.
 */
#define GP_CROSSING(name, SPACE, count_t)                                                                              \
    DEVICE count_t name(SPACE const element_t *left, const count_t lefts, SPACE const element_t *right,                \
                        const count_t rights, const count_t diagonal)                                                  \
    {                                                                                                                  \
        count_t low = diagonal > rights ? diagonal - rights : 0, high = min(diagonal, lefts);                          \
        GP_CROSS(count_t, low, high, SORTS_FIRST(right[diagonal - 1 - middle], left[middle]));                      \
        return low;                                                                                                    \
    }
