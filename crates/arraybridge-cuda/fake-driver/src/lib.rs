//! A stand-in for NVIDIA's driver library (`libcuda.so.1`) over main memory, for tests alone.
//!
//! It has the entry points that `arraybridge-cuda` and cudarc call, and is stricter than a real
//! driver:
//!
//! - streams are threads, so what is not waited for is really not there yet ([`stream`]);
//! - device addresses are none of the host's, are never given twice, and every access is checked for
//!   bounds and for memory that was freed ([`memory`]);
//! - every access is checked to be ordered after the writes (and a write after the reads) that it
//!   conflicts with, by vector clocks, so that a missing wait is found whether or not it changed the
//!   result this time ([`clock`]);
//! - events and kernels are refused on streams of another device than they were made on;
//! - memory has a limit, and any call can be told to fail ([`control`]).
//!
//! What breaks a rule is written down as a *violation*, which tests ask for. Kernels are those of
//! `arraybridge-cuda`, compiled for the host from the same source, and a few of the tests' own
//! ([`kernels`]).
//!
//! Environment variables, read by `cuInit` and all beginning with `ARRAYBRIDGE_FAKE_CUDA_`:
//! `DEVICES` (2), `MEMORY` per device in bytes (1 GiB), `VERSION` (12000), `INIT` (the code that
//! `cuInit` answers), `POOLS` and `PEER` (1; 0 for devices without).

mod api;
mod clock;
mod control;
mod kernels;
mod memory;
mod module;
mod state;
mod stream;
