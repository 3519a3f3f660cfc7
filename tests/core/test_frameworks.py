"""torch and JAX: arrays read where they lie, and results of the same library, with NumPy's dtypes and values.

Every test runs on host arrays with each device; and on arrays on the GPU, where the library sees one too.
"""

from __future__ import annotations

import os
import tracemalloc
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, COMPLEX, DTYPES, affine_fold, assert_equal, need, random_values

import gpuprims
from gpuprims.core.program_cache import forget_calls
from gpuprims.errors import ArgumentError, ArrayError, DeviceMismatchError, DtypeError

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX else takes most of a GPU's memory at once


@dataclass(frozen=True)
class Library:
    """torch or JAX, with its arrays in host memory or on the GPU."""

    name: str
    module: Any
    gpu: bool
    device: gpuprims.Device

    def array(self, values: Any) -> Any:
        values = np.array(values)
        if self.name == "jax":
            return self.module.device_put(values, self.module.devices("gpu" if self.gpu else "cpu")[0])
        tensor = self.module.from_numpy(values)
        return tensor.cuda() if self.gpu else tensor

    def check(self, got: Any, expected: Any) -> None:
        """Hold a result against NumPy's, and see that it is an array of this library, in the same memory."""
        if self.name == "jax":
            assert isinstance(got, self.module.Array)
            assert {place.platform for place in got.devices()} == {"gpu" if self.gpu else "cpu"}
        else:
            assert type(got) is self.module.Tensor
            assert got.is_cuda == self.gpu
        assert_equal(np.asarray(got) if self.name == "jax" else got.cpu().numpy(), expected)

    def map(self, *arguments: Any, **keywords: Any) -> Any:
        return gpuprims.map(*arguments, device=self.device, **keywords)

    def reduce(self, *arrays: Any, **keywords: Any) -> Any:
        return gpuprims.reduce(*arrays, device=self.device, **keywords)


@pytest.fixture(params=["host", "gpu"])
def gpu(request: pytest.FixtureRequest, device: gpuprims.Device) -> bool:
    """Whether the arrays lie on the GPU."""
    if request.param == "gpu" and device.backend != "cuda":
        pytest.skip("is about arrays on a CUDA GPU")
    return bool(request.param == "gpu")


@pytest.fixture
def torch(device: gpuprims.Device, gpu: bool) -> Library:
    module = pytest.importorskip("torch", reason="torch is not installed")
    if gpu and not module.cuda.is_available():
        pytest.skip("torch sees no GPU")
    return Library("torch", module, gpu, device)


@pytest.fixture
def jax(device: gpuprims.Device, gpu: bool) -> Iterator[Library]:
    module = pytest.importorskip("jax", reason="JAX is not installed")
    if gpu and not any(place.platform == "gpu" for place in module.devices()):
        pytest.skip("JAX sees no GPU")
    before = module.config.jax_enable_x64
    module.config.update("jax_enable_x64", True)
    yield Library("jax", module, gpu, device)
    module.config.update("jax_enable_x64", before)


@pytest.fixture(params=["torch", "jax"])
def library(request: pytest.FixtureRequest, device: gpuprims.Device, gpu: bool) -> Library:
    return request.getfixturevalue(request.param)


