/* Find where the merge path crosses a diagonal, by a binary search for the least `middle` for which `second_first` is true:
 * the second array's element on the diagonal goes before element `middle` of the first array. The result is in `low`.
 */
#define GP_CROSS(count_t, low, high, second_first)                                                                     \
    while (low < high) {                                                                                               \
        const count_t middle = (low + high) / 2;                                                                       \
        if (second_first) {                                                                                            \
            high = middle;                                                                                             \
        } else {                                                                                                       \
            low = middle + 1;                                                                                          \
        }                                                                                                              \
    }
