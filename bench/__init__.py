"""Benchmarks of gpuprims beside its peers and the device's own limit; ``gpuprims bench`` runs them."""