def _values(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return values whose sums are exact in any order."""
    return rng.integers(-8, 9, shape).astype(dtype) if np.dtype(dtype).kind == "f" else random_values(rng, dtype, shape)


# Both --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_map_gives_the_same_library_and_numpys_dtypes(library: Library, rng: np.random.Generator, dtype: str) -> None:
    need(library.device, dtype)
    x, y = _values(rng, dtype, (6, 50)), _values(rng, dtype, (50,))
    most, same = library.map("(where(x > y, x, y), x == y)", library.array(x), library.array(y))
    library.check(most, np.maximum(x, y))
    library.check(same, x == y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_reduce_gives_the_same_library_and_numpys_dtypes(
    library: Library, rng: np.random.Generator, dtype: str
) -> None:
    need(library.device, dtype)
    x = _values(rng, dtype, (6, 5, 4))
    given = library.array(x)
    library.check(library.reduce(given), x.sum())
    library.check(library.reduce(given, axis=(0, 2)), x.sum(axis=(0, 2)))
    library.check(library.reduce(given, op="max", axis=-1, keepdims=True), x.max(axis=-1, keepdims=True))
    library.check(library.reduce(given, op="argmax"), np.argmax(x))
    library.check(library.reduce(given, op="argmax", axis=1), np.argmax(x, axis=1))
    library.check(library.reduce(given, op="nanargmax", axis=1), np.nanargmax(x, axis=1))
    library.check(library.reduce(given, op="any", axis=0), np.any(x, axis=0))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_numbers_stay_what_they_are(library: Library, rng: np.random.Generator, dtype: str) -> None:
    need(library.device, dtype)
    x = (rng.integers(-8, 9, (6, 5)) + 1j * rng.integers(-8, 9, (6, 5))).astype(dtype)
    library.check(library.map("x - 1", library.array(x)), x - 1)
    library.check(library.reduce(library.array(x), axis=0), x.sum(axis=0))


def test_several_results_are_all_of_the_library(library: Library, rng: np.random.Generator) -> None:
    a, b = random_values(rng, np.int64, 3000), random_values(rng, np.int64, 3000)
    folded = library.reduce(library.array(a), library.array(b), op=AFFINE)
    for got, expected in zip(folded, affine_fold(a, b), strict=True):
        library.check(got, expected)


def test_plans_take_the_librarys_arrays(library: Library, rng: np.random.Generator) -> None:
    arrays = [_values(rng, "float32", (40, 30)) for _ in range(3)]
    given = [library.array(array) for array in arrays]
    rows = gpuprims.plan("reduce", given[0], axis=1, device=library.device)
    total = gpuprims.plan("reduce", given[0], device=library.device)
    twice = gpuprims.plan("map", "2*x", given[0], device=library.device)
    for own, array in zip(given, arrays, strict=True):
        library.check(rows(own), array.sum(axis=1))
        library.check(twice(own), 2 * array)
        assert type(total.item(own)) is float
        assert total.item(own) == array.sum()


@pytest.mark.parametrize("number", [3, 2.5, True, np.float32(4), np.int64(5), np.array(5, np.float64)])
def test_numbers_beside_the_librarys_arrays_mean_what_they_mean_in_numpy(library: Library, number: Any) -> None:
    need(library.device, np.float64)
    for dtype in (np.int32, np.float32):
        x = np.arange(6, dtype=dtype).reshape(2, 3)
        library.check(library.map("x * y", library.array(x), number), x * number)
        library.check(library.map("x * y", number, library.array(x)), number * x)


def test_arrays_of_no_dimensions_and_of_no_elements(library: Library) -> None:
    x = np.arange(6, dtype=np.float32)
    library.check(library.map("x + y", library.array(x), library.array(np.float32(7))), x + 7)
    library.check(library.map("x + 1", library.array(np.float32(7))), np.float32(8))
    library.check(library.map("x - y", library.array(x), library.reduce(library.array(x))), x - 15)
    empty = np.empty((0, 3), np.float32)
    library.check(library.map("x + 1", library.array(empty)), empty)
    library.check(library.reduce(library.array(empty), axis=0), np.zeros(3, np.float32))


def test_numpy_arrays_beside_the_librarys(library: Library, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.float32, (6, 50)), random_values(rng, np.float32, 50)
    if library.gpu:
        for host in (y, Library(library.name, library.module, False, library.device).array(y)):
            with pytest.raises(DeviceMismatchError, match="host array"):
                library.map("x - y", library.array(x), host)
        return
    library.check(library.map("x - y", library.array(x), y), x - y)
    library.check(library.map("y - x", y=y, x=library.array(x)), y - x)


def test_the_kernel_gets_the_librarys_own_memory(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = library.device.driver
    if not library.gpu and not driver.shares_host_memory:
        pytest.skip("its memory is not the host's")
    given = library.array(np.ones(2**22, np.float32))
    address = given.data_ptr() if library.name == "torch" else given.unsafe_buffer_pointer()
    seen, plain = list[int](), getattr(driver, verb := "form" if library.gpu else "share")

    def watched(array: Any) -> Any:
        seen.append(array.data.ptr if library.gpu else array.ctypes.data)
        return plain(array)

    library.reduce(given)  # whatever the first call keeps
    forget_calls()  # later calls on tensors of a GPU ask for no form
    monkeypatch.setattr(driver, verb, watched)
    tracemalloc.start()
    library.reduce(given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert address in seen
    assert peak < given.nbytes // 16 or library.device.backend == "reference"  # which has temporaries of its own


def test_out_of_numpy_beside_the_librarys_arrays(library: Library) -> None:
    out = np.zeros(3, np.float32)
    if library.gpu:
        with pytest.raises(DeviceMismatchError, match=r"out= on .*; got one on the host"):
            library.map("x + 1", library.array(np.zeros(3, np.float32)), out=out)
        return
    assert library.map("x + 1", library.array(np.zeros(3, np.float32)), out=out) is out
    assert_equal(out, np.ones(3, np.float32))


# torch -------------------------------------------------------------------------------------------------------------

# Ways in which a tensor made of 40 x 30 numbers can lie, and the same of NumPy's.
VIEWS: dict[str, Any] = {
    "strided": lambda x: x[::2, 1::3],
    "transposed": lambda x: x.T,
    "in the middle": lambda x: x[7:, 5:25],
    "one row": lambda x: x[3],
    "reshaped": lambda x: x.reshape(4, 10, 30)[:, 3],
}


@pytest.mark.parametrize("view", VIEWS)
def test_views_of_tensors_are_read(torch: Library, rng: np.random.Generator, view: str) -> None:
    whole = _values(rng, "float32", (40, 30))
    x, given = VIEWS[view](whole), VIEWS[view](torch.array(whole))
    torch.check(torch.map("2*x + 1", given), 2 * x + 1)
    torch.check(torch.reduce(given), x.sum())
    torch.check(torch.reduce(given, op="argmin"), np.argmin(x))


def test_expanded_tensors_are_read(torch: Library) -> None:
    row, x = torch.array(np.float32([1, 2, 3])), np.broadcast_to(np.float32([1, 2, 3]), (50, 3))
    torch.check(torch.map("x + 1", row.expand(50, 3)), x + 1)
    torch.check(torch.reduce(row.expand(50, 3), axis=0), x.sum(axis=0))
    torch.check(torch.reduce(torch.array(np.float32(2)).expand(4, 5)), np.float32(40))


def test_tensors_with_gradients_are_read_without_them(torch: Library) -> None:
    x = np.arange(5, dtype=np.float32)
    leaf = torch.array(x).requires_grad_()
    for given in (leaf, leaf * 1, torch.module.nn.Parameter(torch.array(x))):
        torch.check(torch.map("x + 1", given), x + 1)
        assert not torch.map("x + 1", given).requires_grad
        assert torch.reduce(given).item() == 10
    assert leaf.requires_grad


def test_a_class_derived_from_tensors_gives_tensors(torch: Library) -> None:
    class Tagged(torch.module.Tensor):  # type: ignore[misc, name-defined]
        __module__ = "of_no_module"

    x = np.arange(5, dtype=np.float32)
    torch.check(torch.map("x + 1", torch.array(x).as_subclass(Tagged)), x + 1)


def test_lazily_negated_tensors_are_read_as_what_they_stand_for(torch: Library) -> None:
    # torch leaves their signs for later, and DLPack, which hands over memory, leaves them out.
    negated = torch.array(np.complex64([1 + 2j, 3 - 4j])).conj().imag
    assert negated.is_neg()
    torch.check(torch.map("x + 0", negated), np.float32([-2, 4]))
    torch.check(torch.reduce(negated), np.float32(2))
    with pytest.raises(ArgumentError, match="out= a tensor that is not a lazily conjugated or negated view"):
        torch.map("x + 1", torch.array(np.zeros(2, np.float32)), out=negated)


def test_conjugated_tensors_are_read_as_what_they_stand_for(torch: Library) -> None:
    x = np.complex64([1 + 2j, 3 - 4j])
    given = torch.array(x).conj()
    assert given.is_conj()
    torch.check(torch.map("x + 1", given), x.conj() + 1)
    torch.check(torch.reduce(given), np.complex64(4 + 2j))
    with pytest.raises(ArgumentError, match="lazily conjugated"):
        torch.map("x + 1", torch.array(x), out=given)


def test_tensors_without_dense_memory_are_refused_in_a_sentence(torch: Library) -> None:
    x = torch.array(np.eye(3, dtype=np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's, that some of these are in beta
        cases = [x.to_sparse(), x.to_sparse_csr(), torch.module.empty(3, device="meta")]
    for given in cases:
        with pytest.raises(ArrayError, match=r"reduce: a dense array, .*; got Tensor .*\(make a dense copy\)"):
            torch.reduce(given)


def test_out_is_written_where_it_lies(torch: Library, rng: np.random.Generator) -> None:
    x = _values(rng, "float32", (40, 30))
    given = torch.array(x)
    for view in (lambda t: t[:40, :30], lambda t: t[:30, :40].T, lambda t: t[4:44, 1:60:2], lambda t: t[7:47, 5:35]):
        whole, expected = torch.array(np.full((64, 64), -7, np.float32)), np.full((64, 64), -7, np.float32)
        out, address = view(whole), whole.data_ptr()
        view(expected)[...] = 2 * x
        assert torch.map("2*x", given, out=out) is out
        torch.check(whole, expected)
        assert whole.data_ptr() == address
    rows, first = torch.array(np.zeros(40, np.int64)), torch.array(np.float32(0))
    assert torch.reduce(given, op="argmax", axis=1, out=rows) is rows
    torch.check(rows, np.argmax(x, axis=1))
    torch.reduce(given, op="max", out=first)
    torch.check(first, x.max())


def test_several_outs_and_an_out_of_a_plan(torch: Library) -> None:
    x = np.arange(-3, 3, dtype=np.float32)
    given, outs = torch.array(x), (torch.array(np.zeros(6, np.float32)), torch.array(np.zeros(6, bool)))
    assert torch.map("(x * 2, x > 0)", given, out=outs) is outs
    torch.check(outs[0], x * 2)
    torch.check(outs[1], x > 0)
    plan = gpuprims.plan("map", "x + 1", given, device=torch.device)
    assert plan(given, out=outs[0]) is outs[0]
    torch.check(outs[0], x + 1)


def test_an_out_that_cannot_be_written_is_refused(torch: Library) -> None:
    given = torch.array(np.arange(6, dtype=np.float32))
    fresh = torch.array(np.zeros(6, np.float32))
    with pytest.raises(ArgumentError, match=r"out= without requires_grad; got .*\(pass out.detach\(\)\)"):
        torch.map("x + 1", given, out=fresh.clone().requires_grad_())
    with pytest.raises(ArgumentError, match=r"out= an array with a place for each element; got one .*repeats"):
        torch.map("x + 1", given, out=fresh[:1].expand(6))
    beside = torch.array(np.arange(7, dtype=np.float32))
    with pytest.raises(ArgumentError, match="overlaps an input"):
        torch.map("x + 1", beside[:6], out=beside[1:])
    with pytest.raises(DtypeError, match="out= of the result's dtype, float32; got float64"):
        torch.map("x + 1", given, out=fresh.double())


# JAX ---------------------------------------------------------------------------------------------------------------


def test_out_of_jax_is_refused_as_immutable(jax: Library) -> None:
    given = jax.array(np.zeros(3, np.float32))
    with pytest.raises(ArgumentError, match="can be written; got a JAX array, and these are immutable"):
        jax.map("x + 1", given, out=jax.array(np.zeros(3, np.float32)))
    jax.check(given, np.zeros(3, np.float32))


def test_what_jax_would_narrow_is_refused_rather_than_wrapped(jax: Library) -> None:
    jax.module.config.update("jax_enable_x64", False)
    given = jax.array(np.full(3, 2**30, np.int32))
    with pytest.raises(DtypeError, match=r"result of int64; got one that makes it int32 .*jax_enable_x64"):
        jax.reduce(given)
    jax.check(jax.reduce(given, op="max"), np.int32(2**30))
    jax.check(jax.reduce(given, dtype=np.float32), np.float32(3 * 2**30))
    assert gpuprims.plan("reduce", given, device=jax.device).item(given) == 3 * 2**30


def test_work_that_jax_has_queued_is_seen(jax: Library) -> None:
    lax = jax.module.lax
    slow = jax.module.jit(lambda x: lax.fori_loop(0, 20, lambda _, y: y @ x, x))
    queued = slow(jax.array(np.eye(400, dtype=np.float32)))
    jax.check(jax.reduce(queued), np.float32(400))


@pytest.mark.parametrize("trace", ["jit", "grad", "vmap"])
def test_arrays_under_jit_are_refused_in_a_sentence(jax: Library, trace: str) -> None:
    got = r"reduce: arrays with values; got a traced JAX array, .*\[3\].* \(call it outside of jax.jit, .*pure_callback"
    with pytest.raises(ArrayError, match=got):
        getattr(jax.module, trace)(jax.reduce)(jax.array(np.zeros((2, 3) if trace == "vmap" else 3, np.float32)))


def test_callbacks_run_under_jit(jax: Library) -> None:
    summed = jax.module.jit(lambda x: 2 * jax.module.pure_callback(gpuprims.cumsum, x, x))
    jax.check(summed(jax.array(np.arange(9, dtype=np.float32))), 2 * np.cumsum(np.arange(9, dtype=np.float32)))


# torch on the GPU --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [False, True], ids=["default stream", "stream of its own"])
def test_work_keeps_its_order_with_torchs_stream(torch: Library, own: bool) -> None:
    if not torch.gpu:
        pytest.skip("is about streams of a GPU")
    import cupy

    cuda = torch.module.cuda
    nap = 50_000_000  # cycles, some 30 ms
    with cuda.stream(cuda.Stream() if own else cuda.default_stream()), cupy.cuda.Stream(non_blocking=True) as behind:
        x = torch.module.zeros(2**22, device="cuda")
        out = torch.module.zeros_like(x)
        torch.map("2*x", x, out=out)  # compiled
        cuda._sleep(nap)
        x += 1
        with cuda.stream(cuda.ExternalStream(behind.ptr)):
            cuda._sleep(2 * nap)  # the kernels start long after torch comes to what follows
        doubled, total = torch.map("2*x", x), torch.reduce(x)
        after = doubled + 1
        torch.map("5*x", x, out=out)
        copied = out.clone()
        x.zero_()
    cuda.synchronize()
    assert doubled.device == x.device
    for got, value in ((doubled, 2), (after, 3), (copied, 5)):
        assert bool((got == value).all())
    assert total.item() == 2**22
