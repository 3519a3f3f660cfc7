/* Folds, scans and maps of few floats of the host, with the bits of kernels for CPUs, and a search for NaN.
 *
 * Python does the same where this module is not there: floats_by_numpy.py, which says how elements are joined, and
 * expressions/exact.py.
 */
#pragma GCC optimize("O3") /* vectors, as Clang makes at -O2 */
#include "../core/c_modules.h"

#include <math.h>

#include "folds.h"

/* As in scan_cpu_chunks.cl: elements of a run, and of the runs that are scanned at a time. */
#define SCANNED 8
#define AT_A_TIME 64

/* Define the sums up to each element: runs are scanned each by itself, then what comes before them is added. */
#define DEFINE_SCAN(name, type)                                                                                        \
    static void name(const type *x, npy_intp n, type *sums) {                                                          \
        const npy_intp whole = n / AT_A_TIME * AT_A_TIME;                                                              \
        type before = 0;                                                                                               \
        npy_intp j = 0;                                                                                                \
        for (; j < whole; j += SCANNED) {                                                                              \
            type own = x[j];                                                                                           \
            sums[j] = own + before;                                                                                    \
            for (int k = 1; k < SCANNED; k++) {                                                                        \
                own += x[j + k];                                                                                       \
                sums[j + k] = own + before;                                                                            \
            }                                                                                                          \
            before += own;                                                                                             \
        }                                                                                                              \
        for (; j < n; j++) sums[j] = before += x[j];                                                                   \
    }

DEFINE_SCAN(scan_of_floats, float)
DEFINE_SCAN(scan_of_doubles, double)

#define DEFINE_SEARCH(name, type)                                                                                      \
    static int name(const type *x, npy_intp n) {                                                                       \
        enum { L = LANES(type) };                                                                                      \
        int nan = 0, nans[L] = {0}; /* lanes, so that compilers compare several at once */                             \
        for (; n >= L; n -= L, x += L) EACH(lane, L) nans[lane] |= x[lane] != x[lane];                                 \
        EACH(lane, (int)n) nan |= x[lane] != x[lane];                                                                  \
        EACH(lane, L) nan |= nans[lane];                                                                               \
        return nan;                                                                                                    \
    }

DEFINE_SEARCH(nan_in_floats, float)
DEFINE_SEARCH(nan_in_doubles, double)

/* Maps: a program has three bytes for each step, the operation and the numbers of two values. Values are the arrays,
 * then constants, then what the steps give; the last step gives the result. Constants, and arrays whose bit of `alone`
 * is set, have one number. Steps take turns on blocks of elements that stay in the cache, so nothing is contracted. */
#define BLOCK 256
#define MOST_VALUES 24
enum { ADDED, SUBTRACTED, MULTIPLIED, DIVIDED, ROOT, NEGATED, SIZE, COPY, LARGER, SMALLER, OPERATIONS };

