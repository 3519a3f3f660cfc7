"""sort: elements in order, by the bits of their keys or by merging."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack, overload

from numpy.typing import NDArray

from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.primitive import Primitive
from gpuprims.errors import ArgumentError
from gpuprims.primitives.signatures import Array, Element, Function, Host, HostArray, Out, SortKeywords, Where
from gpuprims.primitives.sort.calls import in_order
from gpuprims.primitives.sort.compared import check_less
from gpuprims.primitives.sort.keyed import keys_by, sort_by
from gpuprims.primitives.sort.plan import sample
from gpuprims.primitives.sort.plans import PLANS, bind_sort, lexsorted
from gpuprims.primitives.sort.segments import argsort_segments, sort_segments
from gpuprims.primitives.sort.several import plan_call
from gpuprims.primitives.sort.variants import VARIANTS

PRIMITIVE = Primitive(
    *("sort", VARIANTS, plan_call, sample, bind_sort),
    tuning_case=f"{__name__}.tuning_case",
    tuned=False,
    plans=PLANS,
)


@overload
def sort(
    x: NDArray[Element], axis: int | None = -1, *, out: None = None, **keywords: Unpack[SortKeywords]
) -> NDArray[Element]: ...
@overload
def sort(x: Host, axis: int | None = -1, *, out: None = None, **keywords: Unpack[SortKeywords]) -> HostArray: ...
@overload
def sort(x: Array, axis: int | None = -1, *, out: None = None, **keywords: Unpack[SortKeywords]) -> Array: ...
@overload
def sort(x: Any, axis: int | None = -1, *, out: Out, **keywords: Unpack[SortKeywords]) -> Out: ...


@named_keywords
def sort(
    x: Any,
    axis: int | None = -1,
    *,
    descending: bool = False,
    stable: bool = True,
    key: Function | None = None,
    less: Function | None = None,
    check: bool = False,
    out: Any = None,
    segments: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return a sorted copy of an array, as :func:`numpy.sort` with ``stable=True`` does.

    Parameters
    ----------
    x : array_like
        The elements. Complex ones are sorted by their real parts, then by the imaginary ones, NaN in either last.
    axis : int, optional
        The axis to sort along, by default the last. With None the elements are sorted in C order, and the result is
        flat.
    descending : bool, default False
        True for descending order. Equal elements keep their order then, too.
    stable : bool, default True
        False permits an unstable sort, but all present variants are stable.
    key : callable or str, optional
        A function from an element to the number to sort by, as :func:`gpuprims.map` takes it: ``"abs(x)"``. Elements of
        equal keys keep their order.
    less : callable or str, optional
        A function of two elements, True if the first goes before the second: ``"abs(a) < abs(b)"``. It must be a strict
        weak order, as for ``std::sort`` in C++. Elements that are not less than each other keep their order. With
        ``descending``, the second goes before the first. Not with ``key`` or ``segments``.
    check : bool, default False
        True to raise if ``less`` is not a strict weak order of up to 512 elements of ``x``, drawn at random from more.
        The call waits until they are on the host.
    out : array, optional
        Where to write: of the result's shape and dtype, on the device of ``x``, apart from it in memory. By default a
        new array.
    segments : array_like of int, optional
        Offsets along ``axis``, as of rows in CSR: the first is 0, the last the axis' length, and they never decrease.
        Each segment between two offsets is sorted by itself, of every row alike.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array
        ``out``, or a new array of the dtype of ``x``, in C order.

    Raises
    ------
    AxisError, ArgumentError, DtypeError, ShapeError
        An axis that ``x`` does not have; keywords or an ``out`` that do not fit.
    ExpressionError
        A ``key`` or ``less`` that cannot be traced.
    LawError
        With ``check``, elements that break a law of strict weak orders; the message names them.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.map`.

    Notes
    -----
    NaN is greater than all numbers, so it comes last, with ``descending`` first; -0.0 and 0.0 are equal. All bits of
    elements are kept, those of NaN too.

    With ``less``, the function alone decides. ``a < b`` is not a strict weak order if there is NaN, which is neither
    less nor greater than two numbers that differ; ``(a < b) | (isnan(b) & ~isnan(a))`` puts NaN last. With a function
    that is not a strict weak order, the result may lack elements and repeat others.

    GPUs sort one long row by its bytes from the top down, until what is alike so far fits in a group's local memory
    (E. Stehle and H.-A. Jacobsen, "A memory bandwidth-efficient hybrid radix sort on GPUs", 2017), and other long rows
    from the lowest byte up: a launch counts all bytes of all keys, and one for each byte moves the elements (A. Adinets
    and D. Merrill, "Onesweep: a faster least significant digit radix sort for GPUs", 2022). One launch sorts short rows
    by networks (K. Batcher, "Sorting networks and their applications", 1968) or by bytes in local memory. Others, and
    those with ``less``, are merged (O. Green, R. McColl and D. Bader, "GPU merge path", 2012).

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.float32([[3, 1, 2], [5, np.nan, 4]])
    >>> gpuprims.sort(x, device="reference")
    array([[ 1.,  2.,  3.],
           [ 4.,  5., nan]], dtype=float32)
    >>> gpuprims.sort(x, axis=None, descending=True, device="reference")
    array([nan,  5.,  4.,  3.,  2.,  1.], dtype=float32)
    >>> gpuprims.sort(np.int32([-3, 1, 2, -1]), key=lambda x: abs(x), device="reference")
    array([ 1, -1,  2, -3], dtype=int32)
    >>> gpuprims.sort(np.int32([22, 13, 31, 12]), less=lambda a, b: a % 10 < b % 10, device="reference")
    array([31, 22, 12, 13], dtype=int32)
    """
    if unknown:
        refuse_keywords("sort", keywords_of(sort), unknown)
    check_less("sort", less, x, device, check=check, stable=stable, key=key, segments=segments)
    if key is not None:
        how = {"axis": axis, "descending": descending, "variant": variant}
        return sort_by("sort", sort_by_key, key, (x,), device, out, segments, **how)[0]
    if segments is not None:
        return sort_segments(x, segments, device, axis=axis, descending=descending, out=out, variant=variant)
    how = {"axis": axis, "descending": descending, "out": out, "variant": variant}
    return in_order("sort", "keys", (x,), device, less=less, real=False, **how)


