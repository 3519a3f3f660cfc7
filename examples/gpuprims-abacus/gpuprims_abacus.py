"""abacus, a backend that gpuprims finds through this package's entry point."""

from dataclasses import replace

from gpuprims.backends.reference.device import ReferenceDriver
from gpuprims.core.registry import REGISTRY
from gpuprims.primitives import ROOMS


class AbacusDriver(ReferenceDriver):
    """One device. Replace the methods of gpuprims.core.driver.Driver one at a time."""

    backend = "abacus"


DRIVER = AbacusDriver()


class AbacusBackend:
    """The vendor's library; importing this module must not import it."""

    name = "abacus"
    array_library = None  # the package of its arrays, such as "cupy"
    dlpack_device = None  # the type of its memory in dlpack.h
    variants = tuple(
        replace(variant, backend="abacus")
        for room in ROOMS
        for variant in REGISTRY.primitive(room).variants
        if variant.backend == "reference"
    )

    def drivers(self):
        """List the devices, the same objects each time; import the vendor's library here."""
        return [DRIVER]

    def driver_of(self, array):
        """Return the driver of the device that an array of the vendor's library lies on."""
        return

    def from_dlpack(self, array):
        """Return an array of the vendor's library over another's memory."""
        raise BufferError(f"abacus: host arrays; got {type(array).__name__}")


BACKEND = AbacusBackend()
