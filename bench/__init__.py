"""Benchmarks of gpuprims, its peers and the device's memory; ``gpuprims bench`` runs them."""
