/* Find where the merge path crosses a diagonal: raise `low`, elements of the first array, up to where `second_first` becomes
 * true of `middle`. It tells whether the second array's element on the diagonal goes before element `middle` of the first.
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