#define EACH_OF_BLOCK for (int k = 0; k < size; k++)
#define DEFINE_MAP(name, type, ROOT_OF, SIZE_OF)                                                                       \
    static void name##_step(const int operation, const type *a, const type *b, type *restrict to, const int size) {    \
        switch (operation) {                                                                                           \
        case ADDED: EACH_OF_BLOCK to[k] = a[k] + b[k]; break;                                                          \
        case SUBTRACTED: EACH_OF_BLOCK to[k] = a[k] - b[k]; break;                                                     \
        case MULTIPLIED: EACH_OF_BLOCK to[k] = a[k] * b[k]; break;                                                     \
        case DIVIDED: EACH_OF_BLOCK to[k] = a[k] / b[k]; break;                                                        \
        case ROOT: EACH_OF_BLOCK to[k] = ROOT_OF(a[k]); break;                                                         \
        case NEGATED: EACH_OF_BLOCK to[k] = -a[k]; break;                                                              \
        case SIZE: EACH_OF_BLOCK to[k] = SIZE_OF(a[k]); break;                                                         \
        case LARGER: EACH_OF_BLOCK to[k] = a[k] != a[k] || a[k] > b[k] ? a[k] : b[k]; break;                           \
        case SMALLER: EACH_OF_BLOCK to[k] = a[k] != a[k] || a[k] < b[k] ? a[k] : b[k]; break;                          \
        default: EACH_OF_BLOCK to[k] = a[k];                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void name(const unsigned char *program, const int steps, const double *constants, const int fixed,          \
                     char *const *arrays, const int given, const unsigned alone, const npy_intp n, type *result) {     \
        const int first = n < BLOCK ? (int)n : BLOCK;                                                                  \
        type room[MOST_VALUES][BLOCK];                                                                                 \
        const type *values[MOST_VALUES];                                                                               \
        for (int k = 0; k < given + fixed; k++) {                                                                      \
            if (k < given && !(alone >> k & 1)) continue;                                                              \
            const type number = k < given ? *(const type *)arrays[k] : (type)constants[k - given];                     \
            for (int j = 0; j < first; j++) room[k][j] = number;                                                       \
            values[k] = room[k];                                                                                       \
        }                                                                                                              \
        for (npy_intp begin = 0; begin < n; begin += BLOCK) {                                                          \
            const int size = n - begin < BLOCK ? (int)(n - begin) : BLOCK;                                             \
            for (int k = 0; k < given; k++)                                                                            \
                if (!(alone >> k & 1)) values[k] = (const type *)arrays[k] + begin;                                    \
            for (int step = 0; step < steps; step++) {                                                                 \
                const unsigned char *own = program + 3 * step;                                                         \
                type *to = step == steps - 1 ? result + begin : room[given + fixed + step];                            \
                name##_step(own[0], values[own[1]], values[own[2]], to, size);                                         \
                values[given + fixed + step] = to;                                                                     \
            }                                                                                                          \
        }                                                                                                              \
    }

DEFINE_MAP(map_floats, float, sqrtf, fabsf)
DEFINE_MAP(map_doubles, double, sqrt, fabs)

/* Return an array whose elements lie one after the other, in C order; NULL with an exception for others. */
static PyArrayObject *floats_of(PyObject *given) {
    if (PyArray_Check(given)) {
        PyArrayObject *array = (PyArrayObject *)given;
        const int type = PyArray_TYPE(array);
        if ((type == NPY_FLOAT32 || type == NPY_FLOAT64) && PyArray_ISCARRAY_RO(array)) return array;
    }
    PyErr_SetString(PyExc_TypeError, "floats: a contiguous array of float32 or float64");
    return NULL;
}

union number {
    float single;
    double wide;
};

PyDoc_STRVAR(fold_doc, "fold(x, multiplies): the sum of floats, or their product, as NumPy's number.");

static PyObject *fold(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "fold: an array and True or False");
        return NULL;
    }
    PyArrayObject *x = floats_of(arguments[0]);
    if (!x) return NULL;
    const int multiplies = PyObject_IsTrue(arguments[1]);
    if (multiplies < 0) return NULL;
    const npy_intp n = PyArray_SIZE(x);
    union number found;
    if (PyArray_TYPE(x) == NPY_FLOAT32) {
        const float *floats = PyArray_DATA(x);
        found.single = (multiplies ? product_of_floats : sum_of_floats)(floats, floats, n);
    } else {
        const double *doubles = PyArray_DATA(x);
        found.wide = (multiplies ? product_of_doubles : sum_of_doubles)(doubles, doubles, n);
    }
    return PyArray_Scalar(&found, PyArray_DESCR(x), NULL);
}

PyDoc_STRVAR(dot_doc, "dot(x, y): the sum of the products of floats, as NumPy's number.");

static PyObject *dot(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "dot: two arrays");
        return NULL;
    }
    PyArrayObject *x = floats_of(arguments[0]), *y = x ? floats_of(arguments[1]) : NULL;
    if (!y) return NULL;
    const npy_intp n = PyArray_SIZE(x);
    if (PyArray_TYPE(x) != PyArray_TYPE(y) || n != PyArray_SIZE(y)) {
        PyErr_SetString(PyExc_TypeError, "dot: arrays of one dtype and of as many elements");
        return NULL;
    }
    union number found;
    if (PyArray_TYPE(x) == NPY_FLOAT32) found.single = dot_of_floats(PyArray_DATA(x), PyArray_DATA(y), n);
    else found.wide = dot_of_doubles(PyArray_DATA(x), PyArray_DATA(y), n);
    return PyArray_Scalar(&found, PyArray_DESCR(x), NULL);
}

PyDoc_STRVAR(scan_doc, "scan(x): the sums up to each of some floats, along one axis.");

