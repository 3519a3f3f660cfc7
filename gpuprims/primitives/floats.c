/* Folds, scans and maps of few floats of the host, and maps of complex numbers, with the bits of kernels for CPUs, and a
 * search for NaN.
 *
 * Python does the same where this module is not there: floats_by_numpy.py, which says how elements are joined, and
 * expressions/exact.py.
 */
#pragma GCC optimize("O3") /* vectors, as Clang makes at -O2 */
#include "../core/c_modules.h"

#include "folds.h"
#include "maps.h"

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

/* Return an array of floats or complex numbers that lie one after the other; NULL with an exception for others. */
static PyArrayObject *numbers_of(PyObject *given) {
    PyArrayObject *array = (PyArrayObject *)given;
    if (PyArray_Check(given) && PyArray_ISCARRAY_RO(array) && map_of(PyArray_TYPE(array))) return array;
    PyErr_SetString(PyExc_TypeError, "floats: a contiguous array of float32, float64, complex64 or complex128");
    return NULL;
}

PyDoc_STRVAR(has_nan_doc, "has_nan(x): True if one of some floats, or a part of one of some complex numbers, is NaN.");

static PyObject *has_nan(PyObject *module, PyObject *given) {
    PyArrayObject *x = numbers_of(given);
    if (!x) return NULL;
    const int of_complex = PyArray_ISCOMPLEX(x), is_double = PyArray_ITEMSIZE(x) >> of_complex == sizeof(double);
    return PyBool_FromLong(some_nan(PyArray_DATA(x), PyArray_SIZE(x) << of_complex, is_double));
}

PyDoc_STRVAR(cast_doc, "cast(number, x): floats in the dtype of a number; NotImplemented with NaN.");

static PyObject *cast(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    PyArrayObject *x = count == 2 ? floats_of(arguments[1]) : NULL;
    const long number = x ? PyLong_AsLong(arguments[0]) : -1;
    if (PyErr_Occurred()) return NULL;
    cast_t *const work = x ? cast_of(PyArray_TYPE(x), (int)number) : NULL;
    if (!work) {
        PyErr_SetString(PyExc_TypeError, "cast: another dtype of floats or complex numbers, and an array");
        return NULL;
    }
    PyArrayObject *result = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), (int)number);
    if (!result) return NULL;
    const npy_intp n = PyArray_SIZE(x);
    int nan;
    if (PyArray_NBYTES(result) > RELEASED) {
        Py_BEGIN_ALLOW_THREADS
        nan = work(PyArray_DATA(x), n, PyArray_DATA(result));
        Py_END_ALLOW_THREADS
    } else {
        nan = work(PyArray_DATA(x), n, PyArray_DATA(result));
    }
    if (!nan) return (PyObject *)result;
    Py_DECREF(result);
    Py_RETURN_NOTIMPLEMENTED;
}

PyDoc_STRVAR(apply_doc,
             "apply(program, constants, *arrays): a function of arrays of one dtype and shape, and of arrays without axes;\n"
             "NotImplemented with NaN.\n"
             "A program has three bytes a step; constants are bytes of float64, or of complex128 for complex arrays.");

/* Fill in arrays of one dtype; return the first with axes, or NULL with an exception, and which have none. */
static PyArrayObject *arrays_of(PyObject *const *given, const Py_ssize_t count, char **arrays, unsigned *alone) {
    PyArrayObject *whole = NULL;
    for (Py_ssize_t k = 0; k < count; k++) {
        PyArrayObject *array = numbers_of(given[k]);
        if (!array) return NULL;
        if (!whole || !PyArray_NDIM(whole)) whole = array;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        PyArrayObject *array = (PyArrayObject *)given[k];
        if (!PyArray_NDIM(array)) *alone |= 1u << k;
        if (PyArray_TYPE(array) != PyArray_TYPE(whole) || (PyArray_NDIM(array) && !PyArray_SAMESHAPE(array, whole))) {
            PyErr_SetString(PyExc_TypeError, "apply: numbers, and arrays of one shape, of one dtype");
            return NULL;
        }
        arrays[k] = PyArray_BYTES(array);
    }
    return whole;
}

static PyObject *apply(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    char *arrays[MOST_VALUES];
    unsigned alone = 0;
    if (count < 3 || count - 2 > MOST_VALUES || !PyBytes_Check(arguments[0]) || !PyBytes_Check(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "apply: a program, constants and arrays");
        return NULL;
    }
    PyArrayObject *whole = arrays_of(arguments + 2, count - 2, arrays, &alone);
    if (!whole) return NULL;
    const int of_complex = PyArray_ISCOMPLEX(whole);
    const program_t program = {
        .code = (const unsigned char *)PyBytes_AS_STRING(arguments[0]),
        .constants = (const double *)PyBytes_AS_STRING(arguments[1]),
        .steps = (int)(PyBytes_GET_SIZE(arguments[0]) / 3),
        .fixed = (int)(PyBytes_GET_SIZE(arguments[1]) / (Py_ssize_t)sizeof(double)) >> of_complex,
        .given = (int)count - 2,
    };
    if (!is_program(&program, of_complex)) {
        PyErr_SetString(PyExc_ValueError, "apply: a program with few steps, each on values before it");
        return NULL;
    }
    map_t *const map = map_of(PyArray_TYPE(whole));
    const npy_intp n = PyArray_SIZE(whole);
    PyArrayObject *result =
        (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(whole), PyArray_DIMS(whole), PyArray_TYPE(whole));
    if (!result) return NULL;
    int nan;
    if (PyArray_NBYTES(result) > RELEASED) {
        Py_BEGIN_ALLOW_THREADS
        nan = map(&program, arrays, alone, n, PyArray_DATA(result));
        Py_END_ALLOW_THREADS
    } else {
        nan = map(&program, arrays, alone, n, PyArray_DATA(result));
    }
    if (!nan) return (PyObject *)result;
    Py_DECREF(result);
    Py_RETURN_NOTIMPLEMENTED;
}

DEFINE_MODULE(floats, "Calls on few floats.", 1, FUNCTION(apply), FUNCTION(cast), FUNCTION(fold), FUNCTION(dot),
              FUNCTION_OF_ONE(scan), FUNCTION_OF_ONE(has_nan))
