//! Shape, rank, dtype and bytes of an array without touching its data.
