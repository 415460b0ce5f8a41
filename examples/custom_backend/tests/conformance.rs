//! Everything that core promises of a library, held against this one.

arraybridge_testkit::conformance!(raster_backend::Rasters);