static PyObject *scan(PyObject *module, PyObject *given) {
    PyArrayObject *x = floats_of(given);
    if (!x) return NULL;
    npy_intp n = PyArray_SIZE(x);
    PyArrayObject *sums = (PyArrayObject *)PyArray_SimpleNew(1, &n, PyArray_TYPE(x));
    if (!sums) return NULL;
    if (PyArray_TYPE(x) == NPY_FLOAT32) scan_of_floats(PyArray_DATA(x), n, PyArray_DATA(sums));
    else scan_of_doubles(PyArray_DATA(x), n, PyArray_DATA(sums));
    return (PyObject *)sums;
}

PyDoc_STRVAR(has_nan_doc, "has_nan(x): True if one of some floats is NaN.");

static PyObject *has_nan(PyObject *module, PyObject *given) {
    PyArrayObject *x = floats_of(given);
    if (!x) return NULL;
    const npy_intp n = PyArray_SIZE(x);
    return PyBool_FromLong(PyArray_TYPE(x) == NPY_FLOAT32 ? nan_in_floats(PyArray_DATA(x), n)
                                                          : nan_in_doubles(PyArray_DATA(x), n));
}

PyDoc_STRVAR(apply_doc,
             "apply(program, constants, *arrays): a function of arrays of one dtype and shape, and of arrays without axes;\n"
             "NotImplemented with NaN.\n"
             "A program has three bytes a step; constants are bytes of float64.");

/* Return 1 if each step of a program takes values that are there. */
static int is_program(const unsigned char *program, const Py_ssize_t steps, const Py_ssize_t others) {
    int fits = 1;
    for (Py_ssize_t k = 0; k < steps; k++, program += 3)
        fits &= program[0] < OPERATIONS && program[1] < others + k && program[2] < others + k;
    return fits;
}

static PyObject *apply(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    char *arrays[MOST_VALUES];
    if (count < 3 || !PyBytes_Check(arguments[0]) || !PyBytes_Check(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "apply: a program, constants and arrays");
        return NULL;
    }
    const unsigned char *program = (const unsigned char *)PyBytes_AS_STRING(arguments[0]);
    const Py_ssize_t steps = PyBytes_GET_SIZE(arguments[0]) / 3, given = count - 2;
    const Py_ssize_t fixed = PyBytes_GET_SIZE(arguments[1]) / (Py_ssize_t)sizeof(double), others = given + fixed;
    if (!steps || others + steps > MOST_VALUES || !is_program(program, steps, others)) {
        PyErr_SetString(PyExc_ValueError, "apply: a program with few steps, each on values before it");
        return NULL;
    }
    PyArrayObject *whole = NULL; /* an array with axes, if there is one */
    for (Py_ssize_t k = 0; k < given; k++) {
        PyArrayObject *array = floats_of(arguments[2 + k]);
        if (!array) return NULL;
        if (!whole || !PyArray_NDIM(whole)) whole = array;
    }
    unsigned alone = 0;
    for (Py_ssize_t k = 0; k < given; k++) {
        PyArrayObject *array = (PyArrayObject *)arguments[2 + k];
        if (!PyArray_NDIM(array)) alone |= 1u << k;
        if (PyArray_TYPE(array) != PyArray_TYPE(whole) || (PyArray_NDIM(array) && !PyArray_SAMESHAPE(array, whole))) {
            PyErr_SetString(PyExc_TypeError, "apply: numbers, and arrays of one shape, of one dtype");
            return NULL;
        }
        arrays[k] = PyArray_BYTES(array);
    }
    const int type = PyArray_TYPE(whole), own_steps = (int)steps, own_fixed = (int)fixed, own_given = (int)given;
    const double *constants = (const double *)PyBytes_AS_STRING(arguments[1]);
    const npy_intp n = PyArray_SIZE(whole);
    PyArrayObject *result = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(whole), PyArray_DIMS(whole), type);
    if (!result) return NULL;
    int nan;
    if (type == NPY_FLOAT32) {
        map_floats(program, own_steps, constants, own_fixed, arrays, own_given, alone, n, PyArray_DATA(result));
        nan = nan_in_floats(PyArray_DATA(result), n);
    } else {
        map_doubles(program, own_steps, constants, own_fixed, arrays, own_given, alone, n, PyArray_DATA(result));
        nan = nan_in_doubles(PyArray_DATA(result), n);
    }
    if (!nan) return (PyObject *)result;
    Py_DECREF(result);
    Py_RETURN_NOTIMPLEMENTED;
}

DEFINE_MODULE(floats, "Calls on few floats.", 1, FUNCTION(apply), FUNCTION(fold), FUNCTION(dot), FUNCTION_OF_ONE(scan),
              FUNCTION_OF_ONE(has_nan))
