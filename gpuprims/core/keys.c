/* Keys of warm calls, and the look-up of what runs them, without Python.
 *
 * Python does the same where this module is not there: key_of and key_of_any (call_keys.py), and _look_up
 * (warm_calls.py). Keys are equal.
 */
#include "c_modules.h"
#include <stdlib.h>

#define MOST_BYTES (1 << 24)   /* of an array of the host: warm_calls.py, _SMALL */
#define MOST_REACHED (64 << 20) /* of one with gaps: operands.py, _ALWAYS_ROOM */
#define NUMBER_KINDS 32

#if PY_VERSION_HEX >= 0x030D0000
#define ENDS Py_IsFinalizing()
#else
#define ENDS _Py_IsFinalizing()
#endif

/* Functions that tell facts, by class of arrays; what makes all other keys; what chooses devices; drivers by their specs;
 * the class of devices, and these by the addresses of their drivers. */
static PyObject *facts_by_class, *otherwise, *pick_device, *choices, *drivers, *device_class, *devices;
static PyObject *name_chosen, *name_found;
static char computable[NUMBER_KINDS]; /* by NumPy's number of a dtype */

static PyObject *tuple_of(const npy_intp *numbers, int count) {
    PyObject *tuple = PyTuple_New(count);
    for (int k = 0; tuple && k < count; k++) {
        PyObject *number = PyLong_FromSsize_t(numbers[k]);
        if (!number) Py_CLEAR(tuple);
        else PyTuple_SET_ITEM(tuple, k, number);
    }
    return tuple;
}

/* Tell of an array of the host what a plan depends on; NULL without an exception if Python must. */
static PyObject *host_facts(PyArrayObject *array) {
    PyArray_Descr *dtype = PyArray_DESCR(array);
    int axes = PyArray_NDIM(array), type = dtype->type_num;
    const npy_intp *shape = PyArray_DIMS(array), *strides = PyArray_STRIDES(array), item = PyArray_ITEMSIZE(array);
    if (type < 0 || type >= NUMBER_KINDS || !computable[type] || PyArray_ISBYTESWAPPED(array)) return NULL;
    npy_intp nbytes = item, reached = 0;
    int whole = 1, far = 0;
    for (int k = 0; k < axes; k++) {
        nbytes *= shape[k];
        if (nbytes > MOST_BYTES) return NULL;
        far |= strides[k] > MOST_REACHED || strides[k] < -MOST_REACHED; /* as an axis of length 1 may have */
        if (!far) reached += (strides[k] < 0 ? -strides[k] : strides[k]) * shape[k];
        whole &= strides[k] % item == 0;
    }
    if (!nbytes) return NULL;
    int as_it_is = PyArray_ISCARRAY(array);
    if (!as_it_is && !(PyArray_ISALIGNED(array) && !far && reached <= MOST_REACHED && whole)) return NULL;
    PyObject *lengths = tuple_of(shape, axes);
    PyObject *steps = as_it_is ? Py_NewRef(Py_None) : tuple_of(strides, axes);
    PyObject *facts = lengths && steps ? PyTuple_Pack(3, dtype, lengths, steps) : NULL;
    Py_XDECREF(lengths);
    Py_XDECREF(steps);
    return facts;
}

/* The device of a spec that was found before; NULL without an exception if Python must look for it. */
static PyObject *known_device(PyObject *spec) {
    PyObject *driver = PyUnicode_CheckExact(spec) && !ENDS ? PyDict_GetItemWithError(drivers, spec) : NULL;
    PyObject *address = driver ? PyLong_FromVoidPtr(driver) : NULL;
    PyObject *device = address ? Py_XNewRef(PyDict_GetItemWithError(devices, address)) : NULL;
    Py_XDECREF(address);
    PyErr_Clear(); /* out of memory: Python says so, if it must look */
    return device;
}

/* The device of a call on arrays of the host. */
static PyObject *device_of(PyObject *device) {
    PyObject *known = NULL;
    if (device == Py_None) {
        PyObject *chosen = PyObject_GetAttr(choices, name_chosen);
        if (chosen != Py_None) return chosen;
        Py_DECREF(chosen);
        const char *asked = getenv("GPUPRIMS_DEVICE");
        if (!asked || !*asked) return PyObject_GetAttr(choices, name_found);
        PyObject *spec = PyUnicode_DecodeFSDefault(asked);
        if (!spec) return NULL;
        known = known_device(spec);
        Py_DECREF(spec);
    } else {
        known = (PyObject *)Py_TYPE(device) == device_class ? Py_NewRef(device) : known_device(device);
    }
    return known ? known : PyObject_CallFunctionObjArgs(pick_device, Py_None, device, NULL);
}

/* The facts of a number: its class, or its dtype if it is NumPy's; NULL without an exception for others. */
static PyObject *number_facts(PyObject *number) {
    if (PyFloat_CheckExact(number) || PyLong_CheckExact(number) || PyBool_Check(number) || PyComplex_CheckExact(number))
        return Py_NewRef((PyObject *)Py_TYPE(number));
    if (!PyArray_IsScalar(number, Number) && !PyArray_IsScalar(number, Bool)) return NULL;
    PyObject *dtype = (PyObject *)PyArray_DescrFromScalar(number);
    PyObject *facts = dtype ? PyTuple_Pack(2, dtype, Py_None) : NULL;
    Py_XDECREF(dtype);
    return facts;
}

