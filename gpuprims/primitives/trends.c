/* Indices of stable sorts of rows of the host that rise or fall: sorted data, which a look at neighbours finds.
 *
 * Other rows are left after the first few elements, where neither holds, and those with NaN. NumPy's stable sort has the
 * same shortcut for rows that rise.
 */
#pragma GCC optimize("O3")
#include "../core/c_modules.h"

#define AT_ONCE 256 /* elements between two looks at what was found */

/* Whether a row's elements never fall, and never rise. */
typedef struct {
    int rises, falls;
} trend_t;

#define DEFINE_TREND(name, type, HOW)                                                                                  \
    HOW static trend_t name(const void *given, const npy_intp n) {                                                     \
        const type *x = given;                                                                                         \
        trend_t trend = {1, 1};                                                                                        \
        for (npy_intp begin = 1; begin < n && (trend.rises || trend.falls); begin += AT_ONCE) {                        \
            const npy_intp end = n - begin < AT_ONCE ? n : begin + AT_ONCE;                                            \
            type up = 1, down = 1; /* of the elements' type, so that vectors have as many lanes */                     \
            for (npy_intp i = begin; i < end; i++) {                                                                   \
                up = x[i - 1] <= x[i] ? up : 0;                                                                        \
                down = x[i - 1] >= x[i] ? down : 0;                                                                    \
            }                                                                                                          \
            trend.rises &= up != 0;                                                                                    \
            trend.falls &= down != 0;                                                                                  \
        }                                                                                                              \
        return trend;                                                                                                  \
    }

/* Define the trend of a row, and what writes the indices of one that never rises: from its end, but equal ones in order. */
#define DEFINE(name, type)                                                                                             \
    DEFINE_TREND(name##_trend_wide, type, WIDE)                                                                        \
    DEFINE_TREND(name##_trend_plain, type, )                                                                           \
    static trend_t name##_trend(const void *x, const npy_intp n) {                                                     \
        return HAS_WIDE ? name##_trend_wide(x, n) : name##_trend_plain(x, n);                                          \
    }                                                                                                                  \
    static void name##_falling(const void *given, const npy_intp n, npy_int64 *to) {                                   \
        const type *x = given;                                                                                         \
        for (npy_intp begin = 0, end = 1; begin < n; begin = end++) {                                                  \
            while (end < n && x[end] == x[begin]) end++;                                                               \
            for (npy_intp k = begin; k < end; k++) to[n - end + k - begin] = k;                                        \
        }                                                                                                              \
    }

DEFINE(i8, npy_int8)
DEFINE(i16, npy_int16)
DEFINE(i32, npy_int32)
DEFINE(i64, npy_int64)
DEFINE(u8, npy_uint8)
DEFINE(u16, npy_uint16)
DEFINE(u32, npy_uint32)
DEFINE(u64, npy_uint64)
DEFINE(f32, float)
DEFINE(f64, double)

typedef struct {
    trend_t (*trend)(const void *, npy_intp);
    void (*falling)(const void *, npy_intp, npy_int64 *);
} functions_t;
#define OF(name) {name##_trend, name##_falling}
static const functions_t FUNCTIONS[] = OF_DTYPES(OF);

/* The functions of an array in C order; NULL for others. */
static const functions_t *functions_of(PyObject *given) {
    PyArrayObject *x = (PyArrayObject *)given;
    if (!PyArray_Check(given) || !PyArray_ISCARRAY_RO(x) || !PyArray_NDIM(x)) return NULL;
    const int place = dtype_place(x);
    return place < 0 ? NULL : &FUNCTIONS[place];
}

/* Write the indices of a row; return 0 for one that rises and falls, or has NaN. */
static int write_row(const functions_t *functions, const char *row, const npy_intp n, const int descending, npy_int64 *to) {
    const trend_t trend = functions->trend(row, n);
    if (descending ? trend.falls : trend.rises) {
        for (npy_intp k = 0; k < n; k++) to[k] = k;
        return 1;
    }
    if (descending ? trend.rises : trend.falls) functions->falling(row, n, to);
    return trend.rises || trend.falls;
}

PyDoc_STRVAR(indices_doc, "indices(keys, descending): the indices of a stable sort of each row, or NotImplemented if one rises "
                          "and falls, or has NaN.");

static PyObject *indices(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    const functions_t *functions = given == 2 ? functions_of(arguments[0]) : NULL;
    if (!functions) {
        PyErr_SetString(PyExc_TypeError, "indices: bools, integers, float32 or float64 in C order, and True or False");
        return NULL;
    }
    PyArrayObject *x = (PyArrayObject *)arguments[0];
    const npy_intp n = PyArray_DIM(x, PyArray_NDIM(x) - 1), size = PyArray_SIZE(x), nbytes = n * PyArray_ITEMSIZE(x);
    const char *row = PyArray_DATA(x);
    const int descending = PyObject_IsTrue(arguments[1]);
    if (descending < 0) return NULL;
    const trend_t first = functions->trend(row, !size ? 0 : n < AT_ONCE ? n : AT_ONCE);
    if (!first.rises && !first.falls) Py_RETURN_NOTIMPLEMENTED;
    if (n == 1) return PyArray_ZEROS(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INT64, 0);
    PyArrayObject *found = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INT64);
    if (!found) return NULL;
    npy_int64 *const to = PyArray_DATA(found);
    int done = 1;
    Py_BEGIN_ALLOW_THREADS
    for (npy_intp begin = 0; begin < size && done; begin += n, row += nbytes)
        done = write_row(functions, row, n, descending, to + begin);
    Py_END_ALLOW_THREADS
    if (done) return (PyObject *)found;
    Py_DECREF(found);
    Py_RETURN_NOTIMPLEMENTED;
}

DEFINE_MODULE(trends, "Orders of sorted rows.", 1, FUNCTION(indices))
