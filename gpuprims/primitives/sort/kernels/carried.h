/* Write what an element carries: in the last pass with the dtype of results. */
#define KEEP_VALUE(at, value)                                                                                          \
    if (last) {                                                                                                        \
        ((GLOBAL kept_t *)kept)[at] = (kept_t)(value);                                                                 \
    } else {                                                                                                           \
        ((GLOBAL carried_t *)kept)[at] = value;                                                                        \
    }