/* Fill a key with the facts of arrays; 0 if Python must make it, -1 with an exception. */
static int fill(PyObject *key, PyObject *arrays, PyObject *device) {
    int on_host = 0, on_device = 0, with_axes = 0;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(arrays); k++) {
        PyObject *array = PyTuple_GET_ITEM(arrays, k), *facts;
        if (PyArray_CheckExact(array)) {
            facts = host_facts((PyArrayObject *)array);
            on_host = 1;
            with_axes |= PyArray_NDIM((PyArrayObject *)array) > 0;
        } else {
            PyObject *tell = PyDict_GetItemWithError(facts_by_class, (PyObject *)Py_TYPE(array));
            facts = Py_XNewRef(tell) ? PyObject_CallOneArg(tell, array) : PyErr_Occurred() ? NULL : number_facts(array);
            on_device |= tell != NULL;
            Py_XDECREF(tell);
        }
        if (!facts) return PyErr_Occurred() ? -1 : 0;
        PyTuple_SET_ITEM(key, k + 2, facts);
    }
    if (on_host ? on_device || !with_axes : !on_device) return 0; /* numbers alone, or arrays without axes */
    PyObject *where = on_host ? device_of(device) : Py_NewRef(device);
    if (!where) return -1;
    PyTuple_SET_ITEM(key, 1, where);
    return 1;
}

static PyObject *make_key(PyObject *keywords, PyObject *arrays, PyObject *device) {
    if (!facts_by_class) {
        PyErr_SetString(PyExc_TypeError, "key_of: after use_keys");
        return NULL;
    }
    Py_ssize_t size = PyTuple_CheckExact(arrays) ? PyTuple_GET_SIZE(arrays) : 0;
    if (size) {
        PyObject *key = PyTuple_New(size + 2);
        if (!key) return NULL;
        PyTuple_SET_ITEM(key, 0, Py_NewRef(keywords));
        int filled = fill(key, arrays, device);
        if (filled > 0) return key;
        Py_DECREF(key);
        if (filled < 0) return NULL;
    }
    return PyObject_CallFunctionObjArgs(otherwise, keywords, arrays, device, NULL);
}

PyDoc_STRVAR(key_of_doc, "key_of(keywords, arrays, device=None): the key of a call; None if it has none.");

static PyObject *key_of(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    if (count == 2 || count == 3) return make_key(arguments[0], arguments[1], count > 2 ? arguments[2] : Py_None);
    PyErr_SetString(PyExc_TypeError, "key_of: keywords, arrays and a device");
    return NULL;
}

PyDoc_STRVAR(look_up_doc, "look_up(runs, keywords, arrays, device): the key of a call, its arrays, and what runs it.");

static PyObject *look_up(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 4 || !PyDict_Check(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "look_up: a dictionary, keywords, arrays and a device");
        return NULL;
    }
    PyObject *key = make_key(arguments[1], arguments[2], arguments[3]);
    if (!key) return NULL;
    PyObject *run = Py_XNewRef(PyDict_GetItemWithError(arguments[0], key));
    if (!run && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
            Py_DECREF(key);
            return NULL;
        }
        PyErr_Clear(); /* a keyword that cannot be hashed */
    }
    PyObject *found = PyTuple_Pack(3, key, arguments[2], run ? run : Py_None);
    Py_DECREF(key);
    Py_XDECREF(run);
    return found;
}

PyDoc_STRVAR(use_keys_doc,
             "use_keys(facts_by_class, otherwise, pick_device, choices, dtypes, drivers, device_class, devices): functions by\n"
             "class of arrays; what makes other keys; what finds a device that is asked for, and the choices of others;\n"
             "dtypes that kernels compute; drivers by spec, the class of devices, and devices by driver, of earlier calls.");

static PyObject *use_keys(PyObject *module, PyObject *arguments) {
    PyObject *facts, *others, *pick, *chosen, *dtypes, *found, *class, *known;
    if (!PyArg_ParseTuple(arguments, "O!OOOO!O!OO!", &PyDict_Type, &facts, &others, &pick, &chosen, &PyTuple_Type, &dtypes,
                          &PyDict_Type, &found, &class, &PyDict_Type, &known))
        return NULL;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(dtypes); k++) {
        PyObject *dtype = PyTuple_GET_ITEM(dtypes, k);
        int type = PyArray_DescrCheck(dtype) ? ((PyArray_Descr *)dtype)->type_num : NUMBER_KINDS;
        if (type >= 0 && type < NUMBER_KINDS) computable[type] = 1;
    }
    Py_XSETREF(facts_by_class, Py_NewRef(facts));
    Py_XSETREF(otherwise, Py_NewRef(others));
    Py_XSETREF(pick_device, Py_NewRef(pick));
    Py_XSETREF(choices, Py_NewRef(chosen));
    Py_XSETREF(drivers, Py_NewRef(found));
    Py_XSETREF(device_class, Py_NewRef(class));
    Py_XSETREF(devices, Py_NewRef(known));
    Py_RETURN_NONE;
}

/* Return 0, with an exception, if there is no memory for the names of attributes. */
static int has_names(void) {
    name_chosen = PyUnicode_InternFromString("chosen"), name_found = PyUnicode_InternFromString("found");
    return name_chosen && name_found;
}

DEFINE_MODULE(keys, "Keys of warm calls.", has_names(), FUNCTION(key_of), FUNCTION(look_up),
              {"use_keys", use_keys, METH_VARARGS, use_keys_doc})
