//! What only several crates together can show.
