/* Partitions of rows of the host by one element each, whose elements before and behind it keep their order.
 *
 * A row is read twice: elements before the pivot go to the row's begin, those behind it behind as many as are equal. Eight
 * at a time are gathered by a table of their places, and stored with what lies behind them, which later ones overwrite.
 * Equal elements come last. NumPy or kernels do the same where this module is not there.
 */
#pragma GCC optimize("O3")
#include "../core/c_modules.h"
#include "moves.h"

/* Elements that were written and read, equal ones, and where the first of these may be. */
typedef struct {
    npy_intp at, next, equal, first;
} pass_t;

#if BUILDS_WIDE
/* Move the elements for which x OP pivot, eight at a time, while there is room for eight; look for equal ones. */
#define DEFINE_PASS(name, type, bytes, width, OP)                                                                      \
    WIDE static void name(const type *x, const type pivot, const npy_intp n, const npy_intp room, const int places,    \
                          void *to, pass_t *pass) {                                                                    \
        typedef type vector_t __attribute__((vector_size(width), aligned(1), may_alias));                              \
        const vector_t all = (vector_t){0} + pivot;                                                                    \
        npy_intp at = pass->at, next = pass->next, equal = 0, first = pass->first;                                     \
        for (; next + LANES <= n && at + LANES <= room; next += LANES) {                                               \
            const vector_t *own = (const vector_t *)(x + next);                                                        \
            const unsigned mask = MASK_##bytes(own, OP, all);                                                          \
            first = equal ? first : next;                                                                              \
            equal += _mm_popcnt_u32(MASK_##bytes(own, ==, all));                                                       \
            if (places)                                                                                                \
                move_places(next, mask, (npy_int64 *)to + at);                                                         \
            else                                                                                                       \
                move_##bytes(own, mask, (type *)to + at);                                                              \
            at += _mm_popcnt_u32(mask);                                                                                \
        }                                                                                                              \
        *pass = (pass_t){at, next, equal, equal ? first : next};                                                       \
    }

/* Gather the elements from low to high, eight at a time, while there is room for eight; count those below as equal ones. */
#define DEFINE_BETWEEN(name, type, bytes, width)                                                                       \
    WIDE static void name(const type *x, const type low, const type high, const npy_intp n, const npy_intp room,       \
                          type *to, pass_t *pass) {                                                                    \
        typedef type vector_t __attribute__((vector_size(width), aligned(1), may_alias));                              \
        const vector_t lows = (vector_t){0} + low, highs = (vector_t){0} + high;                                       \
        npy_intp at = 0, next = 0, below = 0;                                                                          \
        for (; next + LANES <= n && at + LANES <= room; next += LANES) {                                               \
            const vector_t *own = (const vector_t *)(x + next);                                                        \
            const unsigned before = MASK_##bytes(own, <, lows), mask = MASK_##bytes(own, <=, highs) & ~before;         \
            move_##bytes(own, mask, to + at);                                                                          \
            at += _mm_popcnt_u32(mask);                                                                                \
            below += _mm_popcnt_u32(before);                                                                           \
        }                                                                                                              \
        *pass = (pass_t){at, next, below, 0};                                                                          \
    }
#else
#define DEFINE_BETWEEN(name, type, bytes, width)                                                                       \
    static void name(const type *x, const type low, const type high, const npy_intp n, const npy_intp room, type *to,  \
                     pass_t *pass) {}
#define DEFINE_PASS(name, type, bytes, width, OP)                                                                      \
    static void name(const type *x, const type pivot, const npy_intp n, const npy_intp room, const int places,         \
                     void *to, pass_t *pass) {}
#endif

#define PUT(k)                                                                                                         \
    if (places)                                                                                                        \
        ((npy_int64 *)to)[at] = (k);                                                                                   \
    else                                                                                                               \
        result[at] = x[k];

/* Define the partition of n elements or their places; 0 with NaN, which is in no class. And the places of the first `room`
 * elements in an order of classes: those before or behind the pivot, of which it returns the number, then the equal ones. */
#define DEFINE(name, type, bytes, width)                                                                               \
    DEFINE_PASS(name##_before, type, bytes, width, <)                                                                  \
    DEFINE_PASS(name##_behind, type, bytes, width, >)                                                                  \
    static int name(const void *given, const void *pivots, const npy_intp n, const int places, void *to) {             \
        const type *x = given, pivot = *(const type *)pivots;                                                          \
        type *result = to;                                                                                             \
        pass_t pass = {0, 0, 0, 0};                                                                                    \
        if (HAS_WIDE) name##_before(x, pivot, n, n, places, to, &pass);                                                \
        npy_intp at = pass.at, equal = pass.equal;                                                                     \
        for (npy_intp k = pass.next; k < n; k++) {                                                                     \
            PUT(k)                                                                                                     \
            at += x[k] < pivot;                                                                                        \
            equal += x[k] == pivot;                                                                                    \
        }                                                                                                              \
        const npy_intp before = at, first = pass.first;                                                                \
        pass = (pass_t){at + equal, 0, 0, 0};                                                                          \
        if (HAS_WIDE) name##_behind(x, pivot, n, n, places, to, &pass);                                                \
        at = pass.at;                                                                                                  \
        for (npy_intp k = pass.next; k < n && at < n; k++) {                                                           \
            PUT(k)                                                                                                     \
            at += x[k] > pivot;                                                                                        \
        }                                                                                                              \
        if (at < n) return 0;                                                                                          \
        at = before;                                                                                                   \
        if (!places && ((type)0.5 == 0 || pivot != 0)) /* zeros of floats have signs */                                \
            while (at < before + equal) result[at++] = pivot;                                                          \
        for (npy_intp k = first; at < before + equal; k++) {                                                           \
            PUT(k)                                                                                                     \
            at += x[k] == pivot;                                                                                       \
        }                                                                                                              \
        return 1;                                                                                                      \
    }                                                                                                                  \
    static npy_intp name##_firsts(const void *given, const void *pivots, const npy_intp n, const int behind,           \
                                  const npy_intp room, npy_int64 *to) {                                                \
        const type *x = given, pivot = *(const type *)pivots;                                                          \
        pass_t pass = {0, 0, 0, 0};                                                                                    \
        if (HAS_WIDE) (behind ? name##_behind : name##_before)(x, pivot, n, room, 1, to, &pass);                       \
        npy_intp at = pass.at;                                                                                         \
        for (npy_intp k = pass.next; k < n && at < room; k++) {                                                        \
            to[at] = k;                                                                                                \
            at += behind ? x[k] > pivot : x[k] < pivot;                                                                \
        }                                                                                                              \
        const npy_intp beyond = at;                                                                                    \
        for (npy_intp k = pass.first; k < n && at < room; k++) {                                                       \
            to[at] = k;                                                                                                \
            at += x[k] == pivot;                                                                                       \
        }                                                                                                              \
        return at < room ? -1 : beyond;                                                                                \
    }                                                                                                                  \
    DEFINE_BETWEEN(name##_gather, type, bytes, width)                                                                  \
    static npy_intp name##_between(const void *given, const void *bounds, const npy_intp n, const npy_intp room,       \
                                   void *to, npy_intp *below) {                                                        \
        const type *x = given, low = ((const type *)bounds)[0], high = ((const type *)bounds)[1];                      \
        pass_t pass = {0, 0, 0, 0};                                                                                    \
        if (HAS_WIDE) name##_gather(x, low, high, n, room, to, &pass);                                                 \
        npy_intp at = pass.at;                                                                                         \
        *below = pass.equal;                                                                                           \
        for (npy_intp k = pass.next; k < n; k++) {                                                                     \
            *below += x[k] < low;                                                                                      \
            if (!(x[k] >= low && x[k] <= high)) continue;                                                              \
            if (at == room) return -1;                                                                                 \
            ((type *)to)[at++] = x[k];                                                                                 \
        }                                                                                                              \
        return at;                                                                                                     \
    }

DEFINE(i8, npy_int8, 1, 8)
DEFINE(i16, npy_int16, 2, 16)
DEFINE(i32, npy_int32, 4, 32)
DEFINE(i64, npy_int64, 8, 32)
DEFINE(u8, npy_uint8, 1, 8)
DEFINE(u16, npy_uint16, 2, 16)
DEFINE(u32, npy_uint32, 4, 32)
DEFINE(u64, npy_uint64, 8, 32)
DEFINE(f32, float, 4, 32)
DEFINE(f64, double, 8, 32)

typedef struct {
    int (*part)(const void *, const void *, npy_intp, int, void *);
    npy_intp (*firsts)(const void *, const void *, npy_intp, int, npy_intp, npy_int64 *);
    npy_intp (*between)(const void *, const void *, npy_intp, npy_intp, void *, npy_intp *);
} functions_t;
#define OF(name) {name, name##_firsts, name##_between}
static const functions_t FUNCTIONS[] = OF_DTYPES(OF);

/* The functions of an array of numbers in C order; NULL for others. */
static const functions_t *functions_of(PyObject *given) {
    PyArrayObject *x = (PyArrayObject *)given;
    if (!PyArray_Check(given) || !PyArray_ISCARRAY_RO(x) || !PyArray_NDIM(x)) return NULL;
    const int place = dtype_place(x);
    return place < 0 || PyArray_ISBOOL(x) ? NULL : &FUNCTIONS[place];
}

/* The data of an array of a type and so many elements; NULL for others. */
static void *data_of(PyObject *given, const int type, const npy_intp size) {
    PyArrayObject *x = (PyArrayObject *)given;
    const int fits = PyArray_Check(given) && PyArray_ISCARRAY_RO(x) && PyArray_TYPE(x) == type && PyArray_SIZE(x) == size;
    return fits ? PyArray_DATA(x) : NULL;
}

/* The same of a result of any number of elements, but none, which it tells. */
static void *room_of(PyObject *given, const int type, npy_intp *size) {
    *size = PyArray_Check(given) && PyArray_ISWRITEABLE((PyArrayObject *)given) ? PyArray_SIZE((PyArrayObject *)given) : 0;
    return *size ? data_of(given, type, *size) : NULL;
}

PyDoc_STRVAR(part_doc, "part(rows, pivots, result, places): write each row's elements before, at and behind its pivot, an\n"
                       "element of it, to the result, or their places to one of int64; False with NaN, after some are written.");

static PyObject *part(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    const functions_t *functions = given == 4 ? functions_of(arguments[0]) : NULL;
    PyArrayObject *rows = functions ? (PyArrayObject *)arguments[0] : NULL;
    const npy_intp n = rows ? PyArray_DIM(rows, PyArray_NDIM(rows) - 1) : 0, count = n ? PyArray_SIZE(rows) / n : 0;
    const int type = rows ? PyArray_TYPE(rows) : 0, places = given == 4 && arguments[3] == Py_True;
    const char *pivots = count ? data_of(arguments[1], type, count) : NULL;
    npy_intp room = 0;
    char *to = pivots ? room_of(arguments[2], places ? NPY_INT64 : type, &room) : NULL;
    if (!to || room != count * n) {
        PyErr_SetString(PyExc_TypeError, "part: rows of numbers in C order, a pivot of each, a result, and True or False");
        return NULL;
    }
    const npy_intp size = PyArray_ITEMSIZE(rows), moved = PyArray_ITEMSIZE((PyArrayObject *)arguments[2]);
    const char *x = PyArray_DATA(rows);
    int numbers = 1;
    PyThreadState *state = count * n * size > RELEASED ? PyEval_SaveThread() : NULL;
    for (npy_intp row = 0; row < count && numbers; row++, x += n * size, pivots += size, to += n * moved)
        numbers = functions->part(x, pivots, n, places, to);
    if (state) PyEval_RestoreThread(state);
    return PyBool_FromLong(numbers);
}

/* A row in memory, what its elements are compared with, and room for some of them or for their places. */
typedef struct {
    const functions_t *functions;
    const void *x, *bounds;
    npy_intp n, room;
    void *to;
} row_t;

/* Take a row, so many bounds of its type and, last, room for elements of a type, or of the row's; 0 if they are others. */
static int take_row(PyObject *const *arguments, const Py_ssize_t given, const npy_intp bounds, const int type, row_t *row) {
    PyArrayObject *x = (PyArrayObject *)arguments[0];
    row->functions = functions_of(arguments[0]);
    if (!row->functions || !(row->bounds = data_of(arguments[1], PyArray_TYPE(x), bounds))) return 0;
    row->x = PyArray_DATA(x);
    row->n = PyArray_SIZE(x);
    row->to = room_of(arguments[given - 1], type == NPY_NOTYPE ? PyArray_TYPE(x) : type, &row->room);
    return row->to != NULL;
}

PyDoc_STRVAR(firsts_doc, "firsts(x, pivot, behind, places): write the places of a row's elements behind a pivot, or before it,\n"
                         "and then of equal ones to places, an array of int64, until it is full; the number before the equal ones.");

static PyObject *firsts(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    row_t row;
    npy_intp found = -1;
    if (given == 4 && take_row(arguments, given, 1, NPY_INT64, &row)) {
        Py_BEGIN_ALLOW_THREADS
        found = row.functions->firsts(row.x, row.bounds, row.n, arguments[2] == Py_True, row.room, row.to);
        Py_END_ALLOW_THREADS
    }
    if (found >= 0) return PyLong_FromSsize_t(found);
    PyErr_SetString(PyExc_TypeError, "firsts: numbers in C order, a pivot, True or False, and room for places that there are");
    return NULL;
}

PyDoc_STRVAR(between_doc, "between(x, bounds, found): write the elements of a row from a bound to another one to found, in order;\n"
                          "how many lie below, and how many were written; None if there is too little room.");

static PyObject *between(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    row_t row;
    npy_intp below = 0, found;
    if (given != 3 || !take_row(arguments, given, 2, NPY_NOTYPE, &row)) {
        PyErr_SetString(PyExc_TypeError, "between: numbers in C order, two bounds, and room");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    found = row.functions->between(row.x, row.bounds, row.n, row.room, row.to, &below);
    Py_END_ALLOW_THREADS
    if (found < 0) Py_RETURN_NONE;
    return Py_BuildValue("nn", below, found);
}

DEFINE_MODULE(parts, "Partitions of rows by an element.", has_places(), FUNCTION(part), FUNCTION(firsts),
              FUNCTION(between))