@overload
def argsort(x: Host, axis: int | None = -1, *, out: None = None, **keywords: Unpack[SortKeywords]) -> HostArray: ...
@overload
def argsort(x: Array, axis: int | None = -1, *, out: None = None, **keywords: Unpack[SortKeywords]) -> Array: ...
@overload
def argsort(x: Any, axis: int | None = -1, *, out: Out, **keywords: Unpack[SortKeywords]) -> Out: ...


@named_keywords
def argsort(
    x: Any,
    axis: int | None = -1,
    *,
    descending: bool = False,
    stable: bool = True,
    key: Function | None = None,
    less: Function | None = None,
    check: bool = False,
    out: Any = None,
    segments: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return the indices that sort an array, as :func:`numpy.argsort` with ``stable=True`` does.

    Parameters
    ----------
    x, axis, descending, stable, key, less, check, out, segments, device, variant
        As for :func:`sort`, except that ``out`` goes with ``key``.

    Returns
    -------
    array of int64
        ``out``, or a new array of the shape of :func:`sort`'s result: for each place the index, along ``axis``, of the
        element that goes there. Of equal elements, the first one's index comes first. With ``segments``, indices count
        from the first element of ``x``.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.argsort(np.int32([30, 10, 20, 10]), device="reference")
    array([1, 3, 2, 0])
    """
    if unknown:
        refuse_keywords("argsort", keywords_of(argsort), unknown)
    check_less("argsort", less, x, device, check=check, stable=stable, key=key, segments=segments)
    if key is not None:
        x = keys_by("argsort", key, x, device, segments=segments)
    if segments is not None:
        return argsort_segments(x, segments, device, axis=axis, descending=descending, out=out, variant=variant)
    how: dict[str, Any] = {"axis": axis, "descending": descending, "out": out, "variant": variant}
    return in_order("argsort", "indices", (x,), device, less=less, real=False, **how)


@named_keywords
def sort_by_key(
    keys: Any,
    *values: Any,
    axis: int | None = -1,
    descending: bool = False,
    key: Function | None = None,
    less: Function | None = None,
    check: bool = False,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> tuple[Any, ...]:
    """Sort keys, and put values in the order of their keys.

    Parameters
    ----------
    keys : array_like
        What to sort by.
    *values : array_like
        One or more arrays of the shape of ``keys``, of any dtype.
    axis, descending, key, less, check, out, device, variant
        As for :func:`sort`. Functions get elements of ``keys``. ``out`` is a tuple: arrays for keys and for values.

    Returns
    -------
    tuple of arrays
        ``out``, or the keys as :func:`sort` returns them, then the values. Values of equal keys keep their order.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> keys, names = np.int32([3, 1, 2]), np.array([30.5, 10.5, 20.5])
    >>> gpuprims.sort_by_key(keys, names, device="reference")
    (array([1, 2, 3], dtype=int32), array([10.5, 20.5, 30.5]))
    """
    if unknown:
        refuse_keywords("sort_by_key", keywords_of(sort_by_key), unknown)
    if not values:
        raise ArgumentError("sort_by_key: keys and one or more arrays of values; got no values")
    check_less("sort_by_key", less, keys, device, check=check, key=key)
    if key is not None:
        how = {"axis": axis, "descending": descending, "variant": variant}
        return sort_by("sort_by_key", sort_by_key, key, (keys, *values), device, out, **how)
    how = {"axis": axis, "descending": descending, "out": out, "variant": variant}
    found: tuple[Any, ...] = in_order("sort_by_key", "pairs", (keys, *values), device, less=less, real=False, **how)
    return found


@overload
def lexsort(keys: Any, *, out: Out, **keywords: Unpack[Where]) -> Out: ...
@overload
def lexsort(keys: Sequence[Host] | NDArray[Any], **keywords: Unpack[Where]) -> HostArray: ...
@overload
def lexsort(keys: Sequence[Array], **keywords: Unpack[Where]) -> Array: ...


@named_keywords
def lexsort(
    keys: Any,
    *,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return the indices that sort by several keys, the last one first, as :func:`numpy.lexsort` does.

    Parameters
    ----------
    keys : sequence of array_like
        Arrays of one axis and one length, or the rows of an array. The last key is the primary one; the key
        before it breaks ties, and so on.
    out, device, variant
        As for :func:`sort`.

    Returns
    -------
    array of int64
        ``out``, or a new array: the indices.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> first, second = np.int32([9, 4, 0]), np.int32([1, 5, 1])
    >>> gpuprims.lexsort((first, second), device="reference")
    array([2, 0, 1])
    """
    if unknown:
        refuse_keywords("lexsort", keywords_of(lexsort), unknown)
    return lexsorted(keys, out, device, variant)
